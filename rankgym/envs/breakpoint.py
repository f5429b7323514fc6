"""The non-stationary ranking environment: a ``RankingVectorEnv`` that follows a ``Schedule``."""

from collections.abc import Sequence
from typing import Any

from rankgym.arguments import named_keywords, number_in, whole_number
from rankgym.envs.queries import DRAWN_ITEMS, MAX_DRAWN_ITEMS
from rankgym.envs.ranking import RankingVectorEnv
from rankgym.envs.schedule import Schedule
from rankgym.envs.sessions import full_signature


@named_keywords
def vector_breakpoint(
    num_envs: int = 1,
    *,
    scenario: str = "jump",
    breakpoints: Sequence[int] | None = None,
    num_breakpoints: int | None = None,
    epoch_lengths: int | Sequence[int] | None = None,
    jumps: int | None = None,
    jump_attraction: float | None = None,
    kept: int | None = None,
    drift_step: float | None = None,
    p: float | None = None,
    gap: float | None = None,
    **arguments: Any,
) -> RankingVectorEnv:
    """
    ## Description
    Online learning to rank for users who change: what they find attractive is constant within an epoch, and changes at
    breakpoints (Li and de Rijke 2019, section 3.1). Everything else is as in `RankingVectorEnv`, for every click
    model. The agent sees clicks only.

    When epochs begin and what they change depend on the row's seed alone. Two agents on the same seed meet the same
    users and the same changes. A new episode has a new schedule, from the same stream.

    ## Action Space
    ## Observation Space
    ## Rewards
    ## Episode End
    As in `RankingVectorEnv`.

    ## Starting State
    A query, as in `RankingVectorEnv`, and epoch 0 of a new schedule: the query's own attraction (with
    `scenario="two-level"` its first set of best items). The production list `initial_list` is the query's and stays.

    ## Information
    As in `RankingVectorEnv`, and `epoch`, in `step` and in `reset`: of this session, from 0 in its episode.
    `optimal_reward`, `regret` and `misordered` are those of this session's epoch. So is the truth that wrappers and
    evaluation read, `parameters`, `attraction` and `initial_misordered`, but of the *coming* session: read after the
    last step before a breakpoint they are the new epoch's.

    ## Arguments
    ```python
    gym.make_vec("rankgym/CM-Yandex-Breakpoint-v0", num_envs=600, query="all", horizon=100_000)
    ```
    All of `RankingVectorEnv` (`rankgym envs PBM-Yandex-v0` describes them), and:

    * `scenario`: what changes.
        * `"jump"`: in epochs 1, 3, 5, ... `jumps` items, drawn anew each time, have the attraction `jump_attraction`;
          none of the `kept` most attractive is among them. In epochs 0, 2, 4, ... the query is its own (the paper's
          section 5).
        * `"shuffle"`: from epoch 1 on, items swap all their parameters by a new random permutation in every epoch.
        * `"drift"`: in every new epoch the logit of each attraction goes up or down by `drift_step`, by a fair coin.
          Attraction of 0 or 1 stays.
        * `"two-level"`: `num_positions` items have the attraction `p`, the others `p - gap`; in each epoch it is
          another set, uniformly drawn of all but the last one. This replaces the query's attraction, not its other
          parameters (the lower-bound problem B_L of section 4.2, which has K = L / 2 and two breakpoints). With
          `dataset="synthetic"` there is one query unless `parameters` has more.
    * `jumps`: of `"jump"`: how many items jump. Default: 3.
    * `jump_attraction`: of `"jump"`: the attraction of items that jump. Default: 0.9.
    * `kept`: of `"jump"`: how many of the most attractive items never jump. Default: `cutoff`, or less if the items
      that jump would not fit.
    * `drift_step`: of `"drift"`: by how much logits change. Default: 0.05. In 1,000 epochs this makes 1.6, more than
      the standard deviation of logits among the Yandex queries.
    * `p`: of `"two-level"`, which requires it: the attraction of the best items, in (0, 1].
    * `gap`: of `"two-level"`, which requires it: how much less attractive the others are, in (0, `p`].

    At most one of these sets the breakpoints (`horizon` is the environment's own, not that of Gymnasium's `TimeLimit`):

    * `breakpoints`: the rounds that begin a new epoch, ascending, counted from 0 in each episode: with 100, the first
      session of epoch 1 is that of round 100. Breakpoints at the horizon or later are ignored.
    * `num_breakpoints`: how many rounds of 1 .. horizon - 1 are drawn for each row and episode, every set equally
      probable. Needs a horizon. At most 10,000.
    * `epoch_lengths`: rounds of an epoch, or a list that is cycled over the epochs: the paper's m2 and m1 are
      `[10_000, 10_000]`. Default: by the scenario. `"jump"` and `"shuffle"` have 10,000, `"drift"` 100; `"two-level"`
      has two breakpoints at thirds of the horizon (one with a horizon of 2, none with 1), so that they are the same in
      every row.

    ## Errors
    As in `RankingVectorEnv`; a ValueError also names a knob that the scenario does not have.

    ## Examples
    From round 2 on another item is the best one, and the list that was best loses `gap` in every round:

    ```python
    >>> import gymnasium as gym, numpy as np, rankgym
    >>> users = {"p": 0.8, "gap": 0.5, "breakpoints": [2], "horizon": 4}
    >>> env = gym.make_vec("rankgym/CM-TwoLevel-Breakpoint-v0", num_items=4, num_positions=1, **users)
    >>> observation, info = env.reset(seed=0)
    >>> best = env.unwrapped.attraction.argmax(axis=1)[:, None]
    >>> steps = [env.step(best)[4] for round in range(4)]
    >>> [(int(info["epoch"][0]), round(float(info["regret"][0]), 3)) for info in steps]
    [(0, 0.0), (0, 0.0), (1, 0.5), (1, 0.5)]

    ```

    ## Version History
    * v0: Initial version release

    ## References
    Li and de Rijke, "Cascading non-stationary bandits: online learning to rank in the non-stationary cascade model",
    IJCAI 2019.
    """
    times = {"breakpoints": breakpoints, "num_breakpoints": num_breakpoints, "epoch_lengths": epoch_lengths}
    jump = {"jumps": jumps, "jump_attraction": jump_attraction, "kept": kept}
    schedule = Schedule(scenario, **times, **jump, drift_step=drift_step, p=p, gap=gap)
    if scenario == "two-level" and arguments.get("dataset") == "synthetic":
        arguments |= {"parameters": _with_attraction(arguments.get("parameters"), arguments.get("num_items"), p)}
    env = RankingVectorEnv(num_envs, **arguments)
    env.follow(schedule)
    return env


vector_breakpoint.__signature__ = full_signature(vector_breakpoint, RankingVectorEnv)  # type: ignore[attr-defined]


def _with_attraction(parameters: Any, num_items: Any, p: Any) -> Any:
    """Return ``parameters`` with some attraction, which the scenario replaces, so that no queries are drawn."""
    if (parameters is not None and not isinstance(parameters, dict)) or "attraction" in (parameters or {}):
        return parameters
    items = DRAWN_ITEMS if num_items is None else whole_number("num_items", num_items, 1, MAX_DRAWN_ITEMS)
    return {**(parameters or {}), "attraction": [0.0 if p is None else number_in("p", p, 0, 1, open_low=True)] * items}

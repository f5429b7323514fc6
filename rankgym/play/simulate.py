"""``rankgym.simulate``: an agent plays an environment from a fresh reset to the end."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypedDict, Unpack, overload

from gymnasium.vector import VectorEnv

from rankgym.agent import DuelingAgent
from rankgym.arguments import named_keywords
from rankgym.outputs import when_interrupted
from rankgym.play.game import ActsAndUpdates, Game
from rankgym.play.history import DuelingHistory, History
from rankgym.progress import late_bar, rate_bar


class Options(TypedDict, total=False):
    """The keywords of ``simulate``."""

    seed: int | Sequence[int] | None
    record_at: Iterable[int]
    progress: bool | Callable[[int], None]


@overload
def simulate(
    agent: DuelingAgent, env: VectorEnv[Any, Any, Any], rounds: int, **options: Unpack[Options]
) -> DuelingHistory: ...
@overload
def simulate(
    agent: ActsAndUpdates, env: VectorEnv[Any, Any, Any], rounds: int, **options: Unpack[Options]
) -> History: ...
@named_keywords
def simulate(
    agent: ActsAndUpdates,
    env: VectorEnv[Any, Any, Any],
    rounds: int,
    *,
    seed: int | Sequence[int] | None = None,
    record_at: Iterable[int] = (),
    progress: bool | Callable[[int], None] = True,
) -> History | DuelingHistory:
    """Let ``agent`` play ``rounds`` sessions or duels in every row of ``env``, starting with a reset.

    The environment is reset, the agent is not: it keeps what it has learned. Make a new agent for an independent run.

    Args:
        agent: has ``act(observation)``, which returns lists (num_envs, num_positions), and
            ``update(displayed, clicks)``. A dueling agent's ``act`` returns a dict of ``left`` and ``right``. It has
            ``update(duel, won)`` with ``won`` (num_envs, 2) int8, 1 for the side that won. It may have ``candidate``,
            the arm (num_envs,) that it currently believes to be the best.
        env: a vector environment of rankings or duels (``gym.make_vec``); a batch of one is the single run. If two
            lists duel, a ranking agent may play, too: its list is on both sides, and it learns from the clicks.
        rounds: at least 1, at most the environment's horizon.
        seed: seed of the reset: row b gets ``seed + b``, or its entry of a list.
        record_at: rounds to record in addition to about 20 a decade and the last one.
        progress: whether to show a bar if it takes more than two seconds; or a function that is called with the number
            of rounds played since its last call, several times a second.

    Returns:
        A ``History`` with one column a row; a ``DuelingHistory`` if actions are duels.

    Raises:
        ValueError: an argument does not fit, and nothing was played; or the agent's candidate is not an arm.
        RuntimeError: a wrapper ended an episode early.
        KeyboardInterrupt: Ctrl-C; a note says how many rounds the agent has learned from.

    Examples:
        >>> import gymnasium as gym, rankgym
        >>> from rankgym_agents import TopRank
        >>> env = gym.make_vec("rankgym/PBM-Yandex-v0", num_envs=3, query=[0, 1, 2], horizon=500)
        >>> agent = TopRank.for_env(env, seed=0)  # it gets the sizes and the horizon
        >>> history = rankgym.simulate(agent, env, rounds=500, seed=0, record_at=[250], progress=False)
        >>> history.rounds[-5:].tolist()
        [316, 355, 398, 447, 500]
        >>> history.at(250)["regret"].shape  # one number a row
        (3,)
    """
    game = Game(agent, env, rounds, record_at)
    game.reset(seed)

    def kept() -> str:
        done = f"{game.played:,} of {game.rounds:,} rounds were played and agent keeps what it learned"
        return f"{done}; their records are lost. rankgym.experiments.compare(..., out=FOLDER) can be resumed"

    bar = late_bar(progress, game.rounds, "simulate", lambda: rate_bar("rounds"))
    with when_interrupted(kept), bar as report:
        game.play(game.rounds, report)
    return game.history()

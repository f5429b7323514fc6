"""Cases to be timed, in groups whose members take turns, and the goals: what the bench measures, as literal data."""

import contextlib
import importlib.util
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium as gym
import numpy as np

from rankgym.arguments import ActionKind, action_kind
from rankgym.envs import UnknownRegret
from rankgym.experiments.bench.timing import (
    Case,
    Effort,
    time_game,
    time_simulation,
    time_single_steps,
    time_steps,
    timed,
)
from rankgym.wrappers import RecordRanking, RecordRegret, RecordSafety

Group = Callable[[contextlib.ExitStack], list[Case]]  # makes environments and agents; the stack closes them

MODELS = ("PBM", "CM", "DCM")  # the environments of agents and of single environments
STEPS = {  # environments whose vector steps are measured
    **{model: f"rankgym/{model}-Yandex-v0" for model in (*MODELS, "DBN", "UBM", "CCM", "DBM")},
    "PBM with breakpoints": "rankgym/PBM-Yandex-Breakpoint-v0",
}
LISTS = ("fixed list", "random lists")
RECORDINGS: dict[str, tuple[Any, ...]] = {
    "nothing": (),
    "regret": (RecordRegret,),
    "all": (RecordRanking, RecordSafety, RecordRegret),  # as simulate does
}
UNDRAWN_ROWS = (1, 600)
RENDER_MODES = (None, "rgb_array")  # of environments whose `render` is not called
AGENT_ROWS = 600
POSITIONS = 5  # of 10 items
HORIZON = 1_000_000  # the agents' argument
POOL = 16  # arrays of random lists that steps cycle through
CARTPOLE = "CartPole-v1"

DUEL_ROWS = 100
MATRIX, LISTS_DUEL, RANKERS_DUEL = "MSLR's matrix", "PBM, lists in team draft", "LETOR, probabilistic"
DUELS: dict[str, tuple[str, dict[str, Any]]] = {  # environments whose duels are measured: id, arguments
    MATRIX: ("rankgym/Dueling-MSLR-v0", {}),
    LISTS_DUEL: ("rankgym/Dueling-PBM-Yandex-v0", {"query": "all"}),
    RANKERS_DUEL: ("rankgym/Dueling-LETOR-v0", {"interleaving": "probabilistic", "num_documents": 10}),
}
LETOR_SHAPE = (15, 1000, 64)  # queries, documents of each, features: those of a fold of NP2004

TRAINING_ROWS = 256
ADAPTERS = ("RankingVecEnv", "DummyVecEnv")  # ours, and that of stable-baselines3 over single environments
SHOWN = ("clicks", "item statistics")  # to a policy
EPISODE = 1_000  # sessions, while PPO learns
LEARNING = {"n_steps": 16, "n_epochs": 2, "gamma": 0.9}  # few passes: the ratio is about the environments' share
MINIBATCHES = 4  # of a rollout, in each pass over it

# -- goals ------------------------------------------------------------------------------------------------------------

WAYS = {"steps": 0, "stretches": 1, "two threads": 2}  # of playing a game, and threads
STRETCH_ROWS = (1, 30, AGENT_ROWS)
STRETCH_GOALS = {  # stretches over steps, with as many rows as in STRETCH_ROWS
    ("toprank", "PBM"): (40.0, 5.0, 1.6),
    ("bubblerank", "PBM"): (40.0, 5.0, 1.6),
    ("cascade-kl-ucb", "CM"): (30.0, 3.0, 1.3),
}
STRETCH_GOAL, FAST_STRETCH_GOAL, THREADS_GOAL = 1.3, 3.0, 1.8  # other agents; some dueling agents; two threads over one
COSTLY_GOAL = 1.0  # of agents whose own work is most of a session
FASTEST, FAST_STRETCH = (("toprank", "PBM"), ("bubblerank", "PBM")), 15e6  # sessions a second
FAST_STRETCHES = ("mergerucb", "rucb", "mergedts")
STEPPED = ("cascade-swucb", "restarting")  # agents with an update of their own, which play no stretches

SLOW_AGENTS = ("batchrank", "ranked-exp3", "grab")
SAMPLERS = ("bayes-index", "bayes-thompson", "pbm-ts", "pb-mhb")  # whose posteriors or draws cost more than all else
COSTLY = (*SAMPLERS, "adaptive-index", "unirank", "grab", "versatile-db")
FAST_DUELERS = ("mergerucb", "rucb")
TRAINING_GOALS = {("adapter", shown): 20.0 for shown in SHOWN} | {("ppo",): 1.3}  # ours over the other


def goals() -> dict[str, tuple[tuple[Any, ...], float]]:
    """Return the project's goals, for 600 rows of rankings and 100 of duels: a case's key, and sessions a second."""
    from rankgym_agents import RANKERS

    agents = {(name, model): 0.5e6 if name in SLOW_AGENTS else 1e6 for model in ("PBM", "CM") for name in RANKERS}
    agents |= {(name, model): 0.1e6 for model in ("PBM", "CM") for name in SAMPLERS}
    agents |= {("adaptive-index", model): 0.04e6 for model in ("PBM", "CM")}  # a posterior for each kind of users
    agents |= {("toprank", "PBM"): 6e6, ("bubblerank", "PBM"): 6e6, ("cascade-kl-ucb", "CM"): 2.5e6}
    return {
        "PBM step, fixed list, regret recorded": (("step", "PBM", AGENT_ROWS, LISTS[0], "regret"), 15e6),
        "Duel step, MSLR's matrix, 100 rows": (("duel", MATRIX, "nothing"), 15e6),
        "Duel step, probabilistic interleaving of 10 documents, 100 rows": (("duel", RANKERS_DUEL, "nothing"), 0.5e6),
        **{f"{name} on {model}": (("agent", name, model), rate) for (name, model), rate in agents.items()},
        **{f"{name} on {MATRIX}": (("dueler", name), 1e6) for name in FAST_DUELERS},
        **{
            f"Stretches of {rows} rows, {name} on {model}": (("stretch", name, model, rows, "stretches"), FAST_STRETCH)
            for name, model, rows in stretch_goals()
            if (name, model) in FASTEST and rows == AGENT_ROWS
        },
    }


def stretch_goals() -> dict[tuple[str, str, int], float]:
    """Return the goals of stretches over steps: agent, click model or matrix, and rows, and the ratio."""
    from rankgym_agents import DUELERS, RANKERS

    wanted = {(*key, n): g for key, some in STRETCH_GOALS.items() for n, g in zip(STRETCH_ROWS, some, strict=True)}
    others = {(name, "PBM", AGENT_ROWS): STRETCH_GOAL for name in RANKERS if name not in STEPPED}
    duels = {(name, MATRIX, DUEL_ROWS): STRETCH_GOAL for name in DUELERS}
    fast = {(name, MATRIX, DUEL_ROWS): FAST_STRETCH_GOAL for name in FAST_STRETCHES}
    costly = {key: COSTLY_GOAL for key in (*others, *duels) if key[0] in COSTLY}
    return {**others, **wanted, **duels, **fast, **costly}


def timed_in_threads(name: str, kind: str, rows: int) -> bool:
    """Whether two threads are timed, too."""
    return (name, kind) in STRETCH_GOALS and rows == AGENT_ROWS and (os.cpu_count() or 1) > 1


# -- groups ------------------------------------------------------------------------------------------------------------


def groups(sizes: Sequence[int], effort: Effort, letor: Path | None) -> list[Group]:
    """Return all groups of cases; the cases of a group take turns."""
    training: list[Group] = [*(partial(_adapters, shown) for shown in SHOWN), _learners] if can_train() else []
    return [
        _singles,
        *(partial(_steps, size) for size in sizes),
        *(partial(_undrawn, rows) for rows in UNDRAWN_ROWS if can_draw()),
        *(partial(_agents, model, effort) for model in MODELS),
        partial(_duels, letor),
        partial(_duelers, effort),
        *(partial(_stretches, kind, name, rows, effort) for name, kind, rows in stretch_goals()),
        *training,
    ]


def number_of_cases(sizes: Sequence[int]) -> int:
    """Return the number of cases in all groups, without making them."""
    from rankgym_agents import DUELERS, RANKERS

    steps, rankers = len(STEPS) * len(LISTS) * len(RECORDINGS) + 1, (1 + len(RANKERS)) * len(MODELS) + 1
    training = len(TRAINING_GOALS) * len(ADAPTERS) if can_train() else 0
    stretches = 2 * len(stretch_goals()) + sum(timed_in_threads(*goal) for goal in stretch_goals())
    undrawn = len(UNDRAWN_ROWS) * len(RENDER_MODES) if can_draw() else 0
    return len(sizes) * steps + undrawn + rankers + 2 * len(DUELS) + len(DUELERS) + stretches + training


def can_train() -> bool:
    """Whether stable-baselines3 is installed."""
    return all(importlib.util.find_spec(name) is not None for name in ("stable_baselines3", "torch"))


def can_draw() -> bool:
    """Whether Pillow is installed."""
    return importlib.util.find_spec("PIL") is not None


# -- rankings ---------------------------------------------------------------------------------------------------------


def _singles(opened: contextlib.ExitStack) -> list[Case]:
    """Single environments through ``gym.make``, with random lists, and CartPole with random actions."""
    rng = np.random.default_rng(0)
    lists = [rng.permutation(10)[:POSITIONS] for _ in range(POOL)]
    pushes = rng.integers(0, 2, POOL).tolist()
    played: dict[str, Any] = {model: (gym.make(STEPS[model], num_positions=POSITIONS), lists) for model in MODELS}
    played[CARTPOLE] = (gym.make(CARTPOLE), pushes)
    plays = {name: time_single_steps(_kept_open(opened, env), actions) for name, (env, actions) in played.items()}
    return [Case(("single", name), 1, play) for name, play in plays.items()]


def _steps(rows: int, opened: contextlib.ExitStack) -> list[Case]:
    """Each environment's vector step, with each kind of lists and recording, and CartPole's."""
    rng = np.random.default_rng(0)
    pool = _random_lists(rng, rows)
    lists = {"fixed list": pool[:1], "random lists": pool}
    cases = []
    for model in STEPS:
        for kind in LISTS:
            bare = _kept_open(opened, _ranking_env(model, rows))
            bare.reset(seed=0)
            for recording in RECORDINGS:
                play = time_steps(_recorded(bare, recording), lists[kind])
                cases.append(Case(("step", model, rows, kind, recording), rows, play))
    cartpole = _kept_open(opened, gym.make_vec(CARTPOLE, num_envs=rows, vectorization_mode="vector_entry_point"))
    cartpole.reset(seed=0)
    actions = [rng.integers(0, 2, rows) for _ in range(POOL)]
    return [*cases, Case(("cartpole", rows), rows, time_steps(cartpole, actions))]


def _undrawn(rows: int, opened: contextlib.ExitStack) -> list[Case]:
    """Steps with and without a render mode, when nothing is rendered; of one row as a single environment."""
    cases, lists = [], _random_lists(np.random.default_rng(0), rows)
    for mode in RENDER_MODES:
        shared: dict[str, Any] = {"num_positions": POSITIONS, "render_mode": mode}
        if rows == 1:
            env: Any = _kept_open(opened, gym.make(STEPS["PBM"], **shared))
            play = time_single_steps(env, [ranking[0] for ranking in lists])
        else:
            env = _kept_open(opened, gym.make_vec(STEPS["PBM"], num_envs=rows, query="all", horizon=None, **shared))
            env.reset(seed=0)
            play = time_steps(env, lists)
        cases.append(Case(("undrawn", "PBM", rows, str(mode)), rows, play))
    return cases


def _agents(model: str, effort: Effort, opened: contextlib.ExitStack) -> list[Case]:
    """Each ranking agent through ``simulate``, after it has learned for a while."""
    from rankgym_agents import RANKERS

    cases = []
    for name, cls in RANKERS.items():
        env = _kept_open(opened, _ranking_env(model, AGENT_ROWS))
        play = time_simulation(cls.for_env(env, horizon=HORIZON, seed=0), env)
        play(effort.learning)
        cases.append(Case(("agent", name, model), AGENT_ROWS, play))
    return cases


def _kept_open(opened: contextlib.ExitStack, env: Any) -> Any:
    """Return ``env``; it is closed with ``opened``."""
    return opened.enter_context(contextlib.closing(env))


def _ranking_env(model: str, rows: int) -> Any:
    return gym.make_vec(STEPS[model], num_envs=rows, query="all", num_positions=POSITIONS, horizon=None)


def _random_lists(rng: np.random.Generator, rows: int) -> list[Any]:
    return [np.argsort(rng.random((rows, 10)), axis=1)[:, :POSITIONS].copy() for _ in range(POOL)]


def _recorded(bare: Any, recording: str) -> Any:
    """Wrap ``bare`` in the wrappers of a recording, and reset it."""
    env = bare
    for wrapper in RECORDINGS[recording]:
        env = wrapper(env)
    env.reset()
    return env


# -- duels ------------------------------------------------------------------------------------------------------------


def _duels(letor: Path | None, opened: contextlib.ExitStack) -> list[Case]:
    """The step of each dueling environment with random pairs, with and without its regret recorded."""
    rng = np.random.default_rng(0)
    letor = letor or opened.enter_context(_synthetic_letor())
    rows, cases = DUEL_ROWS, []
    for label, (name, arguments) in DUELS.items():
        given: dict[str, Any] = {**arguments, "file": str(letor)} if label == RANKERS_DUEL else arguments
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnknownRegret)  # NaN takes as long as a number
            bare = _kept_open(opened, gym.make_vec(name, num_envs=rows, horizon=None, **given))
        bare.reset(seed=0)
        pool = [_random_duel(rng, bare.unwrapped) for _ in range(POOL)]
        for recording in ("nothing", "regret"):
            cases.append(Case(("duel", label, recording), rows, time_steps(_recorded(bare, recording), pool)))
    return cases


def _random_duel(rng: np.random.Generator, bare: Any) -> dict[str, Any]:
    if action_kind(bare) is ActionKind.DUEL_OF_ARMS:
        return {side: rng.integers(0, bare.num_arms, DUEL_ROWS) for side in ("left", "right")}
    items = rng.permuted(np.tile(np.arange(bare.num_items), (2, DUEL_ROWS, 1)), axis=2)[:, :, : bare.num_positions]
    return {side: np.ascontiguousarray(lists) for side, lists in zip(("left", "right"), items, strict=True)}


def _duelers(effort: Effort, opened: contextlib.ExitStack) -> list[Case]:
    """Each dueling agent through ``simulate`` on all 136 arms, after it has learned for a while.

    Candidates are not recorded: a short slice would ask for them in every third round, a long run in hardly any.
    """
    from rankgym_agents import DUELERS

    cases = []
    for name, cls in DUELERS.items():
        env = _kept_open(opened, gym.make_vec(DUELS[MATRIX][0], num_envs=DUEL_ROWS, horizon=None))
        agent: Any = cls.for_env(env, horizon=HORIZON, seed=0)
        play = time_simulation(SimpleNamespace(act=agent.act, update=agent.update, num_envs=DUEL_ROWS), env)
        play(effort.learning)
        cases.append(Case(("dueler", name), DUEL_ROWS, play))
    return cases


@contextlib.contextmanager
def _synthetic_letor() -> Iterator[Path]:
    """Write a temporary LETOR file, and read it into a temporary data cache."""
    home = os.environ.get("RANKGYM_DATA_HOME")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "synthetic.txt"
        write_letor(path, *LETOR_SHAPE)
        os.environ["RANKGYM_DATA_HOME"] = folder
        try:
            yield path
        finally:
            del os.environ["RANKGYM_DATA_HOME"]
            if home is not None:
                os.environ["RANKGYM_DATA_HOME"] = home


def write_letor(path: Path, queries: int, documents: int, features: int, seed: int = 0) -> None:
    """Write a synthetic LETOR file: one relevant document a query, whose features are larger, with noise."""
    rng = np.random.default_rng(seed)
    skill = np.linspace(0.5, 3.0, features)
    with path.open("w", encoding="utf-8") as file:
        for query in range(1, queries + 1):
            relevant = rng.integers(documents)
            for document in range(documents):
                values = np.round(rng.normal(size=features) + skill * (document == relevant), 3).tolist()
                words = " ".join(f"{number}:{value}" for number, value in enumerate(values, 1))
                file.write(f"{int(document == relevant)} qid:{query} {words} # {document}\n")


# -- stretches --------------------------------------------------------------------------------------------------------


def _stretches(kind: str, name: str, rows: int, effort: Effort, opened: contextlib.ExitStack) -> list[Case]:
    """One long game of an agent: step by step, in stretches, and in stretches by two threads if there are as many."""
    from rankgym_agents import AGENTS

    cases = []
    for way, threads in WAYS.items():
        if threads < 2 or timed_in_threads(name, kind, rows):
            bare = gym.make_vec(DUELS[MATRIX][0], num_envs=rows, horizon=None) if kind == MATRIX else None
            env = _kept_open(opened, _ranking_env(kind, rows) if bare is None else bare)
            play = time_game(AGENTS[name].for_env(env, horizon=HORIZON, seed=0), env, threads)
            play(effort.learning)
            cases.append(Case(("stretch", name, kind, rows, way), rows, play))
    return cases


# -- training ---------------------------------------------------------------------------------------------------------


def _adapters(shown: str, opened: contextlib.ExitStack) -> list[Case]:
    """Steps of both adapters to stable-baselines3 with the same random lists."""
    rows, cases = TRAINING_ROWS, []
    pool = _random_lists(np.random.default_rng(0), rows)
    for adapter in ADAPTERS:
        env = _kept_open(opened, _adapter(adapter, shown, None))
        env.seed(0)
        env.reset()
        cases.append(Case(("adapter", shown, adapter), rows, time_steps(env, pool)))
    return cases


def _adapter(adapter: str, shown: str, horizon: int | None) -> Any:
    """Make rows that cycle through all queries, as an environment of stable-baselines3."""
    from stable_baselines3.common.vec_env import DummyVecEnv

    from rankgym.sb3.vec_env import RankingVecEnv
    from rankgym.wrappers.observations import ItemStatistics

    def wrapped(env: Any) -> Any:
        return env if shown == "clicks" else ItemStatistics(env)

    def single(row: int) -> Any:
        return wrapped(gym.make(name, query=row % queries, **shared))

    name, rows = STEPS["PBM"], TRAINING_ROWS
    shared: Any = {"num_positions": POSITIONS, "horizon": horizon}
    native: Any = gym.make_vec(name, num_envs=rows, query="all", autoreset_mode="Disabled", **shared)
    queries = len(native.unwrapped.pool)
    if adapter == ADAPTERS[0]:
        return RankingVecEnv(wrapped(native))
    return DummyVecEnv([partial(single, row) for row in range(rows)])


def _learners(opened: contextlib.ExitStack) -> list[Case]:
    """``PPO.learn`` over both adapters, with the same policy and settings, in one thread; a step is a rollout."""
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.logger import Logger

    from rankgym.sb3.plackett_luce import PlackettLucePolicy

    opened.callback(torch.set_num_threads, torch.get_num_threads())
    torch.set_num_threads(1)
    rollout = int(LEARNING["n_steps"]) * TRAINING_ROWS
    settings: Any = {**LEARNING, "batch_size": rollout // MINIBATCHES}
    cases = []
    for adapter in ADAPTERS:
        env = _kept_open(opened, _adapter(adapter, "item statistics", EPISODE))
        model = PPO(PlackettLucePolicy, env, seed=0, device="cpu", **settings)
        model.set_logger(Logger(folder=None, output_formats=[]))  # the default one leaves a folder behind
        learn = partial(lambda model, number: model.learn(number * rollout, reset_num_timesteps=False), model)
        cases.append(Case(("ppo", adapter), rollout, timed(learn)))
    return cases

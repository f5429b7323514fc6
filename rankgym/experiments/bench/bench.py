"""Speed: sessions, or duels, per second through the public interface, on one core.

Cases that are compared take turns, A B C A B C, for short slices, and each has the median of its slices: a machine that
slows down meanwhile slows all of them. Nothing but the steps is timed, neither resets nor the drawing of lists.
"""

from __future__ import annotations

import contextlib
import importlib.util
import itertools
import json
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import gymnasium as gym
import numpy as np

from rankgym.arguments import ActionKind, action_kind, whole_number
from rankgym.outputs import atomic_path, check_writable, versions
from rankgym.play.simulate import simulate
from rankgym.progress import count_bar
from rankgym.wrappers import RecordRanking, RecordRegret, RecordSafety

if TYPE_CHECKING:
    from rich.text import Text

__all__ = ["check_out", "goals", "measure", "tables", "write", "write_letor"]

MODELS = ("PBM", "CM", "DCM")  # on which agents and single environments are measured
STEPS = {  # and, besides them, the environments whose steps are
    **{model: f"rankgym/{model}-Yandex-v0" for model in (*MODELS, "DBN", "UBM", "CCM", "DBM")},
    "PBM with breakpoints": "rankgym/PBM-Yandex-Breakpoint-v0",
}
LISTS = ("fixed list", "random lists")
RECORDINGS: dict[str, tuple[Any, ...]] = {
    "nothing": (),
    "regret": (RecordRegret,),
    "all": (RecordRanking, RecordSafety, RecordRegret),  # as simulate does
}
AGENT_ROWS = 600
POSITIONS = 5  # of 10 items
HORIZON = 1_000_000  # that agents are told
POOL = 16  # arrays of random lists that steps cycle through
CARTPOLE = "CartPole-v1"
ABREAST = 5  # batch sizes beside each other in a table
BUSY = 0.9  # of a core: with less than this, somebody else was at work

SLOWER = ("batchrank", "ranked-exp3")

DUEL_ROWS = 100
MATRIX, LISTS_DUEL, RANKERS_DUEL = "MSLR's matrix", "PBM, lists in team draft", "LETOR, probabilistic"
DUELS: dict[str, tuple[str, dict[str, Any]]] = {  # environments whose duels are measured: id, arguments
    MATRIX: ("rankgym/Dueling-MSLR-v0", {}),
    LISTS_DUEL: ("rankgym/Dueling-PBM-Yandex-v0", {"query": "all"}),
    RANKERS_DUEL: ("rankgym/Dueling-LETOR-v0", {"interleaving": "probabilistic", "num_documents": 10}),
}
FAST_DUELERS = ("mergerucb", "rucb")
LETOR_SHAPE = (15, 1000, 64)  # queries, documents of each, features: those of a fold of NP2004

TRAINING_ROWS = 256
ADAPTERS = ("RankingVecEnv", "DummyVecEnv")  # ours, and that of stable-baselines3 over single environments
SHOWN = ("clicks", "item statistics")  # what a policy is shown
EPISODE = 1_000  # sessions, while PPO learns
LEARNING = {
    "n_steps": 16,
    "n_epochs": 2,
    "gamma": 0.9,
}  # the ratio is about the environments' share: fewer passes, more of it
MINIBATCHES = 4  # of a rollout, in each pass over it
TRAINING_GOALS = {("adapter", shown): 20.0 for shown in SHOWN} | {("ppo",): 1.3}  # ours over the other
NO_TRAINING = "Training was not measured: stable-baselines3 is not installed (pip install rankgym[sb3])"


def goals() -> dict[str, tuple[tuple[Any, ...], float]]:
    """The project's goals, for 600 rows of rankings and 100 of duels: what is measured, and sessions a second."""
    from rankgym_agents import RANKERS

    agents = {(name, model): 0.5e6 if name in SLOWER else 1e6 for model in ("PBM", "CM") for name in RANKERS}
    agents |= {("toprank", "PBM"): 6e6, ("bubblerank", "PBM"): 6e6, ("cascade-kl-ucb", "CM"): 2.5e6}
    wanted: dict[str, tuple[tuple[Any, ...], float]] = {
        "PBM step, fixed list, regret recorded": (("step", "PBM", AGENT_ROWS, LISTS[0], "regret"), 15e6),
        "Duel step, MSLR's matrix, 100 rows": (("duel", MATRIX, "nothing"), 15e6),
        "Duel step, probabilistic interleaving of 10 documents, 100 rows": (("duel", RANKERS_DUEL, "nothing"), 0.5e6),
    }
    wanted |= {f"{name} on {model}": (("agent", name, model), rate) for (name, model), rate in agents.items()}
    return wanted | {f"{name} on {MATRIX}": (("dueler", name), 1e6) for name in FAST_DUELERS}


class Case(NamedTuple):
    """Something to be timed."""

    key: tuple[Any, ...]
    rows: int
    play: Callable[[int], float]  # plays so many steps and returns the seconds that they took


class Effort(NamedTuple):
    """How long to measure."""

    turns: int  # slices of every case
    slice: float  # seconds each
    learning: int  # rounds that agents learn before they are timed


THOROUGH = Effort(turns=9, slice=0.03, learning=3_000)
QUICK = Effort(turns=3, slice=0.01, learning=300)


def measure(
    rows: Sequence[int] = (1, 64, 600, 6000),
    *,
    quick: bool = False,
    letor: Path | None = None,
    progress: bool = True,
) -> dict[str, Any]:
    """Measure everything once.

    Args:
        rows: batch sizes of the ranking environments' steps; 600 is added, for the goals are at 600.
        quick: shorter slices, and fewer.
        letor: a LETOR file, to interleave its rankers. Default: a synthetic one, of the shape of NP2004's.
        progress: show a bar on standard error.

    Returns:
        Plain JSON values: ``machine``; ``measured``: a list of dicts, each with ``what`` ("step", "agent", "single",
        "cartpole", "duel", "dueler", and where stable-baselines3 is installed "adapter" and "ppo"), its particulars,
        ``sessions_per_second`` (the median) and ``low`` and ``high``; ``ratios``: a dict of numbers; ``goals`` and
        ``ratio_goals``: lists of dicts.

    Raises:
        ValueError: a batch size is out of range, or the file is none.
    """
    if letor is not None and not Path(letor).is_file():
        raise ValueError(f"letor = {str(letor)!r} is not there; allowed: a file in the format of LETOR")
    sizes = sorted({whole_number("rows", size, 1, 1_000_000) for size in rows} | {AGENT_ROWS})
    effort = QUICK if quick else THOROUGH
    groups: list[Callable[[], contextlib.AbstractContextManager[list[Case]]]] = [_singles]
    groups += [lambda size=size: _steps(size) for size in sizes]  # type: ignore[misc]
    groups += [lambda model=model: _agents(model, effort) for model in MODELS]  # type: ignore[misc]
    groups += [lambda: _duels(letor), lambda: _duelers(effort)]
    if can_train():
        groups += [lambda shown=shown: _adapters(shown) for shown in SHOWN]  # type: ignore[misc]
        groups.append(_learners)
    medians: dict[tuple[Any, ...], float] = {}
    fastest: dict[tuple[Any, ...], float] = {}
    measured = []
    wall, worked = time.perf_counter(), time.process_time()
    with count_bar("measurements") if progress else contextlib.nullcontext() as bar:
        task = bar.add_task("bench", total=_number_of_cases(sizes) * (effort.turns + 1)) if bar is not None else None
        for group in groups:
            with group() as cases:
                for case, rates in side_by_side(cases, effort, lambda: bar.advance(task) if bar is not None else None):
                    medians[case.key], fastest[case.key] = statistics.median(rates), max(rates)
                    measured.append(_described(case, rates))
    share = (time.process_time() - worked) / (time.perf_counter() - wall)
    return {
        "machine": {"cpu": _cpu(), "cores": os.cpu_count(), "share_of_a_core": share, **versions()},
        "setting": {"items": 10, "positions": POSITIONS, "quick": quick, "turns": effort.turns, "slice": effort.slice},
        "measured": measured,
        "ratios": _ratios(medians, sizes),
        "ratio_goals": [
            {"goal": name, "wanted": wanted, "measured": ratio, "met": ratio >= wanted}
            for name, (ratio, wanted) in _training_ratios(medians).items()
        ],
        "goals": [
            {
                "goal": name,
                "wanted": wanted,
                "measured": medians[key],
                "fastest": fastest[key],
                "met": medians[key] >= wanted,
            }
            for name, (key, wanted) in goals().items()
        ],
    }


def _number_of_cases(sizes: Sequence[int]) -> int:
    from rankgym_agents import DUELERS, RANKERS

    singles, agents = len(MODELS) + 1, len(RANKERS) * len(MODELS)
    duels = 2 * len(DUELS) + len(DUELERS)
    training = len(TRAINING_GOALS) * len(ADAPTERS) if can_train() else 0
    return singles + agents + duels + training + len(sizes) * (len(STEPS) * len(LISTS) * len(RECORDINGS) + 1)


def side_by_side(
    cases: Sequence[Case], effort: Effort, tell: Callable[[], None] = lambda: None
) -> list[tuple[Case, list[float]]]:
    """The rates (sessions a second) of all slices of each case, measured in turns; ``tell`` is called after each."""
    steps = []
    for case in cases:
        steps.append(_calibrated(case, effort.slice))
        tell()
    rates: list[list[float]] = [[] for _ in cases]
    for _ in range(effort.turns):
        for case, count, found in zip(cases, steps, rates, strict=True):
            found.append(count * case.rows / max(case.play(count), 1e-9))
            tell()
    return list(zip(cases, rates, strict=True))


def _calibrated(case: Case, slice: float) -> int:
    """How many steps fill a slice; the first ones compile what is not compiled yet."""
    case.play(2)
    count = 1
    while (seconds := case.play(count)) < slice / 4:
        count *= 2
    return max(1, round(count * slice / seconds))


# -- what is timed ----------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _steps(rows: int) -> Iterator[list[Case]]:
    """Each environment's vector step, with each kind of lists and recording; CartPole's beside them."""
    rng = np.random.default_rng(0)
    pool = [np.argsort(rng.random((rows, 10)), axis=1)[:, :POSITIONS].copy() for _ in range(POOL)]
    lists = {"fixed list": pool[:1], "random lists": pool}
    with contextlib.ExitStack() as opened:
        cases = []
        for model in STEPS:
            for kind in LISTS:
                bare = opened.enter_context(contextlib.closing(_ranking_env(model, rows)))
                bare.reset(seed=0)
                for recording, wrappers in RECORDINGS.items():
                    env = bare
                    for wrapper in wrappers:
                        env = wrapper(env)
                    env.reset()
                    cases.append(Case(("step", model, rows, kind, recording), rows, _stepper(env, lists[kind])))
        cartpole = gym.make_vec(CARTPOLE, num_envs=rows, vectorization_mode="vector_entry_point")
        opened.enter_context(contextlib.closing(cartpole))
        cartpole.reset(seed=0)
        actions = [rng.integers(0, 2, rows) for _ in range(POOL)]
        cases.append(Case(("cartpole", rows), rows, _stepper(cartpole, actions)))
        yield cases


def _ranking_env(model: str, rows: int) -> Any:
    return gym.make_vec(STEPS[model], num_envs=rows, query="all", num_positions=POSITIONS, horizon=None)


def _stepper(env: Any, actions: Sequence[Any]) -> Callable[[int], float]:
    def play(steps: int) -> float:
        start = time.perf_counter()
        for number in range(steps):
            env.step(actions[number % len(actions)])
        return time.perf_counter() - start

    return play


@contextlib.contextmanager
def _agents(model: str, effort: Effort) -> Iterator[list[Case]]:
    """Each ranking agent through ``simulate``, after it has learned for a while."""
    from rankgym_agents import RANKERS

    with contextlib.ExitStack() as opened:
        cases = []
        for name, cls in RANKERS.items():
            env = opened.enter_context(contextlib.closing(_ranking_env(model, AGENT_ROWS)))
            agent = cls.for_env(env, horizon=HORIZON, seed=0)
            play = _simulator(agent, env)
            play(effort.learning)
            cases.append(Case(("agent", name, model), AGENT_ROWS, play))
        yield cases


@contextlib.contextmanager
def _duels(letor: Path | None) -> Iterator[list[Case]]:
    """The step of each dueling environment with random pairs, with and without its regret recorded."""
    rng = np.random.default_rng(0)
    with contextlib.ExitStack() as opened:
        if letor is None:
            letor = opened.enter_context(_synthetic_letor())
        cases = []
        for label, (name, arguments) in DUELS.items():
            given: dict[str, Any] = {**arguments, "file": str(letor)} if label == RANKERS_DUEL else arguments
            made: Any = gym.make_vec(name, num_envs=DUEL_ROWS, horizon=None, **given)
            bare = opened.enter_context(contextlib.closing(made))
            bare.reset(seed=0)
            pool = [_random_duel(rng, bare.unwrapped) for _ in range(POOL)]
            for recording in ("nothing", "regret"):
                env: Any = bare
                for wrapper in RECORDINGS[recording]:
                    env = wrapper(env)
                env.reset()
                cases.append(Case(("duel", label, recording), DUEL_ROWS, _stepper(env, pool)))
        yield cases


def _random_duel(rng: np.random.Generator, bare: Any) -> dict[str, Any]:
    if action_kind(bare) is ActionKind.DUEL_OF_ARMS:
        return {side: rng.integers(0, bare.num_arms, DUEL_ROWS) for side in ("left", "right")}
    items = rng.permuted(np.tile(np.arange(bare.num_items), (2, DUEL_ROWS, 1)), axis=2)[:, :, : bare.num_positions]
    return {side: np.ascontiguousarray(lists) for side, lists in zip(("left", "right"), items, strict=True)}


@contextlib.contextmanager
def _synthetic_letor() -> Iterator[Path]:
    """A file that is there as long as the context, and so is the data cache that it is read into."""
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
    """Write a synthetic LETOR file: one relevant document a query, and features that are noisy looks at it."""
    rng = np.random.default_rng(seed)
    skill = np.linspace(0.5, 3.0, features)
    with path.open("w", encoding="utf-8") as file:
        for query in range(1, queries + 1):
            relevant = rng.integers(documents)
            for document in range(documents):
                values = np.round(rng.normal(size=features) + skill * (document == relevant), 3).tolist()
                words = " ".join(f"{number}:{value}" for number, value in enumerate(values, 1))
                file.write(f"{int(document == relevant)} qid:{query} {words} # {document}\n")


@contextlib.contextmanager
def _duelers(effort: Effort) -> Iterator[list[Case]]:
    """Each dueling agent through ``simulate`` on all 136 arms, after it has learned for a while.

    Candidates are not asked for: a short slice would do so in every third round, a long run does it in hardly any.
    """
    from rankgym_agents import DUELERS

    with contextlib.ExitStack() as opened:
        cases = []
        for name, cls in DUELERS.items():
            made: Any = gym.make_vec(DUELS[MATRIX][0], num_envs=DUEL_ROWS, horizon=None)
            env = opened.enter_context(contextlib.closing(made))
            agent: Any = cls.for_env(env, horizon=HORIZON, seed=0)
            nameless = SimpleNamespace(act=agent.act, update=agent.update, num_envs=DUEL_ROWS)
            play = _simulator(nameless, env)
            play(effort.learning)
            cases.append(Case(("dueler", name), DUEL_ROWS, play))
        yield cases


def _simulator(agent: Any, env: Any) -> Callable[[int], float]:
    def play(rounds: int) -> float:
        news = [0.0]  # the time of the first call is that of the first round's end: the reset is over then

        def tell(played: int) -> None:
            news[1:] = [time.perf_counter()]
            news[0] = news[0] or news[1]

        simulate(agent, env, rounds + 1, seed=0, progress=tell)
        return news[1] - news[0]

    return play


@contextlib.contextmanager
def _singles() -> Iterator[list[Case]]:
    """Single environments through ``gym.make``, with random lists, and CartPole with random actions."""
    rng = np.random.default_rng(0)
    lists = [rng.permutation(10)[:POSITIONS] for _ in range(POOL)]
    pushes = rng.integers(0, 2, POOL).tolist()
    with contextlib.ExitStack() as opened:
        cases = []
        for model in MODELS:
            env = opened.enter_context(
                contextlib.closing(gym.make(f"rankgym/{model}-Yandex-v0", num_positions=POSITIONS))
            )
            cases.append(Case(("single", model), 1, _single_stepper(env, lists)))
        cartpole = opened.enter_context(contextlib.closing(gym.make(CARTPOLE)))
        cases.append(Case(("single", CARTPOLE), 1, _single_stepper(cartpole, pushes)))
        yield cases


def _single_stepper(env: Any, actions: Sequence[Any]) -> Callable[[int], float]:
    """Steps of one environment; its resets are not timed."""
    env.reset(seed=0)

    def play(steps: int) -> float:
        seconds, number = 0.0, 0
        while number < steps:
            over = False
            start = time.perf_counter()
            while number < steps and not over:
                _, _, terminated, truncated, _ = env.step(actions[number % len(actions)])
                over = terminated or truncated
                number += 1
            seconds += time.perf_counter() - start
            if over:
                env.reset()
        return seconds

    return play


def can_train() -> bool:
    """Whether stable-baselines3 is installed."""
    return all(importlib.util.find_spec(name) is not None for name in ("stable_baselines3", "torch"))


@contextlib.contextmanager
def _adapters(shown: str) -> Iterator[list[Case]]:
    """Steps of both adapters to stable-baselines3 with the same random lists."""
    rng = np.random.default_rng(0)
    pool = [np.argsort(rng.random((TRAINING_ROWS, 10)), axis=1)[:, :POSITIONS].copy() for _ in range(POOL)]
    with contextlib.ExitStack() as opened:
        cases = []
        for adapter in ADAPTERS:
            env = opened.enter_context(contextlib.closing(_adapter(adapter, shown, None)))
            env.seed(0)
            env.reset()
            cases.append(Case(("adapter", shown, adapter), TRAINING_ROWS, _stepper(env, pool)))
        yield cases


def _adapter(adapter: str, shown: str, horizon: int | None) -> Any:
    """Rows that cycle through all queries, as an environment of stable-baselines3."""
    from stable_baselines3.common.vec_env import DummyVecEnv

    from rankgym.sb3.vec_env import RankingVecEnv
    from rankgym.wrappers.observations import ItemStatistics

    def wrapped(env: Any) -> Any:
        return env if shown == "clicks" else ItemStatistics(env)

    def single(row: int) -> Any:
        return wrapped(gym.make(name, query=row % queries, num_positions=POSITIONS, horizon=horizon))

    name, rows = STEPS["PBM"], TRAINING_ROWS
    native: Any = gym.make_vec(
        name, num_envs=rows, query="all", num_positions=POSITIONS, horizon=horizon, autoreset_mode="Disabled"
    )
    queries = len(native.unwrapped.pool)
    if adapter == ADAPTERS[0]:
        return RankingVecEnv(wrapped(native))
    return DummyVecEnv([lambda row=row: single(row) for row in range(rows)])  # type: ignore[misc]


@contextlib.contextmanager
def _learners() -> Iterator[list[Case]]:
    """``PPO.learn`` over both adapters, with the same policy and settings, in one thread; a step is a rollout."""
    import torch
    from stable_baselines3 import PPO

    from rankgym.sb3.plackett_luce import PlackettLucePolicy

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    rollout = int(LEARNING["n_steps"]) * TRAINING_ROWS
    settings: dict[str, Any] = {**LEARNING, "batch_size": rollout // MINIBATCHES}
    try:
        with contextlib.ExitStack() as opened:
            cases = []
            for adapter in ADAPTERS:
                env = opened.enter_context(contextlib.closing(_adapter(adapter, "item statistics", EPISODE)))
                model = PPO(PlackettLucePolicy, env, seed=0, device="cpu", **settings)
                cases.append(Case(("ppo", adapter), rollout, _learner(model, rollout)))
            yield cases
    finally:
        torch.set_num_threads(threads)


def _learner(model: Any, rollout: int) -> Callable[[int], float]:
    def play(rollouts: int) -> float:
        start = time.perf_counter()
        model.learn(rollouts * rollout, reset_num_timesteps=False)
        return time.perf_counter() - start

    return play


# -- what came out ----------------------------------------------------------------------------------------------------


def _described(case: Case, rates: list[float]) -> dict[str, Any]:
    names = {
        "step": ("what", "model", "rows", "lists", "recording"),
        "agent": ("what", "agent", "model"),
        "single": ("what", "model"),
        "cartpole": ("what", "rows"),
        "duel": ("what", "environment", "recording"),
        "dueler": ("what", "agent"),
        "adapter": ("what", "shown", "adapter"),
        "ppo": ("what", "adapter"),
    }[case.key[0]]
    return {
        **dict(zip(names, case.key, strict=True)),
        "rows": case.rows,
        "sessions_per_second": statistics.median(rates),
        "low": min(rates),
        "high": max(rates),
    }


def _ratios(medians: dict[tuple[Any, ...], float], sizes: Sequence[int]) -> dict[str, float]:
    ratios = {f"single {m} / {CARTPOLE}": medians["single", m] / medians["single", CARTPOLE] for m in MODELS}
    for rows in sizes:
        name = f"{rows:,} {'row' if rows == 1 else 'rows'}"
        for kind in LISTS:
            step = medians["step", "PBM", rows, kind, "nothing"]
            ratios[f"PBM step, {kind} / {CARTPOLE} native vector, {name}"] = step / medians["cartpole", rows]
    for recording in ("regret", "all"):
        bare, recorded = (medians["step", "PBM", AGENT_ROWS, LISTS[0], r] for r in ("nothing", recording))
        ratios[f"PBM step, fixed list, recording {recording} / nothing, {AGENT_ROWS} rows"] = recorded / bare
    for kind in LISTS:
        still, moving = (medians["step", m, AGENT_ROWS, kind, "all"] for m in ("PBM", "PBM with breakpoints"))
        ratios[f"PBM step, {kind}, all recorded, with breakpoints / without, {AGENT_ROWS} rows"] = moving / still
    return ratios | {name: ratio for name, (ratio, _) in _training_ratios(medians).items()}


def _training_ratios(medians: dict[tuple[Any, ...], float]) -> dict[str, tuple[float, float]]:
    """How many times as fast our adapter is, and is to be; nothing where that was not measured."""
    ratios = {}
    for key, wanted in TRAINING_GOALS.items():
        ours, theirs = (medians.get((*key, adapter)) for adapter in ADAPTERS)
        if ours is not None and theirs is not None:
            ratios[f"{_trained(key)}, {' / '.join(ADAPTERS)}, {TRAINING_ROWS} rows"] = (ours / theirs, wanted)
    return ratios


def _trained(key: tuple[Any, ...]) -> str:
    return "PPO.learn, Plackett-Luce policy" if key[0] == "ppo" else f"PBM step, {key[1]} shown"


def _cpu() -> str:
    """The processor's name, where the system tells it."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def tables(report: dict[str, Any]) -> Iterator[Any]:
    """``report`` as rich tables."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    def table(*heads: str) -> Table:
        """The first column gives way on a narrow terminal; nothing is cut."""
        made = Table(box=SIMPLE_HEAD, pad_edge=False)
        for number, head in enumerate(heads):
            made.add_column(head, justify="left" if number == 0 else "right", overflow="fold", vertical="bottom")
        return made

    found = {
        tuple(entry[name] for name in entry if name not in ("sessions_per_second", "low", "high")): entry
        for entry in report["measured"]
    }
    rates = {key: entry["sessions_per_second"] for key, entry in found.items()}
    sizes = sorted({key[2] for key in rates if key[0] == "step"})
    machine = report["machine"]
    yield Text(
        f"{machine['cpu']}, one core; rankgym {machine['rankgym']}, numba {machine['numba']}; 10 items, 5 positions"
    )

    yield Text("Environment steps, sessions a second", "bold")
    for some in (sizes[start : start + ABREAST] for start in range(0, len(sizes), ABREAST)):
        steps = table("rows", *(f"{size:,}" for size in some))
        for model in STEPS:
            for kind in LISTS:
                for recording in RECORDINGS:
                    name = f"{model}, {kind}" + ("" if recording == "nothing" else f", {recording} recorded")
                    values = [rates["step", model, size, kind, recording] for size in some]
                    steps.add_row(name, *map(_rate, values), end_section=recording == "all" and kind == LISTS[-1])
        steps.add_row(f"{CARTPOLE}, native vector", *(_rate(rates["cartpole", size]) for size in some))
        yield steps

    goals = {goal["goal"]: goal for goal in report["goals"]}
    text = f"Agents through rankgym.simulate, {AGENT_ROWS} rows, all recorded, sessions a second; the project's own"
    yield Text(f"{text} goals beside them", "bold")
    with_goals = [model for model in MODELS if any(name.endswith(f" on {model}") for name in goals)]
    agents = table("agent", *itertools.chain(*([m, "goal", ""] if m in with_goals else [m] for m in MODELS)))
    for name in dict.fromkeys(key[1] for key in rates if key[0] == "agent"):
        cells: list[str | Text] = []
        for model in MODELS:
            cells.append(_rate(rates["agent", name, model, AGENT_ROWS]))
            if model in with_goals:
                goal = goals.get(f"{name} on {model}")
                cells += ["", ""] if goal is None else [f"{goal['wanted'] / 1e6:g} M", _reached(goal)]
        agents.add_row(name, *cells)
    yield agents

    yield Text(f"Duels, random pairs, {DUEL_ROWS} rows, duels a second", "bold")
    duels = table("duel", "", "regret recorded")
    for label in DUELS:
        duels.add_row(
            label, *(_rate(rates["duel", label, recording, DUEL_ROWS]) for recording in ("nothing", "regret"))
        )
    yield duels

    yield Text(
        f"Dueling agents through rankgym.simulate, 136 arms, {DUEL_ROWS} rows, regret recorded, duels a second", "bold"
    )
    duelers = table("agent", MATRIX, "goal", "")
    for key, rate in rates.items():
        if key[0] == "dueler":
            goal = goals.get(f"{key[1]} on {MATRIX}")
            reached = ["", ""] if goal is None else [f"{goal['wanted'] / 1e6:g} M", _reached(goal)]
            duelers.add_row(key[1], _rate(rate), *reached)
    yield duelers

    settings = f"{LEARNING['n_steps']} steps a rollout, {LEARNING['n_epochs']} passes over {MINIBATCHES} minibatches"
    yield Text(f"Training with stable-baselines3, {TRAINING_ROWS} rows, sessions a second; PPO: {settings}", "bold")
    training = table("", *ADAPTERS)
    for key in TRAINING_GOALS:
        trained = [rate for name, rate in rates.items() if name[: len(key)] == key]
        if trained:
            training.add_row(_trained(key), *map(_rate, trained))
    yield training if training.row_count else Text(NO_TRAINING)

    yield Text("Single environments through gym.make", "bold")
    singles = table("environment", "steps a second")
    for key, rate in rates.items():
        if key[0] == "single":
            singles.add_row(key[1], _rate(rate))
    yield singles

    yield Text("Ratios", "bold")
    ratios, wanted = table("", "", "", ""), {goal["goal"]: goal for goal in report["ratio_goals"]}
    ratios.show_header = False
    for name, ratio in report["ratios"].items():
        goal = wanted.get(name)
        ratios.add_row(name, f"{ratio:.2f}x", *(["", ""] if goal is None else [f"{goal['wanted']:g}x", _reached(goal)]))
    yield ratios

    yield Text(
        f"The project's own goals for its speed on one core, sessions a second, {AGENT_ROWS} rows or as said", "bold"
    )
    for name, goal in goals.items():
        if " step, " in name:
            measured = f"{_rate(goal['measured'])} of {goal['wanted'] / 1e6:g} M, "
            yield Text.assemble(f"{name}: {measured}", _reached(goal))
    met, fast = (sum(goal[key] >= goal["wanted"] for goal in goals.values()) for key in ("measured", "fastest"))
    yield Text(f"{met} of {len(goals)} met by the median of {report['setting']['turns']} slices, {fast} by the fastest")
    if machine["share_of_a_core"] < BUSY:
        share = f"{machine['share_of_a_core']:.0%}"
        text = f"The machine was busy: this process had {share} of a core. An idle one shows higher rates."
        yield Text(text, "yellow")


def _reached(goal: dict[str, Any]) -> Text:
    from rich.text import Text

    return Text("met", "green") if goal["met"] else Text(f"{goal['measured'] / goal['wanted']:.0%}", "yellow")


def _rate(rate: float) -> str:
    return f"{rate / 1e6:.2f} M" if rate >= 999_500 else f"{rate / 1e3:.0f} k"


def check_out(path: Path) -> None:
    """Refuse a file that ``write`` could not write, before anything is measured, with a ValueError."""
    if path.is_dir():
        raise ValueError(f"out = {str(path)!r} is a folder; allowed: a file")
    check_writable(path, path.parent)


def write(report: dict[str, Any], path: Path) -> None:
    """Write ``report`` as JSON."""
    with atomic_path(path) as unfinished:
        unfinished.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")

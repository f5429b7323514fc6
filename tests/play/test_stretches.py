"""Stretches are what stepping is, bit for bit: every agent in every family of environments, and the code's cache."""

import importlib
import math
import sys
from typing import NamedTuple

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rankgym.agent import DuelingKernelAgent, KernelAgent
from rankgym.arguments import ActionKind, action_kind
from rankgym.envs.ranking import RankingVectorEnv
from rankgym.experiments.bench.cases import STEPPED, write_letor
from rankgym.experiments.plan.sweep import Environment, Sweep
from rankgym.experiments.run.rows import Run
from rankgym.kernels import Stretch, kernel, stretching
from rankgym.models import MODELS
from rankgym.play import stretches
from rankgym.play.game import Game
from rankgym.wrappers import RecordRegret
from rankgym.wrappers.against_itself import AgainstItself
from rankgym_agents import AGENTS, DUELERS, RANKERS, TopRank

ROWS, ROUNDS, RECORDS = 4, 40, [7, 33]
PBM = "rankgym/PBM-Yandex-v0"
RANKINGS = {
    **{model: (f"rankgym/{model}-Yandex-v0", {"query": "all"}) for model in MODELS},
    "abandonment": ("rankgym/DCM-Yandex-Rerank-v0", {"query": [4, 5, 6, 7]}),
    "breakpoints": ("rankgym/CM-Yandex-Breakpoint-v0", {"query": "all", "epoch_lengths": [1, 2, 9], "jumps": 2}),
    "drawn": ("rankgym/PBM-Yandex-Breakpoint-v0", {"query": "all", "num_breakpoints": 5}),
    "team-draft": ("rankgym/Dueling-PBM-Yandex-v0", {"query": "all"}),
    "balanced": ("rankgym/Dueling-CM-Yandex-v0", {"query": "all", "interleaving": "balanced", "regret": "strong"}),
}
METHODS = ("probabilistic", "team-draft", "document-constraints")
DUELS = {
    **{regret: ("rankgym/Dueling-Arxiv-v0", {"regret": regret}) for regret in ("average", "weak", "strong")},
    "drawn arms": ("rankgym/Dueling-MSLR-v0", {"num_arms": 12}),
    **{method: ("rankgym/Dueling-LETOR-v0", {"interleaving": method, "num_documents": 5}) for method in METHODS},
}
EVERYWHERE = ("toprank", "rucb")


def cases(agents, families, some):
    """Pairs: an agent in some families, so that each family has many agents; ``EVERYWHERE`` in all.

    A stretch calls the kernels of both by name and no more, so what holds for all of some pairs holds for the others.
    """
    for number, name in enumerate(agents):
        start = number * some
        chosen = range(len(families)) if name in EVERYWHERE else range(start, start + some)
        yield from sorted({(name, list(families)[n % len(families)]) for n in chosen})


CASES = [*cases(RANKERS, RANKINGS, 5), *cases(DUELERS, DUELS, 3)]
COMPILED = [("toprank", "PBM"), ("batchrank", "drawn"), ("rucb", "average"), ("toprank", "team-draft")]


@pytest.fixture(scope="module")
def letor(tmp_path_factory):
    """A small file of rankers, and the matrix of their regret."""
    folder = tmp_path_factory.mktemp("letor")
    write_letor(folder / "letor.txt", 6, 12, 6)
    chances = 0.5 + 0.05 * np.subtract.outer(np.arange(6), np.arange(6))
    np.savetxt(folder / "matrix.txt", chances)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RANKGYM_DATA_HOME", str(folder / "data"))
        yield {"file": str(folder / "letor.txt"), "preferences": str(folder / "matrix.txt")}


@pytest.fixture
def uncompiled(monkeypatch):
    """Loops run as Python, on compiled kernels: compiling all of them takes minutes. Returns the calls' rounds."""
    calls = []

    def prepare(stretch, arguments, *, compile):
        def run(*given):
            calls.append(given[-1])
            return stretch.loop(*stretch.kernels, *given)

        stretch._run = run
        return True

    monkeypatch.setattr(Stretch, "prepare", prepare)
    return calls


def new_game(name, family, threads, letor=None, rows=ROWS, rounds=ROUNDS, horizon=ROUNDS):
    env_id, arguments = (RANKINGS if name in RANKERS else DUELS)[family]
    more = letor if "LETOR" in env_id else {}
    env = gym.make_vec(env_id, num_envs=rows, horizon=horizon, **arguments, **more)
    inner = AgainstItself(env) if action_kind(env) is ActionKind.DUEL_OF_RANKINGS else env
    return Game(AGENTS[name].for_env(inner, horizon=rounds, seed=5), env, rounds, RECORDS, threads=threads)


def play(game, until):
    reported = []
    game.play(until, reported.append)
    return sum(reported)


def assert_same(one, other):
    """Two games have the same state of agent, environment and records, to the bit."""
    mine, theirs = one.snapshot(), other.snapshot()
    if mine is not None:
        assert mine.keys() == theirs.keys()
        for key in mine:
            assert mine[key].tobytes() == theirs[key].tobytes(), key
    for a, b in zip(one.history(), other.history(), strict=True):
        assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize(("name", "family"), CASES)
def test_every_agent_in_every_family(name, family, uncompiled, letor):
    """In one go; and interrupted in the middle, saved and resumed by another game."""
    stepped, stretched, resumed = (new_game(name, family, threads, letor) for threads in (0, 1, 1))
    for game in (stepped, stretched):
        game.reset(3)
        assert play(game, ROUNDS) == ROUNDS
    assert_same(stretched, stepped)
    assert bool(uncompiled) == (name not in STEPPED)
    if name not in STEPPED:
        assert max(uncompiled) > 1
        first = new_game(name, family, 1, letor)
        first.reset(3)
        assert play(first, 19) == 19
        resumed.restore(first.snapshot(), 19)
        assert play(resumed, ROUNDS) == ROUNDS - 19
        assert_same(resumed, stepped)


@pytest.mark.kernels
@pytest.mark.parametrize(("name", "family"), COMPILED)
def test_compiled_by_blocks_in_threads(name, family, monkeypatch):
    monkeypatch.setattr(stretches, "MIN_BLOCK", 4)
    monkeypatch.setattr(stretches, "MAX_BLOCK", 8)
    stepped, stretched = (new_game(name, family, threads, rows=30, horizon=2 * ROUNDS) for threads in (0, 2))
    for game in (stepped, stretched):
        game.reset(3)
        play(game, ROUNDS)
    assert stretched._stretches.stretch.ready
    assert_same(stretched, stepped)


def test_runs_whose_settled_rows_retire_play_the_same(uncompiled, monkeypatch):
    environment = Environment("", "CM-Yandex-v0", {"num_items": 3, "num_positions": 2})
    (job,) = Sweep((environment,), ("toprank:delta=0.9",), 600, query=[0, 1, 2, 3]).jobs()
    played = []
    for worth in (math.inf, -1.0):
        monkeypatch.setattr(stretches, "WORTH_LOADING", worth)
        run = Run(job.block, retire=True)
        run.play(lambda number: None)
        played.append((run.settled_at, *run.history()))
    assert uncompiled
    assert (played[0][0] > 0).any()
    for one, other in zip(*played, strict=True):
        assert one.tobytes() == other.tobytes()


@example(8059, 1.0, 51)
@given(st.integers(1, 10_000), st.floats(1, 1e7), st.integers(1, 64))
def test_threads_have_as_many_blocks_each(rows, row_bytes, threads):
    size = stretches.block_size(rows, row_bytes, threads)
    assert 1 <= size <= min(rows, stretches.MAX_BLOCK)
    assert size * row_bytes <= max(stretches.BLOCK_BYTES, stretches.MIN_BLOCK * row_bytes)
    busiest = math.ceil(math.ceil(rows / size) / threads)  # blocks of one thread
    assert busiest * size <= rows / threads + busiest or rows < threads * stretches.MIN_BLOCK


# -- what is played step by step --------------------------------------------------------------------------------------


class OwnUpdate(TopRank):
    def update(self, displayed, clicks):
        super().update(displayed, clicks)


class OwnEnv(RankingVectorEnv):
    """May have more state than its base class knows."""


def stretches_of(agent, env, rounds=ROUNDS):
    return Game(agent, env, rounds, threads=1)._stretches


def test_what_is_more_than_kernels_is_played_step_by_step():
    env = gym.make_vec(PBM, num_envs=ROWS)
    assert stretches_of(TopRank.for_env(env), env) is not None
    assert stretches_of(OwnUpdate.for_env(env), env) is None
    with_own_act = TopRank.for_env(env)
    with_own_act.act = lambda observation=None: np.tile(np.arange(5), (ROWS, 1))
    assert stretches_of(with_own_act, env) is None
    wrapped = RecordRegret(env)
    assert stretches_of(TopRank.for_env(wrapped), wrapped) is None
    own = OwnEnv(ROWS)
    assert stretches_of(TopRank.for_env(own), own) is None
    optimized = gym.make_vec("rankgym/Dueling-PBM-Yandex-v0", num_envs=ROWS, interleaving="optimized")
    assert stretches_of(TopRank.for_env(AgainstItself(optimized)), optimized) is None


def test_code_is_loaded_and_compiled_only_where_that_is_worth_it(monkeypatch):
    asked = []
    monkeypatch.setattr(Stretch, "prepare", lambda stretch, given, *, compile: asked.append(compile))
    game = new_game("toprank", "PBM", None)
    game.reset(0)
    for seconds in (0.01, 0.2, 100.0):
        game._stretches.ready(seconds)
    assert asked == [False, True]


# -- agents of others -------------------------------------------------------------------------------------------------


class Rounds(NamedTuple):
    """Rounds learned from."""

    round: np.ndarray  # (rows,)


@kernel
def wrong_later(s, displayed):
    """The same item twice from round 20 on in row 2."""
    for row in range(displayed.shape[0]):
        for k in range(displayed.shape[1]):
            displayed[row, k] = k
        if row == 2 and s.round[row] == 20:
            displayed[row, 0] = 1


@kernel
def count(s, displayed, clicks):
    for row in range(displayed.shape[0]):
        s.round[row] += 1


@kernel
def wrong_arm_later(s, left, right):
    for row in range(left.shape[0]):
        left[row], right[row] = 0, 64 if s.round[row] == 20 else 1


@kernel
def count_duel(s, left, right, left_won):
    for row in range(left.shape[0]):
        s.round[row] += 1


@kernel
def first_arm(s, candidate):
    candidate[:] = 0


class WrongRanker(KernelAgent):
    rank, learn = wrong_later, count

    def __init__(self, **shape):
        super().__init__(**shape)
        self.state = Rounds(np.zeros(self.num_envs, np.int64))


class WrongDueler(DuelingKernelAgent):
    choose, learn, name = wrong_arm_later, count_duel, first_arm

    def __init__(self, **shape):
        super().__init__(**shape)
        self.state = Rounds(np.zeros(self.num_envs, np.int64))


@pytest.mark.parametrize(
    ("agent", "env_id", "message"),
    [
        (WrongRanker, PBM, r"action\[row 2\] = \(1, 1, 2, 3, 4\) repeats item 1"),
        (WrongDueler, "rankgym/Dueling-Arxiv-v0", r"action\['right'\]\[row 0\] = 64 is not an arm"),
    ],
)
def test_a_wrong_action_of_other_peoples_kernels_is_refused_as_by_steps(agent, env_id, message):
    for threads in (0, 1):
        env = gym.make_vec(env_id, num_envs=3)
        game = Game(agent.for_env(env, seed=0), env, ROUNDS, threads=threads)
        game.reset(0)
        with pytest.raises(ValueError, match=message):
            play(game, ROUNDS)
        assert (game._stretches is None) == (threads == 0)
        assert env._round.tolist() == [19] * 3  # rounds 0 to 19 were played


# -- kept code --------------------------------------------------------------------------------------------------------


LOOP = """
from rankgym.kernels import kernel
@kernel
def add(total, amount):
    for row in range(total.shape[0]):
        total[row] += amount
def loop(add, total, rounds):
    for _ in range(rounds):
        add(total, {amount})
    return rounds
"""


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """Makes a stretch of a small module, whose code is kept below ``tmp_path``, and counts compilations."""
    monkeypatch.setattr(stretching, "cache_folder", lambda: tmp_path / "kernels")
    monkeypatch.syspath_prepend(tmp_path)
    compiled = []
    compile = Stretch._compiled
    monkeypatch.setattr(Stretch, "_compiled", lambda *given: compiled.append(1) or compile(*given))

    def make(amount=2):
        (tmp_path / "small_loop.py").write_text(LOOP.format(amount=amount))
        sys.modules.pop("small_loop", None)
        stretching._LOADED.clear()  # as another process would find it
        importlib.invalidate_caches()
        module = importlib.import_module("small_loop")
        total = np.zeros(3, np.int64)
        stretch = Stretch(module.loop, (module.add,))
        assert stretch.prepare((total, 0), compile=True)
        assert stretch(total, 5) == 5
        return total.tolist()

    make.compiled = compiled
    make.folder = tmp_path / "kernels"
    return make


def test_code_is_kept_until_a_file_changes(kept):
    assert kept() == kept() == [10] * 3
    assert len(kept.compiled) == 1
    assert kept(33) == [165] * 3
    assert len(kept.compiled) == 2
    assert not [path for path in kept.folder.iterdir() if path.name.startswith(".")]


def test_damaged_code_is_compiled_again(kept):
    kept()
    (folder,) = kept.folder.glob("stretch-*")
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert {path.suffix for path in files} == {".py", ".nbi", ".nbc", ""}
    for number, path in enumerate(sorted(path.relative_to(folder) for path in files)):
        data = bytearray((folder / path).read_bytes())
        data[len(data) // 2] ^= 4
        (folder / path).write_bytes(data)
        assert kept() == [10] * 3
        assert len(kept.compiled) == number + 2, path


def test_without_a_folder_nothing_is_kept(kept):
    kept.folder.write_text("a file in the folder's place")
    assert kept() == kept() == [10] * 3
    assert len(kept.compiled) == 2

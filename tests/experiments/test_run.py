"""Runs: settled rows retired, pauses, snapshots; each against the same block played at a stretch."""

import io
import math
import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import VectorWrapper
from hypothesis import given, settings
from hypothesis import strategies as st

from rankgym import simulate
from rankgym.agent import Agent, DuelingAgent
from rankgym.envs import RankingVectorEnv
from rankgym.experiments.plan.agents import AgentFailed, parse_agent
from rankgym.experiments.plan.jobs import Block
from rankgym.experiments.run.rows import Run, make
from rankgym.play import game

EASY = {  # queries whose orders are found soon
    "parameters": {"attraction": [[0.95, 0.5, 0.25, 0.02], [0.05, 0.4, 0.9, 0.2]]},
    "num_positions": 3,
}
PBM, CM, DCM = (f"rankgym/{model}-Synthetic-v0" for model in ("PBM", "CM", "DCM"))
CHANGING = "rankgym/CM-Yandex-Breakpoint-v0"
CYCLIC, ARXIV = "rankgym/Dueling-Cyclic-v0", "rankgym/Dueling-Arxiv-v0"
CASES = {  # agent, environment, its arguments, rounds: rows settle in all of them
    "toprank": ("toprank:delta=0.5", PBM, EASY, 4000),
    "toprank on the DCM": ("toprank:delta=0.5", DCM, EASY, 4000),
    "toprank with a horizon to spare": ("toprank:delta=0.5", PBM, {**EASY, "horizon": 5000}, 3000),
    "batchrank": ("batchrank", PBM, EASY, 4000),
    "bubblerank": ("bubblerank:delta=0.5", DCM, EASY, 4000),
    "static": ("static", CM, EASY, 300),
    "static, no horizon": ("static", CM, {**EASY, "horizon": None}, 300),
    "re-ranking": ("static", "rankgym/DCM-Yandex-Rerank-v0", {}, 300),
    "common breakpoints": ("static", CHANGING, {"breakpoints": [1, 7, 500, 501, 1990]}, 2000),
    "drawn breakpoints": ("static", CHANGING, {"num_breakpoints": 9}, 2000),
    "settled between breakpoints": (
        "toprank:delta=0.9",
        "rankgym/PBM-Yandex-Breakpoint-v0",
        {"scenario": "drift", "epoch_lengths": [90, 40], "num_items": 4, "num_positions": 2},
        6000,
    ),
    "many epochs": ("static", CHANGING, {"scenario": "shuffle", "epoch_lengths": 2}, 3000),
    "mergerucb": ("mergerucb", CYCLIC, {}, 3000),
    "savage": ("savage", CYCLIC, {}, 3000),
    "interleaved filter": ("interleaved-filter:delta=0.5", ARXIV, {}, 4000),
    "drawn arms": ("interleaved-filter:delta=0.5", "rankgym/Dueling-MSLR-v0", {"num_arms": 3}, 4000),
    "same step": ("mergerucb", CYCLIC, {"autoreset_mode": "SameStep"}, 3000),
    "lists that duel": ("toprank:delta=0.5", "rankgym/Dueling-PBM-Yandex-v0", {**EASY, "dataset": "synthetic"}, 4000),
}
ROWS = 6


def block(agent, name, arguments, rounds, *, rows=ROWS, start=0, seed=5, record_at=()):
    choice = "problem" if "Dueling" in name and "PBM" not in name else "query"
    if "LETOR" in name:
        choice = None
    number = 1 if choice == "problem" else 2
    queries = [row % number for row in range(start, start + rows)]
    given = {"horizon": rounds, **arguments}
    return Block(
        parse_agent(agent), name, given, start, start + rows, choice, queries, seed, rounds, rounds, [*record_at]
    )


def play(block):
    """The block's history, played without pauses."""
    env, agent = make(block)
    settings = {"seed": block.seed + block.start, "record_at": block.record_at, "progress": False}
    return simulate(agent, env, block.rounds, **settings)


def nobody(sessions):
    """Hears nothing."""


def finished(block, **arguments):
    run = Run(block, **arguments)
    run.play(nobody)
    return run


def differ(one, other):
    """The measures in which two histories differ by a single bit."""
    assert type(one) is type(other)
    return {
        name for name in one._fields if not np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True)
    }


def read(snapshot):
    """A snapshot that has been a file."""
    file = io.BytesIO()
    np.savez(file, **snapshot)
    file.seek(0)
    return np.load(file, allow_pickle=False)


# -- retiring ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_retired_rows_have_the_records_of_rows_played_out(case):
    """Bit for bit; and the reward, drawn or expected, is the same up to chance.

    After a row is retired its played-out reward is a sum of bounded independent terms (given the changes) with the
    expectations that are added instead. By Hoeffding's inequality the sums of all rows differ by more than ``most``
    with a probability below 1e-9 a case.
    """
    mine = block(*CASES[case], record_at=[77])
    whole = play(mine)
    run, out = finished(mine), finished(mine, retire=False)
    history = run.history()
    assert not differ(whole, out.history())
    assert differ(whole, history) <= {"reward"}
    assert (out.settled_at == -1).all()
    assert out.computed == ROWS * mine.rounds
    retired = run.settled_at >= 0
    assert retired.any()
    assert np.isin(run.settled_at[retired], history.rounds).all()
    assert run.computed < ROWS * mine.rounds
    for row in range(ROWS):
        before = history.rounds <= (run.settled_at[row] if retired[row] else mine.rounds)
        assert np.array_equal(history.reward[before, row], whole.reward[before, row])
    without = int((mine.rounds - run.settled_at[retired]).sum())
    largest = 1 if "Dueling" in mine.env_id and "PBM" not in mine.env_id else mine.env_kwargs.get("num_positions", 10)
    most = largest * math.sqrt(without * math.log(2e9) / 2)
    assert abs(history.reward[-1].sum() - whole.reward[-1].sum()) < most
    if "arm" not in case and "Dueling" not in mine.env_id:
        assert differ(whole, history) == {"reward"}  # it was not drawn


def test_of_settled_rows_nothing_is_played_but_the_first_session_of_an_epoch():
    run = finished(block(*CASES["common breakpoints"]))
    assert (run.settled_at == 1).all()
    assert run.computed == ROWS * 7  # round 0; and 1, 2, 7, 500, 501, 1990 or, at the end of the episode, the last


def test_regret_of_a_settled_row_is_a_closed_form():
    """The static ranker's list is always the same: its regret is the number of rounds times the regret of one."""
    mine = block(
        "static", PBM, {"parameters": {"attraction": [0.0, 0.5], "examination": [1.0, 0.5]}, "num_positions": 2}, 10**7
    )
    mine = mine._replace(queries=[0] * ROWS)
    run = finished(mine)
    history = run.history()
    assert run.computed <= 3 * ROWS
    assert np.array_equal(history.regret, np.broadcast_to(history.rounds[:, None] * 0.25, history.regret.shape))
    assert np.array_equal(history.reward[-1], np.full(ROWS, history.reward[0] + (10**7 - 1) * 0.25))
    assert (history.violations == 0).all()


class Turning(Agent):
    """Shows another list in every round, until a round that its seed says."""

    def __init__(self, *, most=400, **shape):
        super().__init__(**shape)
        self.round = np.zeros(self.num_envs, np.int64)
        self.last = np.array([np.random.default_rng(seed).integers(0, most) for seed in self.seeds])

    def act(self, observation=None):
        turns = np.minimum(self.round, self.last)[:, None]
        return (np.arange(self.num_positions) + turns) % self.num_items

    def update(self, displayed, clicks):
        self.round += 1

    def settled(self):
        return self.round >= self.last

    def snapshot(self):
        return {"round": self.round.copy(), "last": self.last.copy()}

    def restore(self, snapshot):
        self.round, self.last = np.array(snapshot["round"]), np.array(snapshot["last"])


@settings(max_examples=20)
@given(
    st.integers(0, 10**6),
    st.integers(1, 9),
    st.integers(0, 20),
    st.sampled_from([{"num_breakpoints": 5}, {"epoch_lengths": 37}]),
)
def test_rows_may_leave_in_any_order(seed, rows, start, schedule):
    mine = block(Turning, CHANGING, schedule, 500, rows=rows, start=start, seed=seed, record_at=range(10, 500, 10))
    run = finished(mine)
    history, whole = run.history(), play(mine)
    assert differ(whole, history) <= {"reward"}
    for row in range(rows):
        last = max(1, np.random.default_rng(seed + start + row).integers(0, 400))
        assert run.settled_at[row] == history.rounds[np.searchsorted(history.rounds, last)]


class Counting:
    """A plain class that counts rows up from a seed; it settles with all its rows in round 30."""

    def __init__(self, num_items, num_positions, num_envs, seed):
        self.lists = np.array([np.random.default_rng(seed + row).permutation(num_items) for row in range(num_envs)])
        self.positions, self.round = num_positions, 0

    def act(self, observation):
        return np.roll(self.lists, min(self.round, 30), 1)[:, : self.positions]

    def update(self, displayed, clicks):
        self.round += 1

    def settled(self):
        return np.full(len(self.lists), self.round >= 30)

    def snapshot(self):
        return {"lists": self.lists.copy(), "round": np.full(len(self.lists), self.round)}

    def restore(self, snapshot):
        self.lists, self.round = snapshot["lists"].copy(), int(snapshot["round"][0])


def test_who_plays_neighbours_alone_is_told_one_seed():
    """Also where all rows leave at once, or are taken up again."""
    mine = block(Counting, PBM, EASY, 100, start=3)
    run, whole = interrupted(mine, np.random.default_rng(0), 20)[0], play(mine)
    assert (run.settled_at == 32).all()
    assert differ(whole, run.history()) <= {"reward"}


class Decided(DuelingAgent):
    """Compares the same two arms for ever: the same arm with itself where the row's seed is even, else two."""

    def act(self, observation=None):
        odd = np.array(self.seeds) % 2
        return {"left": np.ones(self.num_envs, np.int64), "right": 1 + odd}

    candidate = property(lambda self: np.ones(self.num_envs, np.int64))

    def update(self, duel, won):
        pass

    def settled(self):
        return np.ones(self.num_envs, bool)

    def snapshot(self):
        return {"nothing": np.zeros(self.num_envs)}

    def restore(self, snapshot):
        pass


@pytest.fixture(scope="module")
def letor(tmp_path_factory):
    folder = tmp_path_factory.mktemp("letor")
    rng = np.random.default_rng(0)
    lines = [
        f"{label} qid:{query} " + " ".join(f"{f + 1}:{rng.integers(0, 4) / 4}" for f in range(4)) + " # doc"
        for query in range(3)
        for label in rng.integers(0, 3, 12)
    ]
    (folder / "small.txt").write_text("\n".join(lines) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RANKGYM_DATA_HOME", str(folder))
        yield {"file": str(folder / "small.txt"), "interleaving": "team-draft"}


def test_rows_whose_expected_reward_is_not_known_are_played_out(letor):
    """Two different rankers interleaved: nobody knows what is clicked. One with itself: it is known.

    The mean difference of the rewards is 0, and each is within 0 .. 10: Hoeffding, with a probability below 1e-9.
    """
    mine = block(Decided, "rankgym/Dueling-LETOR-v0", letor, 700)
    run, whole = finished(mine), play(mine)
    assert (run.settled_at == [-1, 1] * 3).all()  # seeds 5, 6, ...
    assert differ(whole, run.history()) == {"reward"}
    assert run.computed == 3 * 700 + 3 * 3
    odd = run.settled_at < 0
    reward, drawn = run.history().reward[-1], whole.reward[-1]
    assert np.array_equal(reward[odd], drawn[odd])
    assert abs(reward.sum() - drawn.sum()) < 10 * math.sqrt(3 * 700 * math.log(2e9) / 2)
    mixed = finished(mine._replace(env_kwargs=mine.env_kwargs | {"interleaving": "probabilistic"}))
    assert (mixed.settled_at == -1).all()
    resumed, pauses = interrupted(mine, np.random.default_rng(0), 40)
    assert pauses > 5
    assert not differ(resumed.history(), run.history())


def test_nobody_is_retired_beyond_the_horizon_of_its_agent():
    mine = block("static", PBM, EASY, 300)
    assert (finished(mine._replace(horizon=299)).settled_at == -1).all()
    assert (finished(mine).settled_at == 1).all()


# -- what cannot be written down, and is played out --------------------------------------------------------------------


class Plain:
    """An agent in plain Python, which says nothing of being settled."""

    def __init__(self, num_items, num_positions, num_envs):
        self.lists = np.tile(np.arange(num_items)[::-1][:num_positions], (num_envs, 1))

    def act(self, observation):
        return self.lists

    def update(self, displayed, clicks):
        pass


class Wrapped(VectorWrapper):
    """It may remember anything."""

    def __init__(self, num_envs=1, **arguments):
        super().__init__(RankingVectorEnv(num_envs, **arguments))


@pytest.fixture
def wrapped():
    name = "rankgym-tests/Wrapped-v0"
    gym.register(name, vector_entry_point=Wrapped, disable_env_checker=True)
    yield name
    del gym.registry[name]


@pytest.mark.parametrize("agent", [Plain, "static"])
def test_what_has_no_snapshot_is_played_out(wrapped, agent):
    mine = block(agent, PBM, EASY, 300) if agent is Plain else block(agent, wrapped, {"num_positions": 4}, 300)
    run = Run(mine)
    assert run.snapshot() is None
    asked = []
    while not run.finished:
        run.play(nobody, lambda: asked.append(None) or True)
    assert asked
    assert (run.settled_at == -1).all()
    assert not differ(run.history(), play(mine))


# -- pauses ------------------------------------------------------------------------------------------------------------


def interrupted(block, rng, longest, **arguments):
    """A finished run that was paused after up to ``longest`` rounds each, and often read from a file; and how often."""
    pauses, told = 0, []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(game, "CLOCK_INTERVAL", 0.0)  # looks at the clock after every round
        run = Run(block, **arguments)
        while not run.finished:
            stop = len(told) + rng.integers(1, longest + 1)
            run.play(told.append, lambda stop=stop: len(told) >= stop)
            pauses += 1
            if rng.random() < 0.7:
                written = run.snapshot()
                run.close()
                run = Run(block, **arguments)
                if rng.random() < 0.3:
                    run.play(nobody, lambda: True)  # it had begun
                run.restore(read(written))
    assert sum(told) == block.rows * block.rounds
    return run, pauses


@pytest.mark.parametrize("case", CASES)
def test_a_run_paused_and_restored_is_the_same_run(case):
    agent, name, arguments, rounds = CASES[case]
    mine = block(agent, name, {"horizon": arguments.get("horizon", rounds), **arguments}, rounds, record_at=[50])
    whole = finished(mine)
    run, pauses = interrupted(mine, np.random.default_rng(len(case)), 300)
    assert pauses > (5 if whole.computed > ROWS * 1000 else 0)
    assert not differ(whole.history(), run.history())
    assert np.array_equal(whole.settled_at, run.settled_at)


@settings(max_examples=15)
@given(st.data())
def test_a_run_may_be_paused_at_any_moment(data):
    schedule = data.draw(st.sampled_from([{"num_breakpoints": 20}, {"epoch_lengths": [1, 3]}, {"breakpoints": []}]))
    rows, seed = data.draw(st.integers(1, 5)), data.draw(st.integers(0, 10**6))
    retire = data.draw(st.booleans())
    mine = block(Turning, CHANGING, schedule, 60, rows=rows, seed=seed)
    mine.agent.knobs["most"] = 75
    whole = finished(mine, retire=retire)
    run, _ = interrupted(mine, np.random.default_rng(seed), data.draw(st.integers(1, 30)), retire=retire)
    assert not differ(whole.history(), run.history())
    assert np.array_equal(whole.settled_at, run.settled_at)


def test_another_process_goes_on_to_the_same_end(tmp_path):
    mine = block("toprank:delta=0.5", PBM, EASY, 1500)
    run = Run(mine)
    run.play(nobody, lambda: run.played > 400)
    assert 400 < run.played < 1500
    np.savez(tmp_path / "paused.npz", **run.snapshot())
    text = f"""
import numpy as np
from rankgym.experiments.plan.jobs import Block
from rankgym.experiments.plan.agents import AgentSpec
from rankgym.experiments.run.rows import Run
run = Run(Block(AgentSpec(*{tuple(mine.agent)!r}), *{tuple(mine[1:])!r}))
run.restore(np.load("paused.npz", allow_pickle=False))
run.play(lambda sessions: None)
np.savez("finished.npz", **run.history()._asdict(), settled_at=run.settled_at)
"""
    subprocess.run([sys.executable, "-c", text], cwd=tmp_path, check=True)
    whole = finished(mine)
    with np.load(tmp_path / "finished.npz") as found:
        for name, values in {**whole.history()._asdict(), "settled_at": whole.settled_at}.items():
            assert np.array_equal(found[name], values)


def test_pauses_come_after_some_rounds_and_are_asked_for_once():
    run, asked = Run(block("cascade-kl-ucb", PBM, EASY, 3000)), []
    assert (run.played, run.finished, run.computed) == (0, False, 0)
    run.play(nobody, lambda: asked.append(None) or True)
    assert len(asked) == 1
    assert run.played >= 1
    assert not run.finished
    with pytest.raises(RuntimeError, match=r"\d+ of 3000 rounds were played"):
        run.history()
    run.play(nobody)
    assert (run.played, run.finished, run.computed) == (3000, True, 3000 * ROWS)
    run.play(nobody, lambda: asked.append(None) or True)  # nothing is left
    assert len(asked) == 1
    written = run.snapshot()
    again = Run(run.block)
    again.restore(written)
    assert again.finished
    assert not differ(again.history(), run.history())


# -- what goes wrong ---------------------------------------------------------------------------------------------------


class Failing(Turning):
    def act(self, observation=None):
        if self.round[0] == 20:
            raise ZeroDivisionError("no clicks yet")
        return super().act()


class Vague(Turning):
    def settled(self):
        return True


def test_failures_are_blamed_on_whose_they_are():
    with pytest.raises(AgentFailed, match=r"agent = 'Failing': ZeroDivisionError: no clicks yet \(.*test_run.py"):
        finished(block(Failing, PBM, EASY, 100))
    with pytest.raises(
        AgentFailed, match=r"'Vague'.*settled\(\) has shape \(\) and dtype bool; allowed: bool of shape"
    ):
        finished(block(Vague, PBM, EASY, 100))
    with pytest.raises(ValueError, match=r"agent = 'toprank:delta=2'.*delta = 2"):
        finished(block("toprank:delta=2", PBM, EASY, 100))
    for error in (OSError("disk full"), KeyboardInterrupt()):

        def fail(*_, error=error):
            raise error

        with pytest.raises(type(error)) as caught:
            Run(block("toprank", PBM, EASY, 100)).play(fail)
        assert caught.value is error
        with pytest.raises(type(error)) as caught:
            Run(block("static", PBM, EASY, 100)).play(nobody, fail)
        assert caught.value is error


def test_a_snapshot_of_another_block_is_refused():
    written = finished(block("static", PBM, EASY, 100)).snapshot()
    with pytest.raises(ValueError, match="the snapshot is of 6 rows; allowed: one of a run of this block, of 5 rows"):
        Run(block("static", PBM, EASY, 100, rows=5)).restore(written)
    with pytest.raises(ValueError, match="the snapshot has no 'settled_at'"):
        Run(block("static", PBM, EASY, 100)).restore({})
    run = Run(block("toprank", PBM, EASY, 100))
    run.play(nobody, lambda: True)
    lost = {name: values for name, values in run.snapshot().items() if not name.startswith("live.")}
    with pytest.raises(ValueError, match=r"the snapshot is of the rows \[\]; allowed: .* 6 rows"):
        run.restore(lost)
    run.play(nobody)  # nothing has happened
    assert run.finished


def test_an_interrupted_run_is_not_written_down():
    """The environment may have counted a session that the agent has not learned from."""
    run, whole = Run(block("toprank", PBM, EASY, 500)), play(block("toprank", PBM, EASY, 500))
    run.play(nobody, lambda: run.played > 50)
    written = run.snapshot()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(run._live.agent), "update", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            run.play(nobody)
    for again in (run.snapshot, lambda: run.play(nobody)):
        with pytest.raises(RuntimeError, match="interrupted in the middle of a step; restore a snapshot"):
            again()
    run.restore(written)
    run.play(nobody)
    assert differ(run.history(), whole) <= {"reward"}

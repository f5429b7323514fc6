"""``settled``: what it promises of every agent comes true, whatever users do, and it is said when the papers say so."""

import copy
import math
from itertools import product

import numpy as np
import pytest
from agent_oracles import BubbleRankOracle, TopRankOracle, Users
from duels import matrix
from hypothesis import given, settings
from hypothesis import strategies as st
from test_batchrank import BatchRankOracle
from test_beat_the_mean import BeatTheMeanOracle, radius_of
from test_interleaved_filter import InterleavedFilterOracle
from test_mergedts import MergeDTSOracle
from test_mergerucb import MergeRUCBOracle
from test_savage import SAVAGEOracle

from rankgym.agent import Learner
from rankgym_agents import (
    AGENTS,
    DUELERS,
    RANKERS,
    SAVAGE,
    BatchRank,
    BeatTheMean,
    BubbleRank,
    InterleavedFilter,
    MergeDTS,
    MergeRUCB,
    Restarting,
    StaticRanker,
    TopRank,
)
from rankgym_agents.bubblerank import better

ROWS, ROUNDS = 12, 3000
unhurried = settings(deadline=None)  # the first example may wait for the compiler

# How agents are made so that they settle within the rounds; those that are not here never do.
RANKING = {
    "static": {},
    "toprank": {"delta": 0.1},
    "batchrank": {},
    "batchrank, as in the paper": {"schedule": "paper"},
    "bubblerank": {"delta": 0.1},
    "restarting": {"agent": "toprank", "every": ROUNDS // 2, "delta": 0.1},
}
DUELING = {
    "mergerucb": {"delta": 0.9},
    "mergedts": {"epsilon": 0.9},
    "btm": {"radius_factor": 1.0},
    "interleaved-filter": {},
    "savage": {},
    "winner-stays": {"beta": 10.0},
}
NEVER = [name for name in AGENTS if name not in RANKING and name not in DUELING]


def made(name, **more):
    knobs = {**RANKING, **DUELING}.get(name, {})
    return AGENTS[name.partition(",")[0]](num_envs=ROWS, horizon=ROUNDS, seed=3, **knobs, **more)


def nested(t, lists, items):
    """User t looks at everything and clicks the items below a number that goes round: no two of them disagree."""
    return (lists < 1 + t // 2 % (items - 1)).astype(np.int8)


def stubborn(t, shape, chance):
    """Four kinds of users, one a row: they click the lower one of each pair of neighbours, the upper one, any, all."""
    turns = (np.arange(shape[1]) + t) % 2
    kinds = [turns == 0, turns == 1, chance.random(shape[1]) < 0.5, np.ones(shape[1]) * (t // 50 % 2)]
    return np.array([kinds[row % 4] for row in range(shape[0])], np.int8)


def kept_promises(agent, say, answer, rounds):
    """Play, with users who turn stubborn once their row has settled; since when each has been so, or -1."""
    since, final = np.full(ROWS, -1), say(agent)
    for t in range(rounds):
        since[(since < 0) & agent.settled()] = t
        shown = say(agent)
        assert (shown == final)[(since >= 0) & (since < t)].all(), f"round {t}"
        final = shown
        answer(agent, t, since >= 0)
    assert (agent.settled() | (since < 0)).all() or isinstance(agent, (BubbleRank, Restarting))
    return since


@pytest.mark.parametrize(("items", "positions"), [(4, 4), (5, 3), (3, 1)])
@pytest.mark.parametrize("name", [*RANKING, *(name for name in NEVER if name in RANKERS)])
def test_a_settled_list_stays_whatever_is_clicked(name, items, positions):
    chance = np.random.default_rng(items)

    def answer(agent, t, settled):
        lists = agent.act()
        clicks = np.where(settled[:, None], stubborn(t, lists.shape, chance), nested(t, lists, items))
        agent.update(lists, clicks)

    agent = made(name, num_items=items, num_positions=positions)
    since = kept_promises(agent, lambda agent: agent.act(), answer, ROUNDS if name in RANKING else 300)
    assert (since >= 0).all() if name in RANKING else (since < 0).all(), since


@pytest.mark.parametrize("arms", [2, 5])
@pytest.mark.parametrize("name", [*DUELING, *(name for name in NEVER if name in DUELERS)])
def test_a_settled_duel_and_candidate_stay_whoever_wins(name, arms):
    chance = np.random.default_rng(arms)

    def say(agent):
        return np.stack([*agent.act().values(), agent.candidate], 1)

    def answer(agent, t, settled):
        duel = agent.act()
        wins = [np.zeros(ROWS), np.ones(ROWS), chance.random(ROWS) < 0.5, np.full(ROWS, t % 2)]
        against = np.array([wins[row % 4][row] for row in range(ROWS)]) == 1
        left_won = np.where(settled, against, duel["left"] < duel["right"])
        agent.update(duel, np.stack([left_won, ~left_won], 1).astype(np.int8))

    agent = made(name, num_arms=arms)
    since = kept_promises(agent, say, answer, ROUNDS + 100 if name in DUELING else 300)
    assert (since >= 0).all() if name in DUELING else (since < 0).all(), since
    if name in DUELING:
        assert (agent.candidate == 0).all()


@pytest.mark.parametrize("name", NEVER)
def test_who_never_ends_has_no_settled_of_its_own(name):
    assert AGENTS[name].settled is Learner.settled


@pytest.mark.parametrize("name", DUELING)
def test_a_single_arm_is_settled_from_the_start(name):
    assert made(name, num_arms=1).settled().all()


# When it is said: the papers' listings


def first_blocks_are_single(oracle):
    sizes = [len(block) for block in oracle.blocks()]
    return all(size == 1 for place, size in enumerate(sizes) if sum(sizes[:place]) < oracle.K)


def one_arm_is_left(oracle):
    return sum(map(len, oracle.B)) == 1


RANKING_ORACLES = [
    (TopRank(num_items=5, num_positions=3, delta=0.3, seed=1), TopRankOracle(5, 3, 1, 0.3), first_blocks_are_single),
    (TopRank(num_items=4, num_positions=4, delta=0.9, seed=2), TopRankOracle(4, 4, 2, 0.9), first_blocks_are_single),
    *(
        (
            BatchRank(num_items=items, num_positions=2, horizon=30, seed=3, schedule=schedule),
            BatchRankOracle(items, 2, 3, schedule, 30),
            lambda oracle: all(len(batch.items) == 1 for batch in oracle.batches),
        )
        for schedule, items in product(("authors", "paper"), (2, 3))
    ),
]
DUELING_ORACLES = [
    (MergeRUCB(num_arms=9, seed=1, delta=0.9), MergeRUCBOracle(9, 1, delta=0.9), one_arm_is_left),
    (MergeDTS(num_arms=9, seed=2, epsilon=0.9), MergeDTSOracle(9, 2, epsilon=0.9), one_arm_is_left),
    (SAVAGE(num_arms=4, seed=3, horizon=500), SAVAGEOracle(4, 3, 500), lambda oracle: oracle.winner is not None),
    (SAVAGE(num_arms=4, seed=3, horizon=30), SAVAGEOracle(4, 3, 30), lambda oracle: oracle.winner is not None),
    (
        BeatTheMean(num_arms=4, seed=4, horizon=900, radius_factor=0.4),
        BeatTheMeanOracle(4, 4, radius_of(0.4, math.log(2 * 900 * 4)), 900),
        lambda oracle: not oracle.exploring(),
    ),
    (
        InterleavedFilter(num_arms=4, seed=5, delta=0.5),
        InterleavedFilterOracle(4, 5, 0.5, True),
        lambda oracle: not oracle.W,
    ),
]


def said_when_due(agent, oracle, due, users, most=6000, after=50):
    """Play both until the agent has been settled for a while; it says so just when its oracle is done."""
    for _ in range(most):
        assert agent.settled().tolist() == [due(oracle)], f"round {oracle.t}"
        after -= due(oracle)
        if after == 0:
            return
        users(agent, oracle)
    raise AssertionError("not settled")


@pytest.mark.parametrize("case", RANKING_ORACLES, ids=lambda case: repr(case[0]))
def test_a_ranker_is_settled_just_when_its_listing_is_done(case):
    agent, oracle, due = copy.deepcopy(case)
    users = Users("pbm", oracle.L, oracle.K, 6)
    users.attraction = np.linspace(0.95, 0.05, oracle.L)

    def play(agent, oracle):
        displayed = agent.act()[0].tolist()
        clicks = users.clicks(displayed)
        agent.update([displayed], [clicks])
        oracle.update(displayed, clicks)

    said_when_due(agent, oracle, due, play)


@pytest.mark.parametrize("case", DUELING_ORACLES, ids=lambda case: repr(case[0]))
def test_a_duelist_is_settled_just_when_its_listing_is_done(case):
    agent, oracle, due = copy.deepcopy(case)
    preference, chance = matrix(f"bradley-terry {agent.num_arms}"), np.random.default_rng(7)

    def play(agent, oracle):
        duel = agent.act()
        left, right = int(duel["left"][0]), int(duel["right"][0])
        assert (left, right) == tuple(oracle.act())
        left_won = bool(chance.random() < preference[left, right])
        agent.update(duel, [[left_won, not left_won]])
        oracle.update(left, right, left_won)

    said_when_due(agent, oracle, due, play)


def test_toprank_is_settled_whoever_chooses_the_lists():
    """Other lists teach it about lower items, and never again about those on top."""
    chance = np.random.default_rng(8)
    agent = TopRank(num_items=8, num_positions=2, num_envs=ROWS, delta=0.5, seed=8)
    for _ in range(4000):
        lists = agent.act()
        agent.update(lists, chance.random(lists.shape) < np.linspace(0.99, 0, 8)[lists] ** 2)
    settled = agent.settled()
    assert settled.sum() > ROWS // 2
    lists, known = agent.act(), agent.state.worse.sum()
    for _ in range(2000):
        others = np.array([chance.permutation(8)[:2] for _ in range(ROWS)])
        agent.update(others, chance.random(others.shape) < others / 8)
        assert (agent.act() == lists)[settled].all()
    assert agent.state.worse.sum() > known


# BubbleRank: decided pairs may become undecided


@unhurried
@given(
    st.integers(1, 40),
    st.integers(0, 40),
    st.integers(0, 12),
    st.one_of(st.floats(0, 40), st.integers(0, 10).map(float)),
)
def test_a_pair_that_could_lose_all_its_rounds_is_decided_after_any_of_them(won, lost, rounds, log_inv_delta):
    """Every outcome of the rounds that are left, by ``better`` itself, and rarely more than is needed."""
    stays = better(won, lost + rounds, log_inv_delta)
    outcomes = [(w, l) for w in range(rounds + 1) for l in range(rounds + 1 - w)]  # noqa: E741
    assert stays == all(better(won + w, lost + l, log_inv_delta) for w, l in outcomes)  # noqa: E741


@unhurried
@given(st.data())
def test_no_rounding_reopens_a_pair(data):
    """For counts of any size, and confidences at which the pair is decided by a hair or not at all."""
    lead = data.draw(st.integers(1, 2**31 - 1))
    compared = lead + 2 * data.draw(st.integers(0, min(lead, 2**20)))
    won, lost = (compared + lead) // 2, (compared - lead) // 2
    log_inv_delta = lead * lead / (4 * compared)
    for _ in range(data.draw(st.integers(0, 3))):
        log_inv_delta = math.nextafter(log_inv_delta, 0)
    if better(won, lost, log_inv_delta):
        for _ in range(5):  # after all other losses were spared, and some wins were had
            wins, spared = data.draw(st.integers(0, 1000)), data.draw(st.integers(0, min(lost, 1000)))
            assert better(won + wins, lost - spared, log_inv_delta)
        assert all(better(won + wins, lost, log_inv_delta) for wins in range(20))


def cleared_for_good(oracle, horizon):
    """Whether each pair of neighbours would be decided if the upper one lost all duels to come, and each hidden one."""
    if not oracle.t <= horizon:
        return False
    for k in range(1, oracle.K):
        i, j = oracle.base[k], oracle.base[k + 1]
        turns = sum((k - 1) % 2 == t % 2 for t in range(oracle.t, horizon + 1))  # line 5: h = t mod 2; line 8
        if not oracle.s[i, j] - turns > 2 * math.sqrt((oracle.n[i, j] + turns) * oracle.log_inv_delta):
            return False
    last = oracle.base[oracle.K]
    hidden = [oracle.base[k] for k in range(oracle.K + 1, oracle.L + 1)]
    return all(oracle.s[last, j] > oracle.bound(last, j) for j in hidden)


@pytest.mark.parametrize(
    ("items", "positions", "horizon"),
    [
        (3, 3, 90),
        (3, 1, 150),
        (4, 4, 301),
        (5, 3, 600),
        (4, 2, 2001),
        (4, 1, 1000),
    ],
)
def test_bubblerank_is_settled_just_when_all_its_pairs_are_cleared(items, positions, horizon):
    initial_list = np.random.default_rng(1).permutation(items)
    agent = BubbleRank(
        num_items=items, num_positions=positions, horizon=horizon, delta=0.3, seed=4, initial_list=initial_list
    )
    oracle, said = BubbleRankOracle(items, positions, 4, initial_list, -math.log(0.3)), []
    for t in range(horizon + 20):
        said.append(bool(agent.settled()[0]))
        assert said[-1] == cleared_for_good(oracle, horizon), f"round {t}"
        lists = agent.act()
        clicks = nested(t, lists, items)
        agent.update(lists, clicks)
        oracle.update(lists[0].tolist(), clicks[0].tolist())
    assert not said[0]
    assert said[horizon - 1]
    assert not any(said[horizon:])


def test_two_items_are_settled_in_exactly_the_round_of_the_closed_form():
    """Item 0 is always clicked alone: in round t, from 0, s = n = t // 2, and the pair has its turn in odd rounds."""
    horizon, L = 1000, 4 * math.log(10)
    agent = BubbleRank(num_items=2, num_positions=2, horizon=horizon, delta=0.1, seed=5)
    for t in range(horizon):
        s, m = t // 2, sum(r % 2 for r in range(t, horizon))
        assert agent.settled()[0] == (s > m and (s - m) ** 2 > L * (s + m))
        agent.update(agent.act(), agent.act() == 0)


def test_that_every_pair_is_decided_is_not_enough():
    """The lists of rows that are decided but not settled do change, where users turn."""
    agent = BubbleRank(num_items=3, num_positions=3, num_envs=ROWS, horizon=2000, delta=0.1, seed=6)
    for t in range(1000):
        lists = agent.act()
        agent.update(lists, nested(t, lists, 3))
    state = agent.state
    assert all(better(state.wins[row, k, k + 1], state.wins[row, k + 1, k], state.log_inv_delta[row])
               for row in range(ROWS) for k in range(2))  # fmt: skip
    assert not agent.settled().any()
    before, changed = agent.act(), np.zeros(ROWS, bool)
    for t in range(1000, 2000):
        lists = agent.act()
        changed |= (lists != before).any(1)
        agent.update(lists, np.tile((np.arange(3) + t) % 2 == 0, (ROWS, 1)))
    assert changed.all()


@pytest.mark.parametrize("horizon", [None, 2**31, 10**30])
def test_bubblerank_promises_nothing_without_a_horizon_that_can_be_counted(horizon):
    agent = BubbleRank(num_items=1, num_positions=1, horizon=horizon, delta=0.5)
    assert not agent.settled().any()
    assert BubbleRank(num_items=1, num_positions=1, horizon=2**31 - 1, delta=0.5).settled().all()


# Restarting


def test_a_restart_is_to_come_in_every_stretch_but_the_last():
    shape = {"num_items": 3, "num_positions": 2, "num_envs": 2, "seed": 0}
    for horizon, said in ((None, []), (30, range(21, 30)), (25, range(21, 25)), (31, []), (10, range(10))):
        agent = Restarting(agent="static", every=10, horizon=horizon, **shape)
        for t in range(60):
            assert agent.settled().tolist() == [t in said] * 2, f"round {t}"
            agent.update(agent.act(), np.zeros((2, 2)))


def test_an_inner_agent_that_says_nothing_promises_nothing():
    class Plain:
        def __init__(self, num_positions, num_envs):
            self.lists = np.tile(np.arange(num_positions), (num_envs, 1))

        def act(self, observation=None):
            return self.lists

        def update(self, displayed, clicks): ...

    agent = Restarting(agent=Plain, every=10, horizon=10, num_items=3, num_positions=2, num_envs=2)
    assert agent.settled().tolist() == [False, False]


def test_the_answer_is_the_callers():
    for agent in (StaticRanker(num_items=2, num_positions=1), MergeRUCB(num_arms=1), SAVAGE(num_arms=1, horizon=9)):
        agent.settled()[:] = False
        assert agent.settled().all()

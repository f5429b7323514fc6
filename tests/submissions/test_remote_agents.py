"""Agents of submitted classes: played from outside they are what they are inside, and break the same rules."""

import copy
import gc
import importlib.util
import math
import pickle
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("psutil")

import rankgym
from rankgym.agent import Beliefs
from rankgym.conformance.agents import try_rules
from rankgym.conformance.parts import MissingPart
from rankgym.submissions import Limits, NoAnswer, Submission
from rankgym.submissions.remote_agents import RemoteDuelist, RemotePlain, RemoteRanker, error_of, remote_agent
from rankgym.submissions.values import Foreign, decode, encode

PLAIN = Path(__file__).resolve().parents[1] / "agents" / "plain_agents.py"
spec = importlib.util.spec_from_file_location("plain_agents_submitted", PLAIN)
plain = importlib.util.module_from_spec(spec)
spec.loader.exec_module(plain)

BOUNDARY = (
    "arguments",
    "fresh results",
    "copies",
    "snapshot",
    "beliefs",
)  # rules about objects that two processes cannot share
MUTANTS = [
    (kind, rule, mutant.__name__)
    for kind, rules in (("ranking", plain.MUTANTS), ("dueling", plain.DUELING_MUTANTS))
    for rule, mutants in rules.items()
    if rule != "parts"
    for mutant in (mutants if rule in BOUNDARY else mutants[:1])
]
SIZES = {"num_items": 5, "num_positions": 3, "num_envs": 2, "horizon": 50, "seed": 4}

STUDENTS = """
import math, os, random
import numpy as np
import rankgym

class Greedy:
    def __init__(self, num_items, num_positions, seed, initial_list, bonus=0):
        self.rng, self.items, self.k = random.Random(seed), list(initial_list), num_positions
        self.clicks = [bonus] * num_items

    def act(self):
        return sorted(self.items, key=lambda item: (-self.clicks[item], self.rng.random()))[: self.k]

    def update(self, displayed, clicks):
        for item, click in zip(displayed, clicks):
            self.clicks[item] += click

class Raises(Greedy):
    def update(self, displayed, clicks):
        raise {0: ValueError, 1: KeyError, 2: UnicodeDecodeError}[self.clicks[0]]("no")

class Odd(Greedy):
    def act(self):
        return [0, 0, 1]

class Duelist:
    candidate = 0
    def __init__(self, num_arms, seed):
        self.rng, self.num_arms = random.Random(seed), num_arms
    def act(self):
        return self.candidate, self.rng.randrange(self.num_arms)
    def update(self, left, right, left_won):
        self.candidate = left if left_won else right

class Plain:
    def __init__(self, *, num_envs, num_positions, **rest):
        self.lists = np.tile(np.arange(num_positions), (num_envs, 1))
        self.seen = None
    def act(self, observation):
        return {"what": [observation, (1, None, 2.5)], "why": Plain}
    def update(self, displayed, clicks):
        displayed.append(7)

class Leaves(Greedy):
    def update(self, displayed, clicks):
        os._exit(3)
"""


@pytest.fixture(scope="module")
def students():
    with Submission(STUDENTS, "students.py", batches=True) as submission:
        yield submission


@pytest.fixture(scope="module")
def submitted():
    with Submission(PLAIN.read_text(), PLAIN.name, batches=True, limits=Limits(seconds=500)) as submission:
        yield submission


def inside(name):
    """The same class in this process, as a batch agent."""
    module = {}
    exec(STUDENTS, module)
    return rankgym.per_row(module[name])


@pytest.mark.parametrize("watched", [False, True])
def test_a_remote_agent_has_the_history_of_the_same_one_in_this_process(students, watched):
    env = gym.make_vec("rankgym/PBM-Yandex-v0", num_envs=3, query=[0, 1, 5])
    histories = []
    for cls in (remote_agent(students, "Greedy", watched=watched), inside("Greedy")):
        agent = cls.for_env(env, seed=3, bonus=2)
        histories.append(rankgym.simulate(agent, env, 60, seed=1, progress=False))
    for one, other in zip(*histories, strict=True):
        np.testing.assert_array_equal(one, other)
    assert histories[0].regret[-1].min() > 0


def test_duels_and_their_candidates_are_the_same(students):
    env = gym.make_vec("rankgym/Dueling-Arxiv-v0", num_envs=4)
    histories = [
        rankgym.simulate(cls.for_env(env, seed=3), env, 60, seed=1, record_at=range(1, 60), progress=False)
        for cls in (remote_agent(students, "Duelist"), inside("Duelist"))
    ]
    for one, other in zip(*histories, strict=True):
        np.testing.assert_array_equal(one, other)
    assert 0 < histories[0].accuracy.mean() < 1


def test_classes_are_of_the_submitted_kind(students):
    ranker, duelist, other = (remote_agent(students, name) for name in ("Greedy", "Duelist", "Plain"))
    assert (ranker.__mro__[1], duelist.__mro__[1], other.__mro__[1]) == (RemoteRanker, RemoteDuelist, RemotePlain)
    assert (ranker.one_user, other.one_user) == (True, False)
    assert remote_agent(students, "Greedy") is ranker
    plain_one = other(**SIZES)
    for name in ("settled", "snapshot", "restore", "beliefs", "candidate"):
        assert not hasattr(plain_one, name)
    assert repr(plain_one) == "<Plain of students.py>"


@pytest.mark.parametrize("way", [copy.deepcopy, lambda agent: pickle.loads(pickle.dumps(agent))])
def test_copies_are_of_the_submitted_object(students, way):
    cls = remote_agent(students, "Greedy")
    agent, clicks = cls(**SIZES), np.array([[0, 1, 0], [0, 0, 1]])
    agent.update(agent.act(), clicks)  # not sent yet
    twin = way(agent)
    assert type(twin) is cls
    assert twin.num_envs == 2
    before = [twin.act().tolist() for _ in range(5)]
    assert [agent.act().tolist() for _ in range(5)] == before
    assert before[0] != cls(**SIZES).act().tolist()


def test_objects_are_dropped_with_their_agents(students):
    cls = remote_agent(students, "Greedy")
    agent = cls(**SIZES)
    handle = agent.handle
    agent.act()
    del agent
    gc.collect()
    cls(**SIZES)
    with pytest.raises(NoAnswer):
        students.method(handle, "act")


LINE = next(number for number, line in enumerate(STUDENTS.splitlines(), 1) if "raise {" in line)


@pytest.mark.parametrize(
    ("bonus", "error", "text"),
    [(0, ValueError, "no"), (1, KeyError, "'no'"), (2, TypeError, "function takes exactly 5 arguments (1 given)")],
)
def test_errors_are_of_the_same_class_with_their_line(students, bonus, error, text):
    agent = remote_agent(students, "Raises")(**SIZES, bonus=bonus)
    agent.update(agent.act(), np.zeros((2, 3), int))
    with pytest.raises(error) as caught:
        agent.act()
    assert caught.value.args == (f"{text} (students.py, line {LINE})",)


def test_errors_that_cannot_be_made_here_are_named():
    for name in ("UnicodeDecodeError", "NobodysError", "SystemExit"):
        found = error_of(NoAnswer("raised", f"{name}: bad", error=name, line=3, code="x = y"), "ann.py")
        assert type(found) is RuntimeError
        assert str(found) == f"{name}: bad (ann.py, line 3: x = y)"


def test_what_per_row_finds_is_a_value_error(students):
    with pytest.raises(ValueError, match=r"^Odd.act\(\) returned \[0, 0, 1\] in round 0 of row 0: item 0 is repeated"):
        remote_agent(students, "Odd")(**SIZES).act()


def test_values_keep_their_kind(students):
    agent = remote_agent(students, "Plain", watched=True)(**SIZES)
    given = np.arange(6, dtype=np.int16).reshape(2, 3)
    answer = agent.act(given)
    assert answer["what"][0] is given  # the same array on this side, as on the other
    assert answer["what"][1] == (1, None, 2.5)
    assert isinstance(answer["why"], Foreign)
    assert "Plain" in repr(answer["why"])
    displayed = [1, 2]
    agent.update(displayed, None)
    assert displayed == [1, 2, 7]


def test_a_process_that_ends_is_an_error_and_the_next_agent_has_a_new_one(students):
    agent = remote_agent(students, "Leaves")(**SIZES)
    agent.update(agent.act(), np.zeros((2, 3), int))
    with pytest.raises(ChildProcessError, match=r"ended its process \(exit code 3\)"):
        agent.act()
    with pytest.raises(ChildProcessError, match="the object's process has ended"):
        agent.act()
    assert remote_agent(students, "Leaves")(**SIZES).act().shape == (2, 3)


def test_a_missing_class_or_part_is_told():
    source = "import rankgym\nclass Actor(rankgym.Agent):\n    def act(self, observation=None): ...\n"
    with Submission(source, batches=True) as submission:
        with pytest.raises(NoAnswer, match="there is no Mine in submission"):
            remote_agent(submission, "Mine")
        with pytest.raises(
            MissingPart, match=r"^Actor has no update; expected: def update\(self, displayed, clicks\)$"
        ):
            remote_agent(submission, "Actor")


@pytest.mark.parametrize(("kind", "rule", "name"), MUTANTS)
def test_a_breach_is_caught_by_its_rule_through_the_process(submitted, kind, rule, name):
    rounds = 30 if rule == "settled" else 8  # it breaks its promise late
    book = try_rules(remote_agent(submitted, name, watched=True), kind=kind, rounds=rounds)
    assert rule in book.broken, book.skipped


@pytest.mark.parametrize(
    ("kind", "agents"), [("ranking", plain.GOOD), ("dueling", plain.DUELING_GOOD)], ids=["ranking", "dueling"]
)
def test_what_keeps_the_rules_keeps_them_through_the_process(submitted, kind, agents):
    for agent in agents:
        book = try_rules(remote_agent(submitted, agent.__name__, watched=True), kind=kind, rounds=8)
        assert not book.broken, agent
        here = try_rules(agent, kind=kind, rounds=8)
        assert book.outcome()[1] == here.outcome()[1]


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, 3, 2.5, "x", [], (1, [2]), {"a": (1,), 3: None}),
        *(Beliefs(blocks=((0, 2),), champion=1, scores={"a": (0.5, math.inf)}), Beliefs(out=[np.int64(3)])),
        *(np.float32(0.1), np.arange(4, dtype=np.uint32), np.zeros((0, 3)), np.array(2), np.array([[True]])),
    ],
)
def test_values_come_back_equal(value):
    back = decode(encode(value))
    assert type(back) is type(value)
    np.testing.assert_equal(back, value)
    assert getattr(back, "dtype", None) == getattr(value, "dtype", None)


@pytest.mark.parametrize(
    "sent",
    [
        {"array": [0, "<i8", [3], "AAAA"]},
        {"array": [0, "O", [10**9], ""]},
        {"array": [0, "O", [-1], ""]},
        {"array": [0, "U3", [1], ""]},
        {"array": [0, "nonsense", [1], ""]},
        {"unknown": 1},
        {},
        {"dict": [[{"list": []}, 1]]},
    ],
)
def test_what_is_no_value_is_refused(sent):
    with pytest.raises((ValueError, TypeError)):
        decode(sent)

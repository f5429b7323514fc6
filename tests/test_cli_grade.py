"""``rankgym grade``: right and wrong students, broken rules, hostile files, duels, JSON, and helpful errors."""

import json
from pathlib import Path

import pytest

pytest.importorskip("psutil")
pytest.importorskip("scipy")

from rankgym.grading import grade_agent

UCB = """
import math


class UCB:
    def __init__(self, num_items, num_positions, explore=1.5):
        self.num_items, self.num_positions, self.explore = num_items, num_positions, explore
        self.seen, self.clicked, self.round = [0] * num_items, [0] * num_items, 1

    def bound(self, item):
        if self.seen[item] == 0:
            return math.inf
        bonus = self.explore * math.log(self.round) / self.seen[item]
        return self.clicked[item] / self.seen[item] + math.sqrt(bonus)

    def act(self):
        best_first = sorted(range(self.num_items), key=lambda item: -self.bound(item))
        return best_first[: self.num_positions]

    def update(self, displayed, clicks):
        self.round += 1
        for item, click in zip(displayed, clicks):
            self.seen[item] += 1
            self.clicked[item] += click
            if click:
                break
"""
AGENTS = """
import numpy as np
import rankgym


class Fixed(rankgym.Agent):
    def act(self, observation=None):
        return np.tile(np.arange(self.num_positions), (self.num_envs, 1))

    def update(self, displayed, clicks):
        pass


class NoSuper(Fixed):
    def __init__(self, *, num_items, num_positions, num_envs=1, horizon=None, seed=None, initial_list=None):
        self.counts = np.zeros((self.num_envs, num_items))


class ThreeFaults(Fixed):
    def __init__(self, **shape):
        super().__init__(**{**shape, "num_positions": min(shape["num_positions"], shape["num_items"])})

    def update(self, displayed, clicks):
        clicks[:] = 0

    def __getstate__(self):
        raise TypeError("never")


class NoUpdate(rankgym.Agent):
    def act(self, observation=None):
        return np.tile(np.arange(self.num_positions), (self.num_envs, 1))


class NoAct:
    def update(self, displayed, clicks):
        pass


class WantsMore:
    def __init__(self, num_items, depth):
        pass

    def act(self):
        return [0]

    def update(self, displayed, clicks):
        pass


class TakesLess(Fixed):
    def __init__(self, *, num_items, num_positions):
        super().__init__(num_items=num_items, num_positions=num_positions)


class Duelist:
    candidate = 0

    def __init__(self, num_arms):
        self.wins, self.round = [0] * num_arms, 0

    def act(self):
        return self.candidate, self.round % len(self.wins)

    def update(self, left, right, left_won):
        self.round += 1
        self.wins[left if left_won else right] += 1
        self.candidate = self.wins.index(max(self.wins))


class Undecided(Duelist):
    candidate = property(lambda self: self.best, lambda self, best: None)
"""
TURN = "        self.round += 1\n"  # of UCB's update
BREAK = "            if click:\n                break\n"
CM = ("rankgym/CM-Yandex-v0", "--against", "cascade-ucb1")
QUICK = ("--query", "0,1,2", "--rounds", "200")


LINE = UCB.splitlines().index(TURN.rstrip()) + 2  # of what a test writes after it


@pytest.fixture(autouse=True)
def short_plays_of_the_rules(monkeypatch):
    monkeypatch.setattr("rankgym.grading.CONTRACT_ROUNDS", 30)


def changed(old, new):
    assert UCB.count(old) == 1
    return UCB.replace(old, new)


@pytest.mark.parametrize(
    ("source", "low", "high"),
    [
        (UCB, -6, 6),
        (changed(BREAK, ""), 6, 100),  # learns from all clicks
        (changed("* math.log(self.round) ", ""), -100, -6),
        (changed("-self.bound", "self.bound").replace("return math.inf", "return -math.inf"), 6, 100),
    ],
    ids=["right", "all clicks", "no log", "worst first"],
)
def test_paired_regret_tells_right_from_wrong(tmp_path, source, low, high):
    """Differences over 100 queries; the right one breaks ties otherwise, so its |z| exceeds 6 with probability 1e-8."""
    file = tmp_path / "ann.py"
    file.write_text(source)
    grade = grade_agent(file, "UCB", "CM-Yandex-v0", against="cascade-ucb1", rounds=1_000)
    assert grade.passed
    assert low < grade.regret.z < high
    assert (grade.regret.low <= 0 <= grade.regret.high) == (low < 0 < high)
    assert grade.regret.low < grade.regret.difference < grade.regret.high
    assert grade.regret.difference == pytest.approx(grade.regret.mean - grade.regret.against)


def test_a_grade_is_shown_and_written(run):
    Path("ann.py").write_text(UCB)
    result = run("grade", "ann.py:UCB:explore=0.5", *CM, *QUICK, "--runs", "4", "--json", "ann.json")
    assert result.exit_code == 0, result.output
    for words in (
        "ann.py:UCB (one user at a time) in CM-Yandex-v0, against cascade-ucb1",
        "✓ actions",
        "✓ row independence",
        "- not tried: settled, snapshot, beliefs\n    the agent has no such method",
        "Regret after 200 rounds, 3 queries, 4 runs each, seed 0",
        "(paired Student's t by the jackknife over 3 queries, 99 %)",
        "rounds a second for one user",
        "sessions a second with 12 users",
        "Rules: 8 kept, 0 broken, 3 not tried.",
    ):
        assert words in result.output
    grade = json.loads(Path("ann.json").read_text())
    assert (grade["class"], grade["knobs"], grade["one_user"], grade["passed"]) == ("UCB", {"explore": 0.5}, True, True)
    assert (grade["queries"], grade["rows"], grade["rounds"], grade["against"]) == ([0, 1, 2], 12, 200, "cascade-ucb1")
    assert {rule["name"]: rule["result"] for rule in grade["rules"]} == {
        **dict.fromkeys(("parts", "sizes", "actions", "arguments", "fresh results", "seed"), "passed"),
        **dict.fromkeys(("row independence", "copies"), "passed"),
        **dict.fromkeys(("settled", "snapshot", "beliefs"), "skipped"),
    }
    assert grade["regret"]["difference"] == pytest.approx(grade["regret"]["mean"] - grade["regret"]["against"])
    assert grade["regret"]["verdict"] in result.output
    assert grade["speed"]["sessions_per_second"] > 0
    again = run("grade", "ann.py:UCB:explore=0.5", *CM, *QUICK, "--runs", "4", "--json", "-")
    told = json.loads(again.stdout)
    volatile = ("seconds", "speed")
    assert {k: v for k, v in told.items() if k not in volatile} == {k: v for k, v in grade.items() if k not in volatile}


def test_all_broken_rules_are_shown_and_the_exit_code_is_1(run):
    Path("cleo.py").write_text(AGENTS)
    result = run("grade", "cleo.py:ThreeFaults", *CM, *QUICK)
    assert result.exit_code == 1
    for words in (
        "✗ sizes  (6 items, 3 positions)\n    more positions than items",
        "seen      num_positions = 7 with num_items = 6 was accepted\n    expected  a ValueError",
        "✗ arguments  (6 items, 3 positions)\n",
        "seen      update changed the clicks from ",
        "✗ copies  (6 items, 3 positions)\n",
        "seen      copying raised TypeError('never (cleo.py, line ",
        "Rules: 5 kept, 3 broken, 3 not tried.",
        "Regret after 200 rounds",  # it can be played
    ):
        assert words in result.output


def test_rules_that_cannot_be_tried_are_shown_with_the_reason(run):
    shuffled = changed("key=lambda item: -self.bound(item)", "key=lambda item: (-self.bound(item), random.random())")
    Path("bob.py").write_text(shuffled.replace("import math", "import math, random"))
    result = run("grade", "bob.py:UCB", *CM, *QUICK)
    assert result.exit_code == 1
    assert "✗ seed  (6 items, 3 positions)\n    the same seed and the same clicks" in result.output
    assert "seen      a second agent with the same seed showed" in result.output
    assert "not tried: fresh results, row independence, copies\n    rule 'seed' is broken" in result.output
    assert "Rules: 4 kept, 1 broken, 6 not tried." in result.output


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("NoSuper", ["✗ parts", "NoSuper.__init__ does not call super().__init__(...) before it uses self.num_envs"]),
        ("NoUpdate", ["✗ parts", "NoUpdate has no update; expected: def update(self, displayed, clicks)"]),
        ("NoAct", ["✗ parts", "NoAct has no method act; add: def act(self)"]),
        (
            "WantsMore",
            ["✗ constructor", "it wants depth; agents get num_items, num_positions, horizon, seed, initial_"],
        ),
        ("TakesLess", ["✗ constructor", "got an unexpected keyword argument 'num_envs'"]),
        ("Duelist", ["✗ kind", "Duelist duels (it has parameter num_arms), but in rankgym/CM-Yandex-v0 items are ran"]),
        ("Fixd", ["✗ class", "there is no Fixd in cleo.py; did you mean 'Fixed'?"]),
    ],
)
def test_what_is_missing_is_named(run, name, lines):
    Path("cleo.py").write_text(AGENTS)
    result = run("grade", f"cleo.py:{name}", *CM, *QUICK)
    assert result.exit_code == 1
    for line in lines:
        assert line in result.output
    assert "AttributeError" not in result.output


@pytest.mark.parametrize(
    ("new", "seen"),
    [
        (
            TURN + "        while self.round > 20:\n            pass\n",
            "no answer within 3 s: an endless loop, or too slow",
        ),
        (TURN + "        import os\n        os._exit(5)\n", "it ended its process (exit code 5)"),
        (TURN + "        raise SystemExit('bye')\n", f"SystemExit: bye (dan.py, line {LINE})"),
        (TURN + "        input('who?')\n", f"nobody is there to answer (dan.py, line {LINE}"),
        (TURN + "        self.big = bytearray(9 << 30)\n", "it asked for more memory than it may have"),
    ],
    ids=["loops", "exits", "leaves", "asks", "hoards"],
)
def test_hostile_files_are_reported(run, new, seen):
    Path("dan.py").write_text(changed(TURN, new))
    result = run("grade", "dan.py:UCB", *CM, *QUICK, "--time-limit", "30")
    assert result.exit_code == 1
    assert "✗ actions" in result.output
    assert seen in result.output
    assert "Regret was not measured: rule 'actions' is broken" in result.output
    assert "Traceback" not in result.output


def test_what_it_prints_is_cut_and_a_late_failure_is_told(run):
    Path("eve.py").write_text(changed(TURN, TURN + "        print('round', self.round, 1 / (self.round < 150))\n"))
    result = run("grade", "eve.py:UCB", *CM, *QUICK)
    assert result.exit_code == 1
    assert f"✗ play\n    ZeroDivisionError: division by zero (eve.py, line {LINE}: print('round'" in result.output
    assert "Rules: 8 kept, 0 broken, 3 not tried." in result.output
    assert "bytes, of which these are the first:\nround 2 1.0\nround 2 1.0" in result.output
    assert result.output.count("round 2 1.0") <= 10


def test_a_file_that_cannot_be_loaded(run):
    Path("fay.py").write_text("x = (1,\n")
    result = run("grade", "fay.py:UCB", *CM)
    assert result.exit_code == 1
    assert (
        "✗ file\n    it cannot be loaded: SyntaxError: '(' was never closed\n    fay.py, line 1: x = (1,"
        in result.output
    )


def test_duels(run):
    Path("cleo.py").write_text(AGENTS)
    duel = ("Dueling-Arxiv-v0", "--against", "rucb", "--runs", "12", "--rounds", "100")
    result = run("grade", "cleo.py:Duelist", *duel)
    assert result.exit_code == 0, result.output
    assert "✓ bad duels" in result.output
    assert "Regret after 100 rounds, 1 problem, 12 runs, seed 0" in result.output
    undecided = run("grade", "cleo.py:Undecided", *duel)
    assert undecided.exit_code == 1
    assert "'Undecided' object has no attribute 'best'; called from line" in undecided.output
    wrong = run("grade", "cleo.py:Fixed", *duel)
    assert "✗ kind\n    Fixed ranks items (it is no DuelingAgent, and has no parameter num_arms)" in wrong.output


def test_rankings_that_duel(run):
    Path("ann.py").write_text(UCB)
    result = run("grade", "ann.py:UCB", "Dueling-CM-Yandex-v0", "--against", "cascade-ucb1", *QUICK)
    assert result.exit_code == 0, result.output
    assert "difference" in result.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["ann.py", *CM], "ann.py is not FILE:CLASS; allowed: a script or notebook and a class, as in ann.py:UCB1"),
        (["ann:UCB", *CM], "ann:UCB is not FILE:CLASS; did you mean ann.py:UCB? Allowed: a script or notebook"),
        (["bob.py:UCB", *CM], "bob.py: No such file"),
        (["ann.py:UCB", "CM-Yandex-v0", "--against", "rucb"], "agent = 'rucb' plays duels"),
        (["ann.py:UCB", "CM-Yandex-v0", "--against", "ucb"], "agent = 'ucb' is unknown"),
        (["ann.py:UCB", "CM-Yandex-v0", "--against", "ann.py:UCB"], "--against ann.py:UCB is a file; allowed: a name"),
        (["ann.py:UCB", "CM-Yandexx-v0", "--against", "random"], "did you mean 'CM-Yandex-v0'?"),
        (["ann.py:UCB", *CM, "--rounds", "0"], "rounds = 0 is out of range"),
        (["ann.py:UCB", *CM, "--level", "1"], "level = 1.0 is out of range; allowed: 0.5 <= level < 1"),
        (["ann.py:UCB", *CM, "--memory", "0"], "--memory 0 is out of range"),
        (["ann.py:UCB", "CM-Yandex-v0"], "Missing option '--against'"),
    ],
)
def test_errors_of_the_command(run, words, said):
    Path("ann.py").write_text(UCB)
    result = run("grade", *words)
    assert result.exit_code == 2
    assert said in result.stderr

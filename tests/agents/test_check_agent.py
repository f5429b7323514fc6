"""``check_agent`` passes every agent of the table and plain ones, and catches a breach of each of its rules."""

import pickle
import re

import numpy as np
import pytest
from plain_agents import DUELING_GOOD, DUELING_MUTANTS, GOOD, MUTANTS, KeepsWhatItHasComputed, PlainAgent

from rankgym.conformance import AgentError, check_agent, parametrize_with_checks
from rankgym.conformance.agents import ADVICE, RULES
from rankgym_agents import AGENTS, DUELERS, RANKERS

EACH = [(rule, mutant) for rules in (MUTANTS, DUELING_MUTANTS) for rule in rules for mutant in rules[rule]]


EVERY = {name: AGENTS[name] for name in (*RANKERS, *DUELERS)}


@parametrize_with_checks(EVERY, rounds=40)
def test_every_agent_keeps_the_contract(check):
    check()


@pytest.mark.parametrize("name", RANKERS)
def test_every_agent_keeps_the_contract_with_other_sizes(name):
    check_agent(AGENTS[name], num_items=70, num_positions=9, rounds=20, seed=5)  # more items than a word has bits
    check_agent(AGENTS[name], num_items=2, num_positions=1, rounds=30, seed=2**40)


@pytest.mark.parametrize("name", DUELERS)
def test_every_dueling_agent_keeps_the_contract_with_other_sizes(name):
    check_agent(AGENTS[name], num_arms=70, rounds=20, seed=5)
    check_agent(AGENTS[name], num_arms=3, rounds=30, seed=2**40)


@pytest.mark.parametrize("agent", [*GOOD, KeepsWhatItHasComputed, *DUELING_GOOD])
def test_a_plain_agent_keeps_the_contract(agent):
    check_agent(agent, rounds=40)


def test_a_factory_need_not_be_a_class():
    check_agent(lambda **shape: AGENTS["bubblerank"](delta=0.5, **shape), rounds=40)
    check_agent(lambda num_arms, **shape: AGENTS["random-duels"](num_arms=num_arms, **shape), rounds=40)
    check_agent(lambda **shape: AGENTS["random-duels"](**shape), kind="dueling", rounds=40)


def test_the_kind_decides_over_what_the_factory_looks_like():
    class Both:
        def __init__(self, *, num_arms=2, num_items=2, **shape):
            self.act = self.update = None

    words = {
        "ranking": r"'sizes' \(6 items, 3 positions\): num_positions = 7",
        "dueling": r"'sizes' \(5 arms\): num_arms = 0",
    }
    for kind, line in words.items():
        with pytest.raises(AgentError, match=f"^rule {line}"):
            check_agent(Both, kind=kind)
    with pytest.raises(ValueError, match=r"^kind = 'duel' is unknown; allowed: 'ranking', 'dueling', or None$"):
        check_agent(Both, kind="duel")


def test_a_dueling_agent_of_another_form():
    class Pair:  # takes no arms at all, too
        def __init__(self, num_arms, num_envs, **rest):
            self.rows = num_envs

        def act(self, observation):
            return np.zeros(self.rows, np.int64), np.zeros(self.rows, np.int64)

        def update(self, duel, won): ...

    with pytest.raises(
        AgentError, match=r"rule 'actions' .* in round 0; expected: a dict of the arms left and right, "
    ):
        check_agent(Pair)
    with pytest.raises(ValueError, match=r"keyword argument 'horizon'; allowed: .*by \*\*rest$"):
        check_agent(lambda num_arms, num_envs, seed: None)


@pytest.mark.parametrize(("rule", "mutant"), EACH)
def test_a_breach_is_caught_by_its_rule(rule, mutant):
    with pytest.raises(AgentError) as caught:
        check_agent(mutant, rounds=60)
    error = caught.value
    lines = str(error).splitlines()
    assert any(
        re.match(rf"rule '{rule}' \(\d+ (arms|items, \d+ positions)\): .+; expected: .+", line) for line in lines
    )
    named = [rule for line in lines if line.startswith("skipped, as ") for rule in line.rsplit(": ", 1)[1].split(", ")]
    assert sorted(named) == sorted(error.skipped)
    assert sum(line.startswith("rule ") for line in lines) == len(error.broken)
    assert all(ADVICE[broken] in str(error) for broken in error.broken if broken != "parts")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_an_agent_that_breaks_three_rules_is_told_all_three():
    class ThreeFaults(PlainAgent):
        def __init__(self, **shape):
            super().__init__(**{**shape, "num_positions": min(shape["num_positions"], shape["num_items"])})

        def update(self, displayed, clicks):
            super().update(displayed, clicks)
            np.asarray(clicks)[:] = 0

        def __getstate__(self):
            raise TypeError("never")

    with pytest.raises(AgentError) as caught:
        check_agent(ThreeFaults, rounds=40)
    assert list(caught.value.broken) == ["sizes", "arguments", "copies"]
    assert set(caught.value.skipped) == {"bad duels", "settled", "snapshot", "beliefs"}


def test_rules_that_cannot_be_tried_are_told_with_the_reason():
    with pytest.raises(AgentError) as caught:
        check_agent(MUTANTS["seed"][0], rounds=40)
    assert list(caught.value.broken) == ["seed"]
    because = {rule for rule, reason in caught.value.skipped.items() if reason == "rule 'seed' is broken"}
    assert because >= {"fresh results", "row independence", "copies"}
    assert "\nskipped, as rule 'seed' is broken: fresh results, row independence, copies" in str(caught.value)


@pytest.mark.parametrize(
    ("mutant", "seen", "expected"),
    [
        ("OnlyActs", "OnlyActs has no update", "def update(self, displayed, clicks)"),
        ("OnlyUpdates", "OnlyUpdates has no act", "def act(self, observation)"),
        ("ForgetsSuper", "ForgetsSuper.__init__ does not call super().__init__(...)", "seed=seed, initial_list="),
        (
            "UsesWhatSuperSets",
            "does not call super().__init__(...) before it uses self.num_envs",
            "in its first line: ",
        ),
        ("DrawsBeforeSuper", "does not call super().__init__(...) before it uses self.seeds", "in its first line: "),
        ("NamesNoCandidate", "NamesNoCandidate has no candidate", "def candidate(self), a property"),
        ("ForgetsSuperOfDuels", "does not call super().__init__(...)", "super().__init__(num_arms=num_arms, num_envs="),
    ],
)
def test_a_missing_part_is_named_and_nothing_else_is_tried(mutant, seen, expected):
    (found,) = (one for _, one in EACH if one.__name__ == mutant)
    with pytest.raises(AgentError) as caught:
        check_agent(found)
    assert list(caught.value.broken) == ["parts"]
    assert seen in caught.value.broken["parts"].seen
    assert expected in caught.value.broken["parts"].expected
    assert set(caught.value.skipped) == set(RULES) - {"parts"}


@pytest.mark.parametrize(
    ("mutant", "seen"),
    [
        ("SpeaksInDicts", "beliefs(0) returned {'clicks': [0, 0, 0, 0, 0, 0]} before the first round"),
        ("ScoresFiveOfSix", "beliefs(0).scores['clicks'] has 5 numbers before the first round"),
        ("NamesAnItemTwice", "beliefs(0).base_list names 0 twice before the first round"),
        ("SortsWhenAsked", r"beliefs\(\d\) changed the attribute clicks of the agent after round \d+"),
        ("DrawsToBelieve", "beliefs(0) changed the attribute chance of the agent before the first round"),
        ("NeverSaysTheSameTwice", "two calls of beliefs(0) differ in scores before the first round"),
        ("LearnsFromBeingAsked", r"asked for its beliefs before, row \d showed \[.*\] in round \d"),
    ],
)
def test_the_message_says_what_asking_for_beliefs_changed(mutant, seen):
    (found,) = (one for _, one in EACH if one.__name__ == mutant)
    with pytest.raises(AgentError) as caught:
        check_agent(found, rounds=60)
    assert list(caught.value.broken) == ["beliefs"]
    said = caught.value.broken["beliefs"].seen
    assert re.fullmatch(seen, said) if "\\" in seen else said == seen


def test_every_rule_has_a_mutant():
    assert set(RULES) == MUTANTS.keys() | DUELING_MUTANTS.keys()
    assert DUELING_MUTANTS.keys() - MUTANTS.keys() == {"bad duels"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("num_items", 3),
        ("num_items", 2.0),
        ("num_positions", 0),
        ("num_arms", 2),
        ("rounds", 1),
        ("seed", -1),
        ("seed", None),
    ],
)
def test_bad_arguments_of_the_check_itself(name, value):
    with pytest.raises(ValueError, match=rf"^{name} = {value!r} is out of range; allowed: "):
        check_agent(AGENTS["static"], **{name: value})


@pytest.mark.parametrize(
    ("factory", "kind", "words"),
    [
        (lambda num_arms: None, None, r"unexpected keyword argument .*takes the keywords \('num_arms', 'num_envs'"),
        (lambda num_items: None, None, r"unexpected keyword argument .*takes the keywords \('num_items', 'num_pos"),
        (
            lambda num_items: None,
            "dueling",
            r"required argument.*; allowed: one that takes .* \('num_arms', 'num_envs'",
        ),
    ],
)
def test_a_factory_that_does_not_fit_is_refused(factory, kind, words):
    with pytest.raises(ValueError, match=words):
        check_agent(factory, kind=kind)

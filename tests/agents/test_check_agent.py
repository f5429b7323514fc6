"""``check_agent`` passes every agent of the table and plain ones, and catches a breach of each of its rules."""

import re

import numpy as np
import pytest
from plain_agents import DUELING_GOOD, DUELING_MUTANTS, GOOD, MUTANTS

from rankgym.conformance.agents import AgentError, check_agent
from rankgym_agents import AGENTS, DUELERS, RANKERS

EACH = [(rule, mutant) for rules in (MUTANTS, DUELING_MUTANTS) for rule in rules for mutant in rules[rule]]


@pytest.mark.parametrize("name", RANKERS)
def test_every_agent_keeps_the_contract(name):
    check_agent(AGENTS[name])
    check_agent(AGENTS[name], num_items=70, num_positions=9, rounds=40, seed=5)  # more items than a word has bits
    check_agent(AGENTS[name], num_items=2, num_positions=1, rounds=400, seed=2**40)


@pytest.mark.parametrize("name", DUELERS)
def test_every_dueling_agent_keeps_the_contract(name):
    check_agent(AGENTS[name])
    check_agent(AGENTS[name], num_arms=70, rounds=100, seed=5)
    check_agent(AGENTS[name], num_arms=3, rounds=500, seed=2**40)


@pytest.mark.parametrize("agent", GOOD + DUELING_GOOD)
def test_a_plain_agent_keeps_the_contract(agent):
    check_agent(agent)


def test_a_factory_need_not_be_a_class():
    check_agent(lambda **shape: AGENTS["bubblerank"](delta=0.5, **shape))
    check_agent(lambda num_arms, **shape: AGENTS["random-duels"](num_arms=num_arms, **shape))
    check_agent(lambda **shape: AGENTS["random-duels"](**shape), kind="dueling")


def test_the_kind_decides_over_what_the_factory_looks_like():
    class Both:
        def __init__(self, *, num_arms=2, num_items=2, **shape):
            self.update = None

    said = {"ranking": r"7 of check_agent .*num_positions = 7", "dueling": r"1 of .* \(5 arms\): .*act and update$"}
    for kind, words in said.items():
        with pytest.raises(AgentError, match=f"^rule {words}"):
            check_agent(Both, kind=kind)
    with pytest.raises(ValueError, match=r"^kind = 'duel' is unknown; allowed: 'ranking', 'dueling', or None$"):
        check_agent(Both, kind="duel")


def test_who_writes_a_dueling_agent_hears_of_its_duels_before_the_number_of_arms():
    class Pair:  # takes no arms at all, too
        def __init__(self, num_arms, num_envs, **rest):
            self.rows = num_envs

        def act(self, observation):
            return np.zeros(self.rows, np.int64), np.zeros(self.rows, np.int64)

        def update(self, duel, won): ...

    with pytest.raises(AgentError, match=r"^rule 1 .* in round 0; allowed: a dict of the arms left and right$"):
        check_agent(Pair)
    with pytest.raises(ValueError, match=r"keyword argument 'horizon'; allowed: .*by \*\*rest$"):
        check_agent(lambda num_arms, num_envs, seed: None)


@pytest.mark.parametrize(("rule", "mutant"), EACH)
def test_a_breach_is_caught_by_its_rule(rule, mutant):
    with pytest.raises(
        AgentError, match=rf"^rule {rule} of check_agent \(\d+ (arms|items, \d+ positions)\): .+; allowed: .+"
    ):
        check_agent(mutant, rounds=60)


def test_every_rule_has_a_mutant():
    rules = [int(rule) for rule in re.findall(r"^ +(\d+)\. ", check_agent.__doc__, re.MULTILINE)]
    assert rules == sorted(MUTANTS.keys() | DUELING_MUTANTS.keys()) == list(DUELING_MUTANTS)
    assert DUELING_MUTANTS.keys() - MUTANTS.keys() == {8}


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

"""``check_agent`` passes every agent of the table and plain ones, and catches a breach of each of its rules."""

import pytest
from plain_agents import GOOD, MUTANTS

from rankgym.contract import AgentError, check_agent
from rankgym_agents import AGENTS


@pytest.mark.parametrize("name", AGENTS)
def test_every_agent_keeps_the_contract(name):
    check_agent(AGENTS[name])
    check_agent(AGENTS[name], num_items=70, num_positions=9, rounds=40, seed=5)  # more items than a word has bits
    check_agent(AGENTS[name], num_items=2, num_positions=1, rounds=400, seed=2**40)


@pytest.mark.parametrize("agent", GOOD)
def test_a_plain_agent_keeps_the_contract(agent):
    check_agent(agent)


def test_a_factory_need_not_be_a_class():
    check_agent(lambda **shape: AGENTS["bubblerank"](delta=0.5, **shape))


@pytest.mark.parametrize(("rule", "mutant"), [(rule, mutant) for rule in MUTANTS for mutant in MUTANTS[rule]])
def test_a_breach_is_caught_by_its_rule(rule, mutant):
    with pytest.raises(
        AgentError, match=rf"^rule {rule} of check_agent \(\d+ items?, \d+ positions?\): .+; allowed: .+"
    ):
        check_agent(mutant, rounds=60)


def test_every_rule_has_a_mutant():
    rules = [line.strip()[0] for line in check_agent.__doc__.splitlines() if line.strip()[1:2] == "."]
    assert sorted(map(int, rules)) == sorted(MUTANTS)


@pytest.mark.parametrize(
    ("name", "value"),
    [("num_items", 3), ("num_items", 2.0), ("num_positions", 0), ("rounds", 1), ("seed", -1), ("seed", None)],
)
def test_bad_arguments_of_the_check_itself(name, value):
    with pytest.raises(ValueError, match=rf"^{name} = {value!r} is out of range; allowed: "):
        check_agent(AGENTS["static"], **{name: value})

"""Agents as newcomers write them first: what ``check_agent`` says of each, and that it says what to do."""

import numpy as np
import pytest

import rankgym
from rankgym import Agent, DuelingAgent, KernelAgent
from rankgym.conformance import AgentError, check_agent


class Lists(Agent):
    """The same lists always; what is wrong with it is in the subclasses."""

    def act(self, observation=None):
        return np.tile(np.arange(self.num_positions), (self.num_envs, 1))

    def update(self, displayed, clicks):
        pass


class Empty(Agent):
    pass


class EmptyWithoutSuper(Agent):
    def __init__(self, num_items, num_positions, **rest):
        self.items = num_items


class PlainEmpty:
    def __init__(self, **shape):
        pass


class ActsBlindly(Lists):
    def act(self):
        return super().act()


class WantsRewards(Lists):
    def act(self):
        return super().act()

    def update(self, displayed, clicks, rewards):
        pass


class WithoutState(KernelAgent):
    rank = staticmethod(lambda state, displayed: None)
    learn = staticmethod(lambda state, displayed, clicks: None)


class OneList(Lists):
    def act(self, observation=None):
        return super().act()[0]


class OneRow(Lists):
    def __init__(self, num_items, num_positions, **rest):
        super().__init__(num_items=num_items, num_positions=num_positions)


class Forgets(Lists):
    def act(self, observation=None):
        super().act()


class FromOne(Lists):
    def act(self, observation=None):
        return super().act() + 1


class Floats(Lists):
    def act(self, observation=None):
        return super().act() * 1.0


class Global(Lists):
    def act(self, observation=None):
        return np.array([np.random.permutation(self.num_items)[: self.num_positions] for _ in range(self.num_envs)])


class OneGenerator(Lists):
    def __init__(self, **shape):
        super().__init__(**shape)
        self.generator = np.random.default_rng(self.seeds[0])

    def act(self, observation=None):
        rows = [self.generator.permutation(self.num_items)[: self.num_positions] for _ in range(self.num_envs)]
        return np.array(rows)


class KeepsItsList(Lists):
    def __init__(self, **shape):
        super().__init__(**shape)
        self.lists = super().act()

    def act(self, observation=None):
        return self.lists

    def update(self, displayed, clicks):
        self.lists[:] = self.lists[:, ::-1]
        clicks[:] = 0


class KeepsALambda(Lists):
    def __init__(self, **shape):
        super().__init__(**shape)
        self.score = lambda clicks: clicks.sum()


class Misindexes(Lists):
    def update(self, displayed, clicks):
        self.counts[displayed] += clicks


class PairOfArms(DuelingAgent):
    candidate = 0

    def act(self, observation=None):
        return 0, 1

    def update(self, duel, won):
        pass


SAID = {  # the broken rules, and words of the message
    Empty: (["parts"], "Empty has no act; Empty has no update; expected: def act(self, observation=None); def update("),
    EmptyWithoutSuper: (
        ["parts"],
        "has no act; EmptyWithoutSuper has no update; EmptyWithoutSuper.__init__ does not call super().__init__(...); ",
    ),
    PlainEmpty: (["parts"], "PlainEmpty has no act; PlainEmpty has no update; expected: def act(self, observation)"),
    ActsBlindly: (["parts"], "ActsBlindly.act has the parameters (); expected: def act(self, observation=None)"),
    WantsRewards: (["parts"], ".update has the parameters (displayed, clicks, rewards); expected: def act(self, obser"),
    WithoutState: (["parts"], "WithoutState.__init__ does not set self.state; expected: self.state = State(...)"),
    OneList: (["actions"], "act returned an array of shape (3,) and dtype int64 in round 0; expected: whole numbers"),
    OneRow: (["actions"], "this agent has one row, so pass num_envs=3 on to super().__init__"),
    Forgets: (["actions"], "act returned None in round 0; expected: whole numbers of shape (num_envs, num_positions)"),
    FromOne: (["actions"], "act returned [1, 2, 3] for row 0 in round 0; expected: 3 different items out of 0..2"),
    Floats: (["actions"], "dtype float64 in round 0; expected: whole numbers"),
    Global: (["seed"], "draw from generators made of the rows' seeds (self.seeds), never from random or np.random"),
    OneGenerator: (["row independence"], "self.generators = [np.random.default_rng(s) for s in self.seeds]"),
    KeepsItsList: (["arguments", "fresh results"], "return a copy: return self.lists.copy()"),
    KeepsALambda: (["copies"], "keep lambdas, open files and iterators out of the attributes"),
    Misindexes: (["actions"], "AttributeError in test_newcomers_agents.py, line "),
    PairOfArms: (["actions"], "act returned (0, 1) in round 0; expected: a dict of the arms left and right, (3,) each"),
}


@pytest.mark.parametrize("broken", SAID, ids=lambda cls: cls.__name__)
def test_a_newcomers_agent_is_told_what_to_do(broken):
    rules, words = SAID[broken]
    np.random.seed(3)  # of the agent that draws from the global generator
    with pytest.raises(AgentError) as caught:
        check_agent(broken, rounds=40)
    assert list(caught.value.broken) == rules
    assert words in str(caught.value)


def test_what_is_right_about_them_is_not_complained_of():
    check_agent(Lists, rounds=40)


class OneUser:
    def act(self):
        return [0, 1, 2]

    def update(self, displayed, clicks):
        pass


def test_a_class_for_one_user_is_to_be_wrapped():
    with pytest.raises(
        ValueError, match=r"for a class of one user at a time: check_agent\(rankgym.per_row\(OneUser\)\)$"
    ):
        check_agent(OneUser)
    with pytest.raises(AgentError, match=r"different items out of 0 \.\. 0"):  # three items, whatever it is asked for
        check_agent(rankgym.per_row(OneUser), rounds=10)

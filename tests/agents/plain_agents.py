"""Agents in plain Python for ``check_agent``: a good one, and one that breaks each rule."""

import random

import numpy as np


class PlainAgent:
    """Epsilon-greedy on click counts: no base class, no compiler, no arrays inside; lists in and lists out."""

    def __init__(self, *, num_items, num_positions, num_envs=1, horizon=None, seed=0, initial_list=None):
        if num_positions > num_items:
            raise ValueError(f"num_positions = {num_positions}; allowed: up to num_items = {num_items}")
        self.num_items, self.num_positions, self.num_envs = num_items, num_positions, num_envs
        self.chance = [random.Random(seed + row) for row in range(num_envs)]
        self.clicks = [[0] * num_items for _ in range(num_envs)]

    def act(self, observation):
        lists = []
        for chance, clicks in zip(self.chance, self.clicks, strict=True):
            items = list(range(self.num_items))
            chance.shuffle(items)
            if chance.random() < 0.9:
                items.sort(key=lambda item: -clicks[item])
            lists.append(items[: self.num_positions])
        return lists

    def update(self, displayed, clicks):
        for row, (items, marks) in enumerate(zip(displayed, clicks, strict=True)):
            for item, mark in zip(items, marks, strict=True):
                self.clicks[row][item] += int(mark)


class ArrayAgent(PlainAgent):
    """The same with arrays out, as the mutants below need it."""

    def act(self, observation):
        return np.array(super().act(observation))


# Rule 1: lists of distinct items in range.


class Transposes(ArrayAgent):
    def act(self, observation):
        return super().act(observation).T


class ShowsOneMore(ArrayAgent):
    def act(self, observation):
        return np.pad(super().act(observation), ((0, 0), (0, 1)), constant_values=self.num_items - 1)


class SpeaksInFloats(ArrayAgent):
    def act(self, observation):
        return super().act(observation).astype(float)


class Repeats(ArrayAgent):
    def act(self, observation):
        return np.repeat(super().act(observation)[:, :1], self.num_positions, 1)


class CountsFromOne(ArrayAgent):
    def act(self, observation):
        return super().act(observation) + 1


class CountsFromBelow(ArrayAgent):
    def act(self, observation):
        return super().act(observation) - 1


class Ragged(PlainAgent):
    def act(self, observation):
        lists = super().act(observation)
        lists[0] = lists[0][:-1]
        return lists


# Rule 2: what was given out is the caller's.


class ReusesItsArray(ArrayAgent):
    def act(self, observation):
        lists = super().act(observation)
        if not hasattr(self, "lists"):
            self.lists = lists
        self.lists[:] = lists
        return self.lists


class LearnsLate(ArrayAgent):
    """Keeps the arrays of update and learns from them in the next round."""

    def act(self, observation):
        if hasattr(self, "kept"):
            ArrayAgent.update(self, *self.kept)
        return super().act(observation)

    def update(self, displayed, clicks):
        self.kept = displayed, clicks


class LearnsFromItsOwnList(ArrayAgent):
    """Gives its list away and still relies on it."""

    def act(self, observation):
        if hasattr(self, "lists"):
            ArrayAgent.update(self, self.lists, self.marks)
        self.lists = super().act(observation)
        return self.lists

    def update(self, displayed, clicks):
        self.marks = clicks.copy()


# Rule 3: arguments stay as they are.


class ClearsTheClicks(ArrayAgent):
    def update(self, displayed, clicks):
        super().update(displayed, clicks)
        clicks[:] = 0


class SortsTheDisplayed(ArrayAgent):
    def update(self, displayed, clicks):
        super().update(displayed, clicks)
        displayed.sort(1)


class SortsTheInitialList(ArrayAgent):
    def __init__(self, *, initial_list, **shape):
        super().__init__(**shape)
        initial_list.sort(1)


class ClearsTheObservation(ArrayAgent):
    def act(self, observation):
        observation[:] = 0
        return super().act(observation)


# Rule 4: seeded.


class Unseeded(ArrayAgent):
    def __init__(self, **shape):
        super().__init__(**shape)
        self.chance = [random.Random() for _ in range(self.num_envs)]


class SharesItsChanceBetweenAgents(ArrayAgent):
    common = random.Random(0)

    def __init__(self, **shape):
        super().__init__(**shape)
        self.chance = [self.common] * self.num_envs


# Rule 5: a row alone is the row of a batch.


class SharesItsChanceBetweenRows(ArrayAgent):
    def __init__(self, *, seed, **shape):
        super().__init__(seed=seed, **shape)
        self.chance = [random.Random(seed)] * self.num_envs


class SeedsAllRowsAlike(ArrayAgent):
    def __init__(self, *, seed, **shape):
        super().__init__(seed=seed, **shape)
        self.chance = [random.Random(seed) for _ in range(self.num_envs)]


class LearnsAcrossRows(ArrayAgent):
    def update(self, displayed, clicks):
        super().update(displayed, clicks)
        self.clicks = [[sum(counts) for counts in zip(*self.clicks, strict=True)] for _ in range(self.num_envs)]


# Rule 6: copies go on.


class CannotBePickled(ArrayAgent):
    def __init__(self, **shape):
        super().__init__(**shape)
        self.score = lambda item: item


class ForgetsWhenPickled(ArrayAgent):
    def __setstate__(self, state):
        self.__dict__.update(state)
        self.clicks = [[0] * self.num_items for _ in range(self.num_envs)]


class SharesStateWithItsCopy(ArrayAgent):
    def __deepcopy__(self, memo):
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin


# Rule 7: sizes.


class TakesTooManyPositions(ArrayAgent):
    def __init__(self, *, num_items, num_positions, **shape):
        super().__init__(num_items=num_items, num_positions=min(num_items, num_positions), **shape)


class RaisesAnotherError(ArrayAgent):
    def __init__(self, *, num_items, num_positions, **shape):
        if num_positions > num_items:
            raise IndexError(num_positions)
        super().__init__(num_items=num_items, num_positions=num_positions, **shape)


class RefusesOneItem(ArrayAgent):
    def __init__(self, *, num_items, **shape):
        if num_items == 1:
            raise ValueError("num_items = 1; allowed: at least 2")
        super().__init__(num_items=num_items, **shape)


class RefusesOnceOnly(ArrayAgent):
    refused = False

    def __init__(self, *, num_items, num_positions, **shape):
        super().__init__(num_items=num_items, num_positions=num_positions, **shape)
        if num_items > num_positions and not self.refused:
            type(self).refused = True
            raise ValueError("not today")


class ReRanks(ArrayAgent):
    """Good: re-ranks as many items as it displays, and always says so."""

    def __init__(self, *, num_items, num_positions, **shape):
        if num_items != num_positions:
            raise ValueError(f"num_items = {num_items}; allowed: num_positions = {num_positions}")
        super().__init__(num_items=num_items, num_positions=num_positions, **shape)


GOOD = [PlainAgent, ArrayAgent, ReRanks]
MUTANTS = {
    1: [Transposes, ShowsOneMore, SpeaksInFloats, Repeats, CountsFromOne, CountsFromBelow, Ragged],
    2: [ReusesItsArray, LearnsLate, LearnsFromItsOwnList],
    3: [ClearsTheClicks, SortsTheDisplayed, SortsTheInitialList, ClearsTheObservation],
    4: [Unseeded, SharesItsChanceBetweenAgents],
    5: [SharesItsChanceBetweenRows, SeedsAllRowsAlike, LearnsAcrossRows],
    6: [CannotBePickled, ForgetsWhenPickled, SharesStateWithItsCopy],
    7: [TakesTooManyPositions, RaisesAnotherError, RefusesOneItem, RefusesOnceOnly],
}

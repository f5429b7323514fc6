"""Agents in plain Python for ``check_agent``: a good one, and one that breaks each rule."""

import random

import numpy as np

from rankgym.agent import Agent, Beliefs, DuelingAgent


def generators(seed, num_envs):
    """One a row; ``seed`` is the first row's, or one a row."""
    return [random.Random(seed[row] if isinstance(seed, list) else seed + row) for row in range(num_envs)]


class PlainAgent:
    """Epsilon-greedy on click counts: no base class, no compiler, no arrays inside; lists in and lists out."""

    def __init__(self, *, num_items, num_positions, num_envs=1, horizon=None, seed=0, initial_list=None):
        if num_positions > num_items:
            raise ValueError(f"num_positions = {num_positions}; allowed: up to num_items = {num_items}")
        self.num_items, self.num_positions, self.num_envs = num_items, num_positions, num_envs
        self.chance = generators(seed, num_envs)
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


# parts: methods, and what base classes set.


class Fixed(Agent):
    """Good: always the same lists."""

    def act(self, observation=None):
        return np.tile(np.arange(self.num_positions), (self.num_envs, 1))

    def update(self, displayed, clicks):
        pass


class OnlyActs(Agent):
    def act(self, observation=None):
        return np.tile(np.arange(self.num_positions), (self.num_envs, 1))


class OnlyUpdates:
    def __init__(self, *, num_items, num_positions, num_envs=1, horizon=None, seed=0, initial_list=None):
        pass

    def update(self, displayed, clicks):
        pass


class ForgetsSuper(Fixed):
    def __init__(self, *, num_items, num_positions, num_envs=1, horizon=None, seed=0, initial_list=None):
        self.counts = np.zeros(num_items)


class UsesWhatSuperSets(Fixed):
    def __init__(self, *, num_items, num_positions, num_envs=1, horizon=None, seed=0, initial_list=None):
        self.counts = np.zeros((self.num_envs, num_items))
        super().__init__(num_items=num_items, num_positions=num_positions, num_envs=num_envs)


class DrawsBeforeSuper(Fixed):
    def __init__(self, *, num_items, num_positions, num_envs=1, horizon=None, seed=0, initial_list=None):
        self.key = self.keys()


# actions: lists of distinct items in range.


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


# fresh results: what was given out is the caller's.


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


# arguments: arguments stay as they are.


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


# seed: seeded.


class Unseeded(ArrayAgent):
    def __init__(self, **shape):
        super().__init__(**shape)
        self.chance = [random.Random() for _ in range(self.num_envs)]


class SharesItsChanceBetweenAgents(ArrayAgent):
    common = random.Random(0)

    def __init__(self, **shape):
        super().__init__(**shape)
        self.chance = [self.common] * self.num_envs


# row independence: a row alone is the row of a batch.


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


# copies: copies go on.


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


# sizes: sizes.


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


# settled: what is settled stays.


class Decides(ArrayAgent):
    """Good: from round 20 on it shows the items by their clicks so far, and counts no others."""

    def __init__(self, **shape):
        super().__init__(**shape)
        self.rounds = 0

    def act(self, observation):
        lists = super().act(observation)
        if self.rounds < 20:
            return lists
        return np.argsort(-np.array(self.clicks), axis=1, kind="stable")[:, : self.num_positions]

    def update(self, displayed, clicks):
        if self.rounds < 20:
            super().update(displayed, clicks)
        self.rounds += 1

    def settled(self):
        return np.full(self.num_envs, self.rounds >= 20)


class DecidesOnTheWholeBatch(Decides):
    def settled(self):
        return self.rounds >= 20


class DecidesByNumbers(Decides):
    def settled(self):
        return super().settled().astype(int)


class SaysItTooEarly(Decides):
    def settled(self):
        return np.full(self.num_envs, self.rounds >= 19)


class DrawsWhenAsked(Decides):
    def settled(self):
        for chance in self.chance:
            chance.random()
        return super().settled()


class ChangesItsMind(Decides):
    """No user of a cascade makes it: that takes clicks above and below an item that is not clicked, five times."""

    def __init__(self, **shape):
        super().__init__(**shape)
        self.doubts = [0] * self.num_envs

    def update(self, displayed, clicks):
        super().update(displayed, clicks)
        for row, (items, marks) in enumerate(zip(displayed, clicks, strict=True)):
            self.doubts[row] += self.rounds > 20 and list(map(int, marks[-3:])) == [1, 0, 1]
            if self.doubts[row] == 5:
                self.clicks[row][items[-1]] += 1000


# snapshot: what is written down is all.


class WrittenDown(ArrayAgent):
    """Good: its clicks, and the 625 words of each row's generator."""

    def snapshot(self):
        words = np.array([chance.getstate()[1] for chance in self.chance], np.uint32)
        return {"clicks": np.array(self.clicks), "words": words}

    def restore(self, snapshot):
        self.clicks = snapshot["clicks"].tolist()
        for chance, words in zip(self.chance, snapshot["words"], strict=True):
            chance.setstate((3, tuple(words.tolist()), None))


class IsNotWrittenDown(ArrayAgent):
    """Good, too: says so."""

    def snapshot(self):
        return None


class WritesLists(WrittenDown):
    def snapshot(self):
        return {name: part.tolist() for name, part in super().snapshot().items()}


class WritesPairs(WrittenDown):
    def snapshot(self):
        return list(super().snapshot().items())


class WritesWithoutRows(WrittenDown):
    def snapshot(self):
        return {**super().snapshot(), "num_items": np.array(self.num_items)}


class WritesObjects(WrittenDown):
    def snapshot(self):
        return {name: part.astype(object) for name, part in super().snapshot().items()}


class WritesNoChance(WrittenDown):
    def restore(self, snapshot):
        self.clicks = snapshot["clicks"].tolist()


class WritesInWaysOfItsOwn(WrittenDown):
    def restore(self, snapshot):
        super().restore({name.upper(): part for name, part in snapshot.items()})


class DrawsWhenWrittenDown(WrittenDown):
    def snapshot(self):
        snapshot = super().snapshot()
        for chance in self.chance:
            chance.random()
        return snapshot


class WritesRowsInOrder(WrittenDown):
    """Takes the first rows of the batch for its own."""

    def snapshot(self):
        self.written = super().snapshot()
        return {"row": np.arange(self.num_envs), **self.written}

    def restore(self, snapshot):
        rows = snapshot["row"] - snapshot["row"][0]
        type(self).last = snapshot if rows[-1] == 2 else type(self).last
        super().restore({name: type(self).last[name][rows] for name in ("clicks", "words")})


class CountsSeedsUp(WrittenDown):
    """Does not expect rows that are no neighbours."""

    def __init__(self, *, seed, **shape):
        super().__init__(seed=int(seed), **shape)


class GivesItsMemoryAway(ArrayAgent):
    """Its snapshot is what it counts in."""

    def __init__(self, **shape):
        super().__init__(**shape)
        self.counts = np.zeros((self.num_envs, self.num_items), int)

    def act(self, observation):
        return np.argsort(-self.counts, axis=1, kind="stable")[:, : self.num_positions]

    def update(self, displayed, clicks):
        np.put_along_axis(self.counts, displayed, np.take_along_axis(self.counts, displayed, 1) - 1 + 2 * clicks, 1)

    def snapshot(self):
        return {"counts": self.counts}

    def restore(self, snapshot):
        self.counts = snapshot["counts"].copy()


class KeepsWhatItWasGiven(GivesItsMemoryAway):
    def snapshot(self):
        return {"counts": self.counts.copy()}

    def restore(self, snapshot):
        self.counts = snapshot["counts"]


# beliefs: asking changes nothing.


class Believes(ArrayAgent):
    """Good: says its counts."""

    def beliefs(self, row=0):
        return Beliefs(scores={"clicks": tuple(self.clicks[row])})


class KeepsWhatItHasComputed(Believes):
    """Good: what it has computed when it was asked first is in a new attribute."""

    def beliefs(self, row=0):
        if not hasattr(self, "half"):
            self.half = tuple([0.5] * self.num_items)
        return Beliefs(scores={"half": self.half})


class BelievesInArrays(Believes):
    """Good: with arrays, and numbers that are none."""

    def beliefs(self, row=0):
        return Beliefs(scores={"clicks": np.array(self.clicks[row]), "share": np.full(self.num_items, np.nan)})


class SaysNothing(ArrayAgent):
    """Good."""

    def beliefs(self, row=0):
        return None


class SpeaksInDicts(ArrayAgent):
    def beliefs(self, row=0):
        return {"clicks": self.clicks[row]}


class ScoresFiveOfSix(Believes):
    def beliefs(self, row=0):
        return Beliefs(scores={"clicks": tuple(self.clicks[row])[1:]})


class NamesAnItemTwice(Believes):
    def beliefs(self, row=0):
        return Beliefs(base_list=(0, 0))


class SortsWhenAsked(Believes):
    def beliefs(self, row=0):
        self.clicks[row].sort()
        return super().beliefs(row)


class DrawsToBelieve(Believes):
    def beliefs(self, row=0):
        return Beliefs(champion=self.chance[row].randrange(self.num_items))


class NeverSaysTheSameTwice(ArrayAgent):
    said = 0

    def beliefs(self, row=0):
        type(self).said += 1
        return Beliefs(scores={"said": (type(self).said,) * self.num_items})


class LearnsFromBeingAsked(ArrayAgent):
    """Its memory is not among its attributes."""

    memory = [0]  # noqa: RUF012

    def __init__(self, **shape):
        super().__init__(**shape)
        self.memory[0] = 0

    def act(self, observation):
        return np.roll(super().act(observation), self.memory[0] >= 6, axis=1)

    def beliefs(self, row=0):
        self.memory[0] += 1


GOOD = [
    *(PlainAgent, ArrayAgent, Fixed, ReRanks, Decides, WrittenDown, IsNotWrittenDown),
    *(Believes, BelievesInArrays, SaysNothing),
]
MUTANTS = {
    "parts": [OnlyActs, OnlyUpdates, ForgetsSuper, UsesWhatSuperSets, DrawsBeforeSuper],
    "actions": [Transposes, ShowsOneMore, SpeaksInFloats, Repeats, CountsFromOne, CountsFromBelow, Ragged],
    "fresh results": [ReusesItsArray, LearnsLate, LearnsFromItsOwnList],
    "arguments": [ClearsTheClicks, SortsTheDisplayed, SortsTheInitialList, ClearsTheObservation],
    "seed": [Unseeded, SharesItsChanceBetweenAgents],
    "row independence": [SharesItsChanceBetweenRows, SeedsAllRowsAlike, LearnsAcrossRows],
    "copies": [CannotBePickled, ForgetsWhenPickled, SharesStateWithItsCopy],
    "sizes": [TakesTooManyPositions, RaisesAnotherError, RefusesOneItem, RefusesOnceOnly],
    "settled": [DecidesOnTheWholeBatch, DecidesByNumbers, SaysItTooEarly, DrawsWhenAsked, ChangesItsMind],
    "snapshot": [
        WritesLists,
        WritesPairs,
        WritesWithoutRows,
        WritesObjects,
        WritesNoChance,
        WritesInWaysOfItsOwn,
        DrawsWhenWrittenDown,
        WritesRowsInOrder,
        CountsSeedsUp,
        GivesItsMemoryAway,
        KeepsWhatItWasGiven,
    ],
    "beliefs": [
        SpeaksInDicts,
        ScoresFiveOfSix,
        NamesAnItemTwice,
        SortsWhenAsked,
        DrawsToBelieve,
        NeverSaysTheSameTwice,
        LearnsFromBeingAsked,
    ],
}


# Dueling agents.


class PlainDuelist:
    """The arm that has won most against a random one, mostly: no base class, no compiler; dicts of lists."""

    def __init__(self, *, num_arms, num_envs=1, horizon=None, seed=0):
        if num_arms < 1:
            raise ValueError(f"num_arms = {num_arms}; allowed: at least 1")
        self.num_arms, self.num_envs = num_arms, num_envs
        self.chance = generators(seed, num_envs)
        self.wins = [[0] * num_arms for _ in range(num_envs)]

    def act(self, observation):
        best = [wins.index(max(wins)) for wins in self.wins]
        others = [chance.randrange(self.num_arms) for chance in self.chance]
        return {"left": best, "right": others}

    def update(self, duel, won):
        sides = duel["left"], duel["right"]
        for row, marks in enumerate(won):
            self.wins[row][sides[int(marks[1])][row]] += 1


class ArrayDuelist(PlainDuelist):
    """The same with arrays out and a candidate, as the mutants below need it."""

    def act(self, observation):
        return {side: np.array(arms) for side, arms in super().act(observation).items()}

    @property
    def candidate(self):
        return np.array([wins.index(max(wins)) for wins in self.wins])


class FixedDuelist(DuelingAgent):
    """Good: always the same duel."""

    candidate = property(lambda self: np.zeros(self.num_envs, int))

    def act(self, observation=None):
        return {"left": np.zeros(self.num_envs, int), "right": np.zeros(self.num_envs, int)}

    def update(self, duel, won):
        self.checked_duel(duel, won)


class NamesNoCandidate(DuelingAgent):
    act, update = FixedDuelist.act, FixedDuelist.update


class ForgetsSuperOfDuels(FixedDuelist):
    def __init__(self, *, num_arms, num_envs=1, horizon=None, seed=0):
        self.wins = np.zeros((num_arms, num_arms))


class NamesWhatItNeverSets(FixedDuelist):
    candidate = property(lambda self: self.best)


class NamesOnlyTheLeft(ArrayDuelist):
    def act(self, observation):
        return {"left": super().act(observation)["left"]}


class DuelsInAnArray(ArrayDuelist):
    def act(self, observation):
        return np.stack(list(super().act(observation).values()), 1)


class DuelsInFloats(ArrayDuelist):
    def act(self, observation):
        return {side: arms.astype(float) for side, arms in super().act(observation).items()}


class DuelsWithOneArmMore(ArrayDuelist):
    def act(self, observation):
        duel = super().act(observation)
        return {**duel, "right": duel["right"] + 1}


class DuelsWithOneRowMore(ArrayDuelist):
    def act(self, observation):
        return {side: np.append(arms, 0) for side, arms in super().act(observation).items()}


class NamesNobody(ArrayDuelist):
    @property
    def candidate(self):
        return np.where(super().candidate == 0, -1, super().candidate)


class NamesAScore(ArrayDuelist):
    @property
    def candidate(self):
        return super().candidate / 1


class ReusesItsDuel(ArrayDuelist):
    def act(self, observation):
        duel = super().act(observation)
        if not hasattr(self, "duel"):
            self.duel = duel
        for side, arms in duel.items():
            self.duel[side][:] = arms
        return self.duel


class LearnsLateFromDuels(ArrayDuelist):
    def act(self, observation):
        if hasattr(self, "kept"):
            ArrayDuelist.update(self, *self.kept)
        return super().act(observation)

    def update(self, duel, won):
        self.kept = duel, won


class GivesItsNameAway(ArrayDuelist):
    """Its candidate is the very array that it keeps."""

    def __init__(self, **shape):
        super().__init__(**shape)
        self.named = super().candidate

    def update(self, duel, won):
        super().update(duel, won)
        self.named = super().candidate

    @property
    def candidate(self):
        return self.named


class ClearsTheWinners(ArrayDuelist):
    def update(self, duel, won):
        super().update(duel, won)
        won[:] = 0


class SwapsTheDuel(ArrayDuelist):
    def update(self, duel, won):
        super().update(duel, won)
        duel["left"], duel["right"] = duel["right"].copy() + 1, duel["left"]


class DrawsItsCandidate(ArrayDuelist):
    """A tie is broken by the next random number, which then is gone."""

    @property
    def candidate(self):
        return np.array([chance.randrange(self.num_arms) for chance in self.chance])


class DrawsBehindItsCandidate(ArrayDuelist):
    """Names the same arm each time, but draws for it."""

    @property
    def candidate(self):
        for chance in self.chance:
            chance.random()
        return super().candidate


class UnseededDuelist(ArrayDuelist):
    def __init__(self, **shape):
        super().__init__(**shape)
        self.chance = [random.Random() for _ in range(self.num_envs)]


class SeedsAllDuelsAlike(ArrayDuelist):
    def __init__(self, *, seed, **shape):
        super().__init__(seed=seed, **shape)
        self.chance = [random.Random(seed) for _ in range(self.num_envs)]


class LearnsAcrossDuels(ArrayDuelist):
    def update(self, duel, won):
        super().update(duel, won)
        self.wins = [[sum(wins) for wins in zip(*self.wins, strict=True)] for _ in range(self.num_envs)]


class ForgetsItsDuels(ArrayDuelist):
    def __setstate__(self, state):
        self.__dict__.update(state)
        self.wins = [[0] * self.num_arms for _ in range(self.num_envs)]


class TakesNoArms(ArrayDuelist):
    def __init__(self, *, num_arms, **shape):
        super().__init__(num_arms=max(num_arms, 1), **shape)


class RefusesOneArm(ArrayDuelist):
    def __init__(self, *, num_arms, **shape):
        if num_arms == 1:
            raise ValueError("num_arms = 1; allowed: at least 2")
        super().__init__(num_arms=num_arms, **shape)


class RefusesNoDuel(ArrayDuelist, DuelingAgent):
    """Bound by the rule of bad duels, which it keeps; those below do not."""

    def update(self, duel, won):
        sides = duel["left"], duel["right"]
        if any(not 0 <= arm < self.num_arms for arms in sides for arm in arms):
            raise ValueError(f"duel = {duel}; allowed: arms below {self.num_arms}")
        if any(list(map(int, marks)) not in ([1, 0], [0, 1]) for marks in won):
            raise ValueError(f"won = {won}; allowed: [1, 0] and [0, 1]")
        super().update(duel, won)


class BelievesTwoWinners(RefusesNoDuel):
    def update(self, duel, won):
        super().update(duel, np.stack([won[:, 0] == 1, won[:, 0] != 1], 1))


class CountsFromTheEnd(RefusesNoDuel):
    """Arm -1 is the last one."""

    def update(self, duel, won):
        super().update({side: arms % self.num_arms for side, arms in duel.items()}, won)


class LearnsBeforeItLooks(RefusesNoDuel):
    """The rows before the bad one have been learned by then."""

    def update(self, duel, won):
        for row in range(self.num_envs):
            super().update({side: arms[row : row + 1] for side, arms in duel.items()}, won[row : row + 1])
            self.wins.append(self.wins.pop(0))  # the next row's are at the front then


class EndsItsDuels(ArrayDuelist):
    """Good: from round 20 on the arm that has won most is alone, and nothing counts."""

    def __init__(self, **shape):
        super().__init__(**shape)
        self.rounds = 0

    def act(self, observation):
        duel = super().act(observation)
        return duel if self.rounds < 20 else {side: duel["left"].copy() for side in duel}

    def update(self, duel, won):
        if self.rounds < 20:
            super().update(duel, won)
        self.rounds += 1

    def settled(self):
        return np.full(self.num_envs, self.rounds >= 20)


class NamesAnotherInTheEnd(EndsItsDuels):
    """Its duels have ended, but it goes on counting for its candidate."""

    def __init__(self, **shape):
        super().__init__(**shape)
        self.right_wins = np.zeros(self.num_envs, int)

    def update(self, duel, won):
        super().update(duel, won)
        self.right_wins += np.where(won[:, 1] == 1, 1, -1)

    @property
    def candidate(self):
        return np.where(self.right_wins > 10, 0, super().candidate)


class RisesAgain(EndsItsDuels):
    """The right arm has won so often of late that it must be another one."""

    def __init__(self, **shape):
        super().__init__(**shape)
        self.streak = np.zeros(self.num_envs, int)

    def update(self, duel, won):
        super().update(duel, won)
        self.streak = np.where(won[:, 1] == 1, self.streak + 1, 0)

    def act(self, observation):
        duel = super().act(observation)
        return {**duel, "right": np.where(self.streak > 15, 0, duel["right"])}


class WritesDuelsDown(ArrayDuelist):
    """Good."""

    def snapshot(self):
        return {
            "wins": np.array(self.wins),
            "words": np.array([chance.getstate()[1] for chance in self.chance], np.uint32),
        }

    def restore(self, snapshot):
        self.wins = snapshot["wins"].tolist()
        for chance, words in zip(self.chance, snapshot["words"], strict=True):
            chance.setstate((3, tuple(words.tolist()), None))


class WritesNoDuelsDown(WritesDuelsDown):
    def restore(self, snapshot):
        super().restore({**snapshot, "wins": 0 * snapshot["wins"]})


DUELING_GOOD = [PlainDuelist, FixedDuelist, ArrayDuelist, RefusesNoDuel, EndsItsDuels, WritesDuelsDown]
DUELING_MUTANTS = {
    "parts": [NamesNoCandidate, ForgetsSuperOfDuels],
    "actions": [
        NamesWhatItNeverSets,
        NamesOnlyTheLeft,
        DuelsInAnArray,
        DuelsInFloats,
        DuelsWithOneArmMore,
        DuelsWithOneRowMore,
        NamesNobody,
        NamesAScore,
    ],
    "fresh results": [ReusesItsDuel, LearnsLateFromDuels, GivesItsNameAway],
    "arguments": [ClearsTheWinners, SwapsTheDuel, DrawsItsCandidate, DrawsBehindItsCandidate],
    "seed": [UnseededDuelist],
    "row independence": [SeedsAllDuelsAlike, LearnsAcrossDuels],
    "copies": [ForgetsItsDuels],
    "sizes": [TakesNoArms, RefusesOneArm],
    "bad duels": [BelievesTwoWinners, CountsFromTheEnd, LearnsBeforeItLooks],
    "settled": [NamesAnotherInTheEnd, RisesAgain],
    "snapshot": [WritesNoDuelsDown],
}

"""Agents of submissions and oracles meet the same users: what both choose, and which mistake it looks like."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from rankgym.exercises.faults import Fault, plain, shown
from rankgym.submissions import Submission

SHOWN_ROUNDS = 20  # entries of an argument with one for each round, if there are fewer rounds
TIES = (
    "the lists differ in items with equal statistics only: the smaller number comes first, and equal statistics must "
    "give exactly equal indices, so count in whole numbers and divide once"
)
FEW_ROUNDS = 6  # before the one that is wrong, that are all shown
LAST_ROUNDS = 3  # of more, that are shown


class Setting(NamedTuple):
    """What an agent's constructor gets, and the users who see its lists.

    ``Trial.expect_play`` takes it.

    Examples:
        >>> import numpy as np
        >>> from rankgym.exercises import Setting
        >>> setting = Setting({"num_items": 3}, attracted=np.ones((5, 3), bool), examined=np.ones((5, 2), bool))
        >>> setting.rounds, setting.allowed, setting.allows([2, 0]), setting.allows([2, 2])
        (5, '2 different items out of 0 .. 2', True, False)
    """

    arguments: Mapping[str, Any]
    attracted: Any  # (rounds, items) bool: whether the round's user likes the item
    examined: Any  # (rounds, positions) bool: whether the user looks at the position
    first_only: bool = False  # whether the first click ends a session

    @property
    def users(self) -> tuple[Any, Any, bool]:
        return self.attracted, self.examined, self.first_only

    @property
    def rounds(self) -> int:
        return len(self.attracted)

    @property
    def allowed(self) -> str:
        return f"{len(self.examined[0])} different items out of 0 .. {len(self.attracted[0]) - 1}"

    def allows(self, ranking: Any) -> bool:
        return is_ranking(ranking, len(self.attracted[0]), len(self.examined[0]))

    def ask(self, student: Submission, agent: Any) -> list[Any]:
        """Play an agent of the submission's."""
        return student.play(agent, self.attracted, self.examined, first_only=self.first_only)

    def play(
        self, agent: Any, rounds: int | None = None, like: Sequence[Any] | None = None
    ) -> tuple[list[list[int]], list[str]]:
        """Play an oracle up to a list that is not that of ``like``; return its lists, and what came of each."""
        lists, clicks = played(agent, *self.users, rounds=rounds, like=like)
        return lists, [f"{ranking} with clicks {each}" for ranking, each in zip(lists, clicks, strict=False)]


class DuelSetting(NamedTuple):
    """What a dueling agent's constructor gets, and the users who judge its duels.

    ``Trial.expect_play`` takes it.

    Examples:
        >>> import numpy as np
        >>> from rankgym.exercises import DuelSetting
        >>> setting = DuelSetting({"num_arms": 3}, wins=np.ones((5, 3, 3), bool))
        >>> setting.rounds, setting.allowed, setting.allows([2, 2]), setting.allows([2, 3])
        (5, 'two arms out of 0 .. 2', True, False)
    """

    arguments: Mapping[str, Any]
    wins: Any  # (rounds, arms, arms) bool: whether the first arm would beat the second one

    @property
    def rounds(self) -> int:
        return len(self.wins)

    @property
    def allowed(self) -> str:
        return f"two arms out of 0 .. {len(self.wins[0]) - 1}"

    def allows(self, duel: Any) -> bool:
        return len(duel) == 2 and all(type(arm) is int and 0 <= arm < len(self.wins[0]) for arm in duel)

    def ask(self, student: Submission, agent: Any) -> list[Any]:
        """Play an agent of the submission's."""
        return student.play_duels(agent, self.wins)

    def play(
        self, agent: Any, rounds: int | None = None, like: Sequence[Any] | None = None
    ) -> tuple[list[list[int]], list[str]]:
        """Play an oracle up to a duel that is not that of ``like``; return its duels, and what came of each."""
        duels, winners = played_duels(agent, self.wins, rounds=rounds, like=like)
        return duels, [f"{duel} won by {winner}" for duel, winner in zip(duels, winners, strict=False)]


AnySetting: TypeAlias = Setting | DuelSetting


def first_difference(
    class_name: str, make_oracle: Callable[..., Any], setting: AnySetting, choices: Sequence[Any]
) -> Fault | None:
    """Return what is wrong in the first round in which ``choices`` are not the oracle's; None if none is."""
    right, outcomes = setting.play(make_oracle(**setting.arguments), like=choices)
    t = next((t for t, (one, other) in enumerate(zip(choices, right, strict=False)) if one != other), None)
    if t is None:
        return None
    call = f"{made(class_name, setting)}.act() {_after(outcomes[:t])}"
    for name, value in _by_round(setting).items():
        call += f"; {name}[{t}] is {shown(value[t])}"
    oracle = make_oracle(**setting.arguments)
    setting.play(oracle, t)
    state = ", ".join(f"{name} = {shown(plain(value))}" for name, value in state_of(oracle).items())
    ties = TIES if hasattr(oracle, "ties") and oracle.ties(right[t], choices[t]) else ""
    return Fault(class_name, call, shown(right[t]), shown(choices[t]), ties, state=state)


def state_of(oracle: Any) -> dict[str, Any]:
    """Return what an oracle would show of its state: that of its method ``state``, if it has one."""
    return oracle.state() if hasattr(oracle, "state") else {}


def look_alike(settings: Sequence[AnySetting], found: Sequence[Any], mistakes: Mapping[str, Callable[..., Any]]) -> str:
    """Return the mistake that makes all of a submission's choices; "" if none does.

    ``found`` are its choices in the first of ``settings``. In a short run several mistakes look alike, so it takes all
    rounds to name one.
    """
    for why, make_wrong in mistakes.items():
        if all(_chooses(make_wrong, one, other) for one, other in zip(settings, found, strict=False)):
            return why
    return ""


def _chooses(make: Callable[..., Any], setting: AnySetting, choices: Sequence[Any]) -> bool:
    """Whether an oracle makes these choices; not if it fails, as some wrong ones do."""
    try:
        return setting.play(make(**setting.arguments), like=choices)[0] == choices
    except (ArithmeticError, LookupError, ValueError):
        return False


def made(class_name: str, setting: AnySetting) -> str:
    """Return the making of an agent as Python text, without what has an entry for each round."""
    long, arguments = _by_round(setting), plain(dict(setting.arguments))
    texts = [f"{name}={'...' if name in long else shown(value)}" for name, value in arguments.items()]
    return f"{class_name}({', '.join(texts)})"


def _by_round(setting: AnySetting) -> dict[str, Any]:
    """Return the arguments that have an entry for each round, such as coins."""
    least, arguments = max(setting.rounds, SHOWN_ROUNDS), plain(dict(setting.arguments))
    return {name: value for name, value in arguments.items() if isinstance(value, list) and len(value) >= least}


def after(rounds: int) -> str:
    return f"after {rounds:,} round{'' if rounds == 1 else 's'}"


def _after(outcomes: Sequence[str]) -> str:
    """Return in words how many rounds have gone before, and what came of them, or of the last of them."""
    if not outcomes:
        return after(0)
    many = len(outcomes) > FEW_ROUNDS
    listed = "; ".join(outcomes[-LAST_ROUNDS:] if many else outcomes)
    return f"{after(len(outcomes))}{', the last of them ' if many else ': '}{listed}"


def is_ranking(ranking: Any, items: int, positions: int) -> bool:
    """Whether ``ranking`` is a list of ``positions`` different items out of 0 .. items - 1."""
    numbers = isinstance(ranking, list) and all(type(item) is int and 0 <= item < items for item in ranking)
    return numbers and len(ranking) == positions == len(set(ranking))


def played(
    agent: Any,
    attracted: Any,
    examined: Any,
    first_only: bool,
    *,
    rounds: int | None = None,
    like: Sequence[Any] | None = None,
) -> tuple[list[list[int]], list[list[int]]]:
    """Play an agent for one user at a time; return its lists and the clicks on them, as ``Submission.play`` does.

    Args:
        rounds: how many rounds are played. Default: all.
        like: other lists, round by round. Play ends with them, or with the first list that is another one.
    """
    rounds = rounds if like is None else len(like)
    lists: list[list[int]] = []
    all_clicks: list[list[int]] = []
    users = zip(np.asarray(attracted)[:rounds].tolist(), np.asarray(examined)[:rounds].tolist(), strict=True)
    for wanted, looked in users:
        ranking = list(agent.act())
        if like is not None and ranking != like[len(lists)]:
            return [*lists, ranking], all_clicks
        clicks = [int(wanted[item] and looked[k]) for k, item in enumerate(ranking)]
        if first_only and 1 in clicks:
            first = clicks.index(1)
            clicks[first + 1 :] = [0] * (len(clicks) - first - 1)
        agent.update(list(ranking), list(clicks))
        lists.append(ranking)
        all_clicks.append(clicks)
    return lists, all_clicks


def played_duels(
    agent: Any, wins: Any, *, rounds: int | None = None, like: Sequence[Any] | None = None
) -> tuple[list[list[int]], list[int]]:
    """Play a dueling agent for one duel at a time; return its duels and the arms that won them.

    Args:
        rounds: how many duels are played. Default: all.
        like: other duels. Play ends with them, or with the first duel that is another one.
    """
    rounds = rounds if like is None else len(like)
    duels: list[list[int]] = []
    winners: list[int] = []
    for won in list(wins)[:rounds]:
        left, right = agent.act()
        if like is not None and [left, right] != like[len(duels)]:
            return [*duels, [left, right]], winners
        left_won = bool(won[left][right])
        agent.update(left, right, left_won)
        duels.append([left, right])
        winners.append(left if left_won else right)
    return duels, winners

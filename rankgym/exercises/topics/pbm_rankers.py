"""The agents of exercise 4: oracles of PBM-UCB and of its like with click-through rates, typical mistakes, users.

The bound is that of Lagree, Vernade and Cappe ("Multiple-play bandits in the position-based model", NIPS 2016) with
delta = log t. Where the paper is silent the handout decides: an item never displayed has the bound infinity, t counts
from 1, and ties go to the smaller number.

Lists are compared exactly, although two right programs may compute the same bound with different rounding. The
examination is a multiple of 1 / 64, so that its sums are exact in any order; items with equal statistics have equal
bounds in any program. Users whose oracle comes to a decision between other bounds less than ``SMALLEST_GAP`` apart are
drawn again.
"""

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from rankgym.exercises.exercise import Trial
from rankgym.exercises.playing import Setting, played
from rankgym.exercises.topics.index_rankers import IndexRanker, wrong_selections, wrong_times

SMALLEST_GAP = 1e-8  # between two different bounds at a decision
FIRST_USERS = 4  # their seed
SIZES = [(5, 3, 2_000), (2, 2, 2_000), (5, 5, 2_000), (6, 2, 2_000), (10, 4, 2_000)]  # items, positions, rounds
Index: TypeAlias = Callable[[float, int, float, int], float]
Gain: TypeAlias = tuple[int, float, int, float]  # an item, and what its S, N and N~ gain


def pbm_ucb(clicked: float, displays: int, looks: float, t: int) -> float:
    """S / N~ + sqrt(N / N~) sqrt(log t / (2 N~))."""
    if not displays:
        return math.inf
    return clicked / looks + math.sqrt(displays / looks) * math.sqrt(math.log(t) / (2 * looks))


def rate_ucb(clicked: float, displays: int, looks: float, t: int) -> float:
    """S / N + sqrt(log t / (2 N))."""
    return pbm_ucb(clicked, displays, float(displays), t)


def displays_and_looks(displayed: list[int], clicks: list[int], examination: list[float]) -> list[Gain]:
    """All displayed items, with their clicks, displays and looks."""
    return [(item, click, 1, chi) for item, click, chi in zip(displayed, clicks, examination, strict=True)]


# -- users ------------------------------------------------------------------------------------------------------------


def falling(rng: np.random.Generator, positions: int) -> list[float]:
    """Draw an examination: multiples of 1 / 64, decreasing."""
    return (np.sort(rng.choice(np.arange(6, 64), positions, replace=False))[::-1] / 64).tolist()


def setting_of(size: tuple[int, int, int], rng: np.random.Generator, knows: bool) -> Setting:
    """Draw users with whom the algorithm comes to no decision that rounding could change.

    ``size`` is (items, positions, rounds); ``knows``: whether the algorithm knows the examination.
    """
    items, positions, rounds = size
    while True:
        examination = falling(rng, positions)
        likes = rng.random((rounds, items)) < rng.uniform(0.1, 0.9, items)
        looks = rng.random((rounds, positions)) < examination
        arguments: dict[str, Any] = {"num_items": items, "num_positions": positions}
        arguments |= {"examination": examination} if knows else {}
        oracle = maker()(**arguments)
        played(oracle, likes, looks, False)
        if oracle.gap > SMALLEST_GAP:
            return Setting(arguments, likes, looks)


def maker(**changes: Any) -> Callable[..., IndexRanker]:
    """Return what makes an oracle of an agent's arguments, with ``changes`` if it is a wrong one.

    An algorithm that is not told the examination takes it to be 1.
    """
    index, learned = changes.pop("index", pbm_ucb), changes.pop("learned", displays_and_looks)

    def make(num_items: int, num_positions: int, examination: list[float] | None = None) -> IndexRanker:
        chi = examination or [1.0] * num_positions
        names = ("clicks", "displays", "looks" if examination else "displays as looks")
        return IndexRanker(
            index, num_items, num_positions, learned=lambda d, c: learned(d, c, chi), names=names, **changes
        )

    return make


def expect_lists(trial: Trial, class_name: str, knows: bool) -> None:
    """Check that the class displays the oracle's lists, with users of each of ``SIZES``.

    The first users are always the same: they tell the mistakes apart. ``knows``: whether the agent is told the
    examination.
    """
    rngs = [np.random.default_rng(FIRST_USERS), *[trial.rng] * (len(SIZES) - 1)]
    settings = [setting_of(size, rng, knows) for size, rng in zip(SIZES, rngs, strict=True)]
    trial.expect_play(maker(), class_name, settings, mistakes=mistakes(knows))


# -- mistakes ---------------------------------------------------------------------------------------------------------


def mistakes(knows: bool) -> dict[str, Callable[..., IndexRanker]]:
    """Return wrong oracles by what is wrong with them; of PBM-UCB if ``knows``, else of click-through rates."""
    changed = agent_mistakes() | (pbm_mistakes() if knows else {})
    return {why: maker(**changes) for why, changes in changed.items()}


def agent_mistakes() -> dict[str, dict[str, Any]]:
    """Return what is different in wrong oracles of both algorithms, by what is wrong with them."""

    def down_to(displayed: list[int], clicks: list[int], examination: list[float]) -> list[Gain]:
        return displays_and_looks(displayed, clicks, examination)[: [*clicks, 1].index(1) + 1]

    def first_click(displayed: list[int], clicks: list[int], examination: list[float]) -> list[Gain]:
        first = [*clicks, 1].index(1)
        gains = displays_and_looks(displayed, clicks, examination)
        return [(item, int(k == first and s), n, x) for k, (item, s, n, x) in enumerate(gains)]

    def clicked_only(displayed: list[int], clicks: list[int], examination: list[float]) -> list[Gain]:
        return [gain for gain in displays_and_looks(displayed, clicks, examination) if gain[1]]

    def unseen_last(clicked: float, displays: int, looks: float, t: int) -> float:
        return pbm_ucb(clicked, displays, looks, t) if displays else 0.0

    def estimate(clicked: float, displays: int, looks: float, t: int) -> float:
        return pbm_ucb(clicked, displays, looks, 1)

    def unclicked_first(clicked: float, displays: int, looks: float, t: int) -> float:
        return pbm_ucb(clicked, displays, looks, t) if clicked else math.inf

    def with_logarithm(change: Callable[[int], float]) -> Index:
        def index(clicked: float, displays: int, looks: float, t: int) -> float:
            if not displays:
                return math.inf
            return clicked / looks + math.sqrt(displays / looks) * math.sqrt(change(t) / looks)

        return index

    learned = {
        "only clicked items count as displayed: all displayed items do": clicked_only,
        "only the items down to the first click count, as in the cascade model: all displayed items do": down_to,
        "only the first click counts: there may be several": first_click,
        "clicks are not counted": lambda d, c, x: [
            (item, 0, 1, chi) for item, _, _, chi in displays_and_looks(d, c, x)
        ],
        "it does not learn: its lists are those of the first round": lambda d, c, x: [],
    }
    found: dict[str, dict[str, Any]] = {why: {"learned": wrong} for why, wrong in learned.items()}
    found |= {why: {"time": wrong} for why, wrong in wrong_times("displays").items()}
    found |= {why: {"select": wrong} for why, wrong in wrong_selections("bounds").items()}
    found["an item that was never displayed has the bound 0: it must be infinity"] = {"index": unseen_last}
    found |= {
        why: {"index": wrong}
        for why, wrong in {
            "there is no bonus, or t does not grow: items are ranked by their estimates": estimate,
            "an item without clicks has the bound infinity: only one without displays has": unclicked_first,
            "bounds are cut at 1": lambda s, n, x, t: min(1.0, pbm_ucb(s, n, x, t)) if n else math.inf,
            "bounds are cut at 1, those of items that were never displayed, too": lambda *own: min(1.0, pbm_ucb(*own)),
            "the bonus is that of UCB1, with 1.5 log t": with_logarithm(lambda t: 1.5 * math.log(t)),
            "the logarithm has base 10: natural ones are meant": with_logarithm(lambda t: math.log10(t) / 2),
            "the logarithm has base 2: natural ones are meant": with_logarithm(lambda t: math.log2(t) / 2),
        }.items()
    }
    return found


def pbm_mistakes() -> dict[str, dict[str, Any]]:
    """Return what is different in wrong oracles of PBM-UCB alone, by what is wrong with them."""

    def looks(chi_of: Callable[[list[int], int, list[float]], float]) -> dict[str, Any]:
        def learned(displayed: list[int], clicks: list[int], examination: list[float]) -> list[Gain]:
            gains = enumerate(displays_and_looks(displayed, clicks, examination))
            return [(item, s, n, chi_of(displayed, k, examination)) for k, (item, s, n, _) in gains]

        return {"learned": learned}

    def weighted(displayed: list[int], clicks: list[int], examination: list[float]) -> list[Gain]:
        return [(item, s / x, n, x) for item, s, n, x in displays_and_looks(displayed, clicks, examination)]

    def unlooked(displayed: list[int], clicks: list[int], examination: list[float]) -> list[Gain]:
        return [(item, s, n, x if s else 0.0) for item, s, n, x in displays_and_looks(displayed, clicks, examination)]

    return {
        "its lists are those of ClickThroughRate: looks must gain the examination of the position": {"index": rate_ucb},
        "looks gain the examination of the next position": looks(lambda d, k, x: x[min(k + 1, len(x) - 1)]),
        "looks gain the examination of the position above": looks(lambda d, k, x: x[max(k - 1, 0)]),
        "examination is taken by item, not by position": looks(lambda d, k, x: x[d[k] % len(x)]),
        "examination is taken in the reverse order": looks(lambda d, k, x: x[-1 - k]),
        "looks gain the examination only after a click: every display counts": {
            "learned": unlooked,
            "index": lambda s, n, x, t: pbm_ucb(s, n, x, t) if x else math.inf,
        },
        "clicks are divided by the examination, and again by the looks": {"learned": weighted},
        "the estimate is the mean of clicks / examination: divide all clicks by all looks": {
            "learned": weighted,
            "index": lambda s, n, x, t: s / n + pbm_ucb(0, n, x, t) if n else math.inf,
        },
    }

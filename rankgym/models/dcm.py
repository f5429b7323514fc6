"""The dependent click model (DCM; Guo et al., WSDM 2009): after a click at position k, leave with probability v(k).

The examination of position k is chi(R, k) = prod over i < k of (1 - v(i) alpha(R(i))); BubbleRank's section 5.1 prints
it with a parenthesis in the wrong place. Two rewards: expected clicks (TopRank, BatchRank) and abandonment clicks, at
most one a session (Katariya et al., ICML 2016; BubbleRank).

The papers assume that the list sorted by attraction is best. In the Yandex fits it is neither for abandonment clicks
(v(4) > v(3)) nor, clearly, for expected clicks, where a user whom the first item satisfies never sees the second.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.kernels import TERMINATION, bits, kernel, session_seed, uniform
from rankgym.models.base import Axes, ClickModel, Reward, completed_lists, matched_lists, sorted_lists

MAX_POSITIONS = 16  # of best_lists_by_clicks: it visits 2^cutoff sets of items, cutoff + 1 times


class Parameters(NamedTuple):
    """A dependent-click user, one per row."""

    attraction: NDArray[np.float64]  # (rows, items) in [0, 1]: alpha(i)
    termination: NDArray[np.float64]  # (rows, positions) in [0, 1]: v(k)


@kernel
def scan(attraction, termination, seed, row, displayed, cutoff, clicks):
    """Row ``row``'s session: fills its clicks; returns how many, and whether one was its exit, before the cutoff."""
    count, abandoned = 0, 0
    examined = True
    for k in range(displayed.shape[1]):
        item = displayed[row, k]
        clicked = examined and uniform(bits(seed, item)) < attraction[row, item]
        clicks[row, k] = clicked
        if clicked:
            count += k < cutoff
            if uniform(bits(seed, TERMINATION + k)) < termination[row, k]:
                examined = False
                abandoned += k < cutoff
    return count, abandoned


@kernel
def click(attraction, termination, key, session, displayed, cutoff, clicks, reward):
    """One session per row. ``reward`` counts the clicks in the first ``cutoff`` positions."""
    for row in range(displayed.shape[0]):
        seed = session_seed(key[row], session[row])
        reward[row] = scan(attraction, termination, seed, row, displayed, cutoff, clicks)[0]


@kernel
def click_abandonment(attraction, termination, key, session, displayed, cutoff, clicks, reward):
    """One session per row. ``reward`` is 1 where the user left after a click in the first ``cutoff`` positions."""
    for row in range(displayed.shape[0]):
        seed = session_seed(key[row], session[row])
        reward[row] = scan(attraction, termination, seed, row, displayed, cutoff, clicks)[1]


@kernel
def value(attraction, termination, displayed, cutoff, expected):
    """Expected clicks in the first ``cutoff`` positions: sum of chi(R, k) alpha(R(k))."""
    for row in range(displayed.shape[0]):
        total, examined = 0.0, 1.0
        for k in range(cutoff):
            attracted = examined * attraction[row, displayed[row, k]]
            total += attracted
            examined -= attracted * termination[row, k]
        expected[row] = total


@kernel
def value_abandonment(attraction, termination, displayed, cutoff, expected):
    """Probability of an abandonment click in the first ``cutoff`` positions: 1 - prod(1 - v(k) alpha(R(k)))."""
    for row in range(displayed.shape[0]):
        staying = 1.0
        for k in range(cutoff):
            staying *= 1.0 - termination[row, k] * attraction[row, displayed[row, k]]
        expected[row] = 1.0 - staying


@kernel
def examine(attraction, termination, displayed, examination):
    """chi(R, k) = prod over i < k of (1 - v(i) alpha(R(i)))."""
    for row in range(displayed.shape[0]):
        examined = 1.0
        for k in range(displayed.shape[1]):
            examination[row, k] = examined
            examined *= 1.0 - termination[row, k] * attraction[row, displayed[row, k]]


def best_lists_by_abandonment(parameters: Parameters, num_positions: int, cutoff: int) -> NDArray[np.int64]:
    """The most attractive items matched to the positions of the largest v(k).

    The best list minimises sum log(1 - v(k) alpha(i)). Each term falls in alpha, so the best items are the most
    attractive ones; its cross derivative in v and alpha is negative, so the largest alpha belongs to the largest v.
    """
    return matched_lists(parameters.attraction, parameters.termination, num_positions, cutoff)


@kernel
def fill_best(attraction, termination, ranked, cutoff, best, value_of, first_of):
    """Bellman's equation on the items left, for each candidate set; see ``best_lists_by_clicks``."""
    rows, items = attraction.shape
    pool = np.empty(cutoff, np.int64)
    for row in range(rows):
        record = -1.0
        for bottom in range(cutoff + 1 if items > cutoff else 1):
            for place in range(cutoff):  # the cutoff - bottom most attractive items and the `bottom` least attractive
                pool[place] = ranked[row, place if place < cutoff - bottom else items - cutoff + place]
            full = (1 << cutoff) - 1
            value_of[full] = 0.0
            for used in range(full - 1, -1, -1):  # used: the items above, as bits; every superset is done already
                k = 0
                for place in range(cutoff):
                    k += (used >> place) & 1
                value_of[used] = -1.0
                for place in range(cutoff):
                    if (used >> place) & 1 == 0:
                        alpha = attraction[row, pool[place]]
                        total = alpha + (1.0 - termination[row, k] * alpha) * value_of[used | (1 << place)]
                        if total > value_of[used]:
                            value_of[used] = total
                            first_of[used] = place
            if value_of[0] > record:
                record = value_of[0]
                used = 0
                for k in range(cutoff):
                    best[row, k] = pool[first_of[used]]
                    used |= 1 << first_of[used]


def best_lists_by_clicks(parameters: Parameters, num_positions: int, cutoff: int) -> NDArray[np.int64]:
    """The exact best lists for expected clicks, by dynamic programming over sets of items.

    From a position on, the expected clicks of a user who examines it are alpha + (1 - v(k) alpha) W, with W those of
    the positions below. In one alpha the whole is linear, so in a best list no unused item is more attractive than an
    item with a positive slope, nor less attractive than one with a negative slope: its items are the a most and the b
    least attractive ones, a + b = cutoff. Each of these cutoff + 1 sets is solved exactly over its 2^cutoff subsets.
    (A slope of 0 decides nothing, but almost no v has one, and both sides are continuous in v.)

    Raises:
        ValueError: ``cutoff`` exceeds 16 positions.
    """
    if cutoff > MAX_POSITIONS:
        raise ValueError(
            f"cutoff = {cutoff} is out of range for the best list of the DCM by expected clicks; allowed: 1 .. "
            f'{MAX_POSITIONS} (or reward="abandonment" or reference="sorted", which have a closed form)'
        )
    rows, items = parameters.attraction.shape
    ranked = sorted_lists(parameters.attraction, items)
    best = np.empty((rows, cutoff), np.int64)
    fill_best(*parameters, ranked, cutoff, best, np.empty(1 << cutoff), np.zeros(1 << cutoff, np.int64))
    return completed_lists(best, ranked, num_positions)


AXES: Axes = {"attraction": ("item",), "termination": ("position",)}
REWARDS = {
    "clicks": Reward(click, value, best_lists_by_clicks),
    "abandonment": Reward(click_abandonment, value_abandonment, best_lists_by_abandonment),
}
MODEL = ClickModel("DCM", Parameters, AXES, examine, REWARDS)

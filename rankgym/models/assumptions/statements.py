"""The assumptions in words, and the papers that make them."""

from __future__ import annotations

PAPERS = {  # agent: (the paper, its assumptions)
    "bubblerank": ("BubbleRank (Li et al., UAI 2019), Assumption 1", ("A1", "A2", "A3", "A4", "A5")),
    "toprank": ("TopRank (Lattimore et al., NeurIPS 2018), Assumptions 1-4", ("T1", "T2", "T3", "T4")),
}

ASSUMPTIONS: dict[str, tuple[str, str]] = {
    # name: (the statement; a violation by a list R, or two, R and S, at positions k and l, with the numbers x and y)
    "A1": (
        "no list is worth more than R*, the one sorted by attraction",
        "the list R = {R} is worth {x}, the sorted list {S} is worth {y}",
    ),
    "A2": (
        "chi(R, k) depends only on which items stand above k, not on their order nor on the items from k on",
        "position {k} is examined with probability {x} in R = {R}, with {y} in R' = {S}",
    ),
    "A3": (
        "chi(R, k) >= chi(R, l) for k < l: no position is examined more than a higher one",
        "in R = {R} position {k} is examined with probability {x}, position {l} with {y}",
    ),
    "A4": (
        "alpha(R(k)) <= alpha(R(l)) => chi(R, l) >= chi(R', l), R' with both exchanged: a better item hides more",
        "item {i} (attraction {alpha}) is no more attractive than item {j} ({beta}); with {i} at position {k}, in "
        "R = {R}, position {l} is examined with probability {x}; with {j} there, in R' = {S}, with {y}",
    ),
    "A5": (
        "chi(R, k) >= chi(R*, k): every position is examined the least in the sorted list",
        "position {k} is examined with probability {x} in R = {R}, with {y} in the sorted list {S}",
    ),
    "T1": ("v(a, k) = 0 for k > K: hidden items are not clicked", ""),
    "T2": (
        "no list gets more than a*, any list sorted by attraction",
        "the list a = {R} is worth {x}, the sorted list a* = {S} is worth {y}",
    ),
    "T3": (
        "v(a, k) >= alpha(i) / alpha(j) v(a', k), a' with a(k) = i exchanged for a less attractive j, here or hidden",
        "with item {i} (attraction {alpha}) at position {k}, a = {R} is clicked there with probability {x}; with item "
        "{j} ({beta}) in its place, a' = {S}, times {alpha} / {beta}, with {y}",
    ),
    "T4": (
        "v(a, k) >= v(a*, k) where a(k) is as attractive as a*(k): clicked the least in the sorted list",
        "position {k} is clicked with probability {x} in a = {R}, with {y} in the sorted list a* = {S}",
    ),
}
NAMES = list(ASSUMPTIONS)

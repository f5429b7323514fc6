"""Balanced interleaving (Joachims, KDD 2002, and in Text Mining, 2003), as Algorithm 1 of Radlinski et al. (CIKM 2008).

The rankers take turns; a coin decides which begins. A ranker whose next document is already displayed loses the turn.
So every prefix of the list holds the top of both rankings, equally deep up to one document.

Credit: with the lowest clicked document at rank k of the ranking that places it higher, the clicks among the top k of
each ranking (the paper's h_a and h_b).

It is biased if one ranking is nearly the other moved by one place: a user who clicks at random prefers (b, c, a) to
(a, b, c), as Radlinski et al. and Chapelle et al. (ACM TOIS 30, 2012) note.
"""

from rankgym.interleaving.base import INTERLEAVING, Interleaving
from rankgym.kernels import bits, kernel, session_seed, uniform


@kernel
def shown(displayed, row, count, document):
    """Whether the document is among the first ``count`` of the row's list."""
    k = 0
    while k < count and displayed[row, k] != document:
        k += 1
    return k < count


@kernel
def interleave(lists, left, right, key, session, displayed, share):
    """One coin a row, number INTERLEAVING of its session."""
    rows, length = displayed.shape
    for row in range(rows):
        a, b = left[row], right[row]
        left_first = uniform(bits(session_seed(key[row], session[row]), INTERLEAVING)) < 0.5
        i, j, count = 0, 0, 0  # places reached in both rankings and in the list
        while count < length and i < lists.size[a] and j < lists.size[b]:
            if i < j or (i == j and left_first):
                document = lists.order[lists.start[a] + i]
                i += 1
            else:
                document = lists.order[lists.start[b] + j]
                j += 1
            if not shown(displayed, row, count, document):
                displayed[row, count] = document
                count += 1
        displayed[row, count:] = -1
        share[row, :] = 0.0


@kernel
def credit(lists, left, right, displayed, share, clicks, credit):
    """h_a and h_b of each row; zero without a click."""
    rows, length = displayed.shape
    for row in range(rows):
        a, b = lists.start[left[row]], lists.start[right[row]]
        credit[row, 0] = credit[row, 1] = 0.0
        lowest = length - 1
        while lowest >= 0 and (clicks[row, lowest] == 0 or displayed[row, lowest] < 0):
            lowest -= 1
        if lowest < 0:
            continue
        deepest = lists.rank[a + displayed[row, lowest]]  # the paper's k, from 0; -1: not in this ranking
        other = lists.rank[b + displayed[row, lowest]]
        if deepest < 0 or 0 <= other < deepest:
            deepest = other
        for k in range(lowest + 1):
            if clicks[row, k] != 0:
                credit[row, 0] += 0 <= lists.rank[a + displayed[row, k]] <= deepest
                credit[row, 1] += 0 <= lists.rank[b + displayed[row, k]] <= deepest


class Balanced(Interleaving):
    """Balanced interleaving: turns, and clicks within the same depth of both rankings."""

    name = "balanced"
    interleave = staticmethod(interleave)
    credit = staticmethod(credit)

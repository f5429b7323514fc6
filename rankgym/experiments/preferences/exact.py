"""Interleaved comparisons evaluated exactly: the probability that one ranking beats another under a cascade user.

What is displayed after some picks is always a union of two prefixes: the first i documents of the left ranking and the
first j of the right one. (The next pick of a ranker is its first document that is not displayed, which lengthens one
prefix.) With the number of displayed documents, i decides j. So of the exponentially many ways that the coins can fall
only as many states are left as there are places, each with a distribution over left's credit minus right's of the users
who are still there, and the sums over all coins and all users take O(places^3) operations.

Two ways of interleaving have such picks:

* ``team-draft`` (Radlinski, Kurup and Joachims, "How does clickthrough data reflect retrieval quality?", CIKM 2008):
  before every two picks a coin decides who goes first, the other one follows. A click is credited to who picked.
* ``probabilistic-greedy``: probabilistic interleaving (Hofmann, Whiteson and de Rijke, "A probabilistic method for
  inferring preferences from clicks", CIKM 2011) with softmax functions so steep that a ranker always gives its best
  document left. A coin before every pick; the credit of a click is marginalised over who may have picked: where both
  rankers had the same document to give, it counts half for each and decides nothing.

The user goes down the list, clicks a document of grade g with P(click | g) and then stops with P(stop | g). The larger
credit wins, and equal credit is half a win.
"""

import numpy as np

from rankgym.kernels import kernel

TEAM_DRAFT, GREEDY = range(2)
PICKS = {"team-draft": TEAM_DRAFT, "probabilistic-greedy": GREEDY}


@kernel
def pick(before, after, done, shown, credit, click, stop, share):
    """A document at the next place: ``share`` of the users ``before`` look at it and are ``after`` or ``done``.

    ``before``, ``after`` and ``done`` (2 L + 1,) have the users by the difference in credit, L at equality. ``shown``
    documents stand above.
    """
    middle = before.shape[0] // 2
    clicked, gone = share * click, share * click * stop
    for difference in range(middle - shown, middle + shown + 1):
        users = before[difference]
        after[difference] += (share - clicked) * users
        after[difference + credit] += (clicked - gone) * users
        done[difference + credit] += gone * users


@kernel
def places_in(first, second, count, places):
    """``places[k]``: where the k-th document of ``first`` stands in ``second``, or ``count`` where it is not there."""
    for k in range(count):
        place = 0
        while place < count and second[place] != first[k]:
            place += 1
        places[k] = place


@kernel
def behind(place, count, in_other, other):
    """The place of a ranker's first document that is not displayed, from ``place`` on; the other is at ``other``."""
    while place < count and in_other[place] < other:
        place += 1
    return place


@kernel
def after_pick(first, i, j, count, in_right, in_left):
    """The places (i, j) of both rankings' first documents that are not displayed, after a pick of left (0) or right."""
    if first == 0:
        i = behind(i + 1, count, in_right, j)
        return i, behind(j, count, in_left, i)
    j = behind(j + 1, count, in_left, i)
    return behind(i, count, in_right, j), j


@kernel
def add(to, users):
    """Add ``users`` to ``to``, entry by entry."""
    for difference in range(to.shape[0]):
        to[difference] += users[difference]


@kernel
def team_draft(left, right, count, click, stop, in_right, in_left, at, users, done):
    """Follow all users through the two rankings' team drafts. Arguments are those of ``win``."""
    now, then = 0, 1
    between = users[2, 0]
    for shown in range(0, count, 2):
        users[then] = 0.0
        for i in range(shown + 1):
            j = at[now, i]
            if j >= 0:
                for first in range(2):  # a fair coin: 0 left, 1 right
                    document = left[i] if first == 0 else right[j]
                    credit = 1 - 2 * first
                    i_next, j_next = after_pick(first, i, j, count, in_right, in_left)
                    between[:] = 0.0
                    pick(users[now, i], between, done, shown, credit, click[document], stop[document], 0.5)
                    if shown + 1 < count:
                        document = right[j_next] if first == 0 else left[i_next]
                        i_next, j_next = after_pick(1 - first, i_next, j_next, count, in_right, in_left)
                        after = users[then, i_next]
                        pick(between, after, done, shown + 1, -credit, click[document], stop[document], 1.0)
                    else:
                        add(users[then, i_next], between)
                    at[then, i_next] = j_next
        at[now] = -1
        now, then = then, now
    return now


@kernel
def greedy(left, right, count, click, stop, in_right, in_left, at, users, done):
    """Follow all users through two rankings interleaved by a coin before every pick. Arguments: see ``win``."""
    now, then = 0, 1
    for shown in range(count):
        users[then] = 0.0
        for i in range(shown + 1):
            j = at[now, i]
            if j >= 0:
                same = left[i] == right[j]
                for first in range(1 if same else 2):
                    document = left[i] if first == 0 else right[j]
                    credit = 0 if same else 1 - 2 * first
                    i_next, j_next = after_pick(first, i, j, count, in_right, in_left)
                    share = 1.0 if same else 0.5
                    after = users[then, i_next]
                    pick(users[now, i], after, done, shown, credit, click[document], stop[document], share)
                    at[then, i_next] = j_next
        at[now] = -1
        now, then = then, now
    return now


@kernel
def win(left, right, click, stop, picks, in_right, in_left, at, users, done):
    """P(left wins) + P(equal credit) / 2 for two rankings (L,) of one query's documents, -1 behind the last.

    Args:
        left, right: their documents are the same ones where a query has fewer than L.
        click, stop: (documents,) of the query.
        picks: a value of PICKS.
        in_right, in_left: (L,) int64, workspace.
        at: (2, L + 1) int64, workspace: j by i, of the states now and next; -1 for no state.
        users: (3, L + 1, 2 L + 1) float64, workspace: by state and difference in credit.
        done: (2 L + 1,) float64, workspace: the users who have stopped.
    """
    count = left.shape[0]
    while count > 0 and left[count - 1] < 0:
        count -= 1
    middle = left.shape[0]
    places_in(left, right, count, in_right)
    places_in(right, left, count, in_left)
    at[:] = -1
    done[:] = 0.0
    users[0] = 0.0
    at[0, 0] = 0
    users[0, 0, middle] = 1.0
    if picks == TEAM_DRAFT:
        last = team_draft(left, right, count, click, stop, in_right, in_left, at, users, done)
    else:
        last = greedy(left, right, count, click, stop, in_right, in_left, at, users, done)
    for i in range(count + 1):
        if at[last, i] >= 0:
            add(done, users[last, i])
    won = 0.0
    for difference in range(middle + 1, done.shape[0]):
        won += done[difference]
    return won + 0.5 * done[middle]


@kernel
def evaluate_pairs(rankings, start, click, stop, pairs, picks, wins):
    """``wins`` (pairs, queries): how probably the first of a pair beats the second, with ties as half a win.

    Args:
        rankings: (queries, rankers, L) int32, as ``feature_rankings`` gives them.
        start: (queries + 1,) int64, where each query's documents begin.
        click, stop: (documents,) float64, of each document's grade.
        pairs: (pairs, 2) int64, numbers of rankers.
        picks: a value of PICKS.
    """
    length = rankings.shape[2]
    in_right, in_left = np.empty(length, np.int64), np.empty(length, np.int64)
    at = np.empty((2, length + 1), np.int64)
    users = np.empty((3, length + 1, 2 * length + 1))
    done = np.empty(2 * length + 1)
    for pair in range(pairs.shape[0]):
        for query in range(rankings.shape[0]):
            left, right = rankings[query, pairs[pair, 0]], rankings[query, pairs[pair, 1]]
            documents = slice(start[query], start[query + 1])
            wins[pair, query] = win(
                left, right, click[documents], stop[documents], picks, in_right, in_left, at, users, done
            )

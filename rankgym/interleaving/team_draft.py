"""Team draft interleaving (Radlinski, Kurup and Joachims, CIKM 2008), Algorithm 2.

Like two captains who choose their teams: the ranker with fewer documents in the list is next, a coin breaks ties, and
it adds its best document that is not displayed yet. A click counts for the ranker whose team the document is in.

At each position both teams are equally probable, whatever the rankings: a user who clicks without looking at documents
prefers neither. But it may not notice a better ranking: with one relevant document c, (a, b, c, d) and (b, c, d, a)
tie (Hofmann et al., CIKM 2011, section 3).
"""

from rankgym.interleaving.base import INTERLEAVING, Interleaving, positional_credit
from rankgym.kernels import bits, kernel, session_seed, uniform


@kernel
def next_place(lists, ranking, place, displayed, row, count):
    """The first place of the ranking, from ``place`` on, with a document not displayed yet, or the ranking's size."""
    start, size = lists.start[ranking], lists.size[ranking]
    while place < size:
        document = lists.order[start + place]
        k = 0
        while k < count and displayed[row, k] != document:
            k += 1
        if k == count:
            return place
        place += 1
    return size


@kernel
def interleave(lists, left, right, key, session, displayed, share):
    """The coin before position k is number INTERLEAVING + k of the row's session."""
    rows, length = displayed.shape
    for row in range(rows):
        a, b = left[row], right[row]
        seed = session_seed(key[row], session[row])
        i, j, count, team_a = 0, 0, 0, 0
        while count < length:
            i = next_place(lists, a, i, displayed, row, count)
            j = next_place(lists, b, j, displayed, row, count)
            if i == lists.size[a] or j == lists.size[b]:
                break
            team_b = count - team_a
            if team_a < team_b or (team_a == team_b and uniform(bits(seed, INTERLEAVING + count)) < 0.5):
                displayed[row, count], share[row, count] = lists.order[lists.start[a] + i], 1.0
                team_a += 1
            else:
                displayed[row, count], share[row, count] = lists.order[lists.start[b] + j], 0.0
            count += 1
        displayed[row, count:] = -1
        share[row, count:] = 0.0


class TeamDraft(Interleaving):
    """Team draft: ``share`` is 1 for a document of left's team, 0 for one of right's."""

    name = "team-draft"
    positional = True
    interleave = staticmethod(interleave)
    credit = staticmethod(positional_credit)

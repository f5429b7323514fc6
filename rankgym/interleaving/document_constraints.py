"""Document constraints (He, Zhai and Li, CIKM 2009): preferences between documents, inferred from clicks.

The list is that of balanced interleaving. A clicked document is preferred to every document above it without a click,
and to the next one below without a click. A ranking violates such a constraint if it orders the pair the other way
round; fewer violations win. (This is the description of Hofmann et al., ACM TOIS 31, 2013. A document that is not in a
ranking counts as below those that are.) The credit of a ranker is the number of constraints that it does not violate.

A user who clicks at random may prefer one ranking: (b, c, a) to (a, b, c). And a ranking with a relevant document
higher, and no relevant one lower, may tie: (a, b, c, d) and (a, b, d, c) with c relevant and three documents displayed.
These are the two ways to lack fidelity of Hofmann et al., section 4.
"""

from rankgym.interleaving import balanced
from rankgym.interleaving.base import Interleaving
from rankgym.kernels import kernel


@kernel
def violates(lists, start, better, worse):
    """1 if the ranking at ``start`` has ``worse`` above ``better``, else 0."""
    low, high = lists.rank[start + better], lists.rank[start + worse]
    return 1 if high >= 0 and (low < 0 or high < low) else 0


@kernel
def credit(lists, left, right, displayed, share, clicks, credit):
    """The number of inferred constraints that each ranking fulfils."""
    rows, length = displayed.shape
    for row in range(rows):
        a, b = lists.start[left[row]], lists.start[right[row]]
        kept_a, kept_b = 0, 0
        for k in range(length):
            better = displayed[row, k]
            if clicks[row, k] == 0 or better < 0:
                continue
            for other in range(length):
                worse = displayed[row, other]
                if worse < 0:
                    break
                if clicks[row, other] == 0:
                    kept_a += 1 - violates(lists, a, better, worse)
                    kept_b += 1 - violates(lists, b, better, worse)
                    if other > k:  # of the documents below, the next one only
                        break
        credit[row, 0], credit[row, 1] = kept_a, kept_b


class DocumentConstraints(Interleaving):
    """Document constraints: a balanced list, and preferences between pairs of documents."""

    name = "document-constraints"
    interleave = staticmethod(balanced.interleave)
    credit = staticmethod(credit)

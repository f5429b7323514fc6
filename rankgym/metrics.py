"""Measures of displayed lists against the truth: incorrectly ordered pairs and NDCG. Agents never see them."""

import numpy as np
from numpy.typing import NDArray

from rankgym.kernels import ONE, kernel, popcount

__all__ = ["better_items", "ideal_dcg", "misordered_pairs", "ndcg", "rank_discounts"]

ALL_BITS = np.uint64(0xFFFFFFFFFFFFFFFF)


def better_items(attraction: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Return for each item of ``attraction`` (rows, items) the set of strictly more attractive items, as bits.

    (rows, items, words) uint64, words = ceil(items / 64); bit j of word w stands for item 64 w + j.

    Examples:
        >>> import numpy as np
        >>> from rankgym.metrics import better_items
        >>> better_items(np.array([[0.9, 0.1, 0.5]])).tolist()  # items 0 and 2 are better than item 1: bits 1 + 4
        [[[0], [5], [1]]]
    """
    rows, items = attraction.shape
    better = attraction[:, None, :] > attraction[:, :, None]  # better[row, i, j]: j is more attractive than i
    padded = np.zeros((rows, items, -(-items // 64) * 64), bool)
    padded[:, :, :items] = better
    return np.packbits(padded, axis=2, bitorder="little").view("<u8").astype(np.uint64)


@kernel
def misordered_pairs(better, displayed, misordered):
    """Fill ``misordered`` (rows,) with each list's |V(R)|, its number of incorrectly ordered pairs (BubbleRank, eq. 5).

    A pair is incorrectly ordered if the less attractive item is above the more attractive one; items of equal
    attraction never are. BubbleRank displays all items. Here a hidden item counts as below every displayed one, so that
    with K < L a displayed item counts once for each more attractive hidden item.

    Examples:
        >>> import numpy as np
        >>> from rankgym.metrics import better_items, misordered_pairs
        >>> better, misordered = better_items(np.array([[0.9, 0.1, 0.5]])), np.empty(1, np.int64)
        >>> misordered_pairs(better, np.array([[1, 0, 2]]), misordered)
        >>> misordered.tolist()  # item 1 is above both better ones
        [2]
    """
    rows, positions = displayed.shape
    for row in range(rows):
        total = 0
        if better.shape[2] == 1:  # one word has all items
            below = ALL_BITS
            for k in range(positions):
                item = np.uint64(displayed[row, k])  # an index that cannot be negative takes half the time
                total += popcount(better[row, item, 0] & below)
                below ^= ONE << item
        else:
            for word in range(better.shape[2]):
                total += misordered_in_word(better, displayed, row, word)
        misordered[row] = total


@kernel
def misordered_in_word(better, displayed, row, word):
    """The number of the row's incorrectly ordered pairs whose more attractive item is in this word."""
    total, below = 0, ALL_BITS
    for k in range(displayed.shape[1]):
        item = displayed[row, k]
        total += popcount(better[row, item, word] & below)
        if item >> 6 == word:
            below &= ~(ONE << np.uint64(item & 63))
    return total


def rank_discounts(positions: int) -> NDArray[np.float64]:
    """1 / log2(k + 1) for the positions k = 1 .. ``positions``.

    Examples:
        >>> from rankgym.metrics import rank_discounts
        >>> rank_discounts(3).round(3).tolist()
        [1.0, 0.631, 0.5]
    """
    return 1.0 / np.log2(np.arange(2.0, positions + 2.0))


def ideal_dcg(attraction: NDArray[np.float64], cutoff: int) -> NDArray[np.float64]:
    """DCG at the cutoff of the list sorted by attraction: (rows,), from (rows, items).

    Examples:
        >>> import numpy as np
        >>> from rankgym.metrics import ideal_dcg
        >>> ideal_dcg(np.array([[0.1, 1.0, 0.5]]), cutoff=2).round(3).tolist()  # 1 + 0.5 / log2(3)
        [1.315]
    """
    return np.sort(attraction, axis=1)[:, ::-1][:, :cutoff] @ rank_discounts(cutoff)


@kernel
def ndcg(attraction, discounts, ideal, displayed, quality):
    """Fill ``quality`` (rows,) with the NDCG of each list, with attraction as relevance (BubbleRank, appendix B).

    ``discounts`` (cutoff,) and ``ideal`` (rows,) come from ``rank_discounts`` and ``ideal_dcg``. If no item is
    attractive, every list is ideal.

    Examples:
        >>> import numpy as np
        >>> from rankgym.metrics import ideal_dcg, ndcg, rank_discounts
        >>> attraction, quality = np.array([[0.1, 1.0, 0.5]]), np.empty(1)
        >>> ndcg(attraction, rank_discounts(2), ideal_dcg(attraction, 2), np.array([[2, 1]]), quality)
        >>> quality.round(3).tolist()  # (0.5 + 1 / log2(3)) / (1 + 0.5 / log2(3))
        [0.86]
    """
    for row in range(displayed.shape[0]):
        gain = 0.0
        for k in range(discounts.shape[0]):
            gain += attraction[row, np.uint64(displayed[row, k])] * discounts[k]
        quality[row] = gain / ideal[row] if ideal[row] > 0.0 else 1.0

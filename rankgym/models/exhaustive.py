"""Best lists of a click model without a formula for them: try all lists."""

import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MOST_LISTS = 1_000_000  # of one query


def all_lists(items: int, positions: int) -> NDArray[np.int64]:
    """Return all lists of ``positions`` different items, (lists, positions), in lexicographic order.

    Raises:
        ValueError: there are more than ``MOST_LISTS``.
    """
    number = math.perm(items, positions)
    if number > MOST_LISTS:
        allowed = f"allowed: at most {MOST_LISTS:,}; with more, the model needs a best_lists of its own"
        raise ValueError(f"{items} items have {number:,} lists of {positions} positions; {allowed}")
    return np.fromiter(itertools.permutations(range(items), positions), np.dtype((np.int64, positions)), number)


class best_of_all(NamedTuple):
    """A ``best_lists`` for ``rankgym.models.Reward`` that tries all lists with the kernel ``value``.

    With 10 items at 5 positions these are 30,240 lists a query. The first of several best lists is returned. A call
    raises a ValueError if a query has more than ``MOST_LISTS`` lists.

    Examples:
        A user who looks at the second position only:

        >>> import numpy as np
        >>> from rankgym.models import best_of_all, find_model
        >>> pbm = find_model("PBM")
        >>> users = pbm.parameters(np.array([[0.5, 0.2, 0.8]]), np.array([[0.0, 1.0]]))
        >>> best_of_all(pbm.rewards["clicks"].value)(users, num_positions=2, cutoff=2).tolist()
        [[0, 2]]
    """

    value: Callable[..., None]

    def __call__(self, parameters: Any, num_positions: int, cutoff: int) -> NDArray[np.int64]:
        rows, items = parameters.attraction.shape
        lists = all_lists(items, num_positions)
        best, expected = np.empty((rows, num_positions), np.int64), np.empty(len(lists))
        for row in range(rows):
            own = (np.repeat(table[row : row + 1], len(lists), axis=0) for table in parameters)
            self.value(*own, lists, cutoff, expected)
            best[row] = lists[expected.argmax()]
        return best

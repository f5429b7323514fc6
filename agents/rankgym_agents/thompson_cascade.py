"""ThompsonCascade: Thompson sampling with Beta posteriors in the cascade model (Zhong, Cheung and Tan, "Thompson
sampling algorithms for cascading bandits", Journal of Machine Learning Research 22, 2021, the algorithm with
Beta-Bernoulli updates; its first analysis: Huyuk and Tekin, AISTATS 2019).

Each round draws theta(i) of every item i from its posterior Beta(1 + clicks, 1 + observations without a click), which
begins uniform, and displays the items with the largest ones, in this order. An observed item is a Bernoulli trial.

Beta variates are G(a) / (G(a) + G(b)) with Gamma variates by Marsaglia and Tsang ("A simple method for generating gamma
variables", ACM Transactions on Mathematical Software 26, 2000): with d = a - 1/3, c = 1 / sqrt(9 d), X normal and V =
(1 + c X)^3, d V is a Gamma(a) variate once log U < X^2 / 2 + d - d V + d log V. Both Gammas are proposed from the two
normals of one polar step (Marsaglia and Bray, SIAM Review 6, 1964) and accepted together, by one U against the product
of their acceptance probabilities: rejection for the pair. An attempt takes three words of random bits and succeeds with
probability at least 0.7.

In the cascade model there is at most one click, and the user has seen the items down to it. Elsewhere there may be
more: ``feedback`` says what then counts as observed. Without a click everything displayed was observed.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.agent import KernelAgent, one_of
from rankgym.kernels import FEEDBACK, bits, kernel, last_observed, select_top, session_seed, uniform

__all__ = ["State", "ThompsonCascade", "beta_variate", "learn", "rank"]

ATTEMPTS = 64  # all of them fail with probability below 1e-33
WORDS = 3 * ATTEMPTS  # of random bits that belong to an item in a round


class State(NamedTuple):
    """What ThompsonCascade remembers. The leading axis is the row."""

    key: NDArray[np.uint64]  # (rows,): random key
    round: NDArray[np.int64]  # (rows,): rounds learned from
    feedback: NDArray[np.int64]  # (rows,): a value of FEEDBACK
    observed: NDArray[np.int64]  # (rows, items): how often the item was observed
    clicked: NDArray[np.int64]  # (rows, items): how often it was clicked then
    order: NDArray[np.int64]  # (rows, items): all items, those of the last list first


@kernel
def rank(s, displayed):
    """Sample every item's attraction; display the items with the largest samples. Item i takes lane i of the bits."""
    rows, positions = displayed.shape
    samples = np.empty(s.order.shape[1], np.float64)
    for row in range(rows):
        seed = session_seed(s.key[row], s.round[row])
        for item in range(samples.shape[0]):
            clicked = s.clicked[row, item]
            passed = s.observed[row, item] - clicked
            samples[item] = beta_variate(1.0 + clicked, 1.0 + passed, seed, item * WORDS)
        select_top(s.order, samples, row, positions, seed)
        for k in range(positions):
            displayed[row, k] = s.order[row, k]


@kernel
def learn(s, displayed, clicks):
    """Update the posteriors of the items that were observed."""
    for row in range(displayed.shape[0]):
        for k in range(last_observed(clicks, row, s.feedback[row]) + 1):
            s.observed[row, displayed[row, k]] += 1
            s.clicked[row, displayed[row, k]] += clicks[row, k]
        s.round[row] += 1


@kernel
def beta_variate(a, b, seed, index):
    """A Beta(a, b) variate, ``a`` and ``b`` at least 1, from the bits numbered ``index`` and on of ``seed``.

    It takes at most ``WORDS`` of them; should no attempt succeed, it is the posterior's mean.
    """
    d_a, d_b = a - 1.0 / 3.0, b - 1.0 / 3.0
    c_a, c_b = 1.0 / math.sqrt(9.0 * d_a), 1.0 / math.sqrt(9.0 * d_b)
    for first in range(index, index + WORDS, 3):
        x, y = 2.0 * uniform(bits(seed, first)) - 1.0, 2.0 * uniform(bits(seed, first + 1)) - 1.0
        square = x * x + y * y
        if square >= 1.0 or square == 0.0:  # the polar step: (x, y) must lie in the unit circle
            continue
        stretch = math.sqrt(-2.0 * math.log(square) / square)
        x, y = x * stretch, y * stretch
        root_a, root_b = 1.0 + c_a * x, 1.0 + c_b * y
        if root_a <= 0.0 or root_b <= 0.0:
            continue
        v_a, v_b = root_a * root_a * root_a, root_b * root_b * root_b
        if accepted(uniform(bits(seed, first + 2)), x * x, y * y, d_a, d_b, v_a, v_b):
            return d_a * v_a / (d_a * v_a + d_b * v_b)
    return a / (a + b)


@kernel
def accepted(u, xx, yy, d_a, d_b, v_a, v_b):
    """Whether the pair of Gammas d V from normals with squares ``xx`` and ``yy`` is accepted, ``u`` in [0, 1).

    One of them is accepted with a probability of at least 1 - 0.0331 X^4 (the paper's squeeze), both of them with at
    least 1 minus the sum: four times in five that decides without a logarithm.
    """
    if u < 1.0 - 0.0331 * (xx * xx + yy * yy):
        return True
    if u == 0.0:  # has no logarithm
        return True
    bound = 0.5 * xx + d_a * (1.0 - v_a + math.log(v_a)) + 0.5 * yy + d_b * (1.0 - v_b + math.log(v_b))
    return math.log(u) < bound


class ThompsonCascade(KernelAgent):
    """ThompsonCascade: the items with the largest samples of their attraction's posterior, in this order.

    Args:
        feedback: what was observed where there are clicks: the items down to the ``"first"`` or the ``"last"`` click,
            or ``"all"`` of them.
        **shape: as in ``Agent``. ``horizon`` and ``initial_list`` are not used.

    Raises:
        ValueError: an argument is out of range.
    """

    rank, learn = staticmethod(rank), staticmethod(learn)

    def __init__(self, *, feedback: str = "first", **shape: Any) -> None:
        super().__init__(**shape)
        rows, items = self.num_envs, self.num_items
        self.state = State(
            key=self.keys(),
            round=np.zeros(rows, np.int64),
            feedback=np.full(rows, one_of("feedback", feedback, FEEDBACK)),
            observed=np.zeros((rows, items), np.int64),
            clicked=np.zeros((rows, items), np.int64),
            order=np.tile(np.arange(items), (rows, 1)),
        )

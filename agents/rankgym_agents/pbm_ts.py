"""PBM-TS: Thompson sampling in the position-based model (Lagree, Vernade and Cappe, "Multiple-play bandits in the
position-based model", NIPS 2016).

The rule is from memory of the paper: no full text was at hand. The way of drawing is ours.

The examination probability kappa(l) of each position l is known. With S(k) the clicks on item k, and M(k, l) the rounds
in which it was displayed at position l and not clicked, the posterior of its attraction, whose prior is uniform, is

    theta^S(k) times the product over l of (1 - kappa(l) theta)^M(k, l), theta in [0, 1].

Each round draws theta(k) of every item from its posterior. The items with the largest ones are displayed, the best at
the position with the largest examination, and so on. Equal kappas leave their positions in their order.

The authors draw from a Beta distribution over the kappa of the item's most frequent position and reject. Here the
posterior, which is log-concave, is drawn from below its tangents at the mode and 1.2 standard deviations beside it, by
rejection. Whatever the examination, it takes 1.1 attempts on average; the worst of many posteriors took 1.5.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankgym.agent import Beliefs, KernelAgent, plain
from rankgym.kernels import bits, borrowed, give_back, kernel, logarithm, select_top, session_seed, uniform

BESIDE = 1.2  # standard deviations between the mode and the tangents beside it
NEAREST = 0.25  # a tangent beside the mode keeps this share of the mode's distance from the border
ATTEMPTS = 64  # all of them fail with probability below 1e-30
WORDS = 2 * ATTEMPTS  # random words of an item
ACCURACY = 1e-12  # of the mode, relative
NEAR_ONE = (
    1.0 - 1e-6
)  # no search begins above it: beside a pole of the slope, Newton's steps are short far from the root


class State(NamedTuple):
    """What PBM-TS remembers. The leading axis is the row."""

    key: NDArray[np.uint64]  # (rows,): random key
    round: NDArray[np.int64]  # (rows,): rounds learned from
    examination: NDArray[np.float64]  # (rows, positions): kappa
    best_first: NDArray[np.int64]  # (rows, positions): the positions by falling kappa
    mode: NDArray[np.float64]  # (rows, items): of the posterior; 0 where there is no click
    tangents: NDArray[np.float64]  # (rows, items, 4): above the posterior's logarithm, see ``envelope``
    clicked: NDArray[np.int64]  # (rows, items): S
    passed: NDArray[np.int64]  # (rows, items, positions): M
    order: NDArray[np.int64]  # (rows, items): all items, those of the last list first


@kernel
def rank(s, displayed):
    """Sample every item's attraction; display the items with the largest samples, by falling examination."""
    rows, positions = displayed.shape
    samples = borrowed(s.order.shape[1], np.float64)
    for row in range(rows):
        seed, kappa = session_seed(s.key[row], s.round[row]), s.examination[row]
        for item in range(samples.shape[0]):
            samples[item] = posterior_sample(
                s.clicked[row, item], s.passed[row, item], kappa, s.mode[row, item], s.tangents[row, item], seed,
                item * WORDS,
            )  # fmt: skip
        select_top(s.order, samples, row, positions, seed)
        for k in range(positions):
            displayed[row, s.best_first[row, k]] = s.order[row, k]
    give_back(samples)


@kernel
def learn(s, displayed, clicks):
    """Update the posteriors of the displayed items."""
    rows, positions = displayed.shape
    for row in range(rows):
        kappa = s.examination[row]
        for k in range(positions):
            item = displayed[row, k]
            s.clicked[row, item] += clicks[row, k]
            s.passed[row, item, k] += 1 - clicks[row, k]
            clicked, passed = s.clicked[row, item], s.passed[row, item]
            s.mode[row, item] = posterior_mode(clicked, passed, kappa, s.mode[row, item])
            envelope(clicked, passed, kappa, s.mode[row, item], s.tangents[row, item])
        s.round[row] += 1


@kernel
def posterior_sample(clicked, passed, kappa, mode, tangents, seed, index):
    """Draw from the posterior with its ``mode`` and ``tangents``, from the bits numbered ``index`` and on of ``seed``.

    If no attempt succeeds, the mode is returned.
    """
    z1, g1, z3, g3 = tangents[0], tangents[1], tangents[2], tangents[3]
    below = (1.0 - math.exp(-g1 * z1)) / g1 if z1 > 0.0 else 0.0
    beyond = (1.0 - math.exp(-g3 * (1.0 - z3))) / g3 if z3 < 1.0 else 0.0
    for first in range(index, index + WORDS, 2):
        place = uniform(bits(seed, first)) * (below + (z3 - z1) + beyond)
        x, level = z1 + (place - below), 0.0
        if place < below:
            level = logarithm(1.0 - g1 * place)
            x = z1 + level / g1
        elif x >= z3:
            level = logarithm(1.0 - g3 * min(x - z3, beyond))
            x = z3 - level / g3
        u = uniform(bits(seed, first + 1))
        if u == 0.0 or logarithm(u) < log_posterior(clicked, passed, kappa, mode, x) - level:
            return x
    return mode


@kernel
def envelope(clicked, passed, kappa, mode, tangents):
    """Fill ``tangents`` (4,): z1, the slope of the tangent below the mode, z3, and the fall of the one above it.

    Of the posterior's logarithm less that at the mode an upper bound is 0 between z1 and z3, where the tangents are 0,
    and the tangents outside. If the mode is a border, there is no tangent beyond it.

    The scale is the standard deviation of the normal distribution with the curvature at the mode, or the inverse of the
    slope at a border, if that is less.
    """
    slope, curvature = derivatives(clicked, passed, kappa, mode)
    scale = 1.0 / max(abs(slope), math.sqrt(curvature)) if curvature > 0.0 else 1.0
    z1, g1, z3, g3 = 0.0, 0.0, 1.0, 0.0
    if mode > 0.0:
        x = max(mode - BESIDE * scale, NEAREST * mode)
        g1 = derivatives(clicked, passed, kappa, x)[0]
        z1 = min(mode, x - log_posterior(clicked, passed, kappa, mode, x) / g1)
    if mode < 1.0 and curvature > 0.0:
        x = min(mode + BESIDE * scale, 1.0 - NEAREST * (1.0 - mode))
        g3 = -derivatives(clicked, passed, kappa, x)[0]
        z3 = min(1.0, max(mode, x + log_posterior(clicked, passed, kappa, mode, x) / g3))
    tangents[0], tangents[1], tangents[2], tangents[3] = z1, g1, z3, g3


@kernel
def derivatives(clicked, passed, kappa, theta):
    """The slope of the posterior's logarithm at ``theta``, and its second derivative times -1."""
    slope, curvature = 0.0, 0.0
    if clicked > 0:
        slope = clicked / theta
        curvature = slope / theta
    for k in range(kappa.shape[0]):
        if passed[k] > 0:
            ratio = kappa[k] / (1.0 - kappa[k] * theta)
            slope -= passed[k] * ratio
            curvature += passed[k] * ratio * ratio
    return slope, curvature


@kernel
def log_posterior(clicked, passed, kappa, mode, theta):
    """The posterior's logarithm at ``theta``, less that at the ``mode``."""
    h = clicked * logarithm(theta / mode) if clicked > 0 else 0.0
    for k in range(kappa.shape[0]):
        if passed[k] > 0:
            h += passed[k] * logarithm((1.0 - kappa[k] * theta) / (1.0 - kappa[k] * mode))
    return h


@kernel
def posterior_mode(clicked, passed, kappa, start):
    """The mode: 0 without a click, 1 where the posterior rises up to it, else Newton's root of the slope.

    The search begins at ``start``, the mode before the last observation. A step that leaves the bracket is replaced by
    a bisection.
    """
    if clicked == 0:
        return 0.0
    if derivatives(clicked, passed, kappa, 1.0)[0] >= 0.0:
        return 1.0
    low, high = 0.0, 1.0
    q = start if 0.0 < start < NEAR_ONE else 0.5
    while low < q < high:
        slope, curvature = derivatives(clicked, passed, kappa, q)
        if slope > 0.0:
            low = q
        else:
            high = q
        root = q + slope / curvature
        if not low < root < high:
            if abs(root - q) <= ACCURACY * q:
                return q
            root = 0.5 * (low + high)
        elif abs(root - q) <= ACCURACY * q:
            return root
        q = root
    return q


class PBMTS(KernelAgent):
    """PBM-TS: Thompson sampling of attraction, for positions with known examination probabilities.

    Args:
        examination: probability in (0, 1] that position k is examined: (num_positions,), or (num_envs, num_positions)
            for one a row. Default: 1 / k for k = 1, 2, ..., a common guess; the paper's guarantee needs the truth.
        **shape: as in ``Agent``. ``horizon`` and ``initial_list`` are ignored.

    Raises:
        ValueError: an argument is out of range.

    References:
        Lagree, Vernade and Cappe, NIPS 2016.

    Examples:
        >>> from rankgym_agents import PBMTS
        >>> agent = PBMTS(num_items=2, num_positions=2, examination=[1.0, 0.5])
        >>> for clicks in ([1, 1], [0, 0], [0, 0], [0, 0]):
        ...     agent.update([[0, 1]], [clicks])
        >>> [round(mode, 3) for mode in agent.beliefs().scores["posterior mode"]]  # a miss says less where fewer look
        [0.25, 0.5]
    """

    rank, learn = staticmethod(rank), staticmethod(learn)
    state: State

    def __init__(self, *, examination: ArrayLike | None = None, **shape: Any) -> None:
        super().__init__(**shape)
        items, kappa = self.num_items, self.checked_examination(examination)
        self.state = State(
            key=self.keys(),
            **self.filled(round=0),
            examination=kappa,
            best_first=np.argsort(-kappa, axis=1, kind="stable"),
            **self.filled(items, mode=0.0, clicked=0),
            **self.filled(items, 4, tangents=np.array([0.0, 0.0, 1.0, 0.0])),
            **self.filled(items, self.num_positions, passed=0),
            **self.filled(items, order=np.arange(items)),
        )

    def beliefs(self, row: int = 0) -> Beliefs:
        """The modes of the posteriors of attraction; 0 where there is no click."""
        return Beliefs(scores={"posterior mode": plain(self.state.mode[row])})

"""PB-MHB (Gauthier, Gaudel and Fromont, "Position-based multiple-play bandits with Thompson sampling", Advances in
Intelligent Data Analysis 2021): Thompson sampling in the position-based model with unknown examination.

From the algorithm as the authors' code has it, and memory of the paper: no full text was at hand, so steps are named,
not numbered.

With S(i, l) the clicks on item i at position l, and M(i, l) the rounds in which it was displayed there and not clicked,
the posterior of attraction theta and examination kappa, with kappa(1) = 1 and uniform priors, is proportional to the
product over i and l of (theta(i) kappa(l))^S(i, l) (1 - theta(i) kappa(l))^M(i, l).

It is sampled by a Markov chain that goes on over the rounds, from uniform draws. Before each round, m sweeps of
Metropolis and Hastings update theta(1), ..., theta(L), kappa(2), ..., kappa(K) one after another: a value is proposed
from the normal distribution around the present one, with deviation sigma = c / sqrt(t) and cut to [0, 1], and accepted
with the probability min(1, ratio of the posteriors times Z(present) / Z(proposed)), where Z(x) = Phi((1 - x) / sigma) -
Phi(-x / sigma). The items of the largest theta are displayed, the best at the position of the largest kappa, and so on.
Published values are m = 1 and c = 1,000: for the first million rounds that is nearly a uniform draw.

The authors' code begins with S = M = 1/2 at every item and position, which are exponents of each factor; ``prior`` has
them, and is 0 here. The first round needs no sweep: without clicks the uniform draws are the posterior.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.agent import Beliefs, KernelAgent, number_in, plain, positive, whole_number
from rankgym.kernels import bits, borrowed, give_back, kernel, logarithm, select_top, session_seed, uniform

ATTEMPTS = 64  # to draw a proposal; all of them fail with probability below 1e-17
WORDS = 2 * ATTEMPTS + 1  # random words of a proposal, the last one for its acceptance
WIDE = 0.5  # from this deviation on, proposals are uniform draws that are accepted by the normal density
ROOT_2 = math.sqrt(2.0)


class State(NamedTuple):
    """What PB-MHB remembers. The leading axis is the row."""

    key: NDArray[np.uint64]  # (rows,): random key
    round: NDArray[np.int64]  # (rows,): rounds learned from; the paper's t is one more
    sweeps: NDArray[np.int64]  # (rows,): m
    width: NDArray[np.float64]  # (rows,): c
    attraction: NDArray[np.float64]  # (rows, items): theta
    examination: NDArray[np.float64]  # (rows, positions): kappa; the first is 1
    clicked: NDArray[np.float64]  # (rows, items, positions): S, and the prior's
    passed: NDArray[np.float64]  # (rows, items, positions): M, and the prior's
    order: NDArray[np.int64]  # (rows, items): all items, those of the last list first
    places: NDArray[np.int64]  # (rows, positions): positions by falling kappa in the last round


@kernel
def rank(s, displayed):
    """Display the items of the largest theta, at the positions by falling kappa."""
    rows, positions = displayed.shape
    for row in range(rows):
        seed = session_seed(s.key[row], s.round[row])
        select_top(s.order, s.attraction[row], row, positions, seed)
        select_top(s.places, s.examination[row], row, positions, seed)
        for k in range(positions):
            displayed[row, s.places[row, k]] = s.order[row, k]


@kernel
def learn(s, displayed, clicks):
    """Update S and M; sweep for the next round."""
    rows, positions = displayed.shape
    for row in range(rows):
        for k in range(positions):
            item = displayed[row, k]
            if clicks[row, k] != 0:
                s.clicked[row, item, k] += 1.0
            else:
                s.passed[row, item, k] += 1.0
        s.round[row] += 1
    for row in range(rows):
        for number in range(s.sweeps[row]):
            sweep(s, row, number)


@kernel
def begin(key, attraction, examination):
    """Draw theta and kappa, but kappa(1), from the prior, by the bits of the first round's seed."""
    for row in range(key.shape[0]):
        seed, items = session_seed(key[row], 0), attraction.shape[1]
        for item in range(items):
            attraction[row, item] = uniform(bits(seed, items + item))
        for k in range(1, examination.shape[1]):
            examination[row, k] = uniform(bits(seed, 2 * items + k))


@kernel
def sweep(s, row, number):
    """Update each theta, then each kappa but the first; ``number`` counts the round's sweeps from 0."""
    sigma, seed = s.width[row] / math.sqrt(s.round[row] + 1), session_seed(s.key[row], s.round[row])
    theta, kappa = s.attraction[row], s.examination[row]
    items, positions = theta.shape[0], kappa.shape[0]
    size = max(items, positions)
    clicked, passed = borrowed(size, np.float64), borrowed(size, np.float64)
    lane = 3 * items + number * (items + positions) * WORDS  # words below are the first draws'
    for item in range(items):
        for k in range(positions):
            clicked[k], passed[k] = s.clicked[row, item, k], s.passed[row, item, k]
        theta[item] = updated(theta[item], kappa, clicked, passed, sigma, seed, lane + item * WORDS)
    for k in range(1, positions):
        for item in range(items):
            clicked[item], passed[item] = s.clicked[row, item, k], s.passed[row, item, k]
        kappa[k] = updated(kappa[k], theta, clicked, passed, sigma, seed, lane + (items + k) * WORDS)
    give_back(passed)
    give_back(clicked)


@kernel
def updated(value, others, clicked, passed, sigma, seed, index):
    """Return a parameter after a step of Metropolis and Hastings.

    ``others`` (number,) are the parameters that it is multiplied with, ``clicked`` and ``passed`` the exponents of each
    product.
    """
    proposed = propose(value, sigma, seed, index)
    clicks, change = 0.0, 0.0
    for i in range(others.shape[0]):
        clicks += clicked[i]
        change += passed[i] * logarithm((1.0 - proposed * others[i]) / (1.0 - value * others[i]))
    change += clicks * logarithm(proposed / value)
    u = uniform(bits(seed, index + WORDS - 1))
    ratio = u * inside(proposed, sigma) / inside(value, sigma)
    return proposed if u == 0.0 or logarithm(ratio) < change else value


@kernel
def propose(value, sigma, seed, index):
    """Draw from the normal distribution around ``value``, cut to (0, 1); ``value`` itself if no attempt succeeds.

    A wide one is proposed uniformly and accepted by its density; others by Box and Muller's transformation.
    """
    for first in range(index, index + 2 * ATTEMPTS, 2):
        x, u = uniform(bits(seed, first)), uniform(bits(seed, first + 1))
        if sigma >= WIDE:
            z = (x - value) / sigma
            if x > 0.0 and u < math.exp(-0.5 * z * z):
                return x
        else:
            x = value + sigma * math.sqrt(-2.0 * math.log(1.0 - x)) * math.cos(2.0 * math.pi * u)
            if 0.0 < x < 1.0:
                return x
    return value


@kernel
def inside(x, sigma):
    """Z(x), the probability that a normal variate around ``x`` with deviation ``sigma`` is in [0, 1]."""
    scale = ROOT_2 * sigma
    return 0.5 * (math.erf((1.0 - x) / scale) + math.erf(x / scale))


class PBMHB(KernelAgent):
    """PB-MHB: Thompson sampling of attraction and of unknown examination, by a Markov chain.

    The first position is taken for the most examined one.

    Args:
        sweeps: m, sweeps of the chain a round, at least 1.
        width: c of the proposals' deviation c / sqrt(t), above 0.
        prior: clicks and passes counted for every item at every position before the first round, in [0, 1000]; 0 is the
            uniform prior, 0.5 the authors' code.
        **shape: as in ``Agent``. ``horizon`` and ``initial_list`` are ignored.

    Raises:
        ValueError: an argument is out of range.

    References:
        Gauthier, Gaudel and Fromont, IDA 2021.

    Examples:
        >>> from rankgym_agents import PBMHB
        >>> agent = PBMHB(num_items=2, num_positions=2, sweeps=10, seed=0)
        >>> for _ in range(200):  # users who click item 1 wherever it is, and never item 0
        ...     displayed = agent.act()
        ...     agent.update(displayed, displayed == 1)
        >>> bool(agent.state.attraction[0, 1] > 0.8), bool(agent.state.examination[0, 1] > 0.7)  # both are found out
        (True, True)
    """

    rank, learn = staticmethod(rank), staticmethod(learn)
    state: State

    def __init__(self, *, sweeps: int = 1, width: float = 1000.0, prior: float = 0.0, **shape: Any) -> None:
        super().__init__(**shape)
        items, positions = self.num_items, self.num_positions
        before = number_in("prior", prior, 0, 1000)
        self.state = State(
            key=self.keys(),
            **self.filled(round=0, sweeps=whole_number("sweeps", sweeps, 1, 1_000_000), width=positive("width", width)),
            **self.filled(items, attraction=0.5),
            **self.filled(positions, examination=1.0),
            **self.filled(items, positions, clicked=before, passed=before),
            **self.filled(items, order=np.arange(items)),
            **self.filled(positions, places=np.arange(positions)),
        )
        begin(self.state.key, self.state.attraction, self.state.examination)

    def beliefs(self, row: int = 0) -> Beliefs:
        """The samples of attraction by which the next list is chosen."""
        return Beliefs(scores={"sample of attraction": plain(self.state.attraction[row])})

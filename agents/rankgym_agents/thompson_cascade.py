"""ThompsonCascade: Thompson sampling with Beta posteriors in the cascade model (Zhong, Cheung and Tan, "Thompson
sampling algorithms for cascading bandits", Journal of Machine Learning Research 22, 2021, the algorithm with
Beta-Bernoulli updates, CTS; its first analysis: Huyuk and Tekin, AISTATS 2019). The same is CascadeTS, Algorithm 7.2 in
section 7.3 of Russo, Van Roy, Kazerouni, Osband and Wen ("A tutorial on Thompson sampling", Foundations and Trends in
Machine Learning 11, 2018), for the prior alpha = beta = 1.

Each round draws theta(i) of every item i from its posterior Beta(1 + clicks, 1 + observations without a click), which
begins uniform, and displays the items with the largest ones, in this order. An observed item is a Bernoulli trial.

In the cascade model there is at most one click, and the user has seen the items down to it. Other models may have
more clicks: ``feedback`` says which items then count as observed. Without a click everything displayed was observed.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.agent import Beliefs, KernelAgent, one_of, plain
from rankgym.kernels import (
    BETA_WORDS,
    FEEDBACK,
    beta_variate,
    borrowed,
    give_back,
    kernel,
    last_observed,
    select_top,
    session_seed,
)


class State(NamedTuple):
    """What ThompsonCascade remembers. The leading axis is the row.

    The order of the fields is not CascadeUCB1's: calls with states that numba cannot tell apart are slow.
    """

    key: NDArray[np.uint64]  # (rows,): random key
    round: NDArray[np.int64]  # (rows,): rounds learned from
    feedback: NDArray[np.int64]  # (rows,): a value of FEEDBACK
    order: NDArray[np.int64]  # (rows, items): all items, those of the last list first
    observed: NDArray[np.int64]  # (rows, items): how often the item was observed
    clicked: NDArray[np.int64]  # (rows, items): how often it was clicked then


@kernel
def rank(s, displayed):
    """Sample every item's attraction; display the items with the largest samples. Item i takes lane i of the bits."""
    rows, positions = displayed.shape
    samples = borrowed(s.order.shape[1], np.float64)
    for row in range(rows):
        seed = session_seed(s.key[row], s.round[row])
        for item in range(samples.shape[0]):
            clicked = s.clicked[row, item]
            passed = s.observed[row, item] - clicked
            samples[item] = beta_variate(1.0 + clicked, 1.0 + passed, seed, item * BETA_WORDS)
        select_top(s.order, samples, row, positions, seed)
        for k in range(positions):
            displayed[row, k] = s.order[row, k]
    give_back(samples)


@kernel
def learn(s, displayed, clicks):
    """Update the posteriors of the items that were observed."""
    for row in range(displayed.shape[0]):
        for k in range(last_observed(clicks, row, s.feedback[row]) + 1):
            s.observed[row, displayed[row, k]] += 1
            s.clicked[row, displayed[row, k]] += clicks[row, k]
        s.round[row] += 1


class ThompsonCascade(KernelAgent):
    """ThompsonCascade: displays the items with the largest samples from the posterior of their attraction, in order.

    Args:
        feedback: the items that count as observed after clicks: those down to the ``"first"`` or the ``"last"`` click,
            or ``"all"`` of them.
        **shape: as in ``Agent``. ``horizon`` and ``initial_list`` are ignored.

    Raises:
        ValueError: an argument is out of range.

    References:
        Zhong, Cheung and Tan, JMLR 22, 2021; Cheung, Tan and Zhong, AISTATS 2019.

    Examples:
        >>> from rankgym_agents import ThompsonCascade
        >>> agent = ThompsonCascade(num_items=3, num_positions=3, seed=0)
        >>> agent.update([[0, 1, 2]], [[0, 1, 0]])  # item 0 was passed over, item 1 clicked, item 2 not seen
        >>> means = agent.beliefs().scores["posterior mean"]  # of Beta(1, 2), Beta(2, 1) and Beta(1, 1)
        >>> [round(mean, 2) for mean in means]
        [0.33, 0.67, 0.5]
    """

    rank, learn = staticmethod(rank), staticmethod(learn)
    state: State

    def __init__(self, *, feedback: str = "first", **shape: Any) -> None:
        super().__init__(**shape)
        items = self.num_items
        self.state = State(
            key=self.keys(),
            **self.filled(round=0, feedback=one_of("feedback", feedback, FEEDBACK)),
            **self.filled(items, observed=0, clicked=0, order=np.arange(items)),
        )

    def beliefs(self, row: int = 0) -> Beliefs:
        """The means of the posterior of attraction."""
        s = self.state
        return Beliefs(scores={"posterior mean": plain((1.0 + s.clicked[row]) / (2.0 + s.observed[row]))})

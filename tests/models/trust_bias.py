"""Trust bias: users examine a position and click what attracts them, or what they trust since it stands so high.

Agarwal, Wang, Li, Bendersky and Najork, "Addressing trust bias for unbiased learning-to-rank" (WWW 2019). Its clicks do
not have the probability chi(R, k) alpha(R(k)); ``UNSAID`` does not say so, ``MODEL`` does.
"""

from typing import NamedTuple

import numpy as np

from rankgym.kernels import EXAMINATION, TERMINATION, bernoulli, kernel, session_seed
from rankgym.models import ClickModel, Reward, best_of_all


class Parameters(NamedTuple):
    attraction: np.ndarray
    examination: np.ndarray
    trust: np.ndarray


AXES = {"attraction": ("item",), "examination": ("position",), "trust": ("position",)}


@kernel
def click(attraction, examination, trust, key, session, displayed, cutoff, clicks, reward):
    for row in range(displayed.shape[0]):
        seed = session_seed(key[row], session[row])
        count = 0
        for k in range(displayed.shape[1]):
            item = displayed[row, k]
            wanted = bernoulli(seed, item, attraction[row, item]) or bernoulli(seed, TERMINATION + k, trust[row, k])
            clicked = wanted and bernoulli(seed, EXAMINATION + k, examination[row, k])
            clicks[row, k] = clicked
            if k < cutoff:
                count += clicked
        reward[row] = count


@kernel
def clicks(attraction, examination, trust, displayed, probability):
    for row in range(displayed.shape[0]):
        for k in range(displayed.shape[1]):
            alpha = attraction[row, displayed[row, k]]
            probability[row, k] = examination[row, k] * (alpha + (1.0 - alpha) * trust[row, k])


@kernel
def value(attraction, examination, trust, displayed, cutoff, expected):
    for row in range(displayed.shape[0]):
        expected[row] = 0.0
        for k in range(cutoff):
            alpha = attraction[row, displayed[row, k]]
            expected[row] += examination[row, k] * (alpha + (1.0 - alpha) * trust[row, k])


@kernel
def examine(attraction, examination, trust, displayed, examined):
    for row in range(displayed.shape[0]):
        for k in range(displayed.shape[1]):
            examined[row, k] = examination[row, k]


UNSAID = ClickModel("Trust", Parameters, AXES, examine, {"clicks": Reward(click, value, best_of_all(value))})
MODEL = UNSAID._replace(clicks=clicks)

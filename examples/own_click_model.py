"""Your own click model: two kinds of users, those who examine the first positions, and those who read all of the list.

A log mixes them (Buscher, White, Dumais and Huang, "Large-scale analysis of individual and task differences in search
result page examination strategies", WSDM 2012: economic and exhaustive searchers). A user is exhaustive with
probability e. An economic user examines position k with probability chi(k), an exhaustive one every position, and both
click on an examined item i with probability alpha(i).

A model is a module with a ``MODEL``: the parameters, and functions on arrays whose leading axis is the row, one user
each. The functions write into their last arguments. Everywhere, it is called by its place, here
``"own_click_model:MODEL"``:

    gym.make("rankgym/PBM-Synthetic-v0", model="own_click_model:MODEL", parameters={...})
    rankgym compare PBM-Synthetic-v0 --set model=own_click_model:MODEL --agents toprank,cascade-kl-ucb

Run it: ``python examples/own_click_model.py``
"""

import argparse
import sys
from pathlib import Path
from typing import NamedTuple

import gymnasium as gym
import numpy as np

import rankgym
from rankgym.kernels import ABANDONMENT, EXAMINATION, bernoulli, kernel, session_seed
from rankgym.models import ClickModel, Reward, matched_lists
from rankgym_agents import BubbleRank, CascadeKLUCB, TopRank


class Parameters(NamedTuple):
    """One user a row; all are probabilities. Of those that are not given, attraction and exhaustive are drawn."""

    attraction: np.ndarray  # (rows, items): alpha(i)
    examination: np.ndarray  # (rows, positions): chi(k), of economic users
    exhaustive: np.ndarray  # (rows,): e


AXES = {"attraction": ("item",), "examination": ("position",), "exhaustive": ()}


@kernel
def click(attraction, examination, exhaustive, key, session, displayed, cutoff, clicks, reward):
    """Play one session in every row: fill ``clicks`` and ``reward``, the clicks in the first ``cutoff`` positions.

    A coin has a number in its session: an item's own for its attraction, so that agents who display the same item to
    the same user see the same coin; EXAMINATION + k for a position. The user's kind takes ABANDONMENT, which is free.
    """
    rows, positions = displayed.shape
    for row in range(rows):
        seed = session_seed(key[row], session[row])
        reads_all = bernoulli(seed, ABANDONMENT, exhaustive[row])
        count = 0
        for k in range(positions):
            item = displayed[row, k]
            examined = reads_all or bernoulli(seed, EXAMINATION + k, examination[row, k])
            clicked = examined and bernoulli(seed, item, attraction[row, item])
            clicks[row, k] = clicked
            if k < cutoff:
                count += clicked
        reward[row] = count


@kernel
def value(attraction, examination, exhaustive, displayed, cutoff, expected):
    """Fill ``expected`` with the mean reward of each list; regret is made of it."""
    for row in range(displayed.shape[0]):
        expected[row] = 0.0
        for k in range(cutoff):
            examined = exhaustive[row] + (1.0 - exhaustive[row]) * examination[row, k]
            expected[row] += examined * attraction[row, displayed[row, k]]


@kernel
def examine(attraction, examination, exhaustive, displayed, examined):
    """Fill ``examined`` with the probability that a position is examined, by any user."""
    for row in range(displayed.shape[0]):
        for k in range(displayed.shape[1]):
            examined[row, k] = exhaustive[row] + (1.0 - exhaustive[row]) * examination[row, k]


def best_lists(parameters, num_positions, cutoff):
    """Return each row's best list: the most attractive items at the most examined positions.

    Without such a formula, ``Reward(click, value, rankgym.models.best_of_all(value))`` tries all lists.
    """
    exhaustive = parameters.exhaustive[:, None]
    weight = exhaustive + (1.0 - exhaustive) * parameters.examination
    return matched_lists(parameters.attraction, weight, num_positions, cutoff)


MODEL = ClickModel("TwoKinds", Parameters, AXES, examine, {"clicks": Reward(click, value, best_lists)})

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20_000, help="user sessions in each row (default: 20000)")
    rounds = parser.parse_args().rounds
    sys.path.insert(0, str(Path(__file__).parent))  # where Python finds "own_click_model"

    rankgym.check_model("own_click_model:MODEL")
    print("own_click_model:MODEL keeps the contract.")
    parameters = {
        "attraction": np.linspace(0.9, 0.1, 10).tolist(),
        "examination": [0.9, 0.5, 0.25, 0.12, 0.06],
        "exhaustive": 0.2,
    }
    for cls in (TopRank, BubbleRank, CascadeKLUCB):
        venv = gym.make_vec(
            "rankgym/PBM-Synthetic-v0",
            num_envs=60,
            model="own_click_model:MODEL",
            parameters=parameters,
            horizon=rounds,
        )
        regret = rankgym.simulate(cls.for_env(venv, seed=0), venv, rounds, seed=0).regret[-1]
        error = regret.std(ddof=1) / np.sqrt(len(regret))
        print(f"{cls.__name__:12} regret after {rounds:,} rounds {regret.mean():8.1f} ± {error:.1f}")

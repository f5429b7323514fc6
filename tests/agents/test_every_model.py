"""Each ranking agent and the plain reading of its paper, side by side on the users of every click model."""

import math

import gymnasium as gym
import numpy as np
import pytest
from agent_oracles import BubbleRankOracle, CascadeKLUCBOracle, RandomOracle, TopRankOracle
from test_batchrank import BatchRankOracle
from test_bayes import BayesOracle
from test_cascade_ducb import CascadeDUCBOracle, gamma_of
from test_cascade_swucb import CascadeSWUCBOracle, tau_of
from test_cascade_ucb1 import CascadeUCB1Oracle
from test_pbm_ucb import PBMUCBOracle
from test_ranked_exp3 import RankedEXP3Oracle
from test_thompson_cascade import ThompsonCascadeOracle

from rankgym.models import MODELS
from rankgym_agents import RANKERS

ROUNDS, ITEMS, POSITIONS, SEED = 1200, 10, 5, 11
PLACE = (ITEMS, POSITIONS, SEED)
INITIAL = [3, 1, 0, 2, 7, 5, 4, 6, 9, 8]
ETA = math.sqrt(2 * math.log(ITEMS) / (ROUNDS * ITEMS))
ORACLES = {  # all with a known horizon and their defaults
    "random": lambda: RandomOracle(*PLACE),
    "bubblerank": lambda: BubbleRankOracle(*PLACE, INITIAL, 4 * math.log(ROUNDS)),
    "toprank": lambda: TopRankOracle(*PLACE, 1 / ROUNDS),
    "batchrank": lambda: BatchRankOracle(*PLACE, "authors", ROUNDS),
    "cascade-kl-ucb": lambda: CascadeKLUCBOracle(*PLACE),
    "cascade-ucb1": lambda: CascadeUCB1Oracle(*PLACE, "first"),
    "cascade-ducb": lambda: CascadeDUCBOracle(*PLACE, gamma=gamma_of(ROUNDS)),
    "cascade-swucb": lambda: CascadeSWUCBOracle(*PLACE, tau=tau_of(ROUNDS)),
    "ranked-exp3": lambda: RankedEXP3Oracle(*PLACE, ETA),
    "thompson-cascade": lambda: ThompsonCascadeOracle(*PLACE, "first"),
    "pbm-ucb": lambda: PBMUCBOracle(*PLACE),
    "bayes-index": lambda: BayesOracle(*PLACE, horizon=ROUNDS),
    "bayes-thompson": lambda: BayesOracle(*PLACE),
}


def test_every_ranking_agent_is_here_but_those_that_learn_nothing_or_wrap_others():
    assert set(RANKERS) - set(ORACLES) == {
        "static",
        "restarting",
        "adaptive-index",
    }  # its plain reading is slow: test_adaptive_index.py


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", ORACLES)
def test_the_lists_are_the_papers_for_every_click_model(name, model):
    """Of a query whose three items jump at round 600: learning, and learning again."""
    env = gym.make_vec(
        "rankgym/PBM-Yandex-Breakpoint-v0",
        num_envs=1,
        model=model,
        query=[3],
        num_positions=POSITIONS,
        breakpoints=[600],
        horizon=None,
    )
    env.reset(seed=1)
    shape = {"num_items": ITEMS, "num_positions": POSITIONS, "horizon": ROUNDS}
    agent, oracle = RANKERS[name](**shape, seed=SEED, initial_list=np.array(INITIAL)), ORACLES[name]()
    for t in range(ROUNDS):
        displayed = agent.act()
        assert displayed[0].tolist() == oracle.act(), f"round {t + 1}"
        clicks = env.step(displayed)[0]
        agent.update(displayed, clicks)
        oracle.update(displayed[0].tolist(), clicks[0].tolist())

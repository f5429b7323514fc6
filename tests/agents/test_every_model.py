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
from test_cascade_ucb_v import CascadeUCBVOracle
from test_glrt_cascade import GLRTCascadeOracle
from test_grab import GRABOracle
from test_pb_mhb import PBMHBOracle
from test_pbm_pie import PBMPIEOracle
from test_pbm_ts import PBMTSOracle
from test_pbm_ucb import PBMUCBOracle
from test_ranked_exp3 import RankedEXP3Oracle
from test_thompson_cascade import ThompsonCascadeOracle
from test_unirank import UniRankOracle

from rankgym.models import MODELS
from rankgym_agents import RANKERS

ROUNDS, ITEMS, POSITIONS, SEED = 300, 10, 5, 11  # 2,000 rounds agree, too
PLACE = (ITEMS, POSITIONS, SEED)
INITIAL = [3, 1, 0, 2, 7, 5, 4, 6, 9, 8]
ETA = math.sqrt(2 * math.log(ITEMS) / (ROUNDS * ITEMS))
ORACLES = {  # all with a known horizon and their defaults
    "random": lambda: RandomOracle(*PLACE),
    "unirank": lambda: UniRankOracle(*PLACE),
    "grab": lambda: GRABOracle(*PLACE),
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
    "glrt-cascade": lambda: GLRTCascadeOracle(*PLACE, p=math.sqrt(math.log(ROUNDS) / ROUNDS), delta=1 / ROUNDS),
    "pbm-ts": lambda: PBMTSOracle(*PLACE),
    "pbm-pie": lambda: PBMPIEOracle(*PLACE),
    "pb-mhb": lambda: PBMHBOracle(*PLACE),
    "cascade-ucb-v": lambda: CascadeUCBVOracle(*PLACE),
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
def test_the_lists_are_the_papers_for_every_click_model(model):
    """Of a query whose three items jump in the middle: learning, and learning again. Each agent has a row of users."""
    env = gym.make_vec(
        "rankgym/PBM-Yandex-Breakpoint-v0",
        num_envs=len(ORACLES),
        model=model,
        query=[3],
        num_positions=POSITIONS,
        breakpoints=[ROUNDS // 2],
        horizon=None,
    )
    env.reset(seed=3)
    shape = {"num_items": ITEMS, "num_positions": POSITIONS, "horizon": ROUNDS}
    agents = [RANKERS[name](**shape, seed=SEED, initial_list=np.array(INITIAL)) for name in ORACLES]
    oracles = [make() for make in ORACLES.values()]
    for t in range(ROUNDS):
        displayed = np.concatenate([agent.act() for agent in agents])
        for name, row, oracle in zip(ORACLES, displayed.tolist(), oracles, strict=True):
            assert row == oracle.act(), f"round {t + 1} of {name}"
        clicks = env.step(displayed)[0]
        for row, (agent, oracle) in enumerate(zip(agents, oracles, strict=True)):
            agent.update(displayed[row : row + 1], clicks[row : row + 1])
            oracle.update(displayed[row].tolist(), clicks[row].tolist())

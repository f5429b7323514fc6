"""Ranking agents: one file per paper, one literal table of their names.

They import ``rankgym.kernels`` and ``rankgym.agent`` alone: an agent that could see the truth would be a bug.
"""

from rankgym.agent import Agent
from rankgym_agents.batchrank import BatchRank
from rankgym_agents.bubblerank import BubbleRank
from rankgym_agents.cascade_ducb import CascadeDUCB
from rankgym_agents.cascade_klucb import CascadeKLUCB
from rankgym_agents.cascade_swucb import CascadeSWUCB
from rankgym_agents.cascade_ucb1 import CascadeUCB1
from rankgym_agents.pbm_ucb import PBMUCB
from rankgym_agents.random import RandomRanker
from rankgym_agents.ranked_exp3 import RankedEXP3
from rankgym_agents.restarting import Restarting
from rankgym_agents.static import StaticRanker
from rankgym_agents.thompson_cascade import ThompsonCascade
from rankgym_agents.toprank import TopRank

__all__ = [
    "AGENTS",
    "PBMUCB",
    "BatchRank",
    "BubbleRank",
    "CascadeDUCB",
    "CascadeKLUCB",
    "CascadeSWUCB",
    "CascadeUCB1",
    "RandomRanker",
    "RankedEXP3",
    "Restarting",
    "StaticRanker",
    "ThompsonCascade",
    "TopRank",
]

AGENTS: dict[str, type[Agent]] = {
    "static": StaticRanker,
    "random": RandomRanker,
    "bubblerank": BubbleRank,
    "toprank": TopRank,
    "batchrank": BatchRank,
    "cascade-kl-ucb": CascadeKLUCB,
    "cascade-ucb1": CascadeUCB1,
    "cascade-ducb": CascadeDUCB,
    "cascade-swucb": CascadeSWUCB,
    "ranked-exp3": RankedEXP3,
    "thompson-cascade": ThompsonCascade,
    "pbm-ucb": PBMUCB,
    "restarting": Restarting,
}

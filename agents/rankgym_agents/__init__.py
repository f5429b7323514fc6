"""Ranking agents: one file per paper, one literal table of their names.

They import ``rankgym.kernels`` and ``rankgym.agent`` alone: an agent that could see the truth would be a bug.
"""

from rankgym.agent import KernelAgent
from rankgym_agents.bubblerank import BubbleRank
from rankgym_agents.cascade_klucb import CascadeKLUCB
from rankgym_agents.random import RandomRanker
from rankgym_agents.static import StaticRanker
from rankgym_agents.toprank import TopRank

__all__ = ["AGENTS", "BubbleRank", "CascadeKLUCB", "RandomRanker", "StaticRanker", "TopRank"]

AGENTS: dict[str, type[KernelAgent]] = {
    "static": StaticRanker,
    "random": RandomRanker,
    "bubblerank": BubbleRank,
    "toprank": TopRank,
    "cascade-kl-ucb": CascadeKLUCB,
}

"""The papers' algorithms, one file per paper: ranking agents, dueling agents, and one literal table of their names.

``AGENTS`` has the classes by the names that the command line uses, ``RANKERS`` those that display lists, ``DUELERS``
those that compare two arms. A name that is not in ``AGENTS`` is a KeyError, which says what may have been meant.

May import ``rankgym.kernels`` and ``rankgym.agent`` only: an agent that could see the click model would be a bug.

Examples:
    >>> from rankgym_agents import AGENTS, DUELERS, RANKERS
    >>> AGENTS["toprank"].__name__, "rucb" in RANKERS, "rucb" in DUELERS
    ('TopRank', False, True)
    >>> AGENTS["toprnk"]  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    KeyError: "agent = 'toprnk' is unknown; did you mean 'toprank'? allowed: static, random, ...
"""

from rankgym.agent import Agent, DuelingAgent, near
from rankgym_agents.adaptive_index import AdaptiveIndex
from rankgym_agents.baselines import RandomDuels, RandomRanker, StaticRanker
from rankgym_agents.batchrank import BatchRank
from rankgym_agents.bayes import BayesIndex, BayesThompson
from rankgym_agents.beat_the_mean import BeatTheMean
from rankgym_agents.bubblerank import BubbleRank
from rankgym_agents.cascade_ducb import CascadeDUCB
from rankgym_agents.cascade_klucb import CascadeKLUCB
from rankgym_agents.cascade_swucb import CascadeSWUCB
from rankgym_agents.cascade_ucb1 import CascadeUCB1
from rankgym_agents.cascade_ucb_v import CascadeUCBV
from rankgym_agents.double_thompson import DoubleThompson
from rankgym_agents.doubler import Doubler
from rankgym_agents.glrt_cascade import GLRTCascade
from rankgym_agents.grab import GRAB
from rankgym_agents.interleaved_filter import InterleavedFilter
from rankgym_agents.mergedts import MergeDTS
from rankgym_agents.mergerucb import MergeRUCB
from rankgym_agents.multisbm import MultiSBM
from rankgym_agents.pb_mhb import PBMHB
from rankgym_agents.pbm_pie import PBMPIE
from rankgym_agents.pbm_ts import PBMTS
from rankgym_agents.pbm_ucb import PBMUCB
from rankgym_agents.ranked_exp3 import RankedEXP3
from rankgym_agents.rcs import RCS
from rankgym_agents.restarting import Restarting
from rankgym_agents.rmed1 import RMED1
from rankgym_agents.rucb import RUCB
from rankgym_agents.savage import SAVAGE
from rankgym_agents.sparring import Sparring
from rankgym_agents.thompson_cascade import ThompsonCascade
from rankgym_agents.toprank import TopRank
from rankgym_agents.unirank import UniRank
from rankgym_agents.versatile_db import VersatileDB
from rankgym_agents.winner_stays import WinnerStays

__all__ = [
    "AGENTS",
    "DUELERS",
    "GRAB",
    "PBMHB",
    "PBMPIE",
    "PBMTS",
    "PBMUCB",
    "RANKERS",
    "RCS",
    "RMED1",
    "RUCB",
    "SAVAGE",
    "AdaptiveIndex",
    "BatchRank",
    "BayesIndex",
    "BayesThompson",
    "BeatTheMean",
    "BubbleRank",
    "CascadeDUCB",
    "CascadeKLUCB",
    "CascadeSWUCB",
    "CascadeUCB1",
    "CascadeUCBV",
    "DoubleThompson",
    "Doubler",
    "GLRTCascade",
    "InterleavedFilter",
    "MergeDTS",
    "MergeRUCB",
    "MultiSBM",
    "RandomDuels",
    "RandomRanker",
    "RankedEXP3",
    "Restarting",
    "Sparring",
    "StaticRanker",
    "ThompsonCascade",
    "TopRank",
    "UniRank",
    "VersatileDB",
    "WinnerStays",
]

#: All agents: name -> class, those that display lists first.
AGENTS: dict[str, type[Agent] | type[DuelingAgent]] = {
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
    "glrt-cascade": GLRTCascade,
    "pbm-ts": PBMTS,
    "pbm-pie": PBMPIE,
    "pb-mhb": PBMHB,
    "cascade-ucb-v": CascadeUCBV,
    "bayes-index": BayesIndex,
    "bayes-thompson": BayesThompson,
    "adaptive-index": AdaptiveIndex,
    "restarting": Restarting,
    "unirank": UniRank,
    "grab": GRAB,
    # and those that duel
    "random-duels": RandomDuels,
    "mergerucb": MergeRUCB,
    "rucb": RUCB,
    "rcs": RCS,
    "btm": BeatTheMean,
    "interleaved-filter": InterleavedFilter,
    "savage": SAVAGE,
    "sparring": Sparring,
    "multisbm": MultiSBM,
    "doubler": Doubler,
    "mergedts": MergeDTS,
    "dts": DoubleThompson,
    "rmed1": RMED1,
    "winner-stays": WinnerStays,
    "versatile-db": VersatileDB,
}


class _Named(dict[str, type[Agent] | type[DuelingAgent]]):
    """A table whose KeyError says what was meant."""

    def __missing__(self, name: object) -> type[Agent]:
        hint = near(name, self) if isinstance(name, str) else ""
        raise KeyError(f"agent = {name!r} is unknown{hint or ';'} allowed: {', '.join(self)}")


AGENTS = _Named(AGENTS)

#: The agents that display lists: name -> class.
RANKERS: dict[str, type[Agent]] = {name: agent for name, agent in AGENTS.items() if issubclass(agent, Agent)}
#: The agents that compare two arms: name -> class.
DUELERS: dict[str, type[DuelingAgent]] = {
    name: agent for name, agent in AGENTS.items() if issubclass(agent, DuelingAgent)
}
Restarting.rankers = RANKERS

"""Wrappers, for single and vector environments alike: what is recorded, what a policy observes, how it acts.

``meters.py`` says what each round adds to a record: regret, violations of the safety constraint, ranking quality;
``actions/`` and ``observations.py`` are for policies. May import envs and everything below them. A saved model names
its layers: ``LAYERS`` finds their classes.
"""

from rankgym.wrappers.actions import AdjacentSwaps, RankingNumber, SafeLists, ScoresToRanking, SlotBySlot
from rankgym.wrappers.against_itself import AgainstItself
from rankgym.wrappers.layers import Layer, Setting, layers_of
from rankgym.wrappers.log import record_rounds
from rankgym.wrappers.observations import ItemStatistics, LastDisplayed, TimeAware
from rankgym.wrappers.recorder import RecordRanking, RecordRegret, RecordSafety

__all__ = [
    "LAYERS",
    "AdjacentSwaps",
    "AgainstItself",
    "ItemStatistics",
    "LastDisplayed",
    "Layer",
    "RankingNumber",
    "RecordRanking",
    "RecordRegret",
    "RecordSafety",
    "SafeLists",
    "ScoresToRanking",
    "Setting",
    "SlotBySlot",
    "TimeAware",
    "layers_of",
    "record_rounds",
]

LAYERS: dict[str, type[Layer]] = {
    wrapper.__name__: wrapper.layer_class
    for wrapper in (
        *(ItemStatistics, LastDisplayed, TimeAware),
        *(ScoresToRanking, SlotBySlot, RankingNumber, AdjacentSwaps, SafeLists),
    )
}

"""Wrappers, each for single and vector environments alike: recorders, what a policy sees, and how it acts.

``LAYERS`` has those of the latter two kinds, by name: a model is saved with the names and keywords of its own.
"""

from rankgym.wrappers.actions import (
    AdjacentSwaps,
    AdjacentSwapsLayer,
    RankingNumber,
    RankingNumberLayer,
    SafeLists,
    SafeListsLayer,
    ScoresToRanking,
    ScoresToRankingLayer,
    SlotBySlot,
    SlotBySlotLayer,
)
from rankgym.wrappers.against_itself import AgainstItself
from rankgym.wrappers.layers import Layer, Setting, layers_of
from rankgym.wrappers.log import record_rounds
from rankgym.wrappers.observations import (
    ItemStatistics,
    ItemStatisticsLayer,
    LastDisplayed,
    LastDisplayedLayer,
    TimeAware,
    TimeAwareLayer,
)
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
    "ItemStatistics": ItemStatisticsLayer,
    "LastDisplayed": LastDisplayedLayer,
    "TimeAware": TimeAwareLayer,
    "ScoresToRanking": ScoresToRankingLayer,
    "SlotBySlot": SlotBySlotLayer,
    "RankingNumber": RankingNumberLayer,
    "AdjacentSwaps": AdjacentSwapsLayer,
    "SafeLists": SafeListsLayer,
}

"""Action wrappers: ``unrestricted.py`` can choose every list, ``safe.py`` only lists near a base list.

The base list starts as the production list and learns by BubbleRank's rule (``base_list.py``).
"""

from rankgym.wrappers.actions.base_list import BASE_COLUMN
from rankgym.wrappers.actions.safe import AdjacentSwaps, SafeLists
from rankgym.wrappers.actions.unrestricted import RankingNumber, ScoresToRanking, SlotBySlot

__all__ = ["BASE_COLUMN", "AdjacentSwaps", "RankingNumber", "SafeLists", "ScoresToRanking", "SlotBySlot"]

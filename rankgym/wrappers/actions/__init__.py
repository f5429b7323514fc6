"""Action wrappers: one file for each way to choose the displayed list.

``ScoresToRanking``, ``SlotBySlot`` and ``RankingNumber`` can choose every list, for algorithms that do not know
rankings. ``AdjacentSwaps`` and ``SafeLists`` allow only lists near a safe base list (``base_list.py``).
"""

from rankgym.wrappers.actions.base_list import BASE_COLUMN
from rankgym.wrappers.actions.numbers import RankingNumber
from rankgym.wrappers.actions.safe_lists import SafeLists
from rankgym.wrappers.actions.scores import ScoresToRanking
from rankgym.wrappers.actions.slots import SlotBySlot
from rankgym.wrappers.actions.swaps import AdjacentSwaps

__all__ = ["BASE_COLUMN", "AdjacentSwaps", "RankingNumber", "SafeLists", "ScoresToRanking", "SlotBySlot"]

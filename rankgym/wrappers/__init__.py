"""Wrappers: recorders of rankings and duels, each for single and vector environments alike, and ``AgainstItself``."""

from rankgym.wrappers.against_itself import AgainstItself
from rankgym.wrappers.records import RecordRanking, RecordRegret, RecordSafety, record_rounds

__all__ = ["AgainstItself", "RecordRanking", "RecordRegret", "RecordSafety", "record_rounds"]

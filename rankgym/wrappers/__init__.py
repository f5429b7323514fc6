"""Wrappers of ranking environments, each for single and vector environments alike."""

from rankgym.wrappers.records import RecordRanking, RecordRegret, RecordSafety, record_rounds

__all__ = ["RecordRanking", "RecordRegret", "RecordSafety", "record_rounds"]

"""Simulate a click log in an environment: sessions of a known policy or of an agent, written in the formats of logs.

May import what ``rankgym.logs`` may.
"""

from rankgym.logs.simulating.minari_sets import RecordInfos
from rankgym.logs.simulating.playing import Simulation
from rankgym.logs.simulating.writing import FORMATS, write_log

__all__ = ["FORMATS", "RecordInfos", "Simulation", "write_log"]

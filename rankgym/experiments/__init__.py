"""Experiments: comparing agents, drawing what came out, measuring speed."""

from rankgym.experiments.compare import compare
from rankgym.experiments.comparison import Comparison

__all__ = ["Comparison", "compare"]

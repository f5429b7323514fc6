"""Experiments: comparing agents, drawing what came out, measuring speed."""

from rankgym.experiments.compare import Comparison, compare

__all__ = ["Comparison", "compare"]

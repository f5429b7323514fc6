"""Experiments: comparing agents, long sweeps, drawing what came out, papers' claims, measuring speed."""

from rankgym.experiments.compare import compare
from rankgym.experiments.comparison import Comparison
from rankgym.experiments.driver import run_sweep
from rankgym.experiments.results import Played, Results, load, read
from rankgym.experiments.sweep import Environment, Sweep

__all__ = ["Comparison", "Environment", "Played", "Results", "Sweep", "compare", "load", "read", "run_sweep"]

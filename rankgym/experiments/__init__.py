"""Experiments: comparing agents, long sweeps, drawing what came out, papers' claims, measuring speed."""

from rankgym.experiments.compare import compare
from rankgym.experiments.judge.comparison import Comparison
from rankgym.experiments.plan.sweep import Environment, Sweep
from rankgym.experiments.run.results import Played, Results
from rankgym.experiments.run.sweeps import run_sweep
from rankgym.experiments.run.tables import load, read

__all__ = ["Comparison", "Environment", "Played", "Results", "Sweep", "compare", "load", "read", "run_sweep"]

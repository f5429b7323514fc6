"""Experiments: the public face of comparisons and sweeps.

``compare`` plays agents in one environment, ``run_sweep`` a file of agents and environments; ``load`` and ``read`` read
their results. The face may import its sub-rooms: plan, run, judge, show, preferences, papers, bench, in this order.
"""

from rankgym.experiments.compare import compare
from rankgym.experiments.judge.comparison import Comparison
from rankgym.experiments.plan.sweep import Environment, Sweep
from rankgym.experiments.run.results import Played, Results
from rankgym.experiments.run.sweeps import run_sweep
from rankgym.experiments.run.tidy_tables import load, read

__all__ = ["Comparison", "Environment", "Played", "Results", "Sweep", "compare", "load", "read", "run_sweep"]

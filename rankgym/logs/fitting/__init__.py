"""Fit click models to the sessions of a log by maximum likelihood, with standard errors, and evaluate them.

May import the click models and the sessions of ``rankgym.logs``; ``docs/fitting.md`` explains the estimates.
"""

from rankgym.logs.fitting.evaluation import evaluate
from rankgym.logs.fitting.fit import fit
from rankgym.logs.fitting.result import Fitted, Score

__all__ = ["Fitted", "Score", "evaluate", "fit"]

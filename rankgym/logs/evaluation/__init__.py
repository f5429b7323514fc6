"""Off-policy evaluation: estimate from the log of one ranking policy what another one is worth.

May import what ``rankgym.logs`` may.
"""

from rankgym.logs.evaluation.baselines import ClickModelBaseline, FittedBaseline
from rankgym.logs.evaluation.estimators import METHODS, Estimate, estimate, session_terms
from rankgym.logs.evaluation.records import PolicyLog, played_log, read_plain
from rankgym.logs.evaluation.support import NoSupport, check_support, named_policy
from rankgym.logs.evaluation.truth import true_value, true_values

__all__ = [
    "METHODS",
    "ClickModelBaseline",
    "Estimate",
    "FittedBaseline",
    "NoSupport",
    "PolicyLog",
    "check_support",
    "estimate",
    "named_policy",
    "played_log",
    "read_plain",
    "session_terms",
    "true_value",
    "true_values",
]

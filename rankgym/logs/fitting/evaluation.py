"""Held-out measures."""

from rankgym.arguments import named_keywords
from rankgym.logs.fitting.result import Fitted, Score
from rankgym.logs.sessions import Sessions


@named_keywords
def evaluate(fitted: Fitted, sessions: Sessions, *, smallest: float = 1e-6, progress: bool = True) -> Score:
    """Measure how well a fitted model predicts sessions."""
    raise NotImplementedError

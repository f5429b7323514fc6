"""The door of fitting."""

from collections.abc import Mapping
from typing import Any

from rankgym.arguments import named_keywords
from rankgym.logs.fitting.result import Fitted
from rankgym.logs.sessions import Sessions

Prior = tuple[float, float] | Mapping[str, tuple[float, float]]


@named_keywords
def fit(
    sessions: Sessions,
    model: str,
    *,
    prior: Prior = (1.0, 1.0),
    fixed: Mapping[str, Any] | None = None,
    tolerance: float = 1e-6,
    max_steps: int = 1_000,
    restarts: int = 0,
    seed: int = 0,
    errors: bool = True,
    progress: bool = True,
) -> Fitted:
    """Fit a click model to the sessions of a log."""
    raise NotImplementedError

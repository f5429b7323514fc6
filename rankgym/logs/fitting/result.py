"""What a fit returns: the estimates, their standard errors, and how the fit converged."""

import dataclasses
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from rankgym.arguments import number_in, one_of


@dataclasses.dataclass(frozen=True, repr=False)
class Fitted:
    """A click model fitted to a log by ``fit``.

    ``parameters`` has the names and axes of the model in ``rankgym.models``, without the axis of rows: ``attraction``
    and ``satisfaction`` (items,) by the item index of the sessions, tables of positions (positions,) or (positions,
    positions), single numbers (). All queries share the tables of positions and the single numbers.

    ``errors`` has the same names and shapes: standard errors by the observed information. NaN stands where there is
    none: the parameter was fixed, no session tells anything about it, or its estimate is 0 or 1.

    Raises:
        ValueError: by ``interval``, if the parameter is unknown or the level is not in (0, 1).

    Examples:
        >>> import numpy as np
        >>> from rankgym.logs.fitting import fit
        >>> from rankgym.logs.sessions import Sessions
        >>> query, item = np.zeros(3, np.int32), np.array([[0, 1]] * 3, np.int32)
        >>> clicks, repeats = np.array([0b01, 0b10, 0b00], np.uint64), np.array([50, 20, 30])
        >>> labels = np.array(["tea"]), np.array(["a", "b"]), np.zeros(2, np.int32)
        >>> sessions = Sessions(query, item, clicks, repeats, *labels)
        >>> fitted = fit(sessions, "CM")
        >>> fitted
        <CM fitted to 100 sessions: log-likelihood -103.0, converged after 6 steps>
        >>> low, high = fitted.interval("attraction")
        >>> low.round(3).tolist(), high.round(3).tolist()
        ([0.403, 0.275], [0.597, 0.54])
    """

    model: str
    parameters: dict[str, NDArray[np.float64]]
    errors: dict[str, NDArray[np.float64]]
    log_likelihood: float  # of all sessions, natural logarithm; the CM's: up to each session's first click
    num_sessions: int
    ignored_clicks: int  # clicks below the first one, which the CM cannot explain; 0 for other models
    converged: bool
    distance: float  # the largest Newton step that is left of an estimate, in its standard errors
    trace: NDArray[np.float64]  # (steps,) log-likelihood before each EM step, plus the logarithm of the prior's density
    starts: NDArray[np.float64]  # (starts,) the trace's last entry from each starting point; the best one was taken

    @property
    def steps(self) -> int:
        """EM steps from the best starting point."""
        return len(self.trace)

    def interval(self, parameter: str, level: float = 0.95) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the lower and upper ends of confidence intervals for all entries of a parameter.

        They are Wald intervals of the logit, log(p / (1 - p)), so that they stay in (0, 1). Entries without a standard
        error have NaN.

        Args:
            parameter: a name in ``parameters``.
            level: of confidence, in (0, 1).
        """
        estimate, error = one_of("parameter", parameter, self.parameters), self.errors[parameter]
        level = number_in("level", level, 0.0, 1.0, open_low=True, open_high=True)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            middle = np.log(estimate) - np.log1p(-estimate)
            half = NormalDist().inv_cdf(0.5 + level / 2.0) * error / (estimate * (1.0 - estimate))
            return 1.0 / (1.0 + np.exp(half - middle)), 1.0 / (1.0 + np.exp(-half - middle))

    def __repr__(self) -> str:
        ignored = f", {self.ignored_clicks:,} clicks ignored" if self.ignored_clicks else ""
        state = "converged" if self.converged else "NOT converged"
        return (
            f"<{self.model} fitted to {self.num_sessions:,} sessions: log-likelihood {self.log_likelihood:,.1f}"
            f"{ignored}, {state} after {self.steps} steps>"
        )


@dataclasses.dataclass(frozen=True, repr=False)
class Score:
    """How well a fitted model predicts sessions; ``evaluate`` explains the measures.

    See ``evaluate``, which returns it.
    """

    log_likelihood: float  # mean of a session's, natural logarithm
    perplexity: float  # mean over positions of the next
    perplexity_by_position: NDArray[np.float64]  # (positions,) before any click of the session is seen
    conditional_perplexity: float
    conditional_perplexity_by_position: NDArray[np.float64]  # (positions,) given the clicks above
    impossible_clicks: int  # clicks, or their absence, that the model gave probability 0, counted as ``smallest``
    num_sessions: int

    def __repr__(self) -> str:
        impossible = f", {self.impossible_clicks:,} impossible clicks" if self.impossible_clicks else ""
        return (
            f"<{self.num_sessions:,} sessions: log-likelihood {self.log_likelihood:.4f} a session, perplexity "
            f"{self.perplexity:.4f}, given the clicks above {self.conditional_perplexity:.4f}{impossible}>"
        )

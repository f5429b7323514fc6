"""The door of fitting: checks, starting points, EM from each of them, the scale, standard errors."""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankgym.arguments import array_of, named_keywords, near, number_in, one_of, whole_number
from rankgym.logs.fitting.cells import CellProblem
from rankgym.logs.fitting.chain_problem import ChainProblem
from rankgym.logs.fitting.climb import Beta, Climb, Climber, Report
from rankgym.logs.fitting.coins import Tables, Walks, measure, span
from rankgym.logs.fitting.result import Fitted
from rankgym.logs.fitting.showing import ShownSteps
from rankgym.logs.sessions import Sessions

Prior = tuple[float, float] | Mapping[str, tuple[float, float]]
Free = dict[str, NDArray[np.bool_]]

PROBLEMS: dict[str, type[CellProblem] | type[ChainProblem]] = {
    **dict.fromkeys(("CM", "PBM"), CellProblem),
    **dict.fromkeys(("DCM", "DBN"), ChainProblem),
    "UBM": CellProblem,
    "CCM": ChainProblem,
    "DBM": CellProblem,
}
PROOF = 10.0  # log-likelihood; twice as much is beyond a chi-square of one degree of freedom with probability 8e-6


@named_keywords
def fit(
    sessions: Sessions,
    model: str,
    *,
    prior: Prior = (1.0, 1.0),
    fixed: Mapping[str, Any] | None = None,
    tolerance: float = 1e-6,
    max_steps: int = 1_000,
    restarts: int | None = None,
    seed: int = 0,
    progress: bool = True,
) -> Fitted:
    """Fit a click model to the sessions of a log by maximum likelihood, or to the mode with a prior.

    Attraction and satisfaction belong to items; all queries share the parameters of positions and the single numbers.
    CM and DBM have a closed form. The others are fitted by EM, accelerated, which never lowers the likelihood.
    ``docs/fitting.md`` has the conventions for what no log can tell, and figures.

    Args:
        sessions: the log, such as readers return it.
        model: "CM", "PBM", "DCM", "DBN", "UBM", "CCM" or "DBM".
        prior: (a, b) of a Beta prior for every parameter, both at least 1; (1, 1) is maximum likelihood. (2, 2) keeps
            items with few displays away from 0 and 1. A dict gives priors by the parameters' names; the others have
            none.
        fixed: known values by the parameters' names, such as ``{"abandonment": 0.0}`` for the simplified DBN: a number
            or an array of the parameter's shape, in [0, 1]. NaN entries are estimated. Without an entry for
            ``examination``, the first position's is 1 (PBM, UBM), as only products with the attraction are identified.
        tolerance: EM ends when no parameter changes by more in a step, and the log-likelihood relatively by no more.
        max_steps: EM steps from each starting point, at most.
        restarts: starting points by chance, besides the usual one. The highest likelihood wins. None: 4 for a DBN if
            most items never move, as it may then have several maxima, else 0.
        seed: of the starting points.
        progress: whether to show steps and log-likelihood if it takes over two seconds.

    Raises:
        ValueError: an argument is out of range, or the sessions are not in order.

    Examples:
        Item 0 was clicked in 50 of 100 sessions; item 1 in 20 of the 50 in which a cascade user came to it:

        >>> import numpy as np
        >>> from rankgym.logs.fitting import fit
        >>> from rankgym.logs.sessions import Sessions
        >>> query, item = np.zeros(3, np.int32), np.array([[0, 1]] * 3, np.int32)
        >>> clicks, repeats = np.array([0b01, 0b10, 0b00], np.uint64), np.array([50, 20, 30])
        >>> labels = np.array(["tea"]), np.array(["a", "b"]), np.zeros(2, np.int32)
        >>> sessions = Sessions(query, item, clicks, repeats, *labels)
        >>> fitted = fit(sessions, "CM")
        >>> fitted.parameters["attraction"].round(4).tolist(), fitted.errors["attraction"].round(4).tolist()
        ([0.5, 0.4], [0.05, 0.0693])
    """
    problem_class = one_of("model", model, PROBLEMS)
    walks = walked(sessions)
    tolerance = number_in("tolerance", tolerance, 0.0, 0.1)
    max_steps = whole_number("max_steps", max_steps, 2)
    restarts = usual_restarts(walks, model) if restarts is None else whole_number("restarts", restarts, 0)
    generator = np.random.default_rng(whole_number("seed", seed, 0))
    problem: Any = problem_class(walks, model)
    beta, known = given_prior(prior, problem.shapes), given_values(fixed, problem.shapes)
    scaled = "examination" in problem.shapes and "examination" not in known
    if scaled:
        known["examination"] = np.full(problem.shapes["examination"], np.nan)
        known["examination"][reference(known["examination"])] = 1.0
    free = {
        name: np.isnan(known[name]) if name in known else np.ones(shape, bool) for name, shape in problem.shapes.items()
    }
    climber = Climber(problem, beta, free, tolerance, max_steps)
    climbs = []
    with ShownSteps(model, restarts + 1, shown=progress) as shown:
        for number in range(restarts + 1):
            start = problem.start(generator if number else None)
            climbs.append(climber.climb(held(start, known, free), shown.report))
            shown.next_start()
        best = highest(climbs)
        if scaled:
            climber, best = rescaled(climber, best, shown.report)
    if not best.converged:
        warnings.warn(
            f"{model} did not converge in max_steps = {max_steps} steps; allow more of them, or a larger tolerance",
            stacklevel=3,
        )
    curvature = climber.curvature(best)
    return Fitted(
        model,
        settled(climber, best),
        curvature.errors,
        best.expected.log_likelihood,
        sessions.num_sessions,
        problem.ignored_clicks,
        best.converged,
        curvature.distance,
        np.array(best.trace),
        np.array([climb.trace[-1] for climb in climbs]),
    )


def highest(climbs: list[Climb]) -> Climb:
    """Return the climb that came highest; of those that came equally high, one that converged, the first of them."""
    top = max(climb.trace[-1] for climb in climbs)
    level = [climb for climb in climbs if climb.trace[-1] >= top - 1e-9 * (1.0 + abs(top))]
    return min(level, key=lambda climb: not climb.converged)


def usual_restarts(walks: Walks, model: str) -> int:
    """Return 4 for a DBN if more than half of the items are always displayed at the same position, else 0."""
    lowest, highest = np.full(walks.num_items, 127, np.int8), np.full(walks.num_items, -1, np.int8)
    span(walks.item, walks.length, lowest, highest)
    seen = highest >= 0
    return 4 if model == "DBN" and (lowest == highest)[seen].mean() > 0.5 else 0


def settled(climber: Climber, best: Climb) -> Tables:
    """Return the parameters, with conventional values of what was free and never tossed."""
    conventions, tossed = climber.problem.settled(best.parameters, best.expected), climber.tossed(best)
    return {
        name: np.asarray(np.where(tossed[name] | ~climber.free[name], table, conventions[name]))
        for name, table in best.parameters.items()
    }


def walked(sessions: Sessions) -> Walks:
    """Return the sessions as kernels walk them; a ValueError if one is not in order."""
    if not isinstance(sessions, Sessions):
        raise ValueError(f"sessions is a {type(sessions).__name__}; allowed: Sessions of rankgym.logs.sessions")
    item, clicks = np.ascontiguousarray(sessions.item, np.int32), np.ascontiguousarray(sessions.clicks, np.uint64)
    repeats = np.ascontiguousarray(sessions.repeats, np.int64)
    groups = len(item)
    if item.ndim != 2 or not groups or clicks.shape != (groups,) or repeats.shape != (groups,):
        raise ValueError(
            f"sessions has item of shape {item.shape}, clicks {clicks.shape} and repeats {repeats.shape}; allowed: "
            "(groups, positions), (groups,), (groups,), at least one group"
        )
    length, last = np.empty(groups, np.int8), np.empty(groups, np.int8)
    wrong = measure(item, clicks, repeats, len(sessions.item_query), length, last)
    if wrong >= 0:
        raise ValueError(
            f"sessions has group {wrong} with items {item[wrong].tolist()}, clicks {int(clicks[wrong]):#b} and "
            f"repeats {repeats[wrong]}; allowed: items 0 .. {len(sessions.item_query) - 1}, -1 only behind the last "
            "one, clicks on items, and 1 or more repeats"
        )
    return Walks(item, clicks, repeats, length, last, sessions.item_query)


def reference(table: NDArray[np.float64]) -> tuple[int, ...]:
    """The entry of the examination that sets the scale: the first position, in the UBM before any click."""
    return (0, -1)[: table.ndim]


def held(start: Tables, known: Tables, free: Free) -> Tables:
    """Return the starting point with the known values in place."""
    return {name: np.asarray(np.where(free[name], table, known.get(name, table))) for name, table in start.items()}


def rescaled(climber: Climber, best: Climb, report: Report) -> tuple[Climber, Climb]:
    """Let another position than the first be examined most, and always, if the log proves it.

    With the first position's examination at 1, others may be held down by the bound of 1. By a score test the most
    significant of them is held at 1 instead, and the first one is estimated, if that raises the likelihood by
    ``PROOF``.
    """
    for _ in range(best.parameters["examination"].size):
        table = best.parameters["examination"]
        edge = best.parameters | {"examination": np.minimum(table, 1.0 - 1e-9)}
        expected = climber.prior.heads(climber.look(edge)[0], climber.free)
        heads, tosses = expected.heads["examination"], expected.tosses["examination"]
        with np.errstate(divide="ignore", invalid="ignore"):
            pull = (heads - edge["examination"] * tosses) / (edge["examination"] * (1.0 - edge["examination"]))
            test = np.where(climber.free["examination"] & (table >= 1.0 - 1e-6) & (pull > 0), pull**2 / heads, 0.0)
        if test.max() < 2.0 * PROOF:
            break
        most = np.unravel_index(test.argmax(), table.shape)
        free = np.ones(table.shape, bool)
        free[most] = False
        other = Climber(
            climber.problem, climber.prior, climber.free | {"examination": free}, climber.tolerance, climber.max_steps
        )
        start = {"attraction": best.parameters["attraction"], "examination": np.where(free, 0.9 * table, 1.0)}
        second = other.climb(start, report)
        if second.trace[-1] < best.trace[-1] + PROOF:
            break
        climber, best = other, second
    return climber, best


def given_prior(prior: Any, shapes: Mapping[str, tuple[int, ...]]) -> Beta:
    """Return the priors by parameter; a ValueError if one is out of range."""
    by_name = prior if isinstance(prior, Mapping) else dict.fromkeys(shapes, prior)
    for name in by_name:
        if name not in shapes:
            raise ValueError(f"prior has {name!r}{near(str(name), shapes) or ';'} allowed: {', '.join(shapes)}")
    a, b = dict.fromkeys(shapes, 1.0), dict.fromkeys(shapes, 1.0)
    for name, pair in by_name.items():
        values = array_of(pair)
        if (
            values.shape != (2,)
            or values.dtype.kind not in "iuf"
            or not (values >= 1.0).all()
            or np.isinf(values).any()
        ):
            raise ValueError(f"prior = {pair!r} is not a Beta prior; allowed: (a, b), both 1 or more")
        a[name], b[name] = float(values[0]), float(values[1])
    return Beta(a, b)


def given_values(fixed: Mapping[str, Any] | None, shapes: Mapping[str, tuple[int, ...]]) -> Tables:
    """Return tables of the known values, NaN where a value is to be estimated; a ValueError if one is out of range."""
    if fixed is not None and not isinstance(fixed, Mapping):
        raise ValueError(f"fixed = {fixed!r} is not a dict; allowed: values by the parameters' names, or None")
    made = {}
    for name, values in (fixed or {}).items():
        if name not in shapes:
            raise ValueError(f"fixed has {name!r}{near(str(name), shapes) or ';'} allowed: {', '.join(shapes)}")
        table = array_of(values)
        if table.dtype.kind not in "iuf" or table.shape not in ((), shapes[name]):
            raise ValueError(f"fixed[{name!r}] has shape {table.shape}; allowed: numbers of shape () or {shapes[name]}")
        if not ((table >= 0) & (table <= 1) | np.isnan(table)).all():
            raise ValueError(f"fixed[{name!r}] = {values!r} is out of range; allowed: in [0, 1], or NaN: estimated")
        made[name] = np.array(np.broadcast_to(table, shapes[name]), np.float64)
    return made

"""Held-out measures: log-likelihood and perplexity by position."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankgym.arguments import named_keywords, number_in
from rankgym.logs.fitting.coins import Walks
from rankgym.logs.fitting.fit import walked
from rankgym.logs.fitting.predicting import predict_by_cells, predict_by_chain
from rankgym.logs.fitting.result import Fitted, Score
from rankgym.logs.fitting.stops import STOPS
from rankgym.logs.sessions import Sessions
from rankgym.models import MODELS
from rankgym.progress import late_bar, rate_bar

ROWS = 8_192  # groups that are evaluated at once
Array = NDArray[np.float64]


@named_keywords
def evaluate(fitted: Fitted, sessions: Sessions, *, smallest: float = 1e-6, progress: bool = True) -> Score:
    """Measure how well a fitted model predicts sessions, such as those held out by ``rankgym.logs.sessions.split``.

    The perplexity of a position is 2 to the cross entropy of its click in bits (Dupret and Piwowarski, SIGIR 2008): 1
    if the model is always right and certain, 2 if it tosses a coin. The plain one predicts the click before any click
    of the session is seen, the conditional one given the clicks above (Chuklin, Markov and de Rijke, "Click models for
    web search", 2015, chapter 5). The perplexity of all positions is their mean. Positions that were never displayed
    have NaN. The log-likelihood of a session is the sum over its positions given the clicks above.

    Args:
        fitted: what ``fit`` returned.
        sessions: with the same items and queries as the sessions that were fitted.
        smallest: probabilities are held between this and 1 minus it, so that a single click that the model excludes
            does not make everything infinite. 0 for the plain definition.
        progress: whether to show a progress bar if it takes over two seconds.

    Raises:
        ValueError: an argument is out of range, or the sessions have other items or more positions.

    Examples:
        >>> from rankgym.logs.fitting import fit
        >>> import numpy as np
        >>> from rankgym.logs.fitting import evaluate
        >>> from rankgym.logs.sessions import Sessions
        >>> query, item = np.zeros(3, np.int32), np.array([[0, 1]] * 3, np.int32)
        >>> clicks, repeats = np.array([0b01, 0b10, 0b00], np.uint64), np.array([50, 20, 30])
        >>> labels = np.array(["tea"]), np.array(["a", "b"]), np.zeros(2, np.int32)
        >>> sessions = Sessions(query, item, clicks, repeats, *labels)
        >>> score = evaluate(fit(sessions, "CM"), sessions)
        >>> score.perplexity_by_position.round(4).tolist()  # a click on item 0 is a toss
        [2.0, 1.6494]
    """
    smallest = number_in("smallest", smallest, 0.0, 0.1)
    walks = walked(sessions)
    check_sizes(fitted, walks)
    positions, groups = walks.num_positions, len(walks.item)
    bits = {name: np.zeros(positions) for name in ("before", "above")}
    shown, impossible = np.zeros(positions), 0
    with late_bar(progress, groups, f"evaluating {fitted.model}", lambda: rate_bar("groups")) as advance:
        for rows, displayed, clicked, weight in parts(walks, sessions):
            shown += np.where(displayed, weight, 0.0).sum(axis=0)
            before, above = clicks_before(fitted, walks.item[rows]), clicks_above(fitted, walks, rows)
            outcome = np.where(clicked, above, 1.0 - above)
            impossible += int(np.where(displayed & (outcome <= 0.0), weight, 0).sum())
            for name, probability in (("before", before), ("above", above)):
                held = np.clip(np.where(displayed, probability, 0.5), smallest, 1.0 - smallest)
                with np.errstate(divide="ignore"):
                    surprise = -np.log2(np.where(clicked, held, 1.0 - held))
                bits[name] += np.where(displayed, surprise * weight, 0.0).sum(axis=0)
            advance(len(displayed))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        before, above = (np.exp2(bits[name] / shown) for name in ("before", "above"))
    number = sessions.num_sessions
    return Score(
        float(-np.log(2.0) * bits["above"].sum() / number),
        float(np.nanmean(before)),
        before,
        float(np.nanmean(above)),
        above,
        impossible,
        number,
    )


def check_sizes(fitted: Fitted, walks: Walks) -> None:
    """Raise a ValueError unless the sessions have the fit's items, and no more positions."""
    items = len(fitted.parameters["attraction"])
    if walks.num_items != items:
        raise ValueError(f"sessions has {walks.num_items} items; allowed: the {items} of the sessions that were fitted")
    for name in ("examination", "termination"):
        if name in fitted.parameters and len(fitted.parameters[name]) < walks.num_positions:
            allowed = f"at most the {len(fitted.parameters[name])} of the sessions that were fitted"
            raise ValueError(f"sessions has {walks.num_positions} positions; allowed: {allowed}")


def parts(walks: Walks, sessions: Sessions) -> Iterator[tuple[slice, NDArray[np.bool_], NDArray[np.bool_], Any]]:
    """Yield the groups in parts: which they are, what is displayed, what was clicked, and repeats (rows, 1)."""
    for start in range(0, len(walks.item), ROWS):
        rows = slice(start, start + ROWS)
        clicked = sessions._replace(clicks=walks.clicks[rows], item=walks.item[rows]).clicked()
        yield rows, walks.item[rows] >= 0, clicked, walks.repeats[rows, None]


def clicks_before(fitted: Fitted, item: NDArray[np.int32]) -> Array:
    """Return the probabilities (rows, positions) of clicks before any click is seen, by the model's own functions.

    Each list is a row of the click model, whose items are the list's positions; an empty position attracts nobody.
    """
    model = MODELS[fitted.model]
    sizes = [len(table) for name, table in fitted.parameters.items() if "position" in model.axes[name]]
    rows, positions = len(item), max([item.shape[1], *sizes])
    padded = np.full((rows, positions), -1)
    padded[:, : item.shape[1]] = item
    tables = []
    for name in model.parameters._fields:
        table = fitted.parameters[name]
        if "item" in model.axes[name]:
            tables.append(np.where(padded >= 0, table[padded], 0.0))
        else:
            tables.append(np.ascontiguousarray(np.broadcast_to(table, (rows, *table.shape))))
    places = np.tile(np.arange(positions), (rows, 1))
    return model.click_probability(model.parameters(*tables), places)[:, : item.shape[1]]


def clicks_above(fitted: Fitted, walks: Walks, rows: slice) -> Array:
    """Return the probabilities (rows, positions) of clicks given the clicks above."""
    item, clicks, length = walks.item[rows], walks.clicks[rows], walks.length[rows]
    probability, attraction = np.zeros(item.shape), fitted.parameters["attraction"]
    if fitted.model in ("PBM", "UBM"):
        table = fitted.parameters["examination"]
        by_previous = table.ndim == 2
        table = table if by_previous else np.ascontiguousarray(table[:, None])
        predict_by_cells(item, clicks, length, attraction, table, by_previous, probability)
        return probability
    if fitted.model in STOPS:
        stops = STOPS[fitted.model]
        (onward, skip), by_item = stops.onward(fitted.parameters), stops.by_item
    else:
        onward, skip, by_item = np.full(walks.num_positions, float(fitted.model == "DBM")), 1.0, False
    predict_by_chain(item, clicks, length, attraction, onward, by_item, skip, probability)
    return probability

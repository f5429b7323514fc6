"""``check_assumptions``: arguments, the search in every query, and its report."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankgym.arguments import number_in, whole_number
from rankgym.kernels import first_fault
from rankgym.models.assumptions.report import NAMES, Report, counted, verdicts
from rankgym.models.assumptions.search import A1, T1, T2, QuerySearch, exchanges
from rankgym.models.base import ClickModel, cut, given_table
from rankgym.models.named import find_model
from rankgym.progress import count_bar, late_bar

EXACT_UP_TO = 4_000_000  # lists: one query of 10! = 3,628,800, or 132 queries of 10 items at 5 positions
TRIED = 8  # random lists of each query whose value is compared with chi and alpha
ROUNDING = 1e-9  # of a click's probability
SAMPLES = 20_000  # random lists of each query if there are more


def check_assumptions(
    model: str | ClickModel,
    parameters: Any,
    *,
    num_positions: int | None = None,
    cutoff: int | None = None,
    reward: str = "clicks",
    displayed: ArrayLike | None = None,
    exact_up_to: int = EXACT_UP_TO,
    samples: int = SAMPLES,
    seed: int = 0,
    tolerance: float = 1e-12,
    progress: bool = True,
) -> Report:
    """Check which assumptions of BubbleRank (A1 .. A5) and of TopRank (T1 .. T4) hold in a click model.

    All lists are checked if there are few enough, otherwise random ones. A violation is a proof; without one, a random
    check proves nothing. With ``displayed`` only this list and those after one exchange of two of its items are
    checked: would an algorithm that starts there soon meet a violation?

    >>> import gymnasium as gym, rankgym
    >>> from rankgym.models import check_assumptions
    >>> report = check_assumptions("PBM", {"attraction": [0.9, 0.5, 0.2], "examination": [1.0, 0.3, 0.4]})
    >>> report.holds("bubblerank"), report.holds("A2")
    (False, True)
    >>> print(report["A3"].witness.text)
    in R = 0 1 2 position 2 is examined with probability 0.3, position 3 with 0.4

    All queries of an environment are in ``env.queries.parameters`` (the rows' current ones in ``env.parameters``; a
    single environment of ``gym.make`` has them in ``env.unwrapped.engine``). In a non-stationary environment these are
    the parameters before changes (``scenario="two-level"`` replaces attraction). Name a reward other than clicks:

    >>> env = gym.make_vec("rankgym/PBM-Yandex-v0", num_positions=3).unwrapped
    >>> report = check_assumptions(env.model, env.queries.parameters, num_positions=3, cutoff=env.cutoff)
    >>> report.num_queries, report.holds("toprank")
    (100, True)

    Args:
        model: a key of ``rankgym.models.MODELS``, your own ``"package.module:MODEL"``, or a ``ClickModel``.
        parameters: the model's ``Parameters``, or a dict of its fields: of one query, or with a leading axis of
            queries. A field with one query's values alone applies to all. Further positions than ``num_positions`` are
            ignored.
        num_positions: displayed positions K, 1 .. items. Default: all that the parameters have, or all items.
        cutoff: number of positions whose clicks count as reward in A1 and T2. Default: all positions.
        reward: the model's reward in A1 and T2: ``"clicks"`` or (DCM) ``"abandonment"``.
        displayed: a list (positions,) of items, or one for each query (queries, positions). Default: all lists.
        exact_up_to: check all lists if all queries together have at most this number. A few million lists of ten
            positions take some seconds.
        samples: number of random lists of each query otherwise, the same for each query.
        seed: seed of the random lists.
        tolerance: a violation up to this size is taken for rounding.
        progress: whether to show a bar on standard error if it takes more than two seconds.

    Raises:
        ValueError: an argument is out of range; the message names it. Or clicks of the model do not have the
            probability chi(R, k) alpha(R(k)), which all assumptions are about.
    """
    click_model = find_model(model)
    queries = _checked_parameters(click_model, parameters)
    count, items = queries.attraction.shape
    lengths = [getattr(queries, name).shape[1] for name, axes in click_model.axes.items() if "position" in axes]
    given = min([items, *lengths]) if num_positions is None else num_positions
    positions = whole_number("num_positions", given, 1, items)
    paid = positions if cutoff is None else whole_number("cutoff", cutoff, 1, positions)
    if reward not in click_model.rewards:
        allowed = f"allowed: {sorted(click_model.rewards)}"
        raise ValueError(f"reward = {reward!r} is not a reward of the {click_model.name}; {allowed}")
    for name, value, least in (("exact_up_to", exact_up_to, 0), ("samples", samples, 1), ("seed", seed, 0)):
        whole_number(name, value, least)
    tolerance = number_in("tolerance", tolerance, 0.0, math.inf, open_high=True)
    queries = click_model.parameters(
        *(cut(name, table, click_model.axes[name], items, positions) for name, table in queries._asdict().items())
    )
    lists = None if displayed is None else _checked_lists(displayed, count, items, positions)
    _check_clicks(click_model, queries, items, positions)

    total, around = math.perm(items, positions), lists is not None
    everything = not around and total * count <= exact_up_to
    one_per_item = sum("item" in axes for axes in click_model.axes.values()) == 1
    exact = np.full((count, len(NAMES)), everything)
    exact[:, T1] = True
    found = []
    checked = 1 + len(exchanges(items, positions)) if around else total if everything else samples
    with late_bar(progress and not around, checked * count, "checking", _list_bar) as report:
        for query in range(count):
            own = click_model.parameters(*(table[query : query + 1].copy() for table in queries))
            search = QuerySearch(click_model, own, positions, paid, reward)
            if lists is not None:
                search.search_around(lists[query])
            elif everything:
                search.search_all(report)
            elif search.search_random(samples, seed, report):
                exact[query, A1] = True
                exact[query, T2] = one_per_item or search.without_ties  # all sorted lists have the same reward
            found.append(search.violations())
    scope = _scope(count, total, checked, given=around, everything=everything)
    judged = verdicts(found, exact, queries.attraction, tolerance)
    return Report(click_model.name, reward, count, items, positions, paid, checked, scope, around, judged)


def _scope(queries: int, total: int, checked: int, *, given: bool, everything: bool) -> str:
    """The checked lists of a query in words: a given list and its exchanges, all lists, or random ones."""
    each = "" if queries == 1 else " of each query"
    if given:
        return f"the given list{each} and its {counted(checked - 1, 'exchange')}"
    number = f"{total:,}" if total < 10**12 else f"{float(total):.1e}"
    if not everything:
        return f"{counted(checked, 'random list')}{each} out of {number}"
    return (f"all {number} lists" if total > 1 else "the only list") + each


def _checked_parameters(model: ClickModel, parameters: Any) -> Any:
    """The parameters as float64 tables (queries, *axes)."""
    given = parameters._asdict() if hasattr(parameters, "_asdict") else parameters
    names = list(model.axes)
    allowed = f"allowed: the {model.name}'s Parameters, or a dict of {names}"
    if not isinstance(given, Mapping):
        raise ValueError(f"parameters = {given!r}; {allowed}")
    faults = [f"{name!r} is unknown" for name in given if name not in names]
    faults += [f"{name!r} is missing" for name in names if name not in given]
    if faults:
        raise ValueError(f"parameters: {', '.join(faults)}; {allowed}")
    given = {name: [v] if np.isscalar(v) or getattr(v, "ndim", None) == 0 else v for name, v in given.items()}
    tables = {name: given_table(name, given[name], axes) for name, axes in model.axes.items()}
    count = max(len(table) for table in tables.values())
    items = tables["attraction"].shape[1]
    for name, table in tables.items():
        if len(table) not in (1, count):
            raise ValueError(f"parameters[{name!r}] has {len(table)} queries; allowed: {count}, or one for all")
        if "item" in model.axes[name] and table.shape[1] != items:
            raise ValueError(f"parameters[{name!r}] has {table.shape[1]} items; allowed: {items}, as attraction has")
        tables[name] = np.repeat(table, count // len(table), axis=0)
    return model.parameters(*(tables[name] for name in model.parameters._fields))


def _check_clicks(model: ClickModel, parameters: Any, items: int, positions: int) -> None:
    """Raise a ValueError if the model's clicks have another probability than chi(R, k) alpha(R(k))."""
    said = f"model {model.name!r}: its clicks do not have the probability chi(R, k) alpha(R(k))"
    allowed = "allowed: models where they do, as the papers' assumptions are about chi and alpha"
    if model.clicks is not None:
        raise ValueError(f"{said}, but that of its function clicks; {allowed}")
    if "clicks" not in model.rewards:
        return
    rng = np.random.default_rng(0)
    for _ in range(TRIED):
        lists = np.argsort(rng.random((len(parameters.attraction), items)), axis=1)[:, :positions].astype(np.int64)
        value = model.values(parameters, lists, positions, "clicks")
        total = model.click_probability(parameters, lists).sum(axis=1)
        wrong = np.flatnonzero(~(np.abs(value - total) <= ROUNDING * positions))
        if len(wrong):
            q = int(wrong[0])
            seen = f"in R = {' '.join(map(str, lists[q]))} they add up to {total[q]:.4g}, and value is {value[q]:.4g}"
            raise ValueError(f"{said}: {seen}; {allowed}")


def _checked_lists(displayed: ArrayLike, queries: int, items: int, positions: int) -> NDArray[np.int64]:
    listed = "1 item" if positions == 1 else f"{positions} different items"
    allowed = f"allowed: {listed} out of 0 .. {items - 1}"
    try:
        given = np.array(displayed)
    except ValueError:
        given = np.array(None)
    if given.dtype.kind not in "iu" or given.shape not in ((positions,), (queries, positions)):
        many = f", or {queries} such lists, one for each query" if queries > 1 else ""
        raise ValueError(f"displayed = {displayed!r} has a wrong shape or type; {allowed}{many}")
    lists = np.array(np.broadcast_to(given, (queries, positions)), np.int64, order="C")
    fault = first_fault(lists, items)
    if fault >= 0:
        raise ValueError(f"displayed = {lists[fault].tolist()} is not a ranking; {allowed}")
    return lists


def _list_bar() -> Any:
    """A bar of lists; None if standard error is a file, which would get an empty line."""
    bar = count_bar("lists")
    return bar if bar.console.is_interactive or bar.console.is_jupyter else None

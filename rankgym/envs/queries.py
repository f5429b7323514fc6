"""The queries of the environments with click models: their parameters and production lists, by dataset."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym import data
from rankgym.arguments import array_of, one_of, whole_number
from rankgym.envs.resets import checked_problems
from rankgym.envs.sessions import SessionsVectorEnv
from rankgym.kernels import first_fault
from rankgym.models.base import ClickModel, cut, given_table, sorted_lists
from rankgym.models.named import find_model, is_own
from rankgym.scenes import Position

DRAWN_QUERIES, DRAWN_SEED = 1_000, 2018
DRAWN_ITEMS, MAX_DRAWN_ITEMS = 10, 10_000
POSITIONS = 5  # by default, if there are as many


class Queries(NamedTuple):
    """Queries of one click model."""

    model: ClickModel
    parameters: Any  # the model's Parameters, each (queries, *its axes): see ClickModel.axes
    initial_list: NDArray[np.int64]  # (queries, items): the production ranker's list of all items
    num_positions: int

    @property
    def num_queries(self) -> int:
        return self.initial_list.shape[0]

    @property
    def num_items(self) -> int:
        return self.initial_list.shape[1]

    @classmethod
    def load(
        cls,
        model: str | ClickModel,
        *,
        dataset: str = "yandex",
        source: str = "calibrated",
        num_items: int | None = None,
        num_positions: int | None = None,
        parameters: dict[str, Any] | None = None,
        initial_list: Sequence[int] | None = None,
    ) -> "Queries":
        """Return the queries of ``dataset`` with their first ``num_items`` items, for lists of ``num_positions``.

        Arguments are as in ``RankingVectorEnv``: there are 5 positions by default, or as many as the data set, or
        imported fits, have. Drawn queries have 10 items by default, and at most 10,000. Parameters
        left out are drawn from a fixed seed, for 1,000 queries: uniform in [0, 1], except examination, which is 1 / k,
        and in the UBM 1 / (k - r) after a click at r (none yet: r = 0). Of a UBM's examination with more columns than
        ``num_positions`` K, columns K and later are dropped, but for the last.

        Raises:
            ValueError: an argument is out of range; the message names it.
        """
        found = find_model(model)
        axes = found.axes
        one_of("dataset", dataset, ("yandex", "synthetic"))
        if dataset == "synthetic":
            if not isinstance(source, str) or source not in data.SOURCES["yandex"]:
                allowed = "allowed with 'yandex' (such as PBM-Yandex-v0); here only 'calibrated', which changes nothing"
                raise ValueError(f"source = {source!r} has no meaning with dataset = 'synthetic'; {allowed}")
            num_positions = POSITIONS if num_positions is None else num_positions
            tables = _synthetic(axes, num_items, num_positions, parameters)
        elif parameters is not None:
            raise ValueError("parameters are given, but dataset = 'yandex' has its own; allowed with 'synthetic'")
        else:
            tables = _fitted(model, found, dataset, source)
        most = tables["attraction"].shape[1]
        items = most if num_items is None else whole_number("num_items", num_items, 1, most)
        there = most_positions(tables, axes, items)
        if num_positions is None:
            num_positions = min(POSITIONS, there)
        elif dataset == "yandex" and there < items and isinstance(num_positions, int) and num_positions > there:
            allowed = f"1 .. {there}; give num_positions={there} (--positions {there})"
            raise ValueError(
                f"num_positions = {num_positions}, but source = {source!r} has {there}; allowed: {allowed}"
            )
        positions = whole_number("num_positions", num_positions, 1, items)
        kept = (cut(name, tables[name], axes[name], items, positions) for name in found.parameters._fields)
        lists = _initial_lists(initial_list, len(tables["attraction"]), items)
        return cls(found, found.parameters(*kept), lists, positions)

    def best_lists(self, reward: str, cutoff: int, num_positions: int, reference: str) -> NDArray[np.int64]:
        """Return one list a query, (queries, num_positions): with the largest expected reward (``reference="best"``),
        or sorted by attraction (``"sorted"``, the papers' R*)."""
        if reference == "sorted":
            return sorted_lists(self.parameters.attraction, num_positions)
        return self.model.rewards[reward].best_lists(self.parameters, num_positions, cutoff)


class QueriesVectorEnv(SessionsVectorEnv):
    """Base class of the environments with click models: rows play queries, and show the truth of their query."""

    def __init__(
        self,
        num_envs: int = 1,
        *,
        model: str | ClickModel = "PBM",
        dataset: str = "yandex",
        source: str = "calibrated",
        query: int | str | Sequence[int | str] | None = None,
        num_items: int | None = None,
        num_positions: int | None = None,
        cutoff: int | None = None,
        reward: str = "clicks",
        reference: str = "best",
        parameters: dict[str, Any] | None = None,
        initial_list: Sequence[int] | None = None,
        **arguments: Any,
    ) -> None:
        super().__init__(num_envs, **arguments)
        sizes: dict[str, Any] = {"num_items": num_items, "num_positions": num_positions}
        given: dict[str, Any] = {"parameters": parameters, "initial_list": initial_list}
        self.queries = queries = Queries.load(model, dataset=dataset, source=source, **sizes, **given)
        self.num_items, self.num_positions = queries.num_items, queries.num_positions
        self.model = queries.model
        self.cutoff = self.num_positions if cutoff is None else whole_number("cutoff", cutoff, 1, self.num_positions)
        rewards = self.model.rewards
        if not isinstance(reward, str) or reward not in rewards:
            raise ValueError(
                f"reward = {reward!r} is not a reward of the {self.model.name}; allowed: {sorted(rewards)}"
            )
        one_of("reference", reference, ("best", "sorted"))
        self._reward, self._paid, self._reference = rewards[reward], reward, reference
        self._fits = data.load_fits(source) if source in data.fits_names() else None
        labels = [] if self._fits is None else self._fits.query.tolist()
        self._draws_problems, self.pool = checked_problems("query", query, queries.num_queries, labels)
        self._optimal_of = self._optimal_rewards(queries)
        # The truth of the rows' coming sessions; do not write to these arrays. ``parameters`` are as
        # ``rankgym.models.check_assumptions(env.model, env.parameters, ...)`` takes them.
        rows = self.num_envs
        self.parameters = type(queries.parameters)(*(np.zeros((rows, *a.shape[1:])) for a in queries.parameters))
        self._optimal = np.zeros(rows)
        self.initial_list = np.zeros((rows, self.num_items), np.int64)

    @property
    def attraction(self) -> NDArray[np.float64]:
        """Attraction probabilities in the rows' coming sessions, (num_envs, num_items)."""
        attraction: NDArray[np.float64] = self.parameters.attraction
        return attraction

    def _optimal_rewards(self, queries: Queries) -> NDArray[np.float64]:
        """Return the expected reward of each query's reference list, (queries,)."""
        best = queries.best_lists(self._paid, self.cutoff, self.num_positions, self._reference)
        return self.model.values(queries.parameters, best, self.cutoff, self._paid)

    def _best_list(self, row: int, parameters: Any) -> NDArray[np.int64]:
        """Return the list that the row's regret is measured against, (positions,), if ``parameters`` are its truth."""
        queries = self.queries._replace(parameters=parameters, initial_list=self.initial_list[[row]])
        return queries.best_lists(self._paid, self.cutoff, self.num_positions, self._reference)[0]

    def _positions(self, parameters: Any, items: NDArray[np.int64], clicks: Any = None, shares: Any = None) -> Any:
        """Return ``items`` (positions,) as a list of ``Position`` for users of ``parameters``, with an axis of one row.

        Entries below 0 are left out, as behind the end of an interleaved list.
        """
        items = items[items >= 0]
        padded = np.zeros((1, self.num_positions), np.int64)  # examination depends on the positions above only
        padded[0, : len(items)] = items
        examined = self.model.examination(parameters, padded)[0]
        return [
            Position(
                int(item),
                float(parameters.attraction[0, item]),
                float(examined[k]),
                None if clicks is None else bool(clicks[k]),
                None if shares is None or np.isnan(shares[k]) else float(shares[k]),
            )
            for k, item in enumerate(items)
        ]

    def _query_name(self, row: int) -> str:
        """Return the name of the row's query in imported fits; "" elsewhere."""
        return "" if self._fits is None else str(self._fits.query[self._problem[row]])

    def _item_names(self, row: int) -> tuple[str, ...]:
        """Return the names of the row's items in imported fits, by their numbers; () elsewhere."""
        return () if self._fits is None else tuple(self._fits.item[self._problem[row], : self.num_items].tolist())

    def _row_parameters(self, row: int) -> Any:
        """Return the truth of the row's coming session, with an axis of one row."""
        return type(self.parameters)(*(table[[row]] for table in self.parameters))

    def _take_problems(self, mask: NDArray[np.bool_], problems: NDArray[np.int64]) -> None:
        super()._take_problems(mask, problems)
        q = self._problem[mask]
        for mine, table in zip(self.parameters, self.queries.parameters, strict=True):
            mine[mask] = table[q]
        self._optimal[mask] = self._optimal_of[q]
        self.initial_list[mask] = self.queries.initial_list[q]

    def _fresh_info(self) -> dict[str, Any]:
        return {"optimal_reward": self._optimal.copy(), **super()._fresh_info(), "query": self._problem.copy()}


def _fitted(model: Any, found: ClickModel, dataset: str, source: str) -> dict[str, NDArray[np.float64]]:
    """Return the tables (queries, *axes) of a model's parameters in a data set or in imported fits."""
    if source in data.fits_names():
        return data.fitted_tables(source, found.name, found.axes)
    if not isinstance(model, str) or is_own(model):
        if source not in data.SOURCES[dataset]:
            allowed = f"allowed here: fits that `rankgym data import NAME fits.csv` made: {data.fits_names()}"
            raise ValueError(f"source = {source!r} is unknown; {allowed}")
        raise ValueError(
            f"model = {model!r} was not fitted to dataset = {dataset!r}; allowed: dataset = 'synthetic' with your "
            "parameters or drawn ones, or source = NAME of fits that `rankgym data import NAME fits.csv` made"
        )
    return data.parameters(dataset, model, source)


def most_positions(tables: dict[str, NDArray[np.float64]], axes: dict[str, tuple[str, ...]], items: int) -> int:
    """Return how many positions a list of at most ``items`` can have: parameters by position may be of fewer."""
    by_position = (tables[name].shape[1 + of.index("position")] for name, of in axes.items() if "position" in of)
    return min([items, *by_position])


def _initial_lists(initial_list: Sequence[int] | None, queries: int, items: int) -> NDArray[np.int64]:
    if initial_list is None:
        return np.tile(np.arange(items), (queries, 1))
    given = array_of(initial_list)
    allowed = f"allowed: each of 0 .. {items - 1} once, best first"
    if given.shape != (items,) or given.dtype.kind not in "iu":
        raise ValueError(f"initial_list = {initial_list!r} is not a list of {items} items; {allowed}")
    lists = np.tile(given.astype(np.int64), (queries, 1))
    if first_fault(lists, items) >= 0:
        raise ValueError(f"initial_list = {initial_list!r} is not a ranking; {allowed}")
    return lists


def _synthetic(
    axes: dict[str, tuple[str, ...]], num_items: int | None, num_positions: int, parameters: dict[str, Any] | None
) -> dict[str, NDArray[np.float64]]:
    """Return tables (queries, *axes) of the given parameters, and of drawn ones for those left out."""
    if parameters is not None and not isinstance(parameters, dict):
        file = isinstance(parameters, str) and parameters.endswith(".json")
        hint = f"; did you mean '@{parameters}', the contents of the file?" if file else ";"
        raise ValueError(f"parameters = {parameters!r} is not a dict{hint} allowed: lists by the names {list(axes)}")
    unknown = sorted(set(parameters or {}) - set(axes), key=str)
    if unknown:
        raise ValueError(f"parameters has the unknown name {unknown[0]!r}; allowed: {list(axes)}")
    given = {name: given_table(name, values, axes[name]) for name, values in (parameters or {}).items()}
    sizes = {len(table) for table in given.values()} - {1}
    if len(sizes) > 1:
        allowed = "allowed: the same number in each, or one for all"
        raise ValueError(f"parameters describe {sorted(sizes)} queries; {allowed}")
    queries = sizes.pop() if sizes else (1 if "attraction" in given else DRAWN_QUERIES)
    by_item = [given[name] for name in axes if name in given and axes[name] == ("item",)]  # attraction before others
    if "attraction" in given or (by_item and num_items is None):
        items = by_item[0].shape[1]
    else:
        items = whole_number("num_items", DRAWN_ITEMS if num_items is None else num_items, 1, MAX_DRAWN_ITEMS)
    positions = whole_number("num_positions", num_positions, 1, items)
    tables = {}
    for number, name in enumerate(axes):
        rng = np.random.default_rng([DRAWN_SEED, number])
        if name in given:
            table = given[name]
        elif name == "examination" and axes[name] in (("position",), ("position", "previous")):
            table = _examination(positions, axes[name])[None]
        else:
            table = rng.random((queries, *(items if axis == "item" else positions for axis in axes[name])))
        tables[name] = np.broadcast_to(table, (queries, *table.shape[1:]))
    return tables


def _examination(positions: int, axes: Sequence[str]) -> NDArray[np.float64]:
    """Return 1 / k at position k = 1, 2, ..., or 1 / (distance from the click before); impossible cases are 0."""
    place = np.arange(1.0, positions + 1.0)
    if "previous" not in axes:
        return 1.0 / place
    previous = np.append(place[:-1], 0.0)  # the last column: no click yet
    distance = place[:, None] - previous
    return np.divide(1.0, distance, out=np.zeros_like(distance), where=distance > 0)

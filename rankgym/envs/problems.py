"""The ranking problems (queries) an environment chooses from: click-model parameters and base lists, by dataset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym import data
from rankgym.checks import probabilities, whole_number
from rankgym.kernels import first_fault
from rankgym.models import MODELS
from rankgym.models.base import sorted_lists

__all__ = ["Problems"]

DRAWN_QUERIES, DRAWN_SEED = 1_000, 2018
DRAWN_ITEMS = 10
PER_ITEM = ("attraction",)  # parameters with an entry for each item; the others have one for each position


class Problems(NamedTuple):
    """Queries of one click model."""

    model: str
    parameters: Any  # the model's Parameters: (queries, items), or (queries, positions) for what positions have
    initial_list: NDArray[np.int64]  # (queries, items): the production ranker's list of all items

    @property
    def num_queries(self) -> int:
        return self.initial_list.shape[0]

    @property
    def num_items(self) -> int:
        return self.initial_list.shape[1]

    @classmethod
    def load(
        cls,
        model: str,
        *,
        dataset: str = "yandex",
        source: str = "calibrated",
        num_items: int | None = None,
        num_positions: int,
        parameters: dict[str, Any] | None = None,
        initial_list: Sequence[int] | None = None,
    ) -> Problems:
        """The queries of ``dataset`` with their first ``num_items`` items, for lists of ``num_positions``.

        Args:
            model: a key of ``rankgym.models.MODELS``.
            dataset: ``"yandex"``; or ``"synthetic"``: given or drawn queries.
            source: of the Yandex fits: ``"calibrated"`` or ``"published"``.
            num_items: default: all items of the dataset (10 where synthetic queries are drawn).
            num_positions: 1 .. num_items.
            parameters: of the synthetic queries, by the model's parameter names: a list with an entry for each item
                (attraction) or position, or a list of such lists, one a query. What is not given is drawn, for 1,000
                queries, from a fixed seed: attraction and termination uniform in [0, 1]; examination is 1 / k.
            initial_list: the base list of every query, a permutation of all items. Default: 0, 1, 2, ...

        Raises:
            ValueError: an argument is out of range; the message names it.
        """
        if model not in MODELS:
            raise ValueError(f"model = {model!r} is unknown; allowed: {sorted(MODELS)}")
        names = MODELS[model].parameters._fields
        if dataset == "synthetic":
            tables = _synthetic(names, num_items, num_positions, parameters)
        elif dataset == "yandex":
            if parameters is not None:
                raise ValueError("parameters are given, but dataset = 'yandex' has its own; allowed with 'synthetic'")
            tables = data.parameters(dataset, model, source)
        else:
            raise ValueError(f"dataset = {dataset!r} is unknown; allowed: 'yandex', 'synthetic'")
        most = tables["attraction"].shape[1]
        items = most if num_items is None else whole_number("num_items", num_items, 1, most)
        positions = whole_number("num_positions", num_positions, 1, items)
        sizes = {name: items if name in PER_ITEM else positions for name in names}
        for name in names:
            if tables[name].shape[1] < sizes[name]:
                raise ValueError(
                    f"parameters[{name!r}] has {tables[name].shape[1]} entries; allowed: at least {sizes[name]}"
                )
        kept = MODELS[model].parameters(*(np.ascontiguousarray(tables[name][:, : sizes[name]]) for name in names))
        return cls(model, kept, _initial_lists(initial_list, len(tables["attraction"]), items))

    def best_lists(self, reward: str, cutoff: int, num_positions: int, reference: str) -> NDArray[np.int64]:
        """One list a query, (queries, num_positions): of the largest expected reward (``reference="best"``), or sorted
        by attraction (``"sorted"``, the papers' R*)."""
        if reference == "sorted":
            return sorted_lists(self.parameters.attraction, num_positions)
        return MODELS[self.model].rewards[reward].best_lists(self.parameters, num_positions, cutoff)


def _initial_lists(initial_list: Sequence[int] | None, queries: int, items: int) -> NDArray[np.int64]:
    if initial_list is None:
        return np.tile(np.arange(items), (queries, 1))
    try:
        given = np.array(initial_list)
    except ValueError:
        given = np.array(None)
    allowed = f"allowed: each of 0 .. {items - 1} once, best first"
    if given.shape != (items,) or given.dtype.kind not in "iu":
        raise ValueError(f"initial_list = {initial_list!r} is no list of {items} items; {allowed}")
    lists = np.tile(given.astype(np.int64), (queries, 1))
    if first_fault(lists, items) >= 0:
        raise ValueError(f"initial_list = {initial_list!r} is no ranking; {allowed}")
    return lists


def _synthetic(
    names: Sequence[str], num_items: int | None, num_positions: int, parameters: dict[str, Any] | None
) -> dict[str, NDArray[np.float64]]:
    """Tables (queries, entries) of the given parameters, with what is missing drawn."""
    if parameters is not None and not isinstance(parameters, dict):
        raise ValueError(f"parameters = {parameters!r} is no dict; allowed: lists by the names {list(names)}")
    given = {
        name: np.atleast_2d(probabilities(f"parameters[{name!r}]", v, 2)) for name, v in (parameters or {}).items()
    }
    unknown = sorted(set(given) - set(names))
    if unknown:
        raise ValueError(f"parameters has the unknown name {unknown[0]!r}; allowed: {list(names)}")
    sizes = {len(table) for table in given.values()} - {1}
    if len(sizes) > 1:
        raise ValueError(
            f"parameters describe {sorted(sizes)} queries; allowed: the same number in each, or one for all"
        )
    queries = sizes.pop() if sizes else (1 if "attraction" in given else DRAWN_QUERIES)
    items = given["attraction"].shape[1] if "attraction" in given else num_items or DRAWN_ITEMS
    items = whole_number("num_items", items, 1)
    tables = {}
    for number, name in enumerate(names):
        rng = np.random.default_rng([DRAWN_SEED, number])
        entries = items if name in PER_ITEM else whole_number("num_positions", num_positions, 1)
        if name in given:
            table = given[name]
        elif name == "examination":
            table = 1.0 / np.arange(1.0, entries + 1.0)[None]
        else:
            table = rng.random((queries, entries))
        tables[name] = np.broadcast_to(table, (queries, table.shape[1]))
    return tables

"""What ``check_model`` plays: a click model with drawn parameters, lists and users, in buffers that are watched."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankgym.conformance.rulebook import fail
from rankgym.kernels import ENVIRONMENT, row_keys
from rankgym.models.base import ClickModel, Reward
from rankgym.models.named import drawn_parameters

QUERIES = 4
FEW = 40  # rows where numbers are compared one by one
MOST_CORNERS = 64  # of parameters that are 0 or 1: all of up to six
GUARD = 64  # entries before and behind an output that must stay as they are


class ModelTrial:
    """A model with parameters of four queries, and ``sessions / 4`` sessions of each: rows are (query, session)."""

    def __init__(self, model: ClickModel, items: int, positions: int, sessions: int, seed: int) -> None:
        self.model, self.items, self.positions = model, items, positions
        rng, each = np.random.default_rng([seed, items, positions]), sessions // QUERIES
        self.parameters = self._rows(drawn_parameters(model, QUERIES, items, positions, rng), each)
        self.many = drawn_parameters(model, 20, items, positions, rng)
        self.many_corners = _corners(drawn_parameters(model, 20, items, positions, rng))
        self.corners = self._rows(_corners(drawn_parameters(model, QUERIES, items, positions, rng)), each)
        # attraction 1/2, and other parameters that leave clicks frequent
        between = (0.4 + 0.5 * table for table in drawn_parameters(model, QUERIES, items, positions, rng))
        self.halves = self._rows(model.parameters(*between), each)
        self.halves.attraction[:] = 0.5
        lists = np.argsort(rng.random((QUERIES, items)), axis=1)[:, :positions].astype(np.int64)
        self.displayed = np.repeat(lists, each, axis=0)
        keys = row_keys(range(seed, seed + 2 * QUERIES), ENVIRONMENT)
        self.key, self.other_key = np.repeat(keys[:QUERIES], each), np.repeat(keys[QUERIES:], each)
        self.session = np.tile(np.arange(each), QUERIES)
        self.firsts = np.arange(QUERIES) * each  # a row of each query

    def _rows(self, parameters: Any, each: int) -> Any:
        return type(parameters)(*(np.repeat(table, each, axis=0) for table in parameters))

    def alone(self) -> Iterator[Any]:
        """Parameters where item 0 attracts half of the users and no other item attracts, and nothing else is chance.

        All other parameters are 0 or 1, the same for all items and positions; every combination, if they are few.
        """
        others = [name for name in self.parameters._fields if name != "attraction"]
        attraction = np.zeros_like(self.parameters.attraction)
        attraction[:, 0] = 0.5
        for numbers in itertools.islice(itertools.product((1.0, 0.0), repeat=len(others)), MOST_CORNERS):
            tables = {
                name: np.full_like(getattr(self.parameters, name), number)
                for name, number in zip(others, numbers, strict=True)
            }
            yield type(self.parameters)(**tables, attraction=attraction)

    def by_query(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of rows as (queries, sessions)."""
        return values.reshape(QUERIES, -1)

    def displayed_of(self, query: int) -> list[int]:
        """The list of a query."""
        return [int(item) for item in self.displayed[query * len(self.displayed) // QUERIES]]

    # -- the model's functions, with fresh outputs ---------------------------------------------------------------------

    def play(
        self,
        reward: str,
        *,
        parameters: Any = None,
        displayed: NDArray[np.int64] | None = None,
        key: NDArray[np.uint64] | None = None,
        session: NDArray[np.int64] | None = None,
        cutoff: int | None = None,
        rows: slice | NDArray[np.int64] = slice(None),
    ) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
        """Play a session in every row: return clicks and rewards."""
        tables = [table[rows] for table in (self.parameters if parameters is None else parameters)]
        lists = (self.displayed if displayed is None else displayed)[rows]
        keys, numbers = (self.key if key is None else key)[rows], (self.session if session is None else session)[rows]
        clicks, paid = np.zeros(lists.shape, np.int8), np.zeros(len(lists))
        until = self.positions if cutoff is None else cutoff
        self.model.rewards[reward].click(*tables, keys, numbers, lists, until, clicks, paid)
        return clicks, paid

    def value(self, reward: str, cutoff: int, rows: slice | NDArray[np.int64] = slice(None)) -> NDArray[np.float64]:
        """The expected reward of each row's list."""
        own = type(self.parameters)(*(table[rows] for table in self.parameters))
        return self.values(self.model.rewards[reward], own, self.displayed[rows], cutoff)

    def values(self, reward: Reward, parameters: Any, lists: NDArray[np.int64], cutoff: int) -> NDArray[np.float64]:
        """The expected reward of ``lists`` (rows, positions)."""
        expected = np.zeros(len(lists))
        reward.value(*parameters, np.ascontiguousarray(lists, np.int64), cutoff, expected)
        return expected

    def examine(self, rows: slice | NDArray[np.int64] = slice(None)) -> NDArray[np.float64]:
        """The examination probabilities of each row's list."""
        lists = self.displayed[rows]
        examination = np.zeros(lists.shape)
        self.model.examine(*(table[rows] for table in self.parameters), lists, examination)
        return examination

    def everything(self, reward: str, rows: NDArray[np.int64]) -> list[NDArray[Any]]:
        """Clicks, reward, value and examination of some rows."""
        return [*self.play(reward, rows=rows), self.value(reward, self.positions, rows), self.examine(rows)]

    def model_probability(self) -> NDArray[np.float64]:
        """The probability of a click by the model, (queries, positions)."""
        own = type(self.parameters)(*(table[self.firsts] for table in self.parameters))
        return self.model.click_probability(own, self.displayed[self.firsts])

    # -- what is written -----------------------------------------------------------------------------------------------

    def _call(
        self, what: str, reward: str, parameters: Any, cutoff: int
    ) -> tuple[Callable[..., None], dict[str, Any], dict[str, tuple[tuple[int, ...], Any]]]:
        """A function of the model, its inputs for some rows of all queries, and the shapes of its outputs."""
        rows = np.linspace(0, len(self.key) - 1, FEW).astype(int)
        lists = self.displayed[rows]
        inputs = {name: table[rows] for name, table in parameters._asdict().items()}
        if what == "click":
            inputs |= {"key": self.key[rows], "session": self.session[rows], "displayed": lists, "cutoff": cutoff}
            outputs = {"clicks": (lists.shape, np.int8), "reward": ((FEW,), np.float64)}
            return self.model.rewards[reward].click, inputs, outputs
        if what == "value":
            inputs |= {"displayed": lists, "cutoff": cutoff}
            return self.model.rewards[reward].value, inputs, {"expected": ((FEW,), np.float64)}
        function = self.model.clicks if what == "clicks" else self.model.examine
        assert function is not None
        return function, inputs | {"displayed": lists}, {"probability": (lists.shape, np.float64)}

    def filled(self, what: str, reward: str, parameters: Any, cutoff: int) -> list[NDArray[Any]]:
        """The outputs of a function that fills them whatever was in them, and leaves their surroundings alone."""
        function, inputs, outputs = self._call(what, reward, parameters, cutoff)
        found: list[list[NDArray[Any]]] = []
        for filling in (3, 5, 3):
            buffers = {
                name: np.full(int(np.prod(shape)) + 2 * GUARD, filling, dtype)
                for name, (shape, dtype) in outputs.items()
            }
            views = [buffer[GUARD:-GUARD].reshape(outputs[name][0]) for name, buffer in buffers.items()]
            function(*(np.copy(value) if isinstance(value, np.ndarray) else value for value in inputs.values()), *views)
            for name, buffer in buffers.items():
                if (buffer[:GUARD] != filling).any() or (buffer[-GUARD:] != filling).any():
                    fail("outputs", f"{what} wrote outside of {name}", f"entries {outputs[name][0]} only")
            found.append(views)
        for name, one, other, again in zip(outputs, *found, strict=True):
            repeated = np.array_equal(one, again, equal_nan=True)
            if not repeated and what != "click":  # of clicks, the rule "seed" says more
                fail("outputs", f"{what} gave other numbers the second time", "the same")
            if repeated and not np.array_equal(one, other, equal_nan=True):
                place = [int(i) for i in np.argwhere(one != other)[0]]
                fail(
                    "outputs",
                    f"what {what} leaves in {name}{place} depends on what was there",
                    "every entry to be written",
                )
        return found[0]

    def changed(self, what: str, reward: str) -> str:
        """The first input that a function changes; "" if it changes none."""
        function, inputs, outputs = self._call(what, reward, self.parameters, self.positions)
        before = {name: np.copy(value) for name, value in inputs.items()}
        function(*inputs.values(), *(np.zeros(shape, dtype) for shape, dtype in outputs.values()))
        return next((name for name, value in inputs.items() if not np.array_equal(value, before[name])), "")

    def first_difference(self, one: Any, other: Any) -> str:
        """The first parameter in which two differ; "" if they are equal."""
        names = type(one)._fields
        return next((name for name, a, b in zip(names, one, other, strict=True) if not np.array_equal(a, b)), "")


def _corners(parameters: Any) -> Any:
    """The parameters rounded to 0, 1/2 and 1."""
    return type(parameters)(*(np.round(table * 2) / 2 for table in parameters))

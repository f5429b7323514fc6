"""The log's statistics for DCM, DBN and CCM: E-steps over the sessions, and standard errors block by block."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.logs.fitting.cells import inverted, root, scores
from rankgym.logs.fitting.chains import Counts, count, expect, inform
from rankgym.logs.fitting.coins import Curvature, Expected, Tables, Walks, pooled, ratio
from rankgym.logs.fitting.stops import STOPS, Slopes, Stopped, Stops

LARGEST_BLOCK = 300  # items whose estimates' correlations are taken into account
MOST_ENTRIES = 1 << 22  # of blocks that are filled in one pass over the log: 32 MiB

Array = NDArray[np.float64]


class Blocks(NamedTuple):
    """The items of each query, most displayed first, in blocks of at most ``LARGEST_BLOCK``."""

    block: NDArray[np.int64]  # (items,)
    place: NDArray[np.int64]  # (items,) within the block
    items: list[NDArray[np.int64]]  # of each block, in their places


class Information(NamedTuple):
    """Observed information about alpha, onward and skip: of one block of items, and its border."""

    items: NDArray[np.int64]
    inner: Array  # (rows, rows) alphas, then onward by item
    border: Array  # (rows, shared) onward by position, skip


class Solved(NamedTuple):
    """What the standard errors need of one block, once the shared parameters' covariance is known."""

    items: NDArray[np.int64]
    kept: NDArray[np.bool_]  # (rows,) parameters with a standard error
    border: Array  # (kept, shared)
    tilted: Array  # (kept, shared) inverse of the block x border
    variance: Array  # (kept,) if the shared parameters were known
    slope: Array  # (kept,) score
    ahead: Array  # (kept,) inverse of the block x slope
    square: float  # slope' x inverse of the block x slope

    @classmethod
    def of(
        cls, items: NDArray[np.int64], kept: NDArray[np.bool_], inner: Array, border: Array, slope: Array
    ) -> "Solved":
        """Invert a block; one that is not positive definite has NaN, and tells nothing about the shared parameters."""
        inverse = inverted(inner)
        if np.isnan(inverse).any():
            none = np.zeros_like(border)
            return cls(items, kept, none, none, np.full(len(inner), np.nan), 0.0 * slope, 0.0 * slope, 0.0)
        ahead = inverse @ slope
        return cls(items, kept, border, inverse @ border, np.diag(inverse), slope, ahead, float(slope @ ahead))

    def write(self, to: Curvature, names: tuple[str, ...], covariance: Array, shared_step: Array) -> None:
        """Write the standard errors and the steps of the block's parameters ``names``."""
        error, step = np.full(len(self.kept), np.nan), np.zeros(len(self.kept))
        error[self.kept] = root(self.variance + np.einsum("ij,jk,ik->i", self.tilted, covariance, self.tilted))
        step[self.kept] = self.ahead - self.tilted @ shared_step
        for number, name in enumerate(names):
            entries = slice(number * len(self.items), (number + 1) * len(self.items))
            to.errors[name][self.items], to.step[name][self.items] = error[entries], step[entries]


class ChainProblem:
    """The counts of a log for DCM, DBN or CCM, and its unclicked tails."""

    def __init__(self, walks: Walks, model: str) -> None:
        self.walks, self.stops, self.ignored_clicks = walks, STOPS[model], 0
        items, positions = walks.num_items, walks.num_positions
        self.shapes = self.stops.shapes(items, positions)
        self.contexts = items if self.stops.by_item else positions
        self.counts = Counts(*(np.zeros(n) for n in (items, items, self.contexts, 1, self.contexts)))
        count(walks.item, walks.clicks, *self._tails(), *self.counts)

    def _tails(self) -> tuple[NDArray[np.int64], NDArray[np.int8], NDArray[np.int8], bool]:
        return self.walks.repeats, self.walks.length, self.walks.last, self.stops.by_item

    def start(self, generator: np.random.Generator | None) -> Tables:
        """Start as if every user had left at the last click; by chance with a generator."""
        clicked, skipped, onward, _, ended = self.counts
        attraction = np.clip(ratio(clicked + 0.1, clicked + skipped + 1.0, 0.1), 0.001, 0.95)
        if generator is not None:
            attraction = np.clip(attraction * generator.uniform(0.2, 1.2, len(attraction)), 0.001, 0.95)
        return {"attraction": attraction, **self.stops.start(ended, ended + onward, generator)}

    def _stopped(self, parameters: Tables) -> tuple[Stopped, float]:
        """The expected numbers of users who went on and who left, and the log-likelihood."""
        clicked, skipped, known_onward, known_passed, _ = self.counts
        alpha, (onward, skip) = parameters["attraction"], self.stops.onward(parameters)
        examined, stayed, left = clicked + skipped, known_onward.copy(), np.zeros(self.contexts)
        passed, quit_ = known_passed.copy(), np.zeros(1)
        work = np.empty(self.walks.num_positions + 1)
        total = expect(
            self.walks.item, *self._tails(), alpha, onward, skip, work, examined, stayed, left, passed, quit_
        )
        with np.errstate(divide="ignore"):
            for number, probability in (
                (clicked, alpha),
                (skipped, 1.0 - alpha),
                (known_onward, onward),
                (known_passed, np.array([skip])),
            ):
                some = number > 0
                total += float((number[some] * np.log(probability[some])).sum())
        return Stopped(clicked, examined, stayed, left, float(passed[0]), float(quit_[0])), float(total)

    def expect(self, parameters: Tables) -> Expected:
        """Return the expected tosses of all coins and the log-likelihood (E-step)."""
        stopped, total = self._stopped(parameters)
        return Expected(*self.stops.tosses(parameters, stopped), total)

    def settled(self, parameters: Tables, expected: Expected) -> Tables:
        """Items that were never examined, or never clicked, get the mean attraction or satisfaction, positions 1.

        A DCM's termination is 1 where nothing was displayed below, as in published fits.
        """
        made = {name: table.copy() for name, table in parameters.items()}
        for name, table in made.items():
            heads, tosses = expected.heads[name], expected.tosses[name]
            table[tosses == 0] = 1.0 if name == "termination" else pooled(heads, tosses)
        return made

    def curvature(
        self, parameters: Tables, expected: Expected, free: dict[str, NDArray[np.bool_]], penalty: Tables
    ) -> Curvature:
        """Standard errors: a block for the items of each query, bordered by the shared parameters."""
        own_names, shared_names = ("attraction", *self.stops.own), self.stops.shared
        score = scores(parameters, expected, free)
        width = 1 + (0 if self.stops.by_item else self.walks.num_positions)
        shared = np.zeros((width, width))
        outer: Array = np.diag(flat(penalty, shared_names))
        terms = Terms.of(self.stops, parameters, self._stopped(parameters)[0])
        own = []
        for part in self._information(parameters, shared):
            inner, border, more = terms.transformed(part)
            outer = outer + more
            inner[np.diag_indices_from(inner)] += flat(penalty, own_names, part.items)
            kept = flat(free, own_names, part.items).astype(bool) & (np.diag(inner) > 0)
            slope = flat(score, own_names, part.items)[kept]
            own.append(Solved.of(part.items, kept, inner[np.ix_(kept, kept)], border[kept], slope))
        outer = outer + terms.by_shared.T @ shared @ terms.by_shared
        shared_free = flat(free, shared_names).astype(bool) & (np.diag(outer) > 0)
        schur = np.where(shared_free[:, None] & shared_free, outer, np.eye(len(outer)))
        slope = np.where(shared_free, flat(score, shared_names), 0.0)
        for one in own:
            schur = schur - np.where(shared_free[:, None] & shared_free, one.border.T @ one.tilted, 0.0)
            slope = slope - np.where(shared_free, one.tilted.T @ one.slope, 0.0)
        covariance = inverted(schur) * (shared_free[:, None] & shared_free)
        step = covariance @ slope
        square = float(slope @ step) + sum(one.square for one in own)
        errors, steps = ({name: np.full(shape, fill) for name, shape in self.shapes.items()} for fill in (np.nan, 0.0))
        made = Curvature(errors, steps, float(np.sqrt(square)) if square >= 0 else float("nan"))
        for one in own:
            one.write(made, own_names, covariance, step)
        places = np.cumsum([0, *(errors[name].size for name in shared_names)])
        error = np.where(shared_free, root(np.diag(covariance)), np.nan)
        for name, start, stop in zip(shared_names, places, places[1:], strict=False):
            errors[name] = error[start:stop].reshape(self.shapes[name])
            steps[name] = step[start:stop].reshape(self.shapes[name])
        return made

    def _blocks(self) -> Blocks:
        walks = self.walks
        displays = self.counts.clicked + self.counts.skipped
        order = np.lexsort((-displays, walks.item_query))
        query = walks.item_query[order]
        starts = np.flatnonzero(np.r_[True, query[1:] != query[:-1]])
        rank = np.arange(len(order)) - np.repeat(starts, np.diff(np.r_[starts, len(order)]))
        new = rank % LARGEST_BLOCK == 0
        block, place = np.empty(len(order), np.int64), np.empty(len(order), np.int64)
        block[order], place[order] = np.cumsum(new) - 1, rank % LARGEST_BLOCK
        return Blocks(block, place, np.split(order, np.flatnonzero(new)[1:]))

    def _information(self, parameters: Tables, shared: Array) -> Iterator[Information]:
        """Yield the observed information about alpha and onward by block, and add that about the rest to ``shared``."""
        clicked, skipped, known_onward, known_passed, _ = self.counts
        alpha, (onward, skip) = parameters["attraction"], self.stops.onward(parameters)
        walks, blocks, by_item = self.walks, self._blocks(), self.stops.by_item
        kinds, width = 2 if by_item else 1, len(shared)
        border, work = np.zeros((walks.num_items, kinds, width)), np.empty((7, walks.num_positions + 1))
        size = np.array([kinds * len(items) for items in blocks.items])
        turn = np.cumsum(size**2) // MOST_ENTRIES  # the pass in which each block is filled
        known = [squared_ratio(clicked, alpha) + squared_ratio(skipped, 1.0 - alpha)]
        known += [squared_ratio(known_onward, onward)] if by_item else []
        for number, now in enumerate(np.unique(turn)):
            chosen = np.flatnonzero(turn == now)
            first = np.full(len(size), -1)
            first[chosen] = np.cumsum(size[chosen] ** 2) - size[chosen] ** 2
            inner = np.zeros(int((size[chosen] ** 2).sum()))
            into = shared if number == 0 else np.zeros_like(shared)
            inform(
                walks.item, *self._tails(), alpha, onward, skip, blocks.block, blocks.place, first, size,
                work, inner, border, into,
            )  # fmt: skip
            for b in chosen:
                items = blocks.items[b]
                matrix = inner[first[b] : first[b] + size[b] ** 2].reshape(size[b], size[b])
                matrix[np.diag_indices_from(matrix)] += np.concatenate([table[items] for table in known])
                yield Information(items, matrix, border[items].transpose(1, 0, 2).reshape(size[b], width))
        if not by_item:
            shared[np.arange(width - 1), np.arange(width - 1)] += squared_ratio(known_onward, onward)
        shared[-1, -1] += float(squared_ratio(known_passed, np.array([skip]))[0])


class Terms(NamedTuple):
    """The chain rule from alpha, onward and skip to a model's own parameters."""

    slopes: Slopes
    pull: Array  # (contexts,) derivative of the log-likelihood by onward
    by_shared: Array  # (onward by position, skip; shared parameters)
    by_item: bool

    @classmethod
    def of(cls, stops: Stops, parameters: Tables, stopped: Stopped) -> "Terms":
        """Return the terms at some parameters."""
        slopes, (onward, _) = stops.slopes(parameters), stops.onward(parameters)
        pull = ratio(stopped.stayed, onward, 0.0) - ratio(stopped.left, 1.0 - onward, 0.0)
        by_shared = slopes.skip_by_shared[None]
        if not stops.by_item:
            by_shared = np.concatenate([slopes.onward_by_shared, by_shared])
        return cls(slopes, pull, by_shared, stops.by_item)

    def transformed(self, part: Information) -> tuple[Array, Array, Array]:
        """Return the information of a block about the model's own parameters, its border, and its share of the rest."""
        items, inner, border = part
        if not self.by_item:
            return inner, border @ self.by_shared, np.zeros((self.by_shared.shape[1],) * 2)
        n, slopes = len(items), self.slopes
        owned = slopes.onward_by_own.shape[1]
        by_own = np.zeros((2 * n, n * (1 + owned)))  # derivatives of alpha and onward
        by_own[:n, :n] = np.eye(n)
        by_own[n:, :n] = np.diag(slopes.onward_by_attraction[items])
        second = [slopes.mixed_attraction]
        if owned:
            by_own[n:, n:] = np.diag(slopes.onward_by_own[items, 0])
            second.append(slopes.mixed_own)
        across = np.zeros((2 * n, self.by_shared.shape[1]))
        across[n:] = slopes.onward_by_shared[items]
        curved = np.concatenate([self.pull[items, None] * table[items] for table in second])
        beside = border @ self.by_shared
        mixed = across.T @ beside
        more = across.T @ inner @ across + mixed + mixed.T
        return by_own.T @ inner @ by_own, by_own.T @ (inner @ across + beside) - curved, more


def squared_ratio(number: Array, probability: Array) -> Array:
    """Return number / probability^2, 0 where nothing was counted."""
    return np.divide(number, probability**2, out=np.zeros_like(number), where=number > 0)


def flat(
    tables: Mapping[str, NDArray[Any]], names: Sequence[str], items: NDArray[np.int64] | None = None
) -> NDArray[Any]:
    """Return the entries of some tables one after another, of some items only."""
    return np.concatenate([tables[name].ravel() if items is None else tables[name][items] for name in names])

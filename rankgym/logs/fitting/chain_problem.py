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
    """The items of each query, most displayed first, in blocks of at most ``LARGEST_BLOCK``, by query."""

    block: NDArray[np.int64]  # (items,)
    place: NDArray[np.int64]  # (items,) within the block
    order: NDArray[np.int64]  # (items,) all items, block by block
    first: NDArray[np.int64]  # (blocks,) where each block begins in ``order``
    length: NDArray[np.int64]  # (blocks,)


class Information(NamedTuple):
    """Observed information about alpha, onward and skip: of blocks of equal length, and their borders."""

    items: NDArray[np.int64]  # (blocks, length)
    inner: Array  # (blocks, rows, rows) alphas, then onward by item
    border: Array  # (blocks, rows, shared) onward by position, skip


class Solved(NamedTuple):
    """What the standard errors need of some blocks, once the shared parameters' covariance is known."""

    items: NDArray[np.int64]  # (blocks, length)
    kept: NDArray[np.bool_]  # (blocks, rows) parameters with a standard error
    border: Array  # (blocks, rows, shared)
    tilted: Array  # (blocks, rows, shared) inverse of the block x border
    variance: Array  # (blocks, rows) if the shared parameters were known
    slope: Array  # (blocks, rows) score
    ahead: Array  # (blocks, rows) inverse of the block x slope

    @classmethod
    def of(
        cls, items: NDArray[np.int64], kept: NDArray[np.bool_], inner: Array, border: Array, slope: Array
    ) -> "Solved":
        """Invert blocks; one that is not positive definite has NaN, and tells nothing about the shared parameters."""
        both = kept[:, :, None] & kept[:, None, :]
        inverse = inverted(np.where(both, inner, np.eye(inner.shape[1]))) * both
        singular = np.asarray(np.isnan(inverse).any(axis=(1, 2)))
        variance = np.where(singular[:, None], np.nan, np.einsum("bii->bi", inverse))
        inverse[singular] = 0.0
        border, slope = border * kept[:, :, None], slope * kept
        ahead = np.einsum("bij,bj->bi", inverse, slope)
        return cls(items, kept & ~singular[:, None], border, inverse @ border, variance, slope, ahead)

    def write(self, to: Curvature, names: tuple[str, ...], covariance: Array, shared_step: Array) -> None:
        """Write the standard errors and the steps of the blocks' parameters ``names``."""
        variance = self.variance + np.einsum("bij,jk,bik->bi", self.tilted, covariance, self.tilted)
        error, step = np.where(self.kept, root(variance), np.nan), self.ahead - self.tilted @ shared_step
        length = self.items.shape[1]
        for number, name in enumerate(names):
            entries = slice(number * length, (number + 1) * length)
            to.errors[name][self.items], to.step[name][self.items] = error[:, entries], step[:, entries]


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
            inner += beside(penalty, own_names, part.items)[:, :, None] * np.eye(inner.shape[1])
            kept = beside(free, own_names, part.items).astype(bool) & (np.einsum("bii->bi", inner) > 0)
            own.append(Solved.of(part.items, kept, inner, border, beside(score, own_names, part.items)))
        outer = outer + terms.by_shared.T @ shared @ terms.by_shared
        shared_free = flat(free, shared_names).astype(bool) & (np.diag(outer) > 0)
        both = shared_free[:, None] & shared_free
        schur, slope = outer, flat(score, shared_names)
        for one in own:
            schur = schur - np.einsum("bij,bik->jk", one.border, one.tilted)
            slope = slope - np.einsum("bij,bi->j", one.tilted, one.slope)
        schur, slope = np.where(both, schur, np.eye(len(outer))), slope * shared_free
        covariance = inverted(schur) * both
        step = covariance @ slope
        errors, steps = ({name: np.full(shape, fill) for name, shape in self.shapes.items()} for fill in (np.nan, 0.0))
        made = Curvature(errors, steps)
        for one in own:
            one.write(made, own_names, covariance, step)
        places = np.cumsum([0, *(errors[name].size for name in shared_names)])
        error = np.where(shared_free, root(np.diag(covariance)), np.nan)
        for name, start, stop in zip(shared_names, places, places[1:], strict=False):
            errors[name] = error[start:stop].reshape(self.shapes[name])
            steps[name] = step[start:stop].reshape(self.shapes[name])
        return made

    def _blocks(self) -> Blocks:
        displays = self.counts.clicked + self.counts.skipped
        order = np.lexsort((-displays, self.walks.item_query))
        query = self.walks.item_query[order]
        starts = np.flatnonzero(np.r_[True, query[1:] != query[:-1]])
        rank = np.arange(len(order)) - np.repeat(starts, np.diff(np.r_[starts, len(order)]))
        new = rank % LARGEST_BLOCK == 0
        block, place = np.empty(len(order), np.int64), np.empty(len(order), np.int64)
        block[order], place[order] = np.cumsum(new) - 1, rank % LARGEST_BLOCK
        first = np.flatnonzero(new)
        return Blocks(block, place, order, first, np.diff(np.r_[first, len(order)]))

    def _information(self, parameters: Tables, shared: Array) -> Iterator[Information]:
        """Yield the observed information about alpha and onward by block, and add that about the rest to ``shared``."""
        clicked, skipped, known_onward, known_passed, _ = self.counts
        alpha, (onward, skip) = parameters["attraction"], self.stops.onward(parameters)
        blocks, by_item = self._blocks(), self.stops.by_item
        kinds, width = 2 if by_item else 1, len(shared)
        border, work = np.zeros((self.walks.num_items, kinds, width)), np.empty((7, self.walks.num_positions + 1))
        size = kinds * blocks.length
        known = [squared_ratio(clicked, alpha) + squared_ratio(skipped, 1.0 - alpha)]
        known += [squared_ratio(known_onward, onward)] if by_item else []
        done = 0  # groups whose share of ``shared`` is in it
        for chosen, start, stop in self._passes(blocks, size):
            first = np.full(len(size), -1)
            first[chosen] = np.cumsum(size[chosen] ** 2) - size[chosen] ** 2
            inner = np.zeros(int((size[chosen] ** 2).sum()))
            for rows, into in (
                (slice(start, max(start, min(stop, done))), np.zeros_like(shared)),
                (slice(max(start, done), stop), shared),
            ):
                item, repeats, length, last = (array[rows] for array in self.walks[:1] + self._tails()[:3])
                inform(
                    item, repeats, length, last, by_item, alpha, onward, skip, blocks.block, blocks.place, first, size,
                    work, inner, border, into,
                )  # fmt: skip
            done = max(done, stop)
            for many in np.unique(blocks.length[chosen]).tolist():
                those = chosen[blocks.length[chosen] == many]
                items = blocks.order[blocks.first[those][:, None] + np.arange(many)]
                rows_of = kinds * many
                matrix = inner[first[those][:, None] + np.arange(rows_of**2)].reshape(-1, rows_of, rows_of)
                matrix += np.concatenate([table[items] for table in known], axis=1)[:, :, None] * np.eye(rows_of)
                beside_it = border[items].transpose(0, 2, 1, 3).reshape(-1, rows_of, width)
                yield Information(items, matrix, beside_it)
        if not by_item:
            shared[np.arange(width - 1), np.arange(width - 1)] += squared_ratio(known_onward, onward)
        shared[-1, -1] += float(squared_ratio(known_passed, np.array([skip]))[0])

    def _passes(self, blocks: Blocks, size: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], int, int]]:
        """Yield blocks that are filled in one pass over the log, and which groups these need: all if not by query."""
        walks, groups = self.walks, len(self.walks.item)
        query = walks.item_query[walks.item[:, 0]]
        by_query = bool((query[1:] >= query[:-1]).all())
        of_block = walks.item_query[blocks.order[blocks.first]]
        turn = np.cumsum(size**2) // MOST_ENTRIES
        for now in np.unique(turn):
            chosen = np.flatnonzero(turn == now)
            if by_query:
                start = np.searchsorted(query, of_block[chosen[0]], "left")
                stop = np.searchsorted(query, of_block[chosen[-1]], "right")
                yield chosen, int(start), int(stop)
            else:
                yield chosen, 0, groups


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
        """Return the information of blocks about the model's own parameters, their borders, and the rest."""
        items, inner, border = part
        if not self.by_item:
            return inner, border @ self.by_shared, np.zeros((self.by_shared.shape[1],) * 2)
        (blocks, n), slopes = items.shape, self.slopes
        owned = slopes.onward_by_own.shape[1]
        by_own = np.zeros((blocks, 2 * n, n * (1 + owned)))  # derivatives of alpha and onward
        each = np.arange(n)
        by_own[:, each, each] = 1.0
        by_own[:, n + each, each] = slopes.onward_by_attraction[items]
        second = [slopes.mixed_attraction]
        if owned:
            by_own[:, n + each, n + each] = slopes.onward_by_own[items, 0]
            second.append(slopes.mixed_own)
        across = np.zeros((blocks, 2 * n, self.by_shared.shape[1]))
        across[:, n:] = slopes.onward_by_shared[items]
        curved = np.concatenate([self.pull[items, None] * table[items] for table in second], axis=1)
        outside = border @ self.by_shared
        turned = np.swapaxes(by_own, 1, 2)
        mixed = np.einsum("bij,bik->jk", across, outside)
        more = np.einsum("bij,bik->jk", across, inner @ across) + mixed + mixed.T
        return turned @ inner @ by_own, turned @ (inner @ across + outside) - curved, more


def squared_ratio(number: Array, probability: Array) -> Array:
    """Return number / probability^2, 0 where nothing was counted."""
    return np.divide(number, probability**2, out=np.zeros_like(number), where=number > 0)


def flat(tables: Mapping[str, NDArray[Any]], names: Sequence[str]) -> NDArray[Any]:
    """Return the entries of some tables one after another."""
    return np.concatenate([tables[name].ravel() for name in names])


def beside(tables: Mapping[str, NDArray[Any]], names: Sequence[str], items: NDArray[np.int64]) -> NDArray[Any]:
    """Return the entries of some items' tables (blocks, tables x length) for items (blocks, length)."""
    return np.concatenate([tables[name][items] for name in names], axis=1)

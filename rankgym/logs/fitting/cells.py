"""Fits of CM, DBM, PBM and UBM, whose clicks are decided by two coins: P(click) = attraction x examination.

Displays and clicks are counted by cells: an item in a context. A context is all that the examination depends on: the
position (PBM), the position and the previous click (UBM), nothing (DBM, CM). The CM's displays end with its first
click. These counts are sufficient, so an EM step costs as much as there are cells, however long the log is.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.kernels import ONE, kernel
from rankgym.logs.fitting.coins import Curvature, Expected, Tables, Walks, pooled, ratio

MOST_CELLS = 1 << 22  # that are counted in one pass over the log: 64 MiB
LARGEST_ERROR = 10.0  # standard error of a probability; larger ones are rounding, of an information that is singular
CONTEXTS = {"DBM": 0, "CM": 1, "PBM": 2, "UBM": 3}  # how ``count`` tells contexts apart


class Cells(NamedTuple):
    """Counts of the cells that were displayed, sorted by item."""

    item: NDArray[np.int64]  # (cells,)
    context: NDArray[np.int64]  # (cells,) flat index into the examination
    shown: NDArray[np.float64]  # (cells,)
    clicked: NDArray[np.float64]  # (cells,)


@kernel
def count(item, clicks, repeats, length, rule, first, shown, clicked):
    """Add displays and clicks of the items from ``first`` on to ``shown`` and ``clicked`` (items, contexts).

    ``rule`` is an entry of ``CONTEXTS``. Returns the clicks that do not count: those below the CM's first click.
    """
    groups, positions = item.shape
    ignored = 0
    for g in range(groups):
        previous, weight, leaving = positions - 1, repeats[g], False
        for k in range(length[g]):
            click = clicks[g] >> np.uint64(k) & ONE != 0
            if leaving:
                ignored += click * weight
                continue
            context = 0
            if rule == 2:
                context = k
            elif rule == 3:
                context = k * positions + previous
            row = item[g, k] - first
            if 0 <= row < shown.shape[0]:
                shown[row, context] += weight
                if click:
                    clicked[row, context] += weight
            if click:
                previous, leaving = k, rule == 1
    return ignored


def counted(walks: Walks, model: str) -> tuple[Cells, int]:
    """Return the cells of a log, and the number of clicks that a CM ignores."""
    contexts = {"DBM": 1, "CM": 1, "PBM": walks.num_positions, "UBM": walks.num_positions**2}[model]
    size = max(1, MOST_CELLS // contexts)
    parts, ignored = [], 0
    for first in range(0, walks.num_items, size):
        shown = np.zeros((min(size, walks.num_items - first), contexts))
        clicked = np.zeros_like(shown)
        ignored = count(walks.item, walks.clicks, walks.repeats, walks.length, CONTEXTS[model], first, shown, clicked)
        row, context = np.nonzero(shown)
        parts.append(Cells(row + first, context, shown[row, context], clicked[row, context]))
    return Cells(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True))), int(ignored)


@kernel
def expect(item, context, shown, clicked, attraction, examination, attracted, examined):
    """E-step: add the expected heads of the coins of attraction and examination; returns the log-likelihood.

    A click shows two heads. Without a click, the item attracted with probability alpha (1 - chi) / (1 - alpha chi).
    """
    total = 0.0
    for cell in range(item.shape[0]):
        alpha, chi = attraction[item[cell]], examination[context[cell]]
        click, missed = alpha * chi, shown[cell] - clicked[cell]
        attracted[item[cell]] += clicked[cell]
        examined[context[cell]] += clicked[cell]
        if clicked[cell] > 0.0:
            total += clicked[cell] * np.log(click)
        if missed > 0.0:
            total += missed * np.log1p(-click)
            if click < 1.0:
                attracted[item[cell]] += missed * alpha * (1.0 - chi) / (1.0 - click)
                examined[context[cell]] += missed * chi * (1.0 - alpha) / (1.0 - click)
    return total


@kernel
def inform(item, context, shown, clicked, attraction, examination, own, border, shared):
    """Add the observed information: ``own`` (items,), ``border`` (items, contexts) from ``item[0]`` on, ``shared``."""
    for cell in range(item.shape[0]):
        alpha, chi = attraction[item[cell]], examination[context[cell]]
        missed = 1.0 - alpha * chi
        row, weight = item[cell] - item[0], (shown[cell] - clicked[cell]) / (missed * missed)
        if alpha > 0.0:
            own[row] += clicked[cell] / (alpha * alpha) + weight * chi * chi
        if chi > 0.0:
            shared[context[cell]] += clicked[cell] / (chi * chi) + weight * alpha * alpha
        border[row, context[cell]] += weight


class CellProblem:
    """The counts of a log for CM, DBM, PBM or UBM."""

    def __init__(self, walks: Walks, model: str) -> None:
        self.cells, self.ignored_clicks = counted(walks, model)
        self.model, self.items, self.positions = model, walks.num_items, walks.num_positions
        self.shapes: dict[str, tuple[int, ...]] = {"attraction": (self.items,)}
        if model in ("PBM", "UBM"):
            self.shapes["examination"] = (self.positions,) * (1 if model == "PBM" else 2)
        item, context, shown, clicked = self.cells
        contexts = int(np.prod(self.shapes.get("examination", (1,))))
        self.shown = counted_by(item, shown, self.items), counted_by(context, shown, contexts)
        self.clicked = counted_by(item, clicked, self.items), counted_by(context, clicked, contexts)

    def start(self, generator: np.random.Generator | None) -> Tables:
        """Start where every item has its share of clicks in what is examined as often as positions are clicked.

        What was never clicked starts at 0, its maximum likelihood.
        """
        (items, contexts), (attracted, examined) = self.shown, self.clicked
        if "examination" not in self.shapes:
            return {"attraction": ratio(attracted, items, 0.0)}
        rate = ratio(examined, contexts, 0.0)
        examination = np.clip(rate / max(rate.max(), 1e-300), 0.05, 0.95) if rate.any() else rate
        if generator is not None:
            examination = generator.uniform(0.05, 0.95, len(rate))
        examination[(examined == 0) & (contexts > 0)] = 0.0
        seen = np.bincount(self.cells.item, self.cells.shown * examination[self.cells.context], self.items)
        attraction = np.clip(ratio(attracted, seen, 0.5), 0.001, 0.95)
        attraction[(attracted == 0) & (items > 0)] = 0.0
        return {"attraction": attraction, "examination": examination.reshape(self.shapes["examination"])}

    def _examination(self, parameters: Tables) -> NDArray[np.float64]:
        return parameters["examination"].ravel() if "examination" in parameters else np.ones(1)

    def expect(self, parameters: Tables) -> Expected:
        """Return the expected tosses of all coins and the log-likelihood (E-step)."""
        attracted, examined = np.zeros(self.items), np.zeros(len(self.shown[1]))
        total = expect(*self.cells, parameters["attraction"], self._examination(parameters), attracted, examined)
        heads: Tables = {"attraction": attracted}
        tosses: Tables = {"attraction": self.shown[0]}
        if "examination" in self.shapes:
            shape = self.shapes["examination"]
            heads["examination"], tosses["examination"] = examined.reshape(shape), self.shown[1].reshape(shape)
        return Expected(heads, tosses, float(total))

    def curvature(
        self, parameters: Tables, expected: Expected, free: dict[str, NDArray[np.bool_]], penalty: Tables
    ) -> Curvature:
        """Standard errors: the attractions' block is diagonal, and the examination borders it (Schur complement)."""
        attraction, examination = parameters["attraction"], self._examination(parameters)
        score = scores(parameters, expected, free)
        contexts = np.flatnonzero(free["examination"].ravel()) if "examination" in free else np.zeros(0, np.int64)
        inner = np.zeros(0)
        shared = np.zeros(len(examination))
        own = np.zeros(self.items)
        parts = []
        for cells in self._blocks():
            block = slice(cells.item[0], cells.item[-1] + 1)
            border = np.zeros((block.stop - block.start, len(examination)))
            inform(*cells, attraction, examination, own[block], border, shared)
            parts.append((block, border[:, contexts]))
        own += penalty["attraction"]
        if "examination" in free:
            inner = score["examination"].ravel()[contexts]
            shared += penalty["examination"].ravel()
        inverse = np.where(free["attraction"] & (own > 0), 1.0 / np.where(own > 0, own, 1.0), 0.0)
        schur, slope = np.diag(shared[contexts]), inner.copy()
        for block, border in parts:
            schur -= border.T @ (inverse[block, None] * border)
            slope -= border.T @ (inverse[block] * score["attraction"][block])
        covariance = inverted(schur)
        variance = inverse.copy()
        for block, border in parts:
            tilted = inverse[block, None] * border
            variance[block] += np.einsum("ij,jk,ik->i", tilted, covariance, tilted)
        errors = {"attraction": np.where(free["attraction"] & (own > 0), root(variance), np.nan)}
        step = {"attraction": inverse * score["attraction"]}
        if "examination" in free:
            table, ahead = np.full(len(examination), np.nan), np.zeros(len(examination))
            table[contexts], ahead[contexts] = root(np.diag(covariance)), covariance @ slope
            for block, border in parts:
                step["attraction"][block] -= inverse[block] * (border @ ahead[contexts])
            errors["examination"] = table.reshape(self.shapes["examination"])
            step["examination"] = ahead.reshape(self.shapes["examination"])
        return Curvature(errors, step)

    def _blocks(self) -> list[Cells]:
        """The cells in blocks of whole items, small enough for a border of all contexts."""
        size = max(1, MOST_CELLS // len(self.shown[1]))
        ends = np.unique(np.searchsorted(self.cells.item, range(0, self.items + size, size)))
        item, context, shown, clicked = self.cells
        blocks = (slice(start, stop) for start, stop in pairwise(ends.tolist()))
        return [Cells(item[block], context[block], shown[block], clicked[block]) for block in blocks]

    def settled(self, parameters: Tables, expected: Expected) -> Tables:
        """Items that were never displayed get the mean attraction, unused entries of the examination a convention.

        In the UBM's table an entry is 0 if no session can come to it, because the previous click is not above. An entry
        that no session came to is the mean of the position's other entries.
        """
        made = {name: table.copy() for name, table in parameters.items()}
        heads, tosses = expected.heads["attraction"], expected.tosses["attraction"]
        made["attraction"][tosses == 0] = pooled(heads, tosses)
        if "examination" in made:
            heads, tosses = expected.heads["examination"], expected.tosses["examination"]
            unused = tosses == 0
            table = made["examination"]
            if self.model == "UBM":
                mean = ratio((table * tosses).sum(axis=1), tosses.sum(axis=1), 0.0)
                above = np.tril(np.ones_like(unused), -1)
                above[:, -1] = True
                table[unused] = np.where(above, mean[:, None], 0.0)[unused]
        return made


def counted_by(index: NDArray[np.int64], number: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Return the sums (size,) of ``number`` by ``index``."""
    return np.bincount(index, number, size).astype(np.float64)


def scores(parameters: Tables, expected: Expected, free: dict[str, NDArray[np.bool_]]) -> Tables:
    """Return the derivatives of the log-likelihood by the free parameters (Fisher's identity), 0 for the others."""
    made = {}
    for name, table in parameters.items():
        heads, tails = expected.heads[name], expected.tosses[name] - expected.heads[name]
        with np.errstate(divide="ignore", invalid="ignore"):
            made[name] = np.where(free[name], heads / table - tails / (1.0 - table), 0.0)
    return made


def inverted(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the inverses of information matrices (..., rows, rows), NaN for those that are not positive definite."""
    if not matrix.size:
        return matrix
    scale = np.sqrt(np.maximum(np.einsum("...ii->...i", matrix), 1e-300))
    scale = scale[..., :, None] * scale[..., None, :]
    try:
        factor = np.linalg.inv(np.linalg.cholesky(matrix / scale))
    except np.linalg.LinAlgError:
        if matrix.ndim == 2:
            return np.full_like(matrix, np.nan)
        return np.stack([inverted(one) for one in matrix])
    return np.swapaxes(factor, -1, -2) @ factor / scale


def root(variance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the square root: a standard error; NaN if there is none, or if it says nothing about a probability."""
    return np.sqrt(np.where((variance > 0) & (variance < LARGEST_ERROR**2), variance, np.nan))

"""EM steps up the likelihood, accelerated by extrapolation, never downwards.

The extrapolation is SQUAREM (Varadhan and Roland, "Simple and globally convergent methods for accelerating the
convergence of any EM algorithm", Scandinavian Journal of Statistics 35, 2008), their step length S3: two EM steps tell
how fast the error shrinks, and a third point is taken far ahead. It is dropped if the likelihood is lower there.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.logs.fitting.coins import Curvature, Expected, Problem, Tables

EDGE = 0.1  # an extrapolation covers at most 90 % of the way to 0 or 1, from where EM does not come back
ROUGH = 1e-4  # change of a parameter in an EM step
LEG = 20  # EM steps, doubled after each Newton step that is not kept
CLOSE = 0.01  # standard errors that a Newton step moves an estimate
FINEST = 1e-12  # tolerance
ROUNDING = 1e-13  # of an objective, relatively: a sum over a million sessions
NUDGE, GAIN = 1e-9, 1e-3  # the derivative at 0 and 1 is taken this far inside; it counts from this share of a coin's
GROWTH = 4.0  # of the longest extrapolation, after each that came so far


Report = Callable[[int, float, float], None]


class Beta(NamedTuple):
    """Priors of all coins, by parameter: Beta(a, b) with a, b >= 1; (1, 1) is maximum likelihood."""

    a: dict[str, float]
    b: dict[str, float]

    def log_density(self, parameters: Tables, free: dict[str, NDArray[np.bool_]]) -> float:
        """Return the logarithm of the free parameters' density, but for a constant."""
        total = 0.0
        with np.errstate(divide="ignore"):
            for name, table in parameters.items():
                inside = table[free[name]]
                if self.a[name] > 1.0:
                    total += (self.a[name] - 1.0) * float(np.log(inside).sum())
                if self.b[name] > 1.0:
                    total += (self.b[name] - 1.0) * float(np.log1p(-inside).sum())
        return total

    def penalty(self, parameters: Tables) -> Tables:
        """Return minus the second derivative of the logarithm of the density, at each parameter."""
        made = {}
        with np.errstate(divide="ignore"):
            for name, table in parameters.items():
                made[name] = np.zeros_like(table)
                if self.a[name] > 1.0:
                    made[name] += (self.a[name] - 1.0) / table**2
                if self.b[name] > 1.0:
                    made[name] += (self.b[name] - 1.0) / (1.0 - table) ** 2
        return made

    def heads(self, expected: Expected, free: dict[str, NDArray[np.bool_]]) -> Expected:
        """Return the expected tosses with those that the prior stands for: a - 1 heads and b - 1 tails."""
        heads = {name: table + free[name] * (self.a[name] - 1.0) for name, table in expected.heads.items()}
        tosses = {
            name: table + free[name] * (self.a[name] + self.b[name] - 2.0) for name, table in expected.tosses.items()
        }
        return Expected(heads, tosses, expected.log_likelihood)


class Climb(NamedTuple):
    """Where EM came to."""

    parameters: Tables
    expected: Expected  # at the parameters
    trace: list[float]
    converged: bool


class Climber:
    """Runs EM for one problem from any starting point."""

    def __init__(
        self, problem: Problem, prior: Beta, free: dict[str, NDArray[np.bool_]], tolerance: float, max_steps: int
    ) -> None:
        self.problem, self.prior, self.free = problem, prior, free
        self.tolerance, self.max_steps = tolerance, max_steps

    def look(self, parameters: Tables) -> tuple[Expected, float]:
        """Return the expected tosses and the objective: the log-likelihood plus the prior's log density."""
        expected = self.problem.expect(parameters)
        return expected, expected.log_likelihood + self.prior.log_density(parameters, self.free)

    def improve(self, parameters: Tables, expected: Expected) -> Tables:
        """M-step: heads / tosses, where the coin is free and was tossed."""
        heads, tosses, _ = self.prior.heads(expected, self.free)
        made = {}
        for name, table in parameters.items():
            made[name] = np.array(table)
            np.divide(heads[name], tosses[name], out=made[name], where=self.free[name] & (tosses[name] > 0))
            np.clip(made[name], 0.0, 1.0, out=made[name])
        return made

    def climb(self, start: Tables, report: Report) -> Climb:
        """Run EM from ``start`` to convergence; ``report(step, objective, change)`` is called after each step.

        It has converged when in an EM step no parameter changes by more than the tolerance, nor the objective
        relatively, the maximum is ``CLOSE``, and no estimate of 0 or 1 would raise the objective by moving inside. EM
        crawls before that. So after ``LEG`` steps, or once no parameter changes by more than ``ROUGH``, a Newton step
        is tried, and kept if the objective is no lower there.
        """
        tolerance, leg = max(self.tolerance, ROUGH), LEG
        trace: list[float] = []
        here = start
        while True:
            most = self.max_steps - len(trace)
            climb = self._climb(here, report, tolerance, min(leg, most))
            trace = trace + climb.trace
            climb = climb._replace(trace=trace)
            if (most <= leg and not climb.converged) or most <= 0:
                return climb._replace(converged=False)
            curvature = self.curvature(climb)
            near = not curvature.distance > CLOSE  # or unknown
            ahead = self._newton(climb, curvature)
            if climb.converged and ((near and tolerance <= self.tolerance) or tolerance < FINEST):
                ahead = self._released(climb)
                if ahead is None:
                    return climb._replace(converged=near)
            elif climb.converged and (near or ahead is None):
                tolerance = self.tolerance if tolerance > self.tolerance else tolerance / 10.0
            leg = leg if ahead is not None else 2 * leg
            here = climb.parameters if ahead is None else ahead

    def _newton(self, climb: Climb, curvature: Curvature) -> Tables | None:
        """Return the end of a Newton step, or of a part of it, unless the objective is lower there.

        What the step takes beyond 0 or 1 ends there if the objective still rises there, else short of it.
        """
        here = climb.parameters
        far = {name: table + curvature.step[name] for name, table in here.items()}
        edge = {
            name: np.asarray(np.where((table > 0.0) & (table < 1.0), here[name], np.clip(table, NUDGE, 1.0 - NUDGE)))
            for name, table in far.items()
        }
        edge = {name: np.asarray(np.where(self.free[name], table, here[name])) for name, table in edge.items()}
        heads, tosses, _ = self.prior.heads(self.look(edge)[0], self.free)
        rising = {name: heads[name] - edge[name] * tosses[name] for name in edge}
        for length in (1.0, 0.25, 0.0):
            ahead = {}
            for name, table in here.items():
                part = inside(table + length * curvature.step[name], table)
                part = np.where((far[name] <= 0.0) & (rising[name] <= 0.0), 0.0, part)
                part = np.where((far[name] >= 1.0) & (rising[name] >= 0.0), 1.0, part)
                ahead[name] = np.asarray(np.where(self.free[name], part, table))
            if largest_change(here, ahead) > 0.0 and no_lower(self.look(ahead)[1], climb.trace[-1]):
                return ahead
        return None

    def _released(self, climb: Climb) -> Tables | None:
        """Return the parameters with estimates of 0 or 1 moved inside where this raises the objective, if any are."""
        near = {
            name: np.asarray(np.where(self.free[name], np.clip(table, NUDGE, 1.0 - NUDGE), table))
            for name, table in climb.parameters.items()
        }
        heads, tosses, _ = self.prior.heads(self.look(near)[0], self.free)
        inwards = {}
        for name, table in climb.parameters.items():
            share = heads[name] - near[name] * tosses[name]  # the derivative of the objective has its sign
            grows = (table == 0.0) & (share > GAIN * near[name] * tosses[name])
            falls = (table == 1.0) & (-share > GAIN * (1.0 - near[name]) * tosses[name])
            inwards[name] = self.free[name] & (grows | falls)
        if not any(entries.any() for entries in inwards.values()):
            return None
        for nudge in (1e-3, 1e-5, 1e-7):
            moved = {
                name: np.asarray(np.where(inwards[name], np.clip(table, nudge, 1.0 - nudge), table))
                for name, table in climb.parameters.items()
            }
            if self.look(moved)[1] > climb.trace[-1]:
                return moved
        return None

    def curvature(self, climb: Climb) -> Curvature:
        """Return the standard errors of what was estimated and lies inside (0, 1)."""
        inside = {
            name: self.free[name] & (table > 0.0) & (table < 1.0) & self.tossed(climb)[name]
            for name, table in climb.parameters.items()
        }
        expected = self.prior.heads(climb.expected, self.free)
        return self.problem.curvature(climb.parameters, expected, inside, self.prior.penalty(climb.parameters))

    def tossed(self, climb: Climb) -> dict[str, NDArray[np.bool_]]:
        """Return which coins were tossed, by sessions or in the prior."""
        return {name: tosses > 0.0 for name, tosses in self.prior.heads(climb.expected, self.free).tosses.items()}

    def _climb(self, start: Tables, report: Report, tolerance: float, most: int) -> Climb:
        here, longest = start, 1.0
        trace: list[float] = []
        fallback: Tables | None = None  # where plain EM would go on, if ``here`` was extrapolated
        while True:
            expected, objective = self.look(here)
            if fallback is not None and not objective >= trace[-1]:
                here, longest = fallback, max(1.0, longest / GROWTH)
                expected, objective = self.look(here)
            fallback = None
            path = [here]
            for last in (False, True):
                trace.append(objective)
                path.append(self.improve(path[-1], expected))
                change = largest_change(path[-2], path[-1])
                gained = objective - trace[-2] if len(trace) > 1 else np.inf
                report(len(trace), objective, change)
                done = change <= tolerance and gained <= tolerance * (1.0 + abs(objective))
                if done or len(trace) >= most:
                    return self._ended(path[-2], path[-1], trace, done)
                if not last:
                    expected, objective = self.look(path[-1])
            here, length = extrapolated(path, longest)
            fallback = path[-1] if length > 1.0 else None
            longest = longest * GROWTH if length == longest else longest

    def _ended(self, before: Tables, after: Tables, trace: list[float], done: bool) -> Climb:
        """Take the last step's outcome, moved to 0 or 1 where it is on its way there, if that is no lower."""
        expected, objective = self.look(after)
        snapped = {
            name: np.where(
                self.free[name] & (table < 1e-4) & (table < before[name]),
                0.0,
                np.where(self.free[name] & (table > 1.0 - 1e-4) & (table > before[name]), 1.0, table),
            )
            for name, table in after.items()
        }
        if any((snapped[name] != after[name]).any() for name in after):
            there, height = self.look(snapped)
            if no_lower(height, objective):
                after, expected, objective = snapped, there, height
        trace.append(objective)
        return Climb(after, expected, trace, done)


def extrapolated(path: list[Tables], longest: float) -> tuple[Tables, float]:
    """Return the point ahead of three points of EM, and how far ahead it is: 1 is the last of them."""
    first = {name: path[1][name] - path[0][name] for name in path[0]}
    second = {name: path[2][name] - path[1][name] - first[name] for name in path[0]}
    bend = sum(float((table**2).sum()) for table in second.values())
    if bend == 0.0:
        return path[2], 1.0
    length = min(max(1.0, float(np.sqrt(sum(float((table**2).sum()) for table in first.values()) / bend))), longest)
    made = {}
    for name, end in path[2].items():
        ahead = path[0][name] + 2.0 * length * first[name] + length**2 * second[name]
        made[name] = inside(ahead, end)
    return made, length


def inside(ahead: NDArray[np.float64], end: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``ahead``, held back from 0 and 1 by a share of the way there from ``end``."""
    return np.asarray(np.clip(ahead, EDGE * end, 1.0 - EDGE * (1.0 - end)))


def no_lower(height: float, before: float) -> bool:
    """Return whether an objective is at least as high as before, but for rounding."""
    return height >= before - ROUNDING * abs(before)


def largest_change(before: Tables, after: Tables) -> float:
    """Return the largest change of any parameter."""
    return max(float(np.abs(after[name] - table).max(initial=0.0)) for name, table in before.items())

"""Where readers stop: what the parameters of DCM, DBN and CCM make of going on after a click and without one.

A model has ``onward``, the probability to go on after a click (by item or by position), and ``skip``, that without a
click. Given how many users went on and how many left, each of the model's own coins was tossed in known shares.
"""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rankgym.logs.fitting.coins import Tables, ratio

Array = NDArray[np.float64]


class Stopped(NamedTuple):
    """Expected numbers of users, all sessions together. A context is an item (DBN, CCM) or a position (DCM)."""

    clicked: Array  # (items,)
    examined: Array  # (items,) with a click or without
    stayed: Array  # (contexts,) clicks behind which the user went on
    left: Array  # (contexts,) clicks behind which the user did not, though there was something below
    passed: float  # items without a click behind which the user went on
    quit: float  # and behind which not


class Slopes(NamedTuple):
    """First and second derivatives of onward and skip by the model's own parameters, the shared ones last."""

    onward_by_attraction: Array  # (contexts,); 0 where contexts are positions
    onward_by_own: Array  # (contexts, 0 or 1) by the item's second parameter, satisfaction
    onward_by_shared: Array  # (contexts, shared)
    skip_by_shared: Array  # (shared,)
    mixed_attraction: Array  # (contexts, shared) second derivatives of onward, by attraction
    mixed_own: Array  # (contexts, shared) second derivatives of onward, by the item's second parameter


class Stops(Protocol):
    """A model's rules of going on."""

    by_item: bool
    own: tuple[str, ...]  # parameters of items beside attraction
    shared: tuple[str, ...]  # parameters of all queries

    def shapes(self, items: int, positions: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the parameters."""
        ...

    def onward(self, parameters: Tables) -> tuple[Array, float]:
        """Return onward (contexts,) and skip."""
        ...

    def tosses(self, parameters: Tables, stopped: Stopped) -> tuple[Tables, Tables]:
        """Return expected heads and tosses of the model's coins."""
        ...

    def slopes(self, parameters: Tables) -> Slopes:
        """Return the derivatives of onward and skip."""
        ...

    def start(self, last: Array, clicks: Array, generator: np.random.Generator | None) -> Tables:
        """Return the parameters but for attraction, from last clicks and clicks (contexts,), all above list ends."""
        ...


class DependentClicks:
    """DCM: after a click at position k, the user leaves with probability termination(k). Without a click never."""

    by_item: bool = False
    own: tuple[str, ...] = ()
    shared: tuple[str, ...] = ("termination",)

    def shapes(self, items: int, positions: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the parameters."""
        return {"attraction": (items,), "termination": (positions,)}

    def onward(self, parameters: Tables) -> tuple[Array, float]:
        """Return onward (positions,) and skip."""
        return 1.0 - parameters["termination"], 1.0

    def tosses(self, parameters: Tables, stopped: Stopped) -> tuple[Tables, Tables]:
        """Return expected heads and tosses of the model's coins."""
        heads = {"attraction": stopped.clicked, "termination": stopped.left}
        return heads, {"attraction": stopped.examined, "termination": stopped.stayed + stopped.left}

    def slopes(self, parameters: Tables) -> Slopes:
        """Return the derivatives of onward and skip."""
        positions = len(parameters["termination"])
        none = np.zeros((positions, positions))
        return Slopes(
            np.zeros(positions), np.zeros((positions, 0)), -np.eye(positions), np.zeros(positions), none, none
        )

    def start(self, last: Array, clicks: Array, generator: np.random.Generator | None) -> Tables:
        """Start from the estimate of Guo et al.: the share of last clicks among the clicks at each position."""
        if generator is not None:
            return {"termination": generator.uniform(0.1, 0.9, len(last))}
        return {"termination": np.where(clicks > 0, np.clip(ratio(last, clicks, 1.0), 0.05, 0.95), 1.0)}


class DynamicBayes:
    """DBN: a click satisfies, and the user leaves, by the item's coin; else the user gives up by one coin of all."""

    by_item: bool = True
    own: tuple[str, ...] = ("satisfaction",)
    shared: tuple[str, ...] = ("abandonment",)

    def shapes(self, items: int, positions: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the parameters."""
        return {"attraction": (items,), "satisfaction": (items,), "abandonment": ()}

    def onward(self, parameters: Tables) -> tuple[Array, float]:
        """Return onward (items,) and skip."""
        stays = 1.0 - float(parameters["abandonment"])
        return (1.0 - parameters["satisfaction"]) * stays, stays

    def tosses(self, parameters: Tables, stopped: Stopped) -> tuple[Tables, Tables]:
        """Return expected heads and tosses: who left after a click was satisfied, or gave up."""
        satisfaction, gives_up = parameters["satisfaction"], float(parameters["abandonment"])
        satisfied = stopped.left * ratio(satisfaction, satisfaction + (1.0 - satisfaction) * gives_up, 0.0)
        unsatisfied = float((stopped.left - satisfied).sum())
        quits = stopped.quit + unsatisfied
        heads = {"attraction": stopped.clicked, "satisfaction": satisfied, "abandonment": np.array(quits)}
        tosses = {
            "attraction": stopped.examined,
            "satisfaction": stopped.stayed + stopped.left,
            "abandonment": np.array(quits + stopped.passed + float(stopped.stayed.sum())),
        }
        return heads, tosses

    def slopes(self, parameters: Tables) -> Slopes:
        """Return the derivatives of onward and skip."""
        satisfaction, stays = parameters["satisfaction"], 1.0 - float(parameters["abandonment"])
        items = len(satisfaction)
        return Slopes(
            np.zeros(items),
            np.full((items, 1), -stays),
            -(1.0 - satisfaction)[:, None],
            np.array([-1.0]),
            np.zeros((items, 1)),
            np.ones((items, 1)),
        )

    def start(self, last: Array, clicks: Array, generator: np.random.Generator | None) -> Tables:
        """Start from the estimate of Chapelle and Zhang: the share of last clicks among an item's clicks."""
        if generator is not None:
            satisfaction, gives_up = generator.uniform(0.05, 0.95, len(last)), generator.uniform(0.02, 0.5)
            return {"satisfaction": satisfaction, "abandonment": np.array(gives_up)}
        satisfaction = np.clip(ratio(last, clicks, 0.5), 0.05, 0.95)
        return {"satisfaction": satisfaction, "abandonment": np.array(0.05)}


class ClickChain:
    """CCM: a clicked item is relevant with its attraction, and the user goes on by one of three coins of all."""

    by_item: bool = True
    own: tuple[str, ...] = ()
    shared: tuple[str, ...] = ("continue_noclick", "continue_click_irrelevant", "continue_click_relevant")

    def shapes(self, items: int, positions: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the parameters."""
        return {"attraction": (items,), **dict.fromkeys(self.shared, ())}

    def onward(self, parameters: Tables) -> tuple[Array, float]:
        """Return onward (items,) and skip."""
        alpha, (noclick, irrelevant, relevant) = parameters["attraction"], self._numbers(parameters)
        return (1.0 - alpha) * irrelevant + alpha * relevant, noclick

    def _numbers(self, parameters: Tables) -> tuple[float, float, float]:
        noclick, irrelevant, relevant = (float(parameters[name]) for name in self.shared)
        return noclick, irrelevant, relevant

    def tosses(self, parameters: Tables, stopped: Stopped) -> tuple[Tables, Tables]:
        """Return expected heads and tosses. Attraction has two coins: of a click, and of a clicked item's relevance."""
        alpha, (_, irrelevant, relevant) = parameters["attraction"], self._numbers(parameters)
        onward = (1.0 - alpha) * irrelevant + alpha * relevant
        found_on = stopped.stayed * ratio(alpha * relevant, onward, 0.0)
        found_off = stopped.left * ratio(alpha * (1.0 - relevant), 1.0 - onward, 0.0)
        missed_on, missed_off = stopped.stayed - found_on, stopped.left - found_off
        numbers = {
            "continue_noclick": (stopped.passed, stopped.quit),
            "continue_click_irrelevant": (missed_on.sum(), missed_off.sum()),
            "continue_click_relevant": (found_on.sum(), found_off.sum()),
        }
        heads = {name: np.array(float(on)) for name, (on, _) in numbers.items()}
        tosses = {name: np.array(float(on + off)) for name, (on, off) in numbers.items()}
        heads["attraction"] = stopped.clicked + found_on + found_off
        tosses["attraction"] = stopped.examined + stopped.stayed + stopped.left
        return heads, tosses

    def slopes(self, parameters: Tables) -> Slopes:
        """Return the derivatives of onward and skip."""
        alpha, (_, irrelevant, relevant) = parameters["attraction"], self._numbers(parameters)
        one, none = np.ones_like(alpha), np.zeros_like(alpha)
        return Slopes(
            np.full_like(alpha, relevant - irrelevant),
            np.zeros((len(alpha), 0)),
            np.stack([none, 1.0 - alpha, alpha], axis=1),
            np.array([1.0, 0.0, 0.0]),
            np.stack([none, -one, one], axis=1),
            np.zeros((len(alpha), 3)),
        )

    def start(self, last: Array, clicks: Array, generator: np.random.Generator | None) -> Tables:
        """Start from users who go on more often after an irrelevant click than after a relevant one."""
        numbers = (0.9, 0.8, 0.3) if generator is None else tuple(generator.uniform(0.05, 0.95, 3))
        return {name: np.array(number) for name, number in zip(self.shared, numbers, strict=True)}


STOPS: dict[str, Stops] = {"DCM": DependentClicks(), "DBN": DynamicBayes(), "CCM": ClickChain()}

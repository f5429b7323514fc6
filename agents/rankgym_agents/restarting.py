"""Any agent, made anew every so many rounds: the plainest remedy against users who change, and a yardstick for others.

What an agent has learned misleads it after a breakpoint. One that starts afresh at fixed rounds pays for learning all
over again, needed or not, but is never misled for longer than a stretch; Rexp3 does so with Exp3 (Besbes, Gur and
Zeevi, "Stochastic multi-armed-bandit problem with non-stationary rewards", NIPS 2014). Where the restarts meet the
breakpoints, it shows what an agent would reach that knew when users change, and not how.
"""

from __future__ import annotations

import difflib
import inspect
import pkgutil
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankgym.agent import Agent, restored, seed_argument, whole_number

__all__ = ["Restarting"]

SHAPE = tuple(inspect.signature(Agent).parameters)  # the keywords that every agent may be told
INNER = "inner."  # before the names of the inner agent's arrays in a snapshot
STRIDE = 2**32  # between the seeds of a row's stretches: rows of a batch lie closer to each other


class Restarting(Agent):
    """Replaces its agent by a fresh one every ``every`` rounds; all further knobs are that agent's.

    Where ``every`` is the length of the epochs, it restarts just at the breakpoints, as if it had been told them. Other
    lengths show what not knowing them costs.

    Stretch r = 0, 1, ... begins with round r ``every``, counted from 0; its agent knows nothing of those before. It is
    told the same sizes and base list, and the horizon ``every``, or the whole one where that is shorter; a last stretch
    that is cut short is no exception. In stretch r a row with the seed s has the seed s + r 2^32: the first stretch is
    that of the plain agent with the horizon ``every``, and no row depends on its batch.

    Args:
        agent: a name of ``AGENTS``; a class or a function that is called with the keywords of ``Agent``, or as many of
            them as it takes; or ``"package.module:Class"``. Not ``Restarting`` itself: its knobs would have the same
            names.
        every: rounds of a stretch, at least 1.
        num_items, num_positions, num_envs, horizon, seed, initial_list: as in ``Agent``.
        **knobs: of the agent that is made.

    Attributes:
        inner: the agent of the present stretch.

    Raises:
        ValueError: ``agent`` is unknown, or has no such knob, or an argument is out of range.
    """

    rankers: ClassVar[Mapping[str, type[Agent]]] = {}  # the names that ``agent`` may be; the package fills it in

    def __init__(
        self,
        *,
        agent: str | Callable[..., Any] = "cascade-kl-ucb",
        every: int = 10_000,
        num_items: int,
        num_positions: int,
        num_envs: int = 1,
        horizon: int | None = None,
        seed: int | Sequence[int] | None = None,
        initial_list: ArrayLike | None = None,
        **knobs: Any,
    ) -> None:
        super().__init__(
            num_items=num_items,
            num_positions=num_positions,
            num_envs=num_envs,
            horizon=horizon,
            seed=secrets.randbits(128) if seed is None else seed,  # neighbours, as a plain class may want a number
            initial_list=initial_list,
        )
        self.every = whole_number("every", every, 1)
        self.make, self.knobs = _found(agent), knobs
        name = agent if isinstance(agent, str) else getattr(agent, "__name__", repr(agent))
        self.told = _told(self.make, knobs, name)
        self.round = self.stretch = 0
        self.inner = self._made(0)
        if not (hasattr(self.inner, "act") and hasattr(self.inner, "update")):
            made = type(self.inner).__name__
            raise ValueError(f"agent = {agent!r} makes a {made}; allowed: what makes an object with act and update")

    def act(self, observation: Any = None) -> NDArray[np.int64]:
        inner = self._present()
        if self.round > 0 and self.round % self.every == 0 and isinstance(observation, np.ndarray):
            observation = np.zeros_like(observation)  # as after a reset: the last clicks are from the stretch before
        return inner.act(observation)

    def update(self, displayed: NDArray[np.int64], clicks: NDArray[Any]) -> None:
        self._present().update(displayed, clicks)
        self.round += 1

    def settled(self) -> NDArray[np.bool_]:
        """What the inner agent says in the stretch in which the horizon is; before it a restart is to come."""
        inner, end = getattr(self.inner, "settled", None), (self.stretch + 1) * self.every
        if inner is None or self.horizon is None or not self.round < self.horizon <= end:
            return super().settled()
        return np.asarray(inner())

    def snapshot(self) -> dict[str, NDArray[Any]] | None:
        """Its own counters, seeds and base lists, and the inner agent's snapshot; None where that has none."""
        inner = getattr(self.inner, "snapshot", None)
        parts = None if inner is None else inner()
        if parts is None:
            return None
        return self._own() | {INNER + name: part for name, part in parts.items()}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        if self.snapshot() is None:
            super().restore(snapshot)
        mine = snapshot
        if isinstance(snapshot, Mapping):
            mine = {name: part for name, part in snapshot.items() if not str(name).startswith(INNER)}
        any_seeds = np.zeros((self.num_envs, 1), np.uint64)
        own = restored(mine, {**self._own(), "seeds": any_seeds}, {"seeds": 1})
        round, stretch = int(own["round"][0]), int(own["stretch"][0])
        rows_agree = (own["round"] == round).all() and (own["stretch"] == stretch).all()
        if not rows_agree or round < 0 or stretch not in (round // self.every, max(round - 1, 0) // self.every):
            raise ValueError(
                f"snapshot has rounds {own['round'].tolist()} in stretches {own['stretch'].tolist()}; allowed: the "
                f"same for all rows, in stretches of {self.every}"
            )
        seeds = [sum(int(word) << 64 * place for place, word in enumerate(words)) for words in own["seeds"]]
        inner = self._made(stretch, seeds, own["initial_list"])
        try:
            inner.restore({name.removeprefix(INNER): part for name, part in snapshot.items() if name not in mine})
        except ValueError as error:
            raise ValueError(f"of the inner agent: {error}") from error
        self.round, self.stretch, self.inner = round, stretch, inner
        self.seeds, self.initial_list = seeds, own["initial_list"]

    def _own(self) -> dict[str, NDArray[Any]]:
        """What a snapshot has of this class: seeds are in words of 64 bits, the lowest first."""
        words = max(1, max(-(-seed.bit_length() // 64) for seed in self.seeds))
        return {
            "round": np.full(self.num_envs, self.round),
            "stretch": np.full(self.num_envs, self.stretch),
            "seeds": np.array(
                [[seed >> 64 * place & 2**64 - 1 for place in range(words)] for seed in self.seeds], np.uint64
            ),
            "initial_list": self.initial_list.copy(),
        }

    def _present(self) -> Any:
        """The agent of the coming round's stretch."""
        stretch = self.round // self.every
        if stretch != self.stretch:
            self.inner, self.stretch = self._made(stretch), stretch
        return self.inner

    def _made(
        self, stretch: int, seeds: Sequence[int] | None = None, initial_list: NDArray[np.int64] | None = None
    ) -> Any:
        """A fresh agent for stretch number ``stretch``, of other seeds and base lists where they are given."""
        seeds = [seed + stretch * STRIDE for seed in (self.seeds if seeds is None else seeds)]
        shape = {
            "num_items": self.num_items,
            "num_positions": self.num_positions,
            "num_envs": self.num_envs,
            "horizon": self.every if self.horizon is None else min(self.every, self.horizon),
            "seed": seed_argument(seeds),
            "initial_list": (self.initial_list if initial_list is None else initial_list).copy(),
        }
        return self.make(**{name: shape[name] for name in self.told}, **self.knobs)


def _found(agent: Any) -> Callable[..., Any]:
    """The class or function that ``agent`` names."""
    rankers = Restarting.rankers
    make = rankers.get(agent, agent) if isinstance(agent, str) else agent
    if isinstance(make, str):
        if ":" not in make:
            names = [name for name in rankers if name != "restarting"]
            allowed = f"{', '.join(names)}, package.module:Class, or a class"
            raise ValueError(f"agent = {agent!r} is unknown{_near(make, names)} allowed: {allowed}")
        module = make.partition(":")[0]
        try:
            make = pkgutil.resolve_name(make)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module}.".startswith(f"{error.name}."):
                raise  # the module is there; what it imports is not
            raise ValueError(f"agent = {agent!r}: there is no module {error.name!r}") from None
        except (AttributeError, ValueError) as error:
            raise ValueError(f"agent = {agent!r}: {error}; allowed: package.module:Class") from error
    if not callable(make):
        raise ValueError(f"agent = {agent!r} makes no agents; allowed: a name, a class, or a function that makes one")
    if isinstance(make, type) and issubclass(make, Restarting):
        raise ValueError(f"agent = {agent!r} restarts agents itself; allowed: any other")
    return make


def _told(make: Callable[..., Any], knobs: dict[str, Any], name: str) -> list[str]:
    """Those of ``SHAPE`` that ``make`` takes; a ValueError where one of ``knobs`` is none of its own."""
    taken, takes_all = _keywords(make)
    for knob, value in knobs.items():
        if knob not in taken and not takes_all:
            its = [key for key in taken if key not in SHAPE]
            hint = _near(knob, ["agent", "every", *its])
            allowed = f"agent, every, and its own: {', '.join(its) or 'none'}"
            raise ValueError(f"{knob} = {value!r} is no knob of {name}{hint} allowed: {allowed}")
    return [key for key in SHAPE if takes_all or key in taken]


def _near(word: str, words: Iterable[str]) -> str:
    """'; did you mean ...?' with the one of ``words`` that looks most like ``word``, or ';'."""
    close = difflib.get_close_matches(word, list(words), n=1)
    return f"; did you mean {close[0]!r}?" if close else ";"


def _keywords(make: Callable[..., Any]) -> tuple[list[str], bool]:
    """The keywords that ``make`` takes, and whether it takes any other.

    A class whose ``__init__`` takes any keyword hands them on to its base's, as agents do with ``**shape``.
    """
    steps: list[Any] = [make]
    if isinstance(make, type):
        steps = [vars(cls)["__init__"] for cls in make.__mro__ if cls is not object and "__init__" in vars(cls)]
    taken: list[str] = []
    for step in steps:
        kinds = {name: parameter.kind for name, parameter in inspect.signature(step).parameters.items()}
        named = [name for name, kind in kinds.items() if kind in (kind.POSITIONAL_OR_KEYWORD, kind.KEYWORD_ONLY)]
        taken += [name for name in named if name != "self" and name not in taken]
        if not any(kind is kind.VAR_KEYWORD for kind in kinds.values()):
            return taken, False
    return taken, bool(steps)

"""Any agent, restarted at fixed intervals: the simplest remedy against users who change, and a yardstick for others.

What an agent has learned misleads it after a breakpoint. An agent that restarts at fixed rounds learns everything
again, needed or not, but is misled for one stretch at most; Rexp3 does so with Exp3 (Besbes, Gur and Zeevi, "Stochastic
multi-armed-bandit problem with non-stationary rewards", NIPS 2014). If the restarts are at the breakpoints, it shows
what an agent could reach that knows when users change, but not how.
"""

import inspect
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankgym.agent import (
    NAMED_AGENT,
    Agent,
    Beliefs,
    NameNotFound,
    agent_class,
    count_of,
    find_named,
    near,
    restored,
    seed_argument,
)

SHAPE = tuple(inspect.signature(Agent).parameters)  # the keywords of every agent
INNER = "inner."  # before the names of the inner agent's arrays in a snapshot
STRIDE = 2**32  # between the seeds of a row's stretches: rows of a batch lie closer to each other


class Restarting(Agent):
    """Restarting: any agent, replaced by a fresh one after ``every`` rounds; all other knobs are the inner agent's.

    It is not told when users change. If ``every`` happens to be the length of their epochs, it restarts exactly at the
    breakpoints, as if it knew them. Other lengths show what not knowing them costs.

    Stretch r = 0, 1, ... begins with round r ``every``, counted from 0; its agent knows nothing of earlier stretches.
    It gets the same sizes and base list, and the horizon ``every``, or the whole horizon if that is shorter, also in a
    last stretch that is cut short. In stretch r a row with seed s has the seed s + r 2^32: the first stretch is that of
    the plain agent with the horizon ``every``, and no row depends on its batch.

    Args:
        agent: the name of a ranking agent in ``AGENTS``; a class or function that is called with those keywords of
            ``Agent`` that it takes; or the text ``"package.module:Class"`` or ``"package.module:function"``, where the
            function's return annotation must be a class with act and update. Not ``Restarting`` itself: its knobs
            would have the same names.
        every: rounds of a stretch, at least 1.
        num_items, num_positions, num_envs, horizon, seed, initial_list: as in ``Agent``.
        **knobs: of the inner agent.

    Attributes:
        inner: the agent of the current stretch.

    Raises:
        ValueError: ``agent`` is unknown or does not have such a knob, or an argument is out of range.

    References:
        Besbes, Gur and Zeevi, NIPS 2014, restart Exp3 like this.

    Examples:
        >>> from rankgym_agents import Restarting
        >>> agent = Restarting(agent="thompson-cascade", every=2, num_items=2, num_positions=1, seed=0)
        >>> for _ in range(3):  # the third round begins anew
        ...     agent.update([[0]], [[1]])
        ...     print([round(mean, 2) for mean in agent.beliefs().scores["posterior mean"]])
        [0.67, 0.5]
        [0.75, 0.5]
        [0.67, 0.5]
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
            seed=secrets.randbits(128) if seed is None else seed,  # one number: a plain class may not take a list
            initial_list=initial_list,
        )
        self.every = count_of("every", every, 1)
        self.make, self.knobs = _resolve(agent), knobs
        name = agent if isinstance(agent, str) else getattr(agent, "__name__", repr(agent))
        self.taken = _taken_keywords(self.make, knobs, name)
        self.round = self.stretch = 0
        self.inner = self._make_inner(0)
        if not (hasattr(self.inner, "act") and hasattr(self.inner, "update")):
            made = type(self.inner).__name__
            raise ValueError(f"agent = {agent!r} makes a {made}; allowed: what makes an object with act and update")

    def act(self, observation: Any = None) -> NDArray[np.int64]:
        inner = self._current()
        if self.round > 0 and self.round % self.every == 0 and isinstance(observation, np.ndarray):
            observation = np.zeros_like(observation)  # as after a reset: the last clicks belong to the earlier stretch
        return inner.act(observation)

    def update(self, displayed: NDArray[np.int64], clicks: NDArray[Any]) -> None:
        self._current().update(displayed, clicks)
        self.round += 1

    def settled(self) -> NDArray[np.bool_]:
        """The inner agent's answer in the stretch that holds the horizon; before it another restart follows."""
        inner, end = getattr(self.inner, "settled", None), (self.stretch + 1) * self.every
        if inner is None or self.horizon is None or not self.round < self.horizon <= end:
            return super().settled()
        return np.asarray(inner())

    def beliefs(self, row: int = 0) -> Beliefs | None:
        """The inner agent's beliefs."""
        inner = getattr(self.inner, "beliefs", None)
        return None if inner is None else inner(row)

    def snapshot(self) -> dict[str, NDArray[Any]] | None:
        """Counters, seeds, base lists and the inner agent's snapshot; None if the inner agent has no snapshot."""
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
        inner = self._make_inner(stretch, seeds, own["initial_list"])
        try:
            inner.restore({name.removeprefix(INNER): part for name, part in snapshot.items() if name not in mine})
        except ValueError as error:
            raise ValueError(f"of the inner agent: {error}") from error
        self.round, self.stretch, self.inner = round, stretch, inner
        self.seeds, self.initial_list = seeds, own["initial_list"]

    def _own(self) -> dict[str, NDArray[Any]]:
        """This class's part of a snapshot; seeds are stored as words of 64 bits, the lowest first."""
        words = max(1, max(-(-seed.bit_length() // 64) for seed in self.seeds))
        return {
            "round": np.full(self.num_envs, self.round),
            "stretch": np.full(self.num_envs, self.stretch),
            "seeds": np.array(
                [[seed >> 64 * place & 2**64 - 1 for place in range(words)] for seed in self.seeds], np.uint64
            ),
            "initial_list": self.initial_list.copy(),
        }

    def _current(self) -> Any:
        """The agent of the next round's stretch."""
        stretch = self.round // self.every
        if stretch != self.stretch:
            self.inner, self.stretch = self._make_inner(stretch), stretch
        return self.inner

    def _make_inner(
        self, stretch: int, seeds: Sequence[int] | None = None, initial_list: NDArray[np.int64] | None = None
    ) -> Any:
        """Make a fresh agent for stretch number ``stretch``, with other seeds and base lists if given."""
        seeds = [seed + stretch * STRIDE for seed in (self.seeds if seeds is None else seeds)]
        shape = {
            "num_items": self.num_items,
            "num_positions": self.num_positions,
            "num_envs": self.num_envs,
            "horizon": self.every if self.horizon is None else min(self.every, self.horizon),
            "seed": seed_argument(seeds),
            "initial_list": (self.initial_list if initial_list is None else initial_list).copy(),
        }
        return self.make(**{name: shape[name] for name in self.taken}, **self.knobs)


def _resolve(agent: Any) -> Callable[..., Any]:
    """The class or function that ``agent`` names."""
    rankers = Restarting.rankers
    make = rankers.get(agent, agent) if isinstance(agent, str) else agent
    if isinstance(make, str):
        if ":" not in make:
            names = [name for name in rankers if name != "restarting"]
            allowed = f"{', '.join(names)}, package.module:Class, or a class"
            raise ValueError(f"agent = {agent!r} is unknown{near(make, names) or ';'} allowed: {allowed}")
        try:
            make = find_named(make)
        except NameNotFound as error:
            raise ValueError(f"agent = {agent!r}: {error}; allowed: package.module:Class") from error
        if agent_class(make) is None:
            raise ValueError(f"agent = {agent!r} is not an agent; allowed: {NAMED_AGENT}")
    if not callable(make):
        raise ValueError(
            f"agent = {agent!r} does not make agents; allowed: a name, a class, or a function that makes one"
        )
    if isinstance(make, type) and issubclass(make, Restarting):
        raise ValueError(f"agent = {agent!r} restarts agents itself; allowed: any other")
    return make


def _taken_keywords(make: Callable[..., Any], knobs: dict[str, Any], name: str) -> list[str]:
    """Those keywords of ``SHAPE`` that ``make`` takes; a ValueError if it does not take one of ``knobs``."""
    taken, takes_all = _keywords(make)
    for knob, value in knobs.items():
        if knob not in taken and not takes_all:
            its = [key for key in taken if key not in SHAPE]
            hint = near(knob, ["agent", "every", *SHAPE, *its]) or ";"
            allowed = f"agent, every, and its own: {', '.join(its) or 'none'}"
            raise ValueError(f"{knob} = {value!r} is not a knob of {name}{hint} allowed: {allowed}")
    return [key for key in SHAPE if takes_all or key in taken]


def _keywords(make: Callable[..., Any]) -> tuple[list[str], bool]:
    """The keywords that ``make`` names, and whether it also takes any other.

    An ``__init__`` with ``**keywords`` is assumed to pass them on to its base's, as agents do with ``**shape``.
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

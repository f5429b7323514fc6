"""Play agents side by side on the same users, and keep what there is to see in the rounds that a page shows."""

import contextlib
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from rankgym.agent import Beliefs
from rankgym.arguments import ActionKind, action_kind, count_of, whole_number
from rankgym.conformance.asking import checked_beliefs
from rankgym.envs.sessions import SessionsVectorEnv
from rankgym.experiments.plan.agents import AgentLike, AgentSpec
from rankgym.experiments.plan.environments import ResolvedEnvironment, resolve
from rankgym.experiments.watch.events import STRUCTURE, Selection, changes
from rankgym.experiments.watch.notes import Actions, explores_until, notes
from rankgym.play.game import Game
from rankgym.progress import late_bar, rate_bar

ALL_SHOWN = 500  # rounds of an episode that is shown whole
FIRST_SHOWN = 100  # of a longer one, all of these first rounds
PER_DECADE, EVENLY = 50, 100  # and of the rest log-spaced and evenly spaced ones
AFTER_CHANGES = sorted({round(10 ** (power / 10)) for power in range(41)})  # shown rounds after users have changed,
FOLLOWED = 12  # for so many first times
CHANGES = 120  # listed of each kind in every power of ten, all agents together
REPORTED = 256  # rounds between reports of progress

Report = Callable[[int], None]


class Change(NamedTuple):
    """An agent's beliefs have changed their structure."""

    round: int  # from 1: in which the agent learned it
    kind: str  # of ``events``
    text: str


class Watched(NamedTuple):
    """What there is to see of an agent."""

    label: str
    scenes: list[Any]  # of each shown round: a scene of ``rankgym.scenes``
    beliefs: list[Beliefs | None]  # after each shown round
    changes: list[Change]  # the listed ones; their rounds are shown
    left_out: dict[str, int]  # how many more there were, by their kind


class Episode(NamedTuple):
    """Agents that played the same users: the argument of ``page.write_page``.

    See ``watch``, which returns it.
    """

    environment: ResolvedEnvironment
    arguments: dict[str, Any]  # of the environment, as given
    problem: int | None  # query or problem; None: drawn in each session
    seed: int
    thing: str  # that beliefs are about: "item" or "arm"
    shown: list[int]  # rounds, from 1
    agents: list[Watched]
    epochs: list[int]  # rounds, from 1, that were the first ones of new users
    notes: list[str]  # about the whole episode: agents that played alike, restarts that are not at the breakpoints


def watch(
    name: str,
    agents: Sequence[AgentLike],
    *,
    rounds: int = 1_000,
    seed: int = 0,
    query: Any = "all",
    progress: bool | Report = True,
    **arguments: Any,
) -> Episode:
    """Play each agent for ``rounds`` rounds in an environment of one row, with the same seed.

    Shown are all rounds up to 500. Of a longer episode, shown are the first 100 rounds, 50 log-spaced rounds in every
    power of ten, 100 evenly spaced ones, the last one, and every round in which an agent's beliefs change their
    structure (``Beliefs.structure``) or users change; and log-spaced ones after users have changed, the first 12 times.
    In each power of ten up to 120 changes of a kind are listed for all agents together; the rest are counted.

    Args:
        name: the id of an environment, with or without ``rankgym/``.
        agents: see ``rankgym.experiments.compare``; at least one, each once.
        rounds: user sessions, or duels, at least 1.
        seed: of the users and of each agent: the episode is that of row 0 of ``compare`` with this seed.
        query: the query or problem, or ``"all"``, ``"train"``, ``"test"`` for the first one of them. Where each session
            draws a query (LETOR): those to draw from, as in ``compare``.
        progress: as in ``rankgym.simulate``.
        **arguments: of the environment.

    Raises:
        ValueError: an argument does not fit, and nothing was played.
        AgentFailed: an agent of the user's own failed.

    Examples:
        >>> from rankgym.experiments.watch import watch
        >>> episode = watch("CM-Yandex-v0", ["static"], rounds=5, seed=0, query=0, num_positions=3, progress=False)
        >>> type(episode).__name__
        'Episode'
    """
    rounds = count_of("rounds", rounds, 1)
    seed = whole_number("seed", seed, 0)
    found = resolve(name, agents, rounds, query, arguments)
    if found.choice is not None and not isinstance(query, str) and len(found.queries) > 1:
        raise ValueError(f"{found.choice} = {found.queries} are several; allowed: one, as all agents play the same one")
    with contextlib.ExitStack() as stack:
        players = []
        for spec in found.agents:
            env = stack.enter_context(contextlib.closing(_environment(found)))
            players.append(Player(spec, env, found, seed, max(5, CHANGES // len(found.agents))))
        problem = None if found.choice is None else found.queries[0]
        epochs: list[int] = []
        always = set(shown_rounds(rounds))
        episode = Episode(found, arguments, problem, seed, players[0].thing, [], [], epochs, [])
        with late_bar(progress, rounds * len(players), "watch", lambda: rate_bar("rounds")) as report:
            for number in range(1, rounds + 1):
                news = [player.play(number) for player in players]
                if players[0].new_users:
                    epochs.append(number)
                    always.update(number + later for later in AFTER_CHANGES if len(epochs) <= FOLLOWED)
                if number in always or any(news) or (players[0].new_users and len(epochs) <= CHANGES):
                    episode.shown.append(number)
                    for player in players:
                        player.keep()
                if number % REPORTED == 0 or number == rounds:
                    report(len(players) * (number % REPORTED or REPORTED))
        said = notes(
            {player.spec.label: player.actions.digest for player in players},
            {player.spec.label: player.agent for player in players},
            epochs,
            rounds,
            "pairs" if players[0].thing == "arm" else "lists",
        )
    return episode._replace(agents=[player.watched for player in players], notes=said)


def shown_rounds(rounds: int) -> list[int]:
    """Return the rounds of an episode, from 1, that are shown whatever happens in them."""
    if rounds <= ALL_SHOWN:
        return list(range(1, rounds + 1))
    decades = math.log10(rounds / FIRST_SHOWN)
    spaced = FIRST_SHOWN * 10.0 ** (np.arange(1, math.ceil(PER_DECADE * decades)) / PER_DECADE)
    evenly = np.linspace(0, rounds, EVENLY + 1)[1:]
    return sorted({*range(1, FIRST_SHOWN + 1), *map(round, spaced.tolist()), *map(round, evenly.tolist())})


def _environment(found: ResolvedEnvironment) -> SessionsVectorEnv:
    """Make the environment with one row that keeps what there is to see."""
    kwargs: dict[str, Any] = {} if found.choice is None else {found.choice: found.queries[:1]}
    kwargs |= {**found.env_kwargs, "render_mode": "ansi", "autoreset_mode": "NextStep"}
    try:
        env = gym.make_vec(found.env_id, num_envs=1, **kwargs)
    except TypeError as error:
        raise ValueError(f"{found.env_id} has nothing to watch ({error}); allowed: rankgym's environments") from None
    if not isinstance(env, SessionsVectorEnv):
        env.close()
        raise ValueError(f"{found.env_id} has nothing to watch; allowed: an environment of rankgym's own")
    return env


class Player:
    """An agent that plays round by round.

    Attributes:
        watched: what there is to see of the rounds so far.
        new_users: whether the last round was the first one of an epoch other than the first.
    """

    def __init__(
        self, spec: AgentSpec, env: SessionsVectorEnv, found: ResolvedEnvironment, seed: int, limit: int
    ) -> None:
        self.spec, self.env = spec, env
        self.agent = spec.make(env, found.rounds, seed)
        self.thing = "arm" if action_kind(env) is ActionKind.DUEL_OF_ARMS else "item"
        self.actions = Actions(env)
        self.game = Game(self.agent, self.actions, found.rounds, threads=0)
        self.game.reset(seed)
        self.selection = Selection(limit)
        self.watched = Watched(spec.label, [], [], [], self.selection.left_out)
        self.new_users, self._epoch = False, 0
        self._beliefs = self.beliefs()

    def play(self, number: int) -> bool:
        """Play the round with this number; return whether a listed change happened in it."""
        try:
            self.game.play(number, lambda played: None)
        except Exception as error:
            raise self.spec.failure(error) from error
        schedule = getattr(self.env, "schedule", None)
        epoch = 0 if schedule is None else int(schedule.last_epoch[0])
        self.new_users, self._epoch = epoch != self._epoch, epoch
        before, self._beliefs = self._beliefs, self.beliefs()
        ended = " (exploration ends at the horizon)" if explores_until(self.agent, number) else ""
        news = [
            Change(number, kind, text + ended * (kind == STRUCTURE))
            for kind, text in changes(before, self._beliefs, self.thing)
            if self.selection.take(kind, number)
        ]
        self.watched.changes.extend(news)
        return bool(news)

    def keep(self) -> None:
        """Keep what there is to see of the last round."""
        self.watched.scenes.append(self.env.scene(0))
        self.watched.beliefs.append(self._beliefs)

    def beliefs(self) -> Beliefs | None:
        """What the agent believes now, checked; None if it has no method for that."""
        method = getattr(self.agent, "beliefs", None)
        if not callable(method):
            return None
        try:
            return checked_beliefs(method(0), self._number())
        except Exception as error:
            where = getattr(method, "__code__", None)  # a wrong result, or wrong parameters, have no line of their own
            place = f"{where.co_filename}:{where.co_firstlineno}" if where else ""
            during = f"{type(self.agent).__name__}.beliefs"
            raise self.spec.failure(error, during=during, place=place) from error

    def _number(self) -> int:
        """How many items or arms there are."""
        return int(getattr(self.env, "num_arms" if self.thing == "arm" else "num_items"))

"""``check_agent``: whether an agent keeps the contract that ``simulate`` relies on."""

import inspect
from collections.abc import Callable
from typing import Any, Literal

from rankgym.agent import Agent, DuelingAgent, serves_one_user
from rankgym.arguments import count_of, named_keywords, whole_number
from rankgym.conformance.rulebook import ConformanceError, Rulebook
from rankgym.conformance.trials import DuelingTrial, RankingTrial, Trial

KEYWORDS = {
    "ranking": ("num_items", "num_positions", "num_envs", "horizon", "seed", "initial_list"),
    "dueling": ("num_arms", "num_envs", "horizon", "seed"),
}

RULES = {
    "parts": "the agent has act and update, and a subclass of Agent or DuelingAgent calls super().__init__",
    "sizes": "more positions than items, or less than one arm, raise a ValueError; other sizes work",
    "actions": "act returns distinct items in range for each row, or arms in range; candidate is an arm, too",
    "arguments": "act, update and the constructor leave their arguments unchanged; reading candidate changes nothing",
    "fresh results": "the agent neither changes the arrays that it returned nor depends on what becomes of them",
    "seed": "the same seed and the same clicks or winners give the same lists or duels",
    "row independence": "row b of a batch with seed s does what the agent alone with seed s + b does",
    "copies": "pickled or deep-copied half-way, the agent continues in the same way, and its copies leave it alone",
    "bad duels": "update of a DuelingAgent refuses wrong arms and winners with a ValueError, and nothing has happened",
    "settled": "settled returns (num_envs,) bools and changes nothing; a settled row shows the same for ever",
    "snapshot": "an agent restored from a snapshot, of all rows or of some, continues as the other does",
    "beliefs": "beliefs returns Beliefs about the items or arms, or None, the same if asked twice, and changes nothing",
}
"""Name and statement of every rule of ``check_agent``."""


ADVICE = {
    "sizes": "call super().__init__ of rankgym.Agent, which refuses wrong sizes, or compare them in __init__",
    "actions": "return a list, or a duel, for each of the num_envs rows; items, arms and rows are numbered from 0",
    "arguments": "change copies only: clicks = np.array(clicks)",
    "fresh results": "return a copy: return self.lists.copy()",
    "seed": "draw from generators made of the rows' seeds (self.seeds), never from random or np.random directly",
    "row independence": "give each row counts of its own and a generator of its own: "
    "self.generators = [np.random.default_rng(s) for s in self.seeds]",
    "copies": "keep lambdas, open files and iterators out of the attributes, and memory out of global variables",
    "bad duels": "begin update with: left, right, left_won = self.checked_duel(duel, won)",
    "settled": "return True only for rows that never change again; without a proof, leave the method out",
    "snapshot": "copy every array that decides what comes, with its axis of rows; or leave the method out",
    "beliefs": "only read in beliefs: compute from copies, draw no random numbers, and keep nothing; name items in "
    "0 .. num_items - 1, each once, and give each score a number per item",
}
"""What to do about a broken rule."""


class AgentError(ConformanceError):
    """An agent breaks rules of ``check_agent``; the message says for each how, and what to do.

    Examples:
        >>> from rankgym.conformance import AgentError
        >>> AgentError.advice["seed"]  # what the message says to do
        "draw from generators made of the rows' seeds (self.seeds), never from random or np.random directly"
    """

    advice = ADVICE


@named_keywords
def check_agent(
    factory: Callable[..., Any],
    *,
    kind: Literal["ranking", "dueling"] | None = None,
    num_items: int = 6,
    num_positions: int = 3,
    num_arms: int = 5,
    rounds: int = 200,
    seed: int = 0,
) -> None:
    """Check whether an agent keeps the contract that ``simulate`` relies on, the rules of ``RULES``.

    A ranking agent is checked with more items than positions, with as many, and with one of each; a dueling agent with
    ``num_arms`` arms, with two, and with one. Details of some rules:

    * parts: if one is missing, no other rule is tried.
    * sizes: more items than positions may be refused, too, by algorithms that rank all items, but then always.
    * bad duels: agents of other classes than ``DuelingAgent`` need not refuse.
    * settled, snapshot, beliefs: for agents that have these methods. ``snapshot`` returns a dict of arrays with a
      leading axis of rows, or None. A new agent, made with the same arguments and, for some of the rows, with a list of
      their seeds, takes these rows of the arrays by ``restore``. ``beliefs`` changes no attribute, and an agent that is
      asked in every round plays as one that is not; it may keep what it has computed in a new attribute.

    Args:
        factory: an ``Agent`` or ``DuelingAgent`` class; or anything that is called with the keywords ``num_items``,
            ``num_positions``, ``num_envs``, ``horizon``, ``seed`` (an int, or a list for snapshots) and
            ``initial_list`` (num_envs, num_items), or with ``num_arms``, ``num_envs``, ``horizon`` and ``seed``, and
            returns an object with ``act`` and ``update``.
        kind: "ranking" or "dueling". Default: that of the class; else "dueling" if it has a parameter ``num_arms``.
        num_items: items in the case with more items than positions.
        num_positions: positions, at least 1 and less than ``num_items``.
        num_arms: arms in the case with the most, at least 3.
        rounds: length of each run, at least 2.
        seed: of the users, the base lists and the agents.

    Raises:
        AgentError: rules are broken; ``broken`` names all of them, ``skipped`` those that could not be tried.
        ValueError: an argument of ``check_agent`` is out of range.

    Examples:
        >>> import numpy as np, rankgym
        >>> from rankgym.conformance import AgentError, check_agent
        >>> class ItemZero(rankgym.Agent):  # wrong: it shows item 0 at all positions
        ...     def act(self, observation=None):
        ...         return np.zeros((self.num_envs, self.num_positions), int)
        ...     def update(self, displayed, clicks): ...
        >>> try:
        ...     check_agent(ItemZero)
        ... except AgentError as error:  # print(error) also says what to do
        ...     for rule, breach in error.broken.items():
        ...         print(f"{rule}: {breach.seen}; expected: {breach.expected}")
        actions: act returned [0, 0, 0] for row 0 in round 0; expected: 3 different items out of 0..5
    """
    arguments = {"num_items": num_items, "num_positions": num_positions, "num_arms": num_arms}
    try_rules(factory, kind=kind, **arguments, rounds=rounds, seed=seed).raise_if_broken(AgentError)


def try_rules(
    factory: Callable[..., Any],
    *,
    kind: str | None = None,
    num_items: int = 6,
    num_positions: int = 3,
    num_arms: int = 5,
    rounds: int = 200,
    seed: int = 0,
) -> Rulebook:
    """Try all rules, with the arguments of ``check_agent``; return what came of them."""
    if not callable(factory):
        raise ValueError(
            f"factory = {factory!r} does not make agents; allowed: an agent's class, or a function that makes one"
        )
    if kind is not None and kind not in KEYWORDS:
        raise ValueError(f"kind = {kind!r} is unknown; allowed: {', '.join(map(repr, KEYWORDS))}, or None")
    num_positions = whole_number("num_positions", num_positions, 1)
    num_items = whole_number("num_items", num_items, num_positions + 1)
    num_arms = whole_number("num_arms", num_arms, 3)
    rounds, seed = count_of("rounds", rounds, 2), whole_number("seed", seed, 0)
    kind = kind or kind_of(factory)
    try:
        inspect.signature(factory).bind(**dict.fromkeys(KEYWORDS[kind]))
    except TypeError as error:
        raise ValueError(
            f"factory = {factory!r}: {error}; allowed: one that takes the keywords {KEYWORDS[kind]}, "
            f"those that it does not use by **rest{_per_row(factory)}"
        ) from None
    book = Rulebook(RULES)
    trials: list[Trial]
    if kind == "dueling":
        trials = [DuelingTrial(book, factory, arms, rounds, seed) for arms in (num_arms, 2, 1)]
    else:
        book.skipped["bad duels"] = "the agent ranks"
        sizes = ((num_items, num_positions), (num_positions, num_positions), (1, 1))
        trials = [RankingTrial(book, factory, *size, rounds, seed) for size in sizes]
    for trial in trials:
        book.case = trial.case
        trial.run()
    return book


def _per_row(factory: Callable[..., Any]) -> str:
    """Return the advice to wrap a plain class whose ``act`` takes no observation: it may be written for one user."""
    if not serves_one_user(factory):
        return ""
    return f"; for a class of one user at a time: check_agent(rankgym.per_row({factory.__name__}))"


def kind_of(factory: Callable[..., Any]) -> Literal["ranking", "dueling"]:
    """Return what the agents of ``factory`` do: by its class, or by a parameter ``num_arms`` of it or of a base class.

    A factory that takes any keyword makes ranking agents.
    """
    if isinstance(factory, type):
        if issubclass(factory, (Agent, DuelingAgent)):
            return "dueling" if issubclass(factory, DuelingAgent) else "ranking"
        makers = [vars(base)["__init__"] for base in factory.__mro__[:-1] if "__init__" in vars(base)]
    else:
        makers = [factory]
    return "dueling" if any("num_arms" in inspect.signature(maker).parameters for maker in makers) else "ranking"

"""Grade an agent's class in a submitted file: the contract's rules, paired regret, speed.

The file runs in a process of its own (``rankgym.submissions``), and is never told the truth.
"""

import contextlib
import math
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from os import PathLike
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rankgym.agent import seed_argument
from rankgym.arguments import ActionKind, action_kind, count_of, env_attribute, near, whole_number
from rankgym.conformance.agents import KEYWORDS, RULES, try_rules
from rankgym.conformance.parts import MissingPart
from rankgym.exercises.handouts import read_submission
from rankgym.experiments.judge.intervals import LEVEL, difference
from rankgym.experiments.judge.units import Units, counted_units
from rankgym.experiments.plan.agents import AgentSpec
from rankgym.experiments.plan.environments import ResolvedEnvironment, one_row, resolve
from rankgym.outputs import versions
from rankgym.play.simulate import simulate
from rankgym.submissions import DEFAULT_LIMITS, Limits, NoAnswer, Submission
from rankgym.submissions.remote_agents import remote_agent
from rankgym.wrappers.against_itself import AgainstItself

ROUNDS = 10_000  # of the play: in fewer an agent that never learns may look well
GUARD = """; all of it runs, of a notebook every cell: put what plays under `if __name__ == "__main__":`"""
CONTRACT_ROUNDS = 100  # of each play of the contract's rules
ALONE = 500  # rounds of the play that measures the speed for one user, at most
PASSED, BROKEN, SKIPPED = "passed", "broken", "skipped"
USED_UP = "are used up"  # how ``Submission`` says that no time is left


class Finding(NamedTuple):
    """What keeps a class from being tried, or has ended its play.

    See ``grade_agent``, which returns it in a ``Grade``.
    """

    part: str  # "file", "class", "kind", "constructor" or "parts": nothing was tried; or "play"
    message: str
    line: int | None = None  # of the file
    code: str = ""


class Rule(NamedTuple):
    """What came of a rule of ``rankgym.check_agent``.

    See ``grade_agent``, which returns it in a ``Grade``.
    """

    name: str
    statement: str
    result: str  # PASSED, BROKEN or SKIPPED
    seen: str = ""  # if broken
    expected: str = ""
    case: str = ""  # the sizes with which it was broken
    reason: str = ""  # if skipped


class Regret(NamedTuple):
    """The regret of the submitted agent and of the one it is compared with, on the same users.

    See ``grade_agent``, which returns it in a ``Grade``.
    """

    mean: float
    against: float  # the other's mean
    difference: float  # of the means; above 0: the submitted agent loses more
    low: float
    high: float  # of the difference's confidence interval
    level: float
    method: str  # how the interval was made
    z: float  # the difference in standard errors; NaN: it is the same in all units, and not 0

    def verdict(self, name: str) -> str:
        """Say in a sentence what the difference from the agent ``name`` means."""
        if self.low == self.high == 0:
            return f"The regret is exactly that of {name}."
        if not (self.low > 0 or self.high < 0):  # -inf and inf: no interval
            few = "; there are too few runs for an interval" if math.isinf(self.low) else ""
            return f"No difference from {name} can be told{few}."
        how = "higher" if self.difference > 0 else "lower"
        far = "" if math.isnan(self.z) else f" by {abs(self.z):.1f} standard errors"
        return f"The regret is {how} than that of {name}{far}."


class Speed(NamedTuple):
    """How fast the submitted agent acts and updates, as its process measures it.

    See ``grade_agent``, which returns it in a ``Grade``.
    """

    rows: int  # of the batch
    sessions_per_second: float  # of all rows together
    seconds_per_round: float  # of one user alone


class Grade(NamedTuple):
    """What came of one class.

    See ``grade_agent``, which returns it.
    """

    file: str
    class_name: str
    knobs: dict[str, Any]
    environment: ResolvedEnvironment
    against: str
    rows: int
    runs: int
    seed: int
    one_user: bool | None  # whether the class serves one user at a time; None: unknown
    findings: tuple[Finding, ...]
    rules: tuple[Rule, ...]
    regret: Regret | None
    no_regret: str  # why there is none
    speed: Speed | None
    output: str  # the beginning of what the file printed
    output_length: int  # bytes of all that it printed
    isolated: bool  # whether its process saw no files and processes of others
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether nothing is missing and no rule is broken."""
        return not self.findings and all(rule.result != BROKEN for rule in self.rules)

    def as_json(self) -> dict[str, Any]:
        """Return the grade as plain data.

        Keys:
            file, class, knobs, one_user: what was graded; ``one_user`` is null if the class could not be looked at.
            environment, arguments, queries, rounds, runs, rows, seed, against: where, and against which agent.
            passed: whether there are no findings and no broken rules.
            findings: list of {part, message, line, code}. ``part`` is "file", "class", "kind", "constructor" or
                "parts": then no rule was tried; or it is "play", in which the agent has failed.
            rules: list of {name, statement, result, seen, expected, case, reason}; ``result`` is "passed", "broken" or
                "skipped".
            regret: {mean, against, difference, low, high, level, method, z, verdict}, or null: ``no_regret`` says why.
                Numbers that are infinite or unknown are null.
            speed: {rows, sessions_per_second, seconds_per_round}, or null.
            output, output_length, isolated, seconds, versions: of the process, and of everything that took part.
        """
        env = self.environment
        regret = None
        if self.regret is not None:
            numbers = {
                k: v if isinstance(v, str) or math.isfinite(v) else None for k, v in self.regret._asdict().items()
            }
            regret = {**numbers, "verdict": self.regret.verdict(self.against)}
        return {
            "file": self.file,
            "class": self.class_name,
            "knobs": self.knobs,
            "one_user": self.one_user,
            "environment": env.env_id,
            "arguments": env.env_kwargs,
            **({"queries" if env.choice == "query" else "problems": env.queries} if env.choice else {}),
            "rounds": env.rounds,
            "runs": self.runs,
            "rows": self.rows,
            "seed": self.seed,
            "against": self.against,
            "passed": self.passed,
            "findings": [finding._asdict() for finding in self.findings],
            "rules": [rule._asdict() for rule in self.rules],
            "regret": regret,
            "no_regret": self.no_regret,
            "speed": None if self.speed is None else self.speed._asdict(),
            "output": self.output,
            "output_length": self.output_length,
            "isolated": self.isolated,
            "seconds": round(self.seconds, 2),
            "versions": versions(),
        }


def grade_agent(
    file: str | PathLike[str],
    class_name: str,
    env_id: str,
    *,
    against: str,
    rounds: int = ROUNDS,
    runs: int = 1,
    seed: int = 0,
    query: Any = "all",
    knobs: Mapping[str, Any] | None = None,
    level: float = LEVEL,
    limits: Limits = DEFAULT_LIMITS,
    **env_kwargs: Any,
) -> Grade:
    """Grade an agent's class: all rules of its contract, its regret against another agent's, its speed.

    Args:
        file: a script or a notebook.
        class_name: a class in it: a batch agent, or one for one user at a time (``rankgym.per_row``).
        env_id: an environment's id, with or without ``rankgym/``.
        against: the other agent, as in ``rankgym.experiments.compare``.
        rounds: sessions, or duels, in each row.
        runs: rows for each query or problem.
        seed: of row 0, for its users and its agent.
        query: as in ``rankgym.experiments.compare``.
        knobs: further keywords of the class.
        level: of the confidence interval.
        limits: what the file's process may use.
        **env_kwargs: the environment's arguments, plain JSON values.

    Raises:
        ValueError: an argument does not fit; what is wrong with the submitted class is part of the grade.
        OSError: the file cannot be read.

    Examples:
        >>> from rankgym.grading import grade_agent
        >>> grade = grade_agent("mine.py", "Mine", "CM-Yandex-v0", against="toprank", rounds=1_000)  # doctest: +SKIP
        >>> grade.passed, grade.regret.verdict("toprank")  # doctest: +SKIP

        (Skipped in tests: a process with the whole package takes seconds to start.)
    """
    began = time.perf_counter()
    runs, seed = count_of("runs", runs, 1), whole_number("seed", seed, 0)
    if not 0.5 <= level < 1:
        raise ValueError(f"level = {level} is out of range; allowed: 0.5 <= level < 1")
    place = resolve(env_id, [against], count_of("rounds", rounds, 1), query, env_kwargs)
    source, name = read_submission(file)
    with Submission(source, name, limits=limits, batches=True) as submission:
        trial = _Grading(submission, class_name, dict(knobs or {}), place, runs, seed)
        findings = trial.findings()
        rules: tuple[Rule, ...] = ()
        regret, no_regret, speed = None, "nothing was tried", None
        if not findings:
            findings, rules = trial.rules()
        if rules:
            result = next(rule.result for rule in rules if rule.name == "actions")
            no_regret = f"rule 'actions' {'is broken' if result == BROKEN else 'was not tried'}"
            if result == PASSED:
                findings, regret, no_regret, speed = trial.play(level)
        output = submission.output, submission.output_length, submission.isolated
    rows, spent = len(place.queries) * runs, time.perf_counter() - began
    told = (name, class_name, trial.knobs, place, against, rows, runs, seed, trial.one_user)
    return Grade(*told, findings, rules, regret, no_regret, speed, *output, spent)


class _Grading:
    """A submitted class, and where it is graded."""

    def __init__(
        self,
        submission: Submission,
        class_name: str,
        knobs: dict[str, Any],
        place: ResolvedEnvironment,
        runs: int,
        seed: int,
    ) -> None:
        self.submission, self.class_name, self.knobs = submission, class_name, knobs
        self.place, self.runs, self.seed = place, runs, seed
        choice = place.queries if place.choice else "all"
        with contextlib.closing(one_row(place.env_id, place.choice, choice, place.env_kwargs)) as env:
            self.kind = "dueling" if action_kind(env) is ActionKind.DUEL_OF_ARMS else "ranking"
        self.one_user: bool | None = None

    # -- what keeps it from being tried -------------------------------------------------------------------------------

    def findings(self) -> tuple[Finding, ...]:
        """Return what keeps the class from being tried."""
        try:
            names = self.submission.load()
        except NoAnswer as error:
            guard = GUARD if error.kind == "time" else ""
            return (Finding("file", f"it cannot be loaded: {error}{guard}", error.line, error.code),)
        if self.class_name not in names:
            there = f"; there is {', '.join(names[:20])}" if names else ""
            said = f"there is no {self.class_name} in {self.submission.name}{near(self.class_name, names) or there}"
            return (Finding("class", said),)
        try:
            cls = remote_agent(self.submission, self.class_name, watched=True)
        except MissingPart as error:
            return (Finding("parts", str(error)),)
        except Exception as error:
            part = "parts" if "has no method" in str(error) else "class"  # what ``per_row`` says
            return (Finding(part, _one_line(f"{type(error).__name__}: {error}")),)
        self.one_user = cls.one_user
        return self._misfit(cls)

    def _misfit(self, cls: Any) -> tuple[Finding, ...]:
        """Return how the class does not fit the environment."""
        duels = cls.duels
        if duels != (self.kind == "dueling"):
            does, wanted = ("duels", "items are ranked") if duels else ("ranks items", "arms duel")
            why = "it has" if duels else "it is no DuelingAgent, and has no"
            said = f"{self.class_name} {does} ({why} parameter num_arms), but in {self.place.env_id} {wanted}"
            return (Finding("kind", said),)
        get = [name for name in KEYWORDS[self.kind] if not (cls.one_user and name == "num_envs")]
        parameters = cls.__signature__.parameters.values()
        needed = [one.name for one in parameters if one.default is one.empty and one.kind not in (2, 4)]
        unknown = ", ".join(name for name in needed if name not in (*get, *self.knobs))
        if unknown:
            how = f"give them defaults, or values: {self.class_name}:{unknown.partition(',')[0]}=VALUE"
            return (Finding("constructor", f"it wants {unknown}; agents get {', '.join(get)}; {how}"),)
        try:
            cls.__signature__.bind(**dict.fromkeys((*get, *self.knobs)))
        except TypeError as error:
            said = f"{error}; allowed: a constructor with the keywords {', '.join((*get, *self.knobs))}"
            return (Finding("constructor", f"{said}; those that it does not use by **rest"),)
        return ()

    # -- the contract -------------------------------------------------------------------------------------------------

    def rules(self) -> tuple[tuple[Finding, ...], tuple[Rule, ...]]:
        """Try all rules of the contract; return what came of them, or what is missing."""
        cls: Any = remote_agent(self.submission, self.class_name, watched=True)
        book = try_rules(partial(cls, **self.knobs), kind=self.kind, rounds=CONTRACT_ROUNDS, seed=self.seed)
        broken, skipped = book.outcome()
        if "parts" in broken:
            return (Finding("parts", _one_line(f"{broken['parts'].seen}; expected: {broken['parts'].expected}")),), ()
        for name, breach in list(broken.items()):
            if USED_UP in breach.seen:
                skipped[name] = breach.seen.partition(": ")[2]
                del broken[name]
        found = []
        for name, statement in RULES.items():
            if name in broken:
                found.append(Rule(name, statement, BROKEN, *map(_one_line, broken[name])))
            elif name in skipped:
                found.append(Rule(name, statement, SKIPPED, reason=_one_line(skipped[name])))
            else:
                found.append(Rule(name, statement, PASSED))
        return (), tuple(rule for rule in found if self.kind == "dueling" or rule.name != "bad duels")

    # -- regret and speed ---------------------------------------------------------------------------------------------

    def play(self, level: float) -> tuple[tuple[Finding, ...], Regret | None, str, Speed | None]:
        """Return what has ended the play, the regret, why there is none, and the speed."""
        cls: Any = remote_agent(self.submission, self.class_name)
        rows = len(self.place.queries) * self.runs
        try:
            mine, agent = self._regret(partial(made_for, cls, knobs=self.knobs), range(rows), self.place.rounds)
            _, alone = self._regret(partial(made_for, cls, knobs=self.knobs), [0], min(ALONE, self.place.rounds))
        except Exception as error:
            said = _one_line(f"{type(error).__name__}: {error}")
            said += "; fewer rounds or queries take less" if USED_UP in said else ""
            return (Finding("play", said),), None, "the agent has failed", None
        speed = Speed(rows, rows * self.place.rounds / _spent(agent), _spent(alone) / min(ALONE, self.place.rounds))
        spec: AgentSpec = self.place.agents[0]
        other, _ = self._regret(spec.make, range(rows), self.place.rounds)
        if np.isnan(mine).any() or np.isnan(other).any():
            return (), None, f"regret is unknown in {self.place.env_id}", speed
        return (), paired(self._units(mine), self._units(other), level), "", speed

    def _regret(self, make: Callable[..., Any], rows: Sequence[int], rounds: int) -> tuple[NDArray[np.float64], Any]:
        """Play; return the rows' regret and the agent."""
        place = self.place
        played: dict[str, Any] = (
            {place.choice: [place.queries[row % len(place.queries)] for row in rows]} if place.choice else {}
        )
        with contextlib.closing(gym.make_vec(place.env_id, num_envs=len(rows), **played, **place.env_kwargs)) as env:
            seeds = seed_argument([self.seed + row for row in rows])
            agent = make(env, horizon=place.rounds, seed=seeds)
            history = simulate(agent, env, rounds, seed=seeds, record_at=[rounds], progress=False)
            if hasattr(agent, "flush"):
                agent.flush()  # the last update may raise, too
        return np.asarray(history.regret[-1]), agent

    def _units(self, regret: NDArray[np.float64]) -> Units:
        """Return the mean of each query, or of a single one its runs."""
        queries = self.place.queries
        if len(queries) == 1:
            return Units(regret, np.arange(len(regret)), "runs")
        kind = "queries" if self.place.choice == "query" else "problems"
        return Units(regret.reshape(self.runs, len(queries)).mean(axis=0), np.array(queries), kind)


def made_for(cls: Any, env: Any, *, horizon: int, seed: Any, knobs: Mapping[str, Any]) -> Any:
    """Make an agent of a class that takes all keywords of its kind for ``env``.

    For ``grade_agent`` and the command line.
    """
    if action_kind(env) is ActionKind.DUEL_OF_RANKINGS:
        env = AgainstItself(env)
    if hasattr(cls, "for_env"):
        return cls.for_env(env, horizon=horizon, seed=seed, **knobs)
    space = env.single_action_space
    rows = {"num_envs": env.num_envs, "horizon": horizon, "seed": seed}
    if action_kind(env) is ActionKind.DUEL_OF_ARMS:
        return cls(num_arms=int(space["left"].n), **rows, **knobs)
    lists = env_attribute(env, "initial_list")
    return cls(num_items=int(space.n), num_positions=int(space.k), initial_list=lists, **rows, **knobs)


def paired(mine: Units, other: Units, level: float) -> Regret:
    """Compare the regret of two agents in the same units.

    For ``grade_agent`` and the command line.
    """
    found = difference(mine, other, level=level)
    each = mine.values - other.values
    deviation = float(each.std(ddof=1)) if len(each) > 1 else math.nan
    z = found.value / (deviation / math.sqrt(len(each))) if deviation > 0 else 0.0 if found.value == 0 else math.nan
    means = float(mine.values.mean()), float(other.values.mean())
    return Regret(*means, found.value, found.low, found.high, level, found.method, z)


def counted_rows(grade: Grade) -> str:
    """ "60 queries, 2 runs each".

    For ``grade_agent`` and the command line.
    """
    place = grade.environment
    runs = counted_units(grade.runs, "runs")
    if not place.choice:
        return runs
    kind = "queries" if place.choice == "query" else "problems"
    return f"{counted_units(len(place.queries), kind)}, {runs}{' each' if len(place.queries) > 1 else ''}"


def _spent(agent: Any) -> float:
    """Return the seconds in the agent's methods: as its process says, if that is possible."""
    return float(agent.seconds if 0 < agent.seconds <= agent.waited else max(agent.waited, 1e-9))


def _one_line(text: str) -> str:
    return " ".join(text.split())

"""A sweep as data: environments x agents x rows (queries x runs), rounds and a seed; it is cut into jobs.

Row b of an environment plays query b mod Q in run b // Q and has the seed ``seed + b``, for its users and its agent, as
in ``rankgym.experiments.compare``: agents meet the same users, and more runs add rows without touching the others.
"""

import functools
import json
import os
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from rankgym.arguments import count_of, name_keywords, near, round_numbers, whole_number
from rankgym.experiments.plan.agents import (
    AgentLike,
    knob_text,
    own_code,
    parse_agent,
    partial_of,
    spelled,
    split_names,
)
from rankgym.experiments.plan.digests import DIGEST, has_own_digest, with_digest
from rankgym.experiments.plan.environments import KINDS, ResolvedEnvironment, recorded_rounds, resolve
from rankgym.experiments.plan.jobs import Block, Job, ResultName, Series
from rankgym.experiments.plan.json_files import DEPTH, check_plain, with_files_read
from rankgym.models.named import is_own
from rankgym.outputs import read_regular_file

SWEEP = "sweep.json"  # the sweep that a folder was made for
MOST_ROUNDS, MOST_RUNS = 10**15, 1_000_000  # of a row; of a query, and the rows of a job
MOST_ROWS, MOST_JOBS = 10_000_000, 100_000  # of an environment, and in all: planning them takes memory and time
LABEL = "label"  # the key of an agent's table that is not a knob
OWN = ("agents", "rounds", "runs", "query", "seed", "record_at")  # keys that an environment may have itself


class Environment(NamedTuple):
    """One environment of a sweep; the sweep's value holds where its own is None.

    Examples:
        >>> from rankgym.experiments import Environment, Sweep
        >>> short = Environment("", "CM-Yandex-v0", {"num_positions": 3}, rounds=100)
        >>> long = Environment("long", "CM-Yandex-v0", agents=("toprank",))
        >>> sweep = Sweep((short, long), ("static",), rounds=10_000, query=0)
        >>> [(place.label, place.rounds, place.agents) for place in sweep.environments]
        [('CM-Yandex-v0, num_positions=3', 100, None), ('long', None, ('toprank',))]
    """

    label: str  # unique in the sweep; "": the id and the given arguments
    env_id: str  # with or without ``rankgym/``
    kwargs: Mapping[str, Any] = {}  # plain JSON values; ``horizon`` is ``rounds`` where it is not given
    agents: tuple[AgentLike, ...] | None = None
    rounds: int | None = None
    runs: int | None = None
    query: Any = None
    seed: int | None = None
    record_at: tuple[int, ...] | None = None


@name_keywords
@dataclass(frozen=True)
class Sweep:
    """Environments and agents to play. Lists become tuples, and classes their names, ``"package.module:Class"``.

    Args:
        environments: at least one; labels must differ.
        agents: as ``rankgym.experiments.compare`` takes them; empty: all that can play the environment.
        rounds: sessions, or duels, in each row.
        runs: rows for each query or problem.
        seed: of row 0; row b has ``seed + b``. Independent repetitions need seeds at least as far apart as there are
            rows.
        query: one query, a list of them, ``"all"``, ``"train"`` or ``"test"``; of problems, where the environment has
            those instead; where it has neither, there are ``runs`` rows.
        record_at: rounds to record besides about 20 a decade, powers of ten, the last, and, where users change, 200
            evenly spaced ones and the breakpoints.
        rows_per_job: the most rows of one job, which are played together and make one result file.
        retire: rows that have settled for good leave the batch; the rest of their records is exact, except that of
            ``reward``, which continues with its expectation.
        name: a title.
        labels: names of agents for readers, by their names in ``agents``. Figures, reports and LaTeX tables show them;
            results do not depend on them. ``label`` in an agent's table sets its own.

    Raises:
        ValueError: a value is out of range. ``check``, ``settings``, ``series`` and ``jobs`` raise one, too, if values
            do not fit together; the message names the environment.

    Examples:
        Two agents in one environment, ten rows each, at most five of them in one job:

        >>> from rankgym.experiments import Environment, Sweep
        >>> place = Environment("PBM", "PBM-Yandex-v0", {"num_positions": 3})
        >>> sweep = Sweep((place,), ("toprank", "static"), rounds=1_000, runs=5, query=[0, 1], rows_per_job=5)
        >>> len(sweep.jobs()), Sweep.from_json(sweep.to_json()) == sweep
        (4, True)
    """

    environments: tuple[Environment, ...]
    agents: tuple[str, ...]
    rounds: int
    runs: int = 1
    seed: int = 0
    query: Any = "all"
    record_at: tuple[int, ...] = ()
    rows_per_job: int = 600
    retire: bool = True
    name: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        settle = functools.partial(object.__setattr__, self)
        if not self.environments:
            raise ValueError("environments = () is empty; allowed: at least one environment")
        given = [self.agents, *(environment.agents for environment in self.environments)]
        for name in OWN:
            settle(name, _CHECKS[name](getattr(self, name)))
        settle("rows_per_job", whole_number("rows_per_job", self.rows_per_job, 1, MOST_RUNS))
        if not isinstance(self.retire, bool):
            raise ValueError(f"retire = {self.retire!r} is neither true nor false; allowed: one of them")
        if not isinstance(self.name, str):
            raise ValueError(f"name = {self.name!r} is not a text; allowed: a title in quotes")
        settle("environments", tuple(_own(environment) for environment in self.environments))
        labels = [environment.label for environment in self.environments]
        twice = next((label for n, label in enumerate(labels) if label in labels[:n]), None)
        if twice is not None:
            raise ValueError(f"two environments have the label {twice!r}; allowed: different ones, set by label = ...")
        settle("labels", _labels(self.labels, given))

    # -- as text ------------------------------------------------------------------------------------------------------

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> "Sweep":
        """Read a sweep from a TOML file, such as `rankgym sweep run --help` shows.

        An environment's argument ``key = "@FILE"`` is read from a file of JSON; its path is relative to the TOML file.

        Raises:
            ValueError: the file is missing or not valid TOML, or a value is missing, unknown or out of range.
        """
        try:
            data = read_regular_file(Path(path))
            if data is None:
                raise ValueError("it is not a regular file; allowed: a file of TOML")
            document = tomllib.loads(data.decode())
            return cls.from_document(document, Path(path).parent)
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"{os.fspath(path)} is not valid TOML: {error}") from None
        except RecursionError:
            raise ValueError(f"{os.fspath(path)} is nested too deeply; allowed: {DEPTH} levels") from None
        except OSError as error:
            raise ValueError(f"{os.fspath(path)} cannot be read: {error.strerror or error}") from None
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)}: {error}") from None

    @classmethod
    def from_document(cls, document: Mapping[str, Any], folder: Path | None = None) -> "Sweep":
        """Make a sweep from the keys and values of a TOML or JSON file. Errors are those of ``from_toml``.

        With ``folder``, arguments that are ``"@FILE"`` are read from there.
        """
        document = dict(document)
        for key, value in document.items():
            check_plain(key, value)
        known = [field.name for field in fields(cls)]
        for key in document:
            if key not in known:
                hint = near(key, known) or ";"
                raise ValueError(f"{key!r} is not a key of a sweep{hint} allowed: {', '.join(known)}")
        needed = {
            "rounds": "how many sessions each row has",
            "environments": "at least one table [[environments]] with id",
        }
        for key, allowed in needed.items():
            if key not in document:
                raise ValueError(f"{key} is missing; allowed: {allowed}")
        tables = document.pop("environments")
        if not isinstance(tables, Sequence) or not all(isinstance(table, Mapping) for table in tables):
            raise ValueError(f"environments = {tables!r} is not a list of tables; allowed: [[environments]]")
        if folder is not None:
            tables = [_with_files_read(table, folder) for table in tables]
        return cls(tuple(map(_environment, tables)), document.pop("agents", ()), **document)

    @classmethod
    def from_json(cls, text: str) -> "Sweep":
        """Read a sweep from the text that ``to_json`` wrote; ValueError if it is not a sweep."""
        try:
            document = json.loads(text)
        except RecursionError:
            raise ValueError(f"it is nested too deeply; allowed: {DEPTH} levels") from None
        if not isinstance(document, dict):
            raise ValueError(f"{text[:40]!r} is not a sweep; allowed: text that Sweep.to_json wrote")
        if DIGEST in document and not has_own_digest(document):
            raise ValueError("it was changed since it was written")
        return cls.from_document({key: value for key, value in document.items() if key != DIGEST})

    @classmethod
    def from_folder(cls, folder: str | os.PathLike[str]) -> "Sweep":
        """Read the sweep that a folder was made for. Raises ValueError if the folder has none, or a damaged one."""
        path = Path(folder) / SWEEP
        try:
            return cls.from_json((read_regular_file(path) or b"").decode())
        except FileNotFoundError:
            raise ValueError(
                f"{os.fspath(folder)} is not the folder of a sweep: it has no {SWEEP}; allowed: what "
                "`rankgym sweep run FILE.toml --out FOLDER` made"
            ) from None
        except ValueError as error:
            again = f"`rankgym sweep run FILE.toml --out {os.fspath(folder)} --replace`, which keeps its results"
            raise ValueError(f"{path} is damaged: {error}; allowed: {again}") from None

    def continues(self, before: "Sweep") -> bool:
        """Whether all jobs of ``before`` are also this sweep's: it may add agents, environments and runs, and labels.

        ``rows_per_job`` may differ, too: results that are there keep their rows.
        """
        own = {one.label: one for one in self.environments}
        pairs = [(own.get(one.label), one) for one in before.environments]
        if not _grown(self, before) or not all(new is not None and _grown(new, old) for new, old in pairs):
            return False
        free = ("environments", "agents", "runs", "labels", "name", "rows_per_job")
        same = replace(before, **{name: getattr(self, name) for name in free})
        return same == self and all(old._replace(agents=new.agents, runs=new.runs) == new for new, old in pairs if new)

    def to_json(self) -> str:
        """Write the sweep as text, which has a digest of its values; equal sweeps have equal texts."""
        document = {field.name: getattr(self, field.name) for field in fields(self)}
        if not self.labels:
            del document["labels"]  # as before there were any
        document["environments"] = [
            {
                "label": environment.label,
                "id": environment.env_id,
                "arguments": dict(environment.kwargs),
                **{key: value for key in OWN if (value := getattr(environment, key)) is not None},
            }
            for environment in self.environments
        ]
        try:
            return json.dumps(with_digest(json.loads(json.dumps(document, allow_nan=False))), indent=2) + "\n"
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"the sweep has values that are not plain JSON: {error}") from None

    # -- as jobs ------------------------------------------------------------------------------------------------------

    @functools.cached_property
    def settings(self) -> dict[str, ResolvedEnvironment]:
        """Each environment and its agents, resolved and checked, by its label."""
        found = {}
        for environment in self.environments:
            try:
                found[environment.label] = self.setting_of(environment)
            except ValueError as error:
                raise ValueError(f"environment {environment.label!r}: {error}") from error
            except (TypeError, ArithmeticError, LookupError, MemoryError) as error:  # of its class, for an argument
                said = f"{type(error).__name__}: {error}".removesuffix(": ")
                raise ValueError(f"environment {environment.label!r} with {environment.kwargs}: {said}") from error
        return found

    def setting_of(self, environment: Environment) -> ResolvedEnvironment:
        """Resolve one environment of the sweep and its agents; ValueError if something does not fit."""
        agents, rounds, query, more = self._values(environment, "agents", "rounds", "query", "record_at")
        if environment.query is None and "problem" in environment.kwargs:
            query = "all"  # the environment's kwargs choose, by the other name
        query = list(query) if isinstance(query, tuple) else query
        found = resolve(environment.env_id, agents or None, rounds, query, environment.kwargs)
        for number in more:
            count_of("record_at", number, 1, rounds)
        (runs,) = self._values(environment, "runs")
        if (rows := len(found.queries) * runs) > MOST_ROWS:
            many = f"runs = {runs:,} of {len(found.queries):,} queries or problems are {rows:,} rows"
            raise ValueError(f"{many}; allowed: at most {MOST_ROWS:,} rows")
        return found

    def _values(self, environment: Environment, *names: str) -> list[Any]:
        """Return the environment's own values, and the sweep's where these are None."""
        return [getattr(self if getattr(environment, name) is None else environment, name) for name in names]

    def check(self) -> None:
        """Check that environments, agents and arguments fit together."""
        self.to_json()
        _ = self.settings

    def names_own_code(self) -> bool:
        """Return whether an agent, a click model or an environment is in a module that is not rankgym's.

        Nothing is imported: playing the sweep would import it.
        """
        agents = [*self.agents, *(name for one in self.environments for name in one.agents or ())]
        models = [one.kwargs.get("model") for one in self.environments]
        return any(map(own_code, agents)) or any(map(is_own, models)) or any(":" in e.env_id for e in self.environments)

    def series(self) -> list[Series]:
        """All rows of each agent in each environment, in the sweep's order."""
        found = []
        for environment in self.environments:
            resolved = self.settings[environment.label]
            runs, seed, more = self._values(environment, "runs", "seed", "record_at")
            whole = Block(
                agent=resolved.agents[0],
                env_id=resolved.env_id,
                env_kwargs=resolved.env_kwargs,
                start=0,
                stop=len(resolved.queries) * runs,
                choice=resolved.choice,
                queries=resolved.queries * runs,
                seed=seed,
                horizon=resolved.rounds,
                rounds=resolved.rounds,
                record_at=sorted({*recorded_rounds(resolved.rounds, resolved.breakpoints), *more}),
            )
            rest = (self.retire, resolved.queries, KINDS[resolved.kind])
            found += [Series(environment.label, whole._replace(agent=agent), *rest) for agent in resolved.agents]
        return found

    def jobs(self, made: Iterable[ResultName] = ()) -> list[Job]:
        """All jobs, environment by environment and agent by agent.

        Jobs are cut at multiples of ``rows_per_job``, so that more runs only add jobs. Results that are ``made``
        already keep their rows, however they were cut.
        """
        self.check()
        names, all_series = list(made), self.series()
        number = sum(-(-series.whole.rows // self.rows_per_job) for series in all_series)
        if number > MOST_JOBS:
            raise ValueError(
                f"rows_per_job = {self.rows_per_job:,} cuts the sweep into {number:,} jobs; allowed: at most "
                f"{MOST_JOBS:,}, with more rows in each, or fewer runs"
            )
        return [job for series in all_series for job in series.cut(self.rows_per_job, names)]


def labels_in(folder: str | os.PathLike[str]) -> dict[str, str]:
    """Return the labels of agents in the sweep that a folder was made for; none if it has no sweep."""
    return dict(Sweep.from_folder(folder).labels) if (Path(folder) / SWEEP).is_file() else {}


def _grown(new: Any, old: Any) -> bool:
    """Whether agents and runs, of a sweep or of an environment, are those of ``old`` or more."""
    if (new.runs is None) != (old.runs is None) or (new.agents is None) != (old.agents is None):
        return False
    if old.agents is not None and new.agents != old.agents and not old.agents:  # () stands for all
        return False
    return set(old.agents or ()) <= set(new.agents or ()) and (old.runs or 0) <= (new.runs or 0)


def label_of(env_id: str, kwargs: Mapping[str, Any]) -> str:
    """Return the default label of an environment: its id without ``rankgym/``, and the given arguments."""
    texts = {key: value if isinstance(value, str) else json.dumps(value, default=str) for key, value in kwargs.items()}
    return ", ".join([env_id.removeprefix("rankgym/"), *(f"{key}={text}" for key, text in texts.items())])


def _own(environment: Environment) -> Environment:
    """Return the environment with its label and checked values."""
    if not isinstance(environment.env_id, str) or not environment.env_id:
        raise ValueError(f"environment {environment.label!r} has id = {environment.env_id!r}; allowed: an id's name")
    if not isinstance(environment.label, str):
        raise ValueError(f"an environment has label = {environment.label!r}; allowed: a text in quotes")
    label = environment.label or label_of(environment.env_id, environment.kwargs)
    try:
        own = {name: _CHECKS[name](value) for name in OWN if (value := getattr(environment, name)) is not None}
        return environment._replace(label=label, kwargs=dict(environment.kwargs), **own)
    except ValueError as error:
        raise ValueError(f"environment {label!r}: {error}") from None


def _record_at(given: Any) -> tuple[int, ...]:
    return tuple(count_of("record_at", number, 1, MOST_ROUNDS) for number in round_numbers("record_at", given))


def _environment(table: Mapping[str, Any]) -> Environment:
    """Make an environment from a table ``[[environments]]``: keys that are not in OWN are its arguments."""
    table = dict(table)
    if "id" not in table:
        raise ValueError(f"an environment has no id, only {', '.join(table) or 'nothing'}; allowed: id = ...")
    arguments = table.pop("arguments", {})
    if not isinstance(arguments, Mapping):
        raise ValueError(f"an environment has arguments = {arguments!r}; allowed: a table of them")
    own = {key: table.pop(key) for key in OWN if key in table}
    return Environment(table.pop("label", ""), table.pop("id"), {**table, **arguments}, **own)


def _with_files_read(table: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    read = with_files_read({key: value for key, value in table.items() if key not in (*OWN, "id", "label")}, folder)
    if isinstance(read.get("arguments"), Mapping):
        read["arguments"] = with_files_read(read["arguments"], folder)
    return {**table, **read}


def _agent_names(given: Any) -> tuple[str, ...]:
    """Return agents as text: a table ``{name = ..., knob = ...}`` becomes ``name:knob=value``, a class its name.

    A table's ``label`` is left out; see ``_labels``.
    """
    if isinstance(given, str):
        given = split_names(given)
    if isinstance(given, (type, Mapping, functools.partial)):
        given = [given]
    if not isinstance(given, Iterable):
        raise ValueError(f"agents = {given!r} is not a list; allowed: a list of names")
    return tuple(map(_agent_name, given))


def _labels(labels: Any, agents: Iterable[Any]) -> dict[str, str]:
    """Return the labels, and those in the tables of ``agents``, by the agents' names; each is another agent's."""
    if not isinstance(labels, Mapping):
        raise ValueError(f"labels = {labels!r} is not a table; allowed: agents' names with their labels")
    lists = [[some] if isinstance(some, Mapping) else some for some in agents if isinstance(some, Iterable)]
    listed = [one for some in lists for one in some]
    names = [name for some in agents if some is not None for name in _agent_names(some)]
    pairs = [(spelled(name), label) for name, label in labels.items()]
    pairs += [(_agent_name(one), one[LABEL]) for one in listed if isinstance(one, Mapping) and LABEL in one]
    found: dict[str, str] = {}
    for name, label in pairs:
        if not isinstance(label, str) or not label.strip():
            raise ValueError(f"agent {name!r} has label = {label!r}; allowed: a text in quotes")
        if names and name not in names:
            raise ValueError(
                f"labels has {name!r}, which is not an agent here{near(name, names) or ';'} allowed: {names}"
            )
        if found.setdefault(name, label) != label:
            raise ValueError(f"agent {name!r} has the labels {found[name]!r} and {label!r}; allowed: one")
    shown = [found.get(name, name) for name in dict.fromkeys([*names, *found])]
    twice = next((label for n, label in enumerate(shown) if label in shown[:n]), None)
    if twice is not None:
        raise ValueError(f"two agents have the label {twice!r}; allowed: different ones")
    return found


def _agent_name(agent: Any) -> str:
    if isinstance(agent, type):
        return f"{agent.__module__}:{agent.__qualname__}"
    if isinstance(agent, str):
        return spelled(agent)
    outside = ("name", LABEL)
    if isinstance(agent, functools.partial):
        agent, outside = {**agent.keywords, "name": _agent_name(partial_of(agent))}, ("name", "name")
    if not isinstance(agent, Mapping) or not isinstance(agent.get("name"), str):
        raise ValueError(f"agents has {agent!r}; allowed: a name, a class, or a table with a name and knobs")
    knobs = {key: value for key, value in agent.items() if key not in outside}
    text = ":".join([agent["name"], *(f"{key}={knob_text(value)}" for key, value in knobs.items())])
    named = parse_agent(agent["name"])
    try:
        same = {**named.knobs, **knobs} == parse_agent(text).knobs
    except ValueError:
        same = False
    if not same:
        raise ValueError(f"agents has {dict(agent)}, whose knobs cannot be written as {text!r}; allowed: plain values")
    return text


_CHECKS: dict[str, Callable[[Any], Any]] = {  # of the keys in OWN: what checks a value and returns its final form
    "agents": _agent_names,
    "rounds": functools.partial(count_of, "rounds", least=1, most=MOST_ROUNDS),
    "runs": functools.partial(count_of, "runs", least=1, most=MOST_RUNS),
    "query": lambda query: tuple(query) if isinstance(query, list) else query,
    "seed": functools.partial(whole_number, "seed", least=0),
    "record_at": _record_at,
}

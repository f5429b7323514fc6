"""``plan.json``: the jobs of a folder's sweep as plain data, so that reading results runs no foreign code.

``run_sweep`` writes it. Making the jobs from ``sweep.json`` instead would import the agents and make the environments
that it names.
"""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple, get_origin, get_type_hints

from rankgym.experiments.plan.digests import has_own_digest, key_of, with_digest
from rankgym.experiments.plan.jobs import Job, ResultName
from rankgym.experiments.plan.sweep import label_of
from rankgym.outputs import atomic_path, read_regular_file

PLAN = "plan.json"
FORMAT = 2
WITHOUT_DIGEST = 1  # the format of earlier versions
MADE_BY = ("format", "versions", "code", "agent's code", "data")  # of what decides a job: not the user's choice


class PlannedJob(NamedTuple):
    """A job of a sweep as readers of its results need it: rows ``start .. stop - 1`` of an agent in an environment."""

    key: str  # digest of all that decides the bytes of the result file
    environment: str  # label in the sweep
    agent: str  # label
    start: int
    stop: int
    rows: int  # of the agent in the environment; a job kept from a longer run may exceed them
    rounds: int
    unit: str  # "sessions" or "duels"
    choices: str  # digest of what the user chose
    made_by: dict[str, Any]  # versions, code and data that decide the result, too

    @property
    def sessions(self) -> int:
        """Of all rows."""
        return (self.stop - self.start) * self.rounds

    @property
    def file(self) -> str:
        """The name of the result file."""
        return str(ResultName.of(self.agent, self.start, self.stop, self.key))


class Plan(NamedTuple):
    """What ``plan.json`` holds."""

    name: str  # the sweep's title
    jobs: list[PlannedJob]


def choices(decides: dict[str, Any]) -> str:
    """Digest what the user chose of all that decides a job, or of a result file's settings."""
    outside = {*MADE_BY, "key", "measures", "recorded", "note"}
    return key_of({name: value for name, value in decides.items() if name not in outside})


def made_by(decides: dict[str, Any]) -> dict[str, Any]:
    """Versions, code and data, of all that decides a job, or of a result file's settings."""
    return {name: decides[name] for name in MADE_BY}


def plan_of(name: str, jobs: Iterable[Job]) -> Plan:
    """The plan of the sweep ``name``, by its jobs."""
    planned = []
    for job in jobs:
        block = job.block
        rest = (job.rows, block.rounds, job.unit, choices(job.decides), made_by(job.decides))
        planned.append(PlannedJob(job.key, job.environment, block.agent.label, block.start, block.stop, *rest))
    return Plan(name, planned)


def from_settings(settings: dict[str, Any]) -> PlannedJob:
    """The job of a result file, by the file's settings; the environment's label is its id and arguments."""
    start, stop = settings["rows"]
    unit = "duels" if "accuracy" in settings["measures"] else "sessions"
    rest = (start, stop, stop, settings["rounds"], unit, choices(settings), made_by(settings))
    return PlannedJob(settings["key"], label_in(settings), settings["agent"], *rest)


def label_in(settings: dict[str, Any]) -> str:
    """The label of a result file's environment: its id, and the arguments without the default horizon."""
    arguments = dict(settings["arguments"])
    if arguments.get("horizon") == settings["rounds"]:
        del arguments["horizon"]
    return label_of(settings["environment"], arguments)


def write_plan(folder: Path, plan: Plan) -> None:
    """Write the plan into its folder, if it is not there already."""
    document = with_digest({"format": FORMAT, "name": plan.name, "jobs": [job._asdict() for job in plan.jobs]})
    text, path = json.dumps(document, indent=1) + "\n", folder / PLAN
    if not path.is_file() or path.read_bytes() != text.encode():
        with atomic_path(path) as unfinished:
            unfinished.write_text(text, encoding="utf-8")


def read_plan(folder: Path) -> Plan | None:
    """The plan in a folder, checked; None if the folder has none. Raises ValueError if it is damaged."""
    path = folder / PLAN
    try:
        data = read_regular_file(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        document = json.loads(data or b"")
        if document["format"] not in (FORMAT, WITHOUT_DIGEST):
            raise ValueError(f"format {document['format']!r}; allowed: {FORMAT}")
        plan = Plan(_checked("name", document["name"], str), list(map(_job, document["jobs"])))
        if document["format"] == FORMAT and not has_own_digest(document):
            raise ValueError("it was changed since it was written")
        return plan
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        said = f"no {error}" if isinstance(error, KeyError) else error
        allowed = f"`rankgym sweep resume {folder}`, or without it"
        raise ValueError(f"{path} is damaged: {said}; allowed: {allowed}") from None


def _job(entry: Any) -> PlannedJob:
    kinds = {name: get_origin(hint) or hint for name, hint in get_type_hints(PlannedJob).items()}
    job = PlannedJob(**{name: _checked(name, entry[name], kind) for name, kind in kinds.items()})
    if not re.fullmatch(r"[0-9a-f]{20}", job.key):
        raise ValueError(f"key = {job.key!r}")
    if not (0 <= job.start < job.stop and job.rounds >= 1 and set(job.made_by) == set(MADE_BY)):
        raise ValueError(f"the job {job.key} has rows {job.start} .. {job.stop - 1}, {job.rounds} rounds")
    _checked("versions", job.made_by["versions"], dict)
    return job


def _checked(name: str, value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise ValueError(f"{name} = {value!r}; allowed: {kind.__name__}")
    return value

"""Records: what an agent did in a suite, row by row. Those of the package's agents come with it, one file an agent.

A record is written as ``<agent>.npz`` with the values as arrays, or as JSON: ``submission.json``, which anybody can
verify by playing again. Both have the digests of tasks, code, versions and values.
"""

import functools
import hashlib
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.experiments.plan.agents import MODEL, WEIGHTS, AgentSpec, shipped_file, shipped_models, slug
from rankgym.experiments.scoring.suite import SUITES, Suite, find_suite
from rankgym.outputs import atomic_path
from rankgym.untrusted.archives import read_arrays
from rankgym.untrusted.files import parse_json, read_file

FORMAT = 1
HOME = Path(__file__).with_name("records")  # a folder for each suite
MOST_BYTES = 100_000_000  # of a file: more is not read
TEXTS = ("suite", "suite digest", "agent", "class", "code")  # what a file has to have, besides its format, ...
OBJECTS = ("knobs", "agent's code", "versions", "tasks", "declined")  # ... by kind


class Record(NamedTuple):
    """What one agent did in a suite."""

    suite: Suite
    agent: AgentSpec
    code: dict[str, str]  # digests of the agent's code, by module
    versions: dict[str, str]  # of everything that took part
    package: str  # digest of the package's code and data that can change results
    values: dict[str, NDArray[np.float64]]  # by task: the measure (records, rows) after the rounds task.recorded
    declined: dict[str, str]  # tasks for its kind that it cannot play, and why

    def final(self, task: str) -> NDArray[np.float64]:
        """Return the measure (rows,) after the last round of a task."""
        return self.values[task][-1]

    def about(self) -> dict[str, Any]:
        """Return everything but the values, which are there as digests, as plain JSON values."""
        return {
            "format": FORMAT,
            "suite": self.suite.name,
            "suite digest": self.suite.digest,
            "agent": self.agent.label,
            "class": self.agent.where,
            "knobs": _portable(self.agent),
            "agent's code": self.code,
            "versions": self.versions,
            "code": self.package,
            "tasks": {
                name: {
                    "digest": self.suite.tasks[name].digest,
                    "measure": self.suite.tasks[name].measure,
                    "recorded": self.suite.tasks[name].recorded,
                    "rows": values.shape[1],
                    "mean": float(values[-1].mean()),
                    "values digest": values_digest(values),
                }
                for name, values in self.values.items()
            },
            "declined": self.declined,
        }


def values_digest(values: NDArray[np.float64]) -> str:
    """Return the sha256 of values (records, rows) as little-endian doubles, row after row."""
    return hashlib.sha256(np.ascontiguousarray(values, "<f8").tobytes()).hexdigest()


# -- the package's ----------------------------------------------------------------------------------------------------


def record_path(suite: str, agent: str) -> Path:
    """Return the path of the record of an agent of the package."""
    return HOME / suite / f"{slug(agent)}.npz"


def save_record(record: Record, path: Path) -> None:
    """Write a record as ``.npz``; the same record gives the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    arrays = {"about": np.array(json.dumps(record.about())), **record.values}
    with (
        atomic_path(path) as unfinished,
        zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file,
    ):
        for name, array in arrays.items():
            with file.open(zipfile.ZipInfo(f"{name}.npy"), "w") as member:  # without a time
                np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)


def load_record(path: Path) -> Record:
    """Read what ``save_record`` wrote; a ValueError if it is damaged, or of tasks that were changed since."""
    try:
        values = read_arrays(path, MOST_BYTES)
        about = parse_json(str(values.pop("about")))
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(f"{path} is not a record: {error}") from None
    return _record(about, values, str(path))


@functools.cache
def shipped_records(suite: str) -> Mapping[str, Record]:
    """Return the records of the package's agents in a suite, by their names."""
    records = map(load_record, sorted((HOME / suite).glob("*.npz")))
    return {record.agent.label: record for record in records}


# -- submissions ------------------------------------------------------------------------------------------------------


def submission(record: Record) -> dict[str, Any]:
    """Return a record as plain JSON values, with a digest of all of them."""
    document = record.about()
    for name, values in record.values.items():
        document["tasks"][name]["values"] = values.tolist()
    return {**document, "digest": _document_digest(document)}


def read_submission(path: Path) -> Record:
    """Read a submission; a ValueError if it is not one, was changed, or is of another suite than there is here."""
    try:
        document = parse_json(read_file(path, MOST_BYTES))
    except ValueError as error:
        raise ValueError(f"{path} is not a submission: {error}; allowed: {ALLOWED}") from None
    if not isinstance(document, dict) or not {"format", *TEXTS, *OBJECTS, "digest"} <= document.keys():
        raise ValueError(f"{path} is not a submission; allowed: {ALLOWED}")
    if document.pop("digest") != _document_digest(document):
        raise ValueError(f"{path} was changed after it was written: its digest is another one; allowed: {ALLOWED}")
    try:
        values = {name: np.array(task.pop("values"), np.float64) for name, task in document["tasks"].items()}
        return _record(document, values, str(path))
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is not a submission ({type(error).__name__}: {error}); allowed: {ALLOWED}") from None


ALLOWED = "submission.json as `rankgym score` wrote it"


def _document_digest(document: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def _record(about: Mapping[str, Any], values: dict[str, NDArray[np.float64]], place: str) -> Record:
    """Return the record of a file ``place``; a ValueError if its suite is not the one of this name here."""
    if about["format"] != FORMAT:
        raise ValueError(f"{place} has the format {about['format']!r}; this version of rankgym reads {FORMAT}")
    for name, kind in {**dict.fromkeys(TEXTS, str), **dict.fromkeys(OBJECTS, dict)}.items():
        if not isinstance(about[name], kind):
            raise ValueError(f"{place} is damaged: {name!r} is {about[name]!r}")
    made_by = f"it was made by rankgym {about['versions'].get('rankgym')}"
    if about["suite"] not in SUITES:
        raise ValueError(f"{place} is of the suite {about['suite']!r}, {made_by}; here there is {', '.join(SUITES)}")
    suite = find_suite(about["suite"])
    others = [
        n for n, task in about["tasks"].items() if n not in suite.tasks or suite.tasks[n].digest != task["digest"]
    ]
    if others or about["suite digest"] != suite.digest:
        what = f"the task {others[0]}" if others else "its list of tasks"
        raise ValueError(f"{place} is of other tasks under the name {suite.name!r} ({what} differs), {made_by}")
    for name, array in values.items():
        task = suite.tasks[name]
        if array.ndim != 2 or len(array) != len(task.recorded) or array.dtype != np.float64:
            raise ValueError(
                f"{place} has values of {name} of shape {array.shape}; allowed: {len(task.recorded)} records"
            )
        if values_digest(array) != about["tasks"][name]["values digest"]:
            raise ValueError(f"{place} is damaged: the values of {name} have another digest")
    if values.keys() != about["tasks"].keys():
        raise ValueError(f"{place} is damaged: it lacks values of a task")
    agent = _agent(about)
    given = (dict(about["agent's code"]), dict(about["versions"]), str(about["code"]))
    return Record(suite, agent, *given, values, dict(about["declined"]))


def _portable(agent: AgentSpec) -> dict[str, Any]:
    """Return an agent's knobs with the name of a model of the package in place of its path."""
    path = Path(str(agent.knobs.get("model", "")))
    return {**agent.knobs, "model": path.stem} if agent.where == MODEL and path.parent == WEIGHTS else agent.knobs


def _agent(about: Mapping[str, Any]) -> AgentSpec:
    """Return the agent of a file, with the path of a model of the package."""
    where, knobs = str(about["class"]), dict(about["knobs"])
    if where == MODEL and knobs.get("model") in shipped_models():
        knobs["model"] = shipped_file(knobs["model"])
    return AgentSpec(str(about["agent"]), where, knobs)

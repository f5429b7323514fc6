"""Score an agent, write the files of a score, verify a submission. The benchmark's Python face."""

import contextlib
import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rankgym.arguments import named_keywords
from rankgym.experiments.plan.agents import MODEL, AgentLike, AgentSpec
from rankgym.experiments.run.foreign_files import has_keys, named
from rankgym.experiments.scoring.placing import Scorecard, as_json, place
from rankgym.experiments.scoring.playing import loaded, one_agent, play
from rankgym.experiments.scoring.records import Record, read_submission, submission
from rankgym.experiments.scoring.suite import LATEST, find_suite
from rankgym.extras import require
from rankgym.outputs import atomic_path, check_writable, json_text

FILES = ("score.json", "submission.json", "score.html", "profile.png", "profile.svg")
SCORE_KEYS = {"suite", "agent", "score", "tasks"}  # of score.json


@named_keywords
def score(
    agent: AgentLike, *, suite: str = LATEST, out: str | os.PathLike[str] | None = None, progress: bool = True
) -> Scorecard:
    """Let an agent play a suite, and place it among the package's agents.

    Args:
        agent: as in ``compare``: a name, with knobs if wanted, a class, ``"package.module:Class"``, or a model's file.
        suite: the suite's name, with its version.
        out: a folder for ``score.json``, ``submission.json``, ``score.html``, ``profile.png`` and ``profile.svg``; it
            replaces another score there. Default: nothing is written.
        progress: whether to show a bar.

    Raises:
        ValueError: an argument does not fit, or the agent cannot be made for any task.
        AgentFailed: the agent failed while it played. Nothing is written then.

    Examples:
        >>> from rankgym.experiments.scoring.scoring import score
        >>> card = score("toprank", out="toprank-score")  # doctest: +SKIP

        (Skipped in tests: a suite takes minutes.)
    """
    for library in ("matplotlib", "scipy") if out is not None else ("scipy",):
        require(library)
    found, spec = find_suite(suite), one_agent(agent)
    if out is None:
        return place(play(spec, found, progress=progress))
    folder = Path(out)
    _refuse_foreign_files(folder)
    with _made(folder):
        card = place(play(spec, found, progress=progress))
        save(card, folder)
    return card


def save(card: Scorecard, folder: Path) -> None:
    """Write the files of a score; all of them are made before the first is written."""
    from rankgym import style  # needs matplotlib
    from rankgym.experiments.scoring.page import page
    from rankgym.experiments.scoring.profile import draw_profile

    contents = {"score.json": json_text(as_json(card)).encode()}
    contents["submission.json"] = f"{json.dumps(submission(card.record))}\n".encode()
    contents["score.html"] = page(card).encode()
    for kind in ("png", "svg"):
        file = io.BytesIO()
        style.write(draw_profile(card), file, kind)
        contents[f"profile.{kind}"] = file.getvalue()
    for name in FILES:
        with atomic_path(folder / name) as path:
            path.write_bytes(contents[name])


def _refuse_foreign_files(folder: Path) -> None:
    """Raise a ValueError if a file in ``folder`` would be replaced that no score wrote."""
    there = [name for name in FILES if (folder / name).exists()]
    if there and not has_keys(folder / "score.json", SCORE_KEYS):
        raise ValueError(
            f"out = {os.fspath(folder)!r} has files that no score wrote ({named(there)}); allowed: another folder"
        )


@contextlib.contextmanager
def _made(folder: Path) -> Iterator[None]:
    """Context manager: make ``folder``, and remove what was made of it if an error follows."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    check_writable(folder, folder)
    try:
        yield
    except BaseException:
        for path in missing:
            with contextlib.suppress(OSError):
                path.rmdir()
        raise


# -- verifying --------------------------------------------------------------------------------------------------------


class Difference(NamedTuple):
    """A task in which a submission is not what playing again gives."""

    task: str
    text: str


class Verification(NamedTuple):
    """What came of playing a submission again."""

    submitted: Record
    notes: list[str]  # other versions or code than the submission's
    differences: list[Difference]


def verify(file: str | os.PathLike[str], agent: AgentLike | None = None, *, progress: bool = True) -> Verification:
    """Play a submission's agent again and compare all numbers, bit for bit.

    Code that is not the package's is never imported because a file names it.

    Args:
        file: a ``submission.json``.
        agent: plays in place of the one that the file names: needed if that is not an agent of the package. Its code
            runs; give those that you trust.
        progress: whether to show a bar.

    Raises:
        ValueError: the file is not a submission, was changed, or is of another suite than there is here.

    Examples:
        >>> from rankgym.experiments.scoring.scoring import verify
        >>> verification = verify("toprank-score/submission.json")  # doctest: +SKIP

        (Skipped in tests: a suite takes minutes.)
    """
    require("scipy")
    submitted = read_submission(Path(file))
    spec = _agent_of_the_package(submitted.agent, Path(file)) if agent is None else one_agent(agent)
    replayed = play(spec, submitted.suite, progress=progress)
    return Verification(submitted, _other_versions(submitted, replayed), _different(submitted, replayed))


def _agent_of_the_package(agent: AgentSpec, file: Path) -> AgentSpec:
    """Import the agent that a file names, or raise a ValueError: it is code of somebody else."""
    from rankgym_agents import AGENTS

    inner = agent.knobs.get("agent")
    known = {MODEL, *(f"{one.__module__}:{one.__qualname__}" for one in AGENTS.values())}
    if agent.where not in known or not (inner is None or inner in AGENTS):
        raise ValueError(
            f"{file} has the agent {agent.label!r}, which is not one of the package ({agent.where}); its code is not "
            f"run because a file names it; allowed: its name with --verify, if you trust it, such as "
            f"`rankgym score MODULE:CLASS --verify {file}` (in Python verify(file, agent))"
        )
    return loaded(agent)


def _other_versions(submitted: Record, here: Record) -> list[str]:
    """Say in which versions and code a submission was made, if others are here."""
    then, now = submitted.versions, here.versions
    found = [f"{name} {then.get(name, 'unknown')}, here {now[name]}" for name in now if then.get(name) != now[name]]
    if submitted.package != here.package:
        found.append(f"other code of rankgym ({submitted.package[:8]}, here {here.package[:8]})")
    found += [f"other code in {name}" for name, digest in here.code.items() if submitted.code.get(name) != digest]
    return [f"The submission was made with {words}." for words in found]


def _different(submitted: Record, replayed: Record) -> list[Difference]:
    """Say in which tasks two records of one suite differ, and where first."""
    found = []
    for name, task in submitted.suite.tasks.items():
        one, other = submitted.values.get(name), replayed.values.get(name)
        if one is None or other is None:
            if one is not other:
                played = (
                    "was not played, but can be" if one is None else f"cannot be played: {replayed.declined.get(name)}"
                )
                found.append(Difference(name, played))
        elif one.shape != other.shape:
            found.append(Difference(name, f"has {one.shape[1]} rows; the task has {other.shape[1]}"))
        elif not np.array_equal(one, other):
            row = int(np.flatnonzero((one != other).any(axis=0))[0])
            record = int(np.flatnonzero(one[:, row] != other[:, row])[0])
            number = int((one != other).any(axis=0).sum())
            values = f"{float(one[record, row])!r}, played again {float(other[record, row])!r}"
            where = f"first in row {row} after round {task.recorded[record]:,}: submitted {values}"
            means = f"the means are {one[-1].mean():.6g} and {other[-1].mean():.6g}"
            found.append(Difference(name, f"{number} of {one.shape[1]} rows differ, {where}; {means}"))
    return found

"""How far the sweep in a folder is. Nothing is changed, and neither agents nor environments are imported."""

import contextlib
import os
from pathlib import Path
from typing import Any, NamedTuple

from rankgym.experiments.plan.jobs import RESULTS
from rankgym.experiments.run import store
from rankgym.experiments.run.lock import who_runs
from rankgym.experiments.run.origin import Present
from rankgym.experiments.run.plan_file import Plan, PlannedJob, choices, from_settings, made_by, read_plan
from rankgym.experiments.run.result_file import read_settings
from rankgym.experiments.run.work_folder import WorkFolder


class AgentStatus(NamedTuple):
    """How far one agent is in one environment: numbers of jobs, and of sessions."""

    environment: str
    agent: str
    jobs: int = 0
    finished: int = 0
    running: int = 0  # played now
    begun: int = 0  # not played now, but there is a checkpoint
    damaged: int = 0  # the result is not what was written
    played: int = 0  # of jobs that are not played now: what their checkpoints have
    sessions: int = 0
    lost: int = 0  # played since the last checkpoint, or without one: will be played again

    @property
    def to_do(self) -> int:
        """Jobs that have not started."""
        return self.jobs - self.finished - self.running - self.begun


class SweepStatus(NamedTuple):
    """How far a sweep is."""

    name: str  # its title
    agents: list[AgentStatus]
    damaged: list[str]  # what is wrong with damaged results
    others: store.Others
    running: str  # which process plays it now; "" if none does


def sweep_status(folder: str | os.PathLike[str]) -> SweepStatus:
    """Look how far the sweep in ``folder`` is: by its plan, or without one by the results themselves.

    Results of other versions, code or data than this process has count as ``others``, not as finished.
    Raises ValueError if the folder has neither, or its plan is damaged.
    """
    root = Path(folder)
    plan = read_plan(root)
    plan = _plan_of_results(root) if plan is None else plan._replace(jobs=_as_made_now(root, plan.jobs))
    examined, running = store.examine(root, plan.jobs), who_runs(root)
    folders = [WorkFolder(path) for path in root.glob("work-*") if path.is_dir()]
    progress = {key: work.read_progress(key) for work in folders for key in work.keys_with_progress()}
    saved = {path.stem for work in folders for path in work.checkpoints()}
    lines: dict[tuple[str, str], AgentStatus] = {}
    for job in plan.jobs:
        place = (job.environment, job.agent)
        line = lines.get(place, AgentStatus(*place))
        done = job.key in examined.finished
        plays = bool(running) and job.key in progress and not done
        played, kept = _played(progress.get(job.key, {}), job.sessions)
        lost = 0 if done or plays else played - kept
        lines[place] = line._replace(
            jobs=line.jobs + 1,
            finished=line.finished + done,
            running=line.running + plays,
            begun=line.begun + (job.key in saved and not done and not plays),
            damaged=line.damaged + (job.key in examined.damaged),
            played=line.played + (job.sessions if done else played - lost),
            sessions=line.sessions + job.sessions,
            lost=line.lost + lost,
        )
    damaged = list(examined.damaged.values())
    return SweepStatus(plan.name, list(lines.values()), damaged, store.others(root, plan.jobs), running)


def _played(progress: dict[str, Any], most: int) -> tuple[int, int]:
    """Return how many sessions a job has played, and how many of them its checkpoint has."""
    played = progress.get("played", 0)
    played = min(played, most) if isinstance(played, int) else 0
    kept = progress.get("kept", played)
    return played, min(kept, played) if isinstance(kept, int) else 0


def _as_made_now(folder: Path, jobs: list[PlannedJob]) -> list[PlannedJob]:
    """The jobs as they would be played now; without a known key if that is another job, which has no result."""
    present, made = Present(), dict[str, list[dict[str, Any]]]()
    for path in sorted((folder / RESULTS).glob("*.parquet")):
        with contextlib.suppress(KeyError, TypeError, ValueError, OSError):
            settings = read_settings(path)
            made.setdefault(choices(settings), []).append(settings)
    found = []
    for job in jobs:
        there = sorted(made.get(job.choices, []), key=lambda settings: settings["key"] != job.key)
        current = [settings for settings in there if not present.differences(settings)]
        now = present.now(there[0]).made_by if there else {**job.made_by, **present.here}
        if current:
            found.append(job._replace(key=current[0]["key"], made_by=made_by(current[0])))
        else:
            found.append(job if now == job.made_by else job._replace(key="unknown", made_by=now))
    return found


def _plan_of_results(folder: Path) -> Plan:
    """What the results in a folder say of their jobs."""
    jobs = []
    for path in sorted((folder / RESULTS).glob("*.parquet")):
        with contextlib.suppress(KeyError, TypeError, ValueError, OSError):  # of damaged files, ``others`` tells
            jobs.append(from_settings(read_settings(path)))
    if not jobs:
        raise ValueError(
            f"{os.fspath(folder)} is not the folder of a sweep: it has neither a plan.json nor results; allowed: what "
            "`rankgym sweep run FILE.toml --out FOLDER` made"
        )
    return Plan("", jobs)

"""How fast figures were played, by the log of their folder; how long the paper's scale would take at that pace."""

import contextlib
import math
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from rankgym.experiments.papers.figure import PaperFigure
from rankgym.experiments.papers.listing import sessions_by_agent
from rankgym.experiments.plan.environments import env_id as full_id
from rankgym.experiments.plan.sweep import Sweep
from rankgym.experiments.run.driver import read_log


class Pace(NamedTuple):
    """How fast a sweep was played, and how long the paper's scale would take at this rate."""

    sessions: int  # of all rows, including sessions that retired rows did not play
    played: int  # without them
    seconds: float  # of processes, added up
    full: int  # sessions of the full scale
    full_seconds: float  # of processes, added up; NaN: an agent of it was not played at this scale

    @property
    def rate(self) -> float:
        """Sessions per second of one process."""
        return self.sessions / max(self.seconds, 1e-9)


def measure_pace(figure: PaperFigure, sweep: Sweep, data: Path, source: str) -> Pace | None:
    """Return the pace of ``sweep`` by the log of the folder; None if the log has none of its jobs.

    The full scale's rate is the agent's in the same environment or, if that was not played, in all with the same id.
    Rates rise with the number of rows, and with the rounds if agents settle.
    """
    lines = read_log(data)
    taken = [(job, lines[job.key]) for job in sweep.jobs() if {"seconds", "played"} <= lines.get(job.key, {}).keys()]
    if not taken:
        return None
    seconds: dict[tuple[str, str], float] = defaultdict(float)
    sessions: dict[tuple[str, str], int] = defaultdict(int)
    for job, line in taken:
        for place in ((job.environment, job.block.agent.label), (job.block.env_id, job.block.agent.label)):
            seconds[place] += float(line["seconds"])
            sessions[place] += job.sessions
    ids = {}
    full: dict[tuple[str, str], int] = {}
    with contextlib.suppress(ValueError, OSError):  # the full scale's data may be missing
        whole = figure.sweep("full", source)
        ids = {environment.label: full_id(environment.env_id) for environment in whole.environments}
        full = sessions_by_agent(whole)
    projected = 0.0 if full else math.nan
    for (label, agent), number in full.items():
        place = (label, agent) if sessions[label, agent] else (ids[label], agent)
        projected += number * seconds[place] / sessions[place] if sessions[place] else math.nan
    played, spent = sum(int(line["played"]) for _, line in taken), sum(float(line["seconds"]) for _, line in taken)
    return Pace(sum(job.sessions for job, _ in taken), played, spent, sum(full.values()), projected)

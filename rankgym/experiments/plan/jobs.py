"""Jobs: blocks of rows of one agent in one environment, and the keys that name their results."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from rankgym.experiments.plan.agents import AgentSpec, slug
from rankgym.experiments.plan.digests import code_digest, data_digests, key_of, model_code
from rankgym.extras import require
from rankgym.outputs import versions

RESULTS = "results"  # the folder of result files, in the folder of a sweep
RESULT_FORMAT = 1  # of result files
MAX_LABEL_LENGTH = 60  # letters of an agent's label in a file's name


class Block(NamedTuple):
    """Rows ``start .. stop - 1`` of one agent in one environment, which are played together."""

    agent: AgentSpec
    env_id: str
    env_kwargs: dict[str, Any]  # without what rows play
    start: int
    stop: int
    choice: str | None  # the environment's argument that says what each row plays; None: it has no such argument
    queries: list[int]  # (stop - start,) the query or problem of each row
    seed: int  # of row 0; row b has seed + b, for users and agent alike
    horizon: int  # the horizon that the agent is given
    rounds: int
    record_at: list[int]

    @property
    def rows(self) -> int:
        return self.stop - self.start


class Job(NamedTuple):
    """A block and its key: one result file."""

    environment: str  # label in the sweep
    block: Block
    retire: bool
    queries: int  # number of queries Q; row b plays query b mod Q
    key: str  # digest of ``decides``
    decides: dict[str, Any]  # everything that decides the bytes of the result file, as plain JSON values
    rows: int  # of the agent in the environment, in all jobs
    unit: str  # "sessions" or "duels"

    @property
    def file(self) -> str:
        """The name of the result file."""
        return str(ResultName.of(self.block.agent.label, self.block.start, self.block.stop, self.key))

    @property
    def sessions(self) -> int:
        """Sessions of all rows."""
        return self.block.rows * self.block.rounds


class ResultName(NamedTuple):
    """What the name of a result file says: ``<agent>-rows-<first>-<last>-<key>.parquet``."""

    agent: str  # the label as a file name, cut to MAX_LABEL_LENGTH
    start: int
    stop: int  # the row after the last
    key: str

    def __str__(self) -> str:
        return f"{self.agent}-rows-{self.start}-{self.stop - 1}-{self.key}.parquet"

    @classmethod
    def of(cls, agent: str, start: int, stop: int, key: str) -> "ResultName":
        """The result of an agent's rows; ``agent`` is its label."""
        return cls(slug(agent)[:MAX_LABEL_LENGTH], start, stop, key)

    @classmethod
    def parse(cls, name: str) -> "ResultName | None":
        """Read the name of a file; None if it is not that of a result."""
        found = re.fullmatch(r"(.+)-rows-(\d+)-(\d+)-([0-9a-f]{20})\.parquet", name)
        return found and cls(found[1], int(found[2]), int(found[3]) + 1, found[4])


def made_in(folder: str | os.PathLike[str]) -> list[ResultName]:
    """Return the names of the results in the folder of a sweep, sound or not."""
    names = (path.name for path in (Path(folder) / RESULTS).glob("*.parquet"))
    return list(filter(None, map(ResultName.parse, names)))


class Series(NamedTuple):
    """All rows of one agent in one environment, before they are cut into jobs."""

    environment: str  # label in the sweep
    whole: Block  # rows 0 .. rows - 1
    retire: bool
    queries: list[int]  # row b plays the query numbered b mod len(queries)
    unit: str  # "sessions" or "duels"

    def job(self, start: int, stop: int) -> Job:
        """Return the job of the rows ``start .. stop - 1``."""
        queries = [self.queries[row % len(self.queries)] for row in range(start, stop)]
        block = self.whole._replace(start=start, stop=stop, queries=queries)
        decides = decisive(block, self.retire, len(self.queries))
        rest = (key_of(decides), decides, self.whole.rows, self.unit)
        return Job(self.environment, block, self.retire, len(self.queries), *rest)

    def cut(self, size: int, made: Iterable[ResultName] = ()) -> list[Job]:
        """Cut the rows into jobs of ``size`` rows, but keep the cut of results that are ``made`` already.

        Only results with the keys of this series' own jobs count. Jobs may overlap then, or exceed the last row.
        """
        rows, label = self.whole.rows, slug(self.whole.agent.label)[:MAX_LABEL_LENGTH]
        jobs = {cut: self.job(*cut) for cut in cover(rows, size, ())}
        mine = [one for one in made if one.agent == label and one.start < rows]
        keys = {one.key for one in mine}
        there = [cut for cut, job in jobs.items() if job.key in keys]
        for _, start, stop, key in mine:
            if (start, stop) not in jobs and (job := self.job(start, stop)).key == key:
                jobs[start, stop] = job
                there.append((start, stop))
        return [jobs[cut] if cut in jobs else self.job(*cut) for cut in cover(rows, size, there)]


def cover(rows: int, size: int, made: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Cover ``rows`` rows with ranges (start, stop): those ``made``, and gaps cut at multiples of ``size``."""
    ranges, chosen, at = sorted(made), list[tuple[int, int]](), 0
    while at < rows:
        gap = (at, min([at - at % size + size, rows, *(start for start, _ in ranges if start > at)]))
        chosen.append(max((one for one in ranges if one[0] <= at < one[1]), key=lambda one: one[1], default=gap))
        at = chosen[-1][1]
    return chosen


def made_here() -> dict[str, Any]:
    """Return what of this process decides every result: format, versions and code of rankgym."""
    made = {**versions(), "pyarrow": require("pyarrow").__version__}  # its version shows in the file's bytes
    return {"format": RESULT_FORMAT, "versions": made, "code": code_digest()}


def decisive(block: Block, retire: bool, queries: int) -> dict[str, Any]:
    """Return everything that decides the bytes of a block's result file, as plain JSON values.

    A worker on another machine may have other versions, code or data: it compares these values with its own.
    """
    return {
        **made_here(),
        "environment": block.env_id,
        "arguments": block.env_kwargs,
        "agent": block.agent.label,
        "class": block.agent.where,
        "knobs": block.agent.knobs,
        "rows": [block.start, block.stop],
        "choice": block.choice,
        "queries": queries,
        "query": block.queries,
        "seed": block.seed,
        "horizon": block.horizon,
        "rounds": block.rounds,
        "record_at": block.record_at,
        "retire": retire,
        "agent's code": block.agent.code(),
        "data": model_code(block.env_kwargs) | data_digests(block.env_kwargs) | data_digests(block.agent.knobs),
    }

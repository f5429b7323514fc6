"""Jobs: a block of rows of one agent in one environment, and the key that names its result."""

from __future__ import annotations

from typing import Any, NamedTuple

from rankgym.experiments.plan.agents import AgentSpec
from rankgym.experiments.plan.digests import code_digest, data_digests, key_of
from rankgym.extras import require
from rankgym.outputs import versions

__all__ = ["RESULT_FORMAT", "Block", "Job", "decisive", "job_of"]

RESULT_FORMAT = 1  # of result files


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

    @property
    def sessions(self) -> int:
        """Sessions of all rows."""
        return self.block.rows * self.block.rounds


def job_of(environment: str, block: Block, retire: bool, queries: int) -> Job:
    """Return the job that plays ``block``."""
    decides = decisive(block, retire, queries)
    return Job(environment, block, retire, queries, key_of(decides), decides)


def decisive(block: Block, retire: bool, queries: int) -> dict[str, Any]:
    """Return everything that decides the bytes of a block's result file, as plain JSON values.

    A worker on another machine may have other versions, code or data: it compares these values with its own.
    """
    return {
        "format": RESULT_FORMAT,
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
        "versions": {**versions(), "pyarrow": require("pyarrow").__version__},  # its version shows in the file's bytes
        "code": code_digest(),
        "agent's code": block.agent.digest().strip(),
        "data": data_digests(block.env_kwargs) | data_digests(block.agent.knobs),
    }

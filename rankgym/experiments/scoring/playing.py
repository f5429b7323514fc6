"""An agent plays a suite, or samples of it again. What it plays depends on suite and agent alone."""

import contextlib
import functools
import json
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from rankgym.conformance.agents import kind_of
from rankgym.experiments.plan.agents import AgentFailed, AgentLike, AgentSpec, shipped_file, shipped_models
from rankgym.experiments.plan.digests import code_digest
from rankgym.experiments.plan.environments import ResolvedEnvironment, agent_specs, resolve
from rankgym.experiments.plan.jobs import Block
from rankgym.experiments.run.rows import Run, make
from rankgym.experiments.scoring.records import Record
from rankgym.experiments.scoring.suite import DUELERS, RANKERS, REFERENCE, Suite, Task
from rankgym.outputs import versions, when_interrupted
from rankgym.progress import late_bar, rate_bar

KINDS = {"ranking": RANKERS, "dueling": DUELERS}


def one_agent(agent: AgentLike) -> AgentSpec:
    """Parse and import one agent; errors are those of ``compare``."""
    specs = agent_specs([agent])
    return specs[0]


def loaded(spec: AgentSpec) -> AgentSpec:
    """Import the agent that a file names; a ValueError if that is not possible here."""
    try:
        spec.load()
    except Exception as error:
        said = str(error).removeprefix(f"agent = {spec.label!r}: ")
        raise ValueError(f"agent = {spec.label!r} ({spec.where}) cannot be loaded here: {said}") from error
    return spec


def kind_of_agent(spec: AgentSpec) -> str:
    """Return whether an agent ranks items or plays duels."""
    return KINDS[kind_of(spec.load())]


def play(agent: AgentSpec, suite: Suite, *, progress: bool = True) -> Record:
    """Let ``agent`` play all tasks of a suite that are for its kind, and return its record.

    The agent is made for each task before any is played. A task for which it raises a ValueError then, as a trained
    model does for other sizes, is declined.

    Raises:
        ValueError: the agent cannot be made for any task.
        AgentFailed: the agent failed in a task.
    """
    blocks, declined = _blocks(agent, suite)
    total = sum(block.rows * block.rounds for block in blocks.values())
    values = {}
    bar = late_bar(progress, total, agent.label, lambda: rate_bar("sessions"))
    with when_interrupted(lambda: "nothing is kept of an unfinished score"), bar as report:
        for name, block in blocks.items():
            values[name] = _measured(block, suite.tasks[name].measure, report)
    return Record(suite, agent, agent.code(), versions(), code_digest(), values, declined)


def replay(agent: AgentSpec, task: Task, rows: Sequence[int], records: int) -> NDArray[np.float64]:
    """Play some ``rows`` of a task up to the record of this number, from 1; return the measure (records, rows)."""
    recorded = task.recorded[:records]
    columns = []
    for row in rows:
        block = _block(agent, task)
        one = block._replace(start=row, stop=row + 1, queries=block.queries[row : row + 1])
        columns.append(_measured(one._replace(rounds=recorded[-1], record_at=recorded), task.measure, lambda _: None))
    return np.concatenate(columns, axis=1)


def _measured(block: Block, measure: str, report: Callable[[int], None]) -> NDArray[np.float64]:
    """Play a block; return the measure (records, rows) after the rounds ``block.record_at``."""
    with contextlib.closing(Run(block)) as run:
        run.play(report)
        history = run.history()
    return np.array([history.at(number)[measure] for number in block.record_at])


def _blocks(agent: AgentSpec, suite: Suite) -> tuple[dict[str, Block], dict[str, str]]:
    """Return what the agent plays, by task, and the tasks of its kind that it declines, with the reasons."""
    blocks, declined = {}, {}
    first: Exception | None = None
    for name, task in suite.asks(kind_of_agent(agent)).items():
        block = _block(agent, task)
        try:
            make(block, [0])[0].close()
        except (ValueError, AgentFailed) as error:
            if not isinstance(error, ValueError) and not isinstance(error.__cause__, ValueError):
                raise
            first = first or error
            said = str(error).removeprefix(f"agent = {agent.label!r}: ")
            for model in shipped_models():
                said = said.replace(shipped_file(model), model)
            declined[name] = said
            continue
        blocks[name] = block
    if not blocks and first is not None:
        raise first
    return blocks, declined


def _block(agent: AgentSpec, task: Task) -> Block:
    """Return all rows of a task as a block."""
    place = _resolved(json.dumps(task._asdict()))
    rows = len(place.queries) * task.runs
    queries = place.queries * task.runs
    rest = (task.seed, task.rounds, task.rounds, task.recorded)
    return Block(agent, place.env_id, place.env_kwargs, 0, rows, place.choice, queries, *rest)


@functools.cache
def _resolved(task: str) -> ResolvedEnvironment:
    """Return the environment of a task, given as JSON."""
    given = Task(**json.loads(task))
    return resolve(given.env_id, [REFERENCE[given.kind]], given.rounds, given.query, given.arguments)

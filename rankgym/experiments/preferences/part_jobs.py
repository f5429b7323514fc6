"""Parts of a preference matrix as jobs of the engine."""

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.experiments.plan.digests import code_digest, key_of
from rankgym.experiments.plan.jobs import RESULT_FORMAT
from rankgym.experiments.preferences import problem
from rankgym.experiments.preferences.problem import MatrixPart, PartSums, ProblemSpec
from rankgym.experiments.run.result_file import Contents
from rankgym.source import source_digest

PART_SIZE = {"exact": 200_000, "simulate": 2_000_000}  # comparisons of a part: some seconds
MAX_PARTS = 1000
SAMPLE_PAIRS = 2000  # of a part that is tried exactly
SAMPLE_COMPARISONS = 20_000  # of a part that is tried by simulation


def parts_of(queries: int, pairs: int, method: str, per_query: int) -> list[MatrixPart]:
    """Cut queries and pairs into parts of about as much work, but not too many: each is a file."""
    target = max(PART_SIZE[method] / per_query, queries * pairs / MAX_PARTS)  # cells of a part
    pair_step = -(-pairs // max(1, round(pairs / target)))  # of equal sizes, as far as they go
    query_step = min(queries, max(1, round(target / pairs)))
    return [
        MatrixPart(q, min(q + query_step, queries), p, min(p + pair_step, pairs))
        for q in range(0, queries, query_step)
        for p in range(0, pairs, pair_step)
    ]


@functools.cache
def evaluation_code() -> str:
    """A digest of the code that decides the numbers."""
    own = {name: source_digest(Path(__file__).with_name(name)) for name in ("problem.py", "exact.py")}
    return key_of({"code": code_digest(), **own})


class PartJob(NamedTuple):
    """A part as the engine plays it."""

    spec: ProblemSpec
    part: MatrixPart
    per_query: int  # comparisons of a pair on a query; 1 if exact
    matrix: str  # the key of the whole matrix
    code: str  # as the driver has it

    @property
    def key(self) -> str:
        query, query_stop, pair, pair_stop = self.part
        return f"{self.matrix}-queries-{query}-{query_stop}-pairs-{pair}-{pair_stop}"

    @property
    def file(self) -> str:
        return f"{self.key}.parquet"

    @property
    def label(self) -> str:
        query, query_stop, pair, pair_stop = self.part
        return f"queries {query}-{query_stop - 1} pairs {pair}-{pair_stop - 1}"

    @property
    def kind(self) -> str:
        return self.spec.method

    @property
    def size(self) -> int:
        return self.part.cells * self.per_query

    @property
    def unit(self) -> str:
        return "comparisons"

    @property
    def modules(self) -> tuple[str, ...]:
        return ()

    @property
    def log(self) -> Mapping[str, Any]:
        return self.part._asdict()

    def start(self) -> "PlayingPart":
        return PlayingPart(self)

    def result(self, playing: "PlayingPart") -> Contents:
        mean, variance, seconds = playing.sums
        settings = {"format": RESULT_FORMAT, "key": self.key, "seconds": seconds}
        return Contents(settings, {"mean": mean, "variance": variance})

    def sample(self) -> "PartJob":
        few, per_query = SAMPLE_PAIRS, 1
        if self.spec.method == "simulate":
            per_query = min(self.per_query, SAMPLE_COMPARISONS)
            few = max(1, SAMPLE_COMPARISONS // self.per_query)
        stop = min(self.part.pair + few, self.part.pair_stop)
        part = MatrixPart(self.part.query, self.part.query + 1, self.part.pair, stop)
        return self._replace(per_query=per_query, part=part)

    def mismatch(self) -> str:
        return "" if evaluation_code() == self.code else "other code of rankgym"


class PlayingPart:
    """A part that has been started: in a simulation, query by query."""

    def __init__(self, job: PartJob) -> None:
        self.job, self.problem = job, problem.problem_of(job.spec)
        self.query, pairs = job.part.query, job.part.pair_stop - job.part.pair
        self.sums = PartSums(np.zeros(pairs), np.zeros(pairs), 0.0)

    @property
    def finished(self) -> bool:
        return self.query == self.job.part.query_stop

    @property
    def computed(self) -> int:
        return (self.query - self.job.part.query) * len(self.sums.mean) * self.job.per_query

    def play(self, tell: Callable[[int], None], pause: Callable[[], bool]) -> None:
        """Evaluate to the end; a simulation looks after each query whether to pause."""
        part = self.job.part
        if self.job.spec.method == "exact":
            self.sums, self.query = problem.exact_sums(self.problem, part), part.query_stop
            tell(self.job.size)
            return
        for one in problem.query_sums(self.problem, part, self.query, self.job.per_query):
            mean, variance, seconds = self.sums
            self.sums = PartSums(mean + one.mean, variance + one.variance, seconds + one.seconds)
            self.query += 1
            tell(len(one.mean) * self.job.per_query)
            if pause():
                return

    def snapshot(self) -> Mapping[str, NDArray[Any]]:
        return {name: np.asarray(value) for name, value in {**self.sums._asdict(), "query": self.query}.items()}

    def restore(self, snapshot: Mapping[str, NDArray[Any]]) -> None:
        mean, variance, query = snapshot["mean"], snapshot["variance"], int(snapshot["query"])
        fits = mean.shape == variance.shape == self.sums.mean.shape
        if not fits or not self.query <= query <= self.job.part.query_stop:
            raise ValueError(f"the snapshot has sums of shape {mean.shape} and query {query}")
        self.sums, self.query = PartSums(mean, variance, float(snapshot["seconds"])), query

    def close(self) -> None: ...

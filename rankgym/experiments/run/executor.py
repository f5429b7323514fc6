"""Who plays jobs: this process, processes of this machine, or a cluster.

joblib is the one seam: ``Parallel`` runs ``worker.work`` on every job, in its own processes (loky), on a Dask cluster,
or on any backend that joblib knows. Every worker must see the folder of the results under the same path, and have the
same versions of everything and the same data.
"""

import math
import os
import sys
from collections.abc import Sequence
from typing import Any

from rankgym.arguments import one_of, plain_number, whole_number
from rankgym.experiments.run import worker
from rankgym.extras import require

CONNECT_WAIT = 15.0  # seconds for a cluster's scheduler to answer
WORKER_WAIT = 60.0  # seconds for a cluster without workers to get one: some start them when there is work
BEGIN_WAIT = 20.0  # seconds until a job that a cluster was given should have begun


class Executor:
    """Context manager that can play jobs.

    Args:
        backend: of joblib. None: processes of this machine. "dask": a Dask cluster. "ray": a Ray
            cluster, the one that RAY_ADDRESS names, or one on this machine.
        address: of the cluster's scheduler, with "dask". None: the current client's.
        jobs: processes; 1: this one. None: all processors, or all of a cluster's workers.
        checkpoint_every: seconds between checkpoints of a running job.

    Raises:
        ValueError: an argument is out of range, the arguments do not go together, the backend is unknown, or (on
            entering) the cluster is not there.
        RuntimeError: a library is missing.
    """

    def __init__(
        self,
        backend: str | None = None,
        address: str | None = None,
        jobs: int | None = None,
        checkpoint_every: float = 120.0,
    ) -> None:
        for name in ("joblib", "pyarrow", "filelock"):
            require(name)
        jobs = None if jobs is None else whole_number("jobs", jobs, 1)
        every = plain_number(checkpoint_every)
        if every is None or not 0 < every < math.inf:
            raise ValueError(f"checkpoint_every = {checkpoint_every!r} is out of range; allowed: seconds, more than 0")
        if address is not None and backend != "dask":
            raise ValueError(f"address = {address!r} goes with backend = 'dask', not with {backend!r}")
        if jobs is not None and backend == "dask":
            raise ValueError(f"jobs = {jobs} is for processes; allowed with backend = 'dask': None, for all workers")
        self.backend, self.address, self.jobs = backend or "loky", address, jobs
        self.checkpoint_every = float(every)
        self.client: Any = None
        self.shown = True  # what is waited for
        if self.backend == "ray":
            require("ray", "ray")
            require("ray.util.joblib", "ray").register_ray()
        known = require("joblib.parallel")
        one_of("backend", self.backend, dict.fromkeys(sorted({*known.BACKENDS, *known.EXTERNAL_BACKENDS})))

    def __enter__(self) -> "Executor":
        if self.backend == "dask":
            self.client = _dask_client(self.address)
            try:
                self._need_workers()
            except BaseException:
                self.__exit__()
                raise
        return self

    def __exit__(self, *_: Any) -> None:
        if self.client is not None and self.address is not None:
            self.client.close()

    def _need_workers(self) -> None:
        """Wait for the first worker of a Dask cluster, and say so; ValueError if none comes although there is work."""
        if not (said := self.waits_for(begun=True, seconds=0.0)):
            return
        if self.shown:
            print(f"waiting for a worker, {WORKER_WAIT:.0f} seconds at most: {said}", file=sys.stderr, flush=True)
        try:
            self.client.submit(int, pure=False).result(timeout=WORKER_WAIT)
        except (TimeoutError, require("distributed").TimeoutError):
            raise ValueError(said) from None

    def waits_for(self, *, begun: bool, seconds: float) -> str:
        """Say what a Dask cluster waits for, and what to do; "" if nothing is known to be wrong.

        Args:
            begun: whether a job has begun.
            seconds: since the cluster was given the jobs.
        """
        if self.client is None:
            return ""
        address, workers = self.client.scheduler.address, len(self.client.scheduler_info()["workers"])
        if not workers:
            return f"the scheduler at {address} has no workers; start one: dask worker {address} --nthreads 1"
        if not begun and seconds > BEGIN_WAIT:
            return (
                f"no worker of the scheduler at {address} has begun a job in {seconds:.0f} seconds; it may have other "
                f"work. Wait, or start another one: dask worker {address} --nthreads 1"
            )
        return ""

    def processes(self, jobs: int) -> int:
        """How many of ``jobs`` jobs are played at once, about."""
        return min(jobs, self.jobs or require("joblib").cpu_count())

    def in_this_process(self, jobs: int) -> bool:
        """Whether ``jobs`` jobs are played by the driver's process."""
        return self.backend == "loky" and self.processes(jobs) == 1

    def play(self, assignments: Sequence[worker.Assignment]) -> list[worker.Outcome]:
        """Play all jobs; raises any exception if a worker died, or the connection to the cluster broke."""
        joblib = require("joblib")
        backend: Any = self.backend
        number, options, folder = self.jobs or -1, {}, None
        if self.backend == "loky":
            number = self.processes(len(assignments))
            folder = os.getcwd() if number > 1 else None
            given = (os.getpid(), tuple(sys.path))  # joblib starts new processes if they have changed
            options = {"inner_max_num_threads": 1, "initializer": worker.begin_process, "initargs": given}
        elif self.client is not None:
            backend = _dask_backend(self.client)
        with joblib.parallel_config(backend, n_jobs=number, max_nbytes=None, **options):
            parallel = joblib.Parallel(batch_size=1, pre_dispatch="all")
            return list(parallel(joblib.delayed(worker.work)(assignment, folder) for assignment in assignments))


def _dask_backend(client: Any) -> Any:
    """joblib's backend for a Dask cluster, which plays on its only worker, too: joblib would play in this process."""
    known = require("joblib.parallel")
    known.EXTERNAL_BACKENDS["dask"]()  # registers it
    base: Any = known.BACKENDS["dask"]

    class OnWorkers(base):
        def effective_n_jobs(self, n_jobs: int) -> int:
            return max(2, int(super().effective_n_jobs(n_jobs)))

    return OnWorkers(client=client)


def _dask_client(address: str | None) -> Any:
    distributed = require("distributed", "distributed")
    if address is None:
        try:
            return distributed.get_client()
        except ValueError:
            raise ValueError(
                "backend = 'dask' needs an address; allowed: that of the cluster's scheduler, such as tcp://host:8786, "
                "or a dask.distributed.Client of this process"
            ) from None
    try:
        return distributed.Client(address, timeout=CONNECT_WAIT, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(
            f"address = {address!r} has no Dask scheduler ({type(error).__name__}: {error}); allowed: what "
            "`dask scheduler` shows, such as tcp://host:8786"
        ) from None

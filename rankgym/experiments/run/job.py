"""What the engine plays: jobs. There are two kinds: ``sweeps.SweepJob``, and a part of a preference matrix.

Worker, driver, progress display and store use what ``Playable`` and ``Playing`` have, and are the same for every kind.
A job is pickled for its worker, so it should be small.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from numpy.typing import NDArray

from rankgym.experiments.run.result_file import Contents


class Playing(Protocol):
    """A job that has been started. Pausing, saving and resuming it do not change its result."""

    @property
    def finished(self) -> bool: ...
    @property
    def computed(self) -> int: ...  # really played, in the job's unit; the rest followed without (rows that settled)

    def play(self, tell: Callable[[int], None], pause: Callable[[], bool]) -> None:
        """Play until the end, or until ``pause()``; something is played before it is asked first.

        ``tell`` takes how much was played since its last call. Both are called several times a second if possible.
        """

    def snapshot(self) -> Mapping[str, NDArray[Any]] | None:
        """The full state as plain arrays, or None if it cannot be saved."""

    def restore(self, snapshot: Mapping[str, NDArray[Any]]) -> None:
        """Restore the state of a ``snapshot``; any exception means that it does not fit, and ends this object's use."""

    def close(self) -> None: ...


class Playable(Protocol):
    """A job as the engine sees it."""

    @property
    def key(self) -> str: ...  # a digest of all that decides the result; names the job's files
    @property
    def file(self) -> str: ...  # the name of the result file
    @property
    def label(self) -> str: ...  # what messages and the progress display call it
    @property
    def kind(self) -> str: ...  # jobs of one kind compile the same code and go equally fast
    @property
    def size(self) -> int: ...  # how much there is to play, in the job's unit
    @property
    def unit(self) -> str: ...  # "sessions", "duels", "comparisons"
    @property
    def modules(self) -> tuple[str, ...]: ...  # the user's own that it imports: of agents and click models
    @property
    def log(self) -> Mapping[str, Any]: ...  # what the log says of the job, as plain JSON values

    def start(self) -> Playing:
        """Begin the job; raises ValueError if it cannot be started."""

    def result(self, playing: Any) -> Contents:
        """What the result file holds, of the job's ``playing`` once it is finished."""

    def sample(self) -> "Playable":
        """A small job of the same kind, to try."""

    def mismatch(self) -> str:
        """What in this process (versions, code, data) would make another result, in words; "" if nothing does."""

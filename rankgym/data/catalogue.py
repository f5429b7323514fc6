"""What data there is, where it comes from, and how it gets here: one table, and the download cache."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import platformdirs
from numpy.typing import NDArray

from rankgym.data import yandex
from rankgym.data.errors import DataError, DownloadFailed, MissingData, RefusedPickle, WrongDigest
from rankgym.data.pickles import foreign_names, shown

__all__ = ["DATASETS", "Dataset", "fetch", "home", "import_file", "listing", "published", "usable"]

PATIENCE = 30.0  # seconds without an answer from the server


class Dataset(NamedTuple):
    """One data set."""

    what: str
    source: str  # the name that environments and `rankgym.data.parameters` know it by
    provenance: str
    embedded: str | None = None  # file of this package, or
    url: str | None = None  # public address of the original, and
    sha256: str | None = None  # its digest, or the embedded file's
    content: str | None = None  # digest of the converted arrays
    commands: tuple[str, ...] = ()  # that bring it


DATASETS: dict[str, Dataset] = {
    "yandex-calibrated": Dataset(
        what="click models CM, PBM, DCM, DBN, UBM and CCM of 100 SYNTHETIC queries of 10 items; not the Yandex data",
        source="calibrated",
        provenance=(
            "drawn by rankgym.data.make_calibrated from a small model with figures (means, deviations, correlations) "
            "of the 60 published fits; nobody's clicks"
        ),
        embedded="yandex_calibrated.npz",
        sha256="6d8cec28e7e45fdf8cde8514a6afea5f3085ba795d20d68fc021f8cfb195347d",
    ),
    "yandex60": Dataset(
        what="click models CM, PBM, DCM, DBN, CCM and UBM fitted to 60 queries of the Yandex log; the original",
        source="published",
        provenance=(
            "maximum likelihood on 1,038,574 sessions of the Yandex relevance-prediction log (2011), behind the "
            "experiments of BatchRank and TopRank: github.com/changlicn/PyClickLambdas, commit e17786fd"
        ),
        url=(
            "https://raw.githubusercontent.com/changlicn/PyClickLambdas/e17786fdb91faf749693998a68a3422f67073416/"
            "scripts/data/60Q/model_query_collection.pkl"
        ),
        sha256="628efeedc82170f1bd1a5051ab6fea6b7d766c3a7845c5d2155af0acae47da47",
        content="175eeffec6dc10488722073a1546a7799e0b8a5d94159f69b6b07629885eaa19",
        commands=("rankgym data fetch yandex60", "rankgym data import yandex60 FILE"),
    ),
}


def home() -> Path:
    """The folder of the data cache: ``RANKGYM_DATA_HOME``, or else ``data`` in the user's cache folder of rankgym."""
    chosen = os.environ.get("RANKGYM_DATA_HOME")
    return Path(chosen).expanduser() if chosen else platformdirs.user_cache_path("rankgym") / "data"


def listing() -> list[dict[str, str]]:
    """One row a data set: its name, the ``source=`` it is, what it is, whether it is here, where it comes from."""
    rows = []
    for name, dataset in DATASETS.items():
        if dataset.embedded:
            state = "comes with the package"
        else:
            state = "not here; run " + " or ".join(dataset.commands)
            if cached(name).exists():
                state = f"here: {cached(name)}"
                try:
                    published(name)
                except DataError as error:
                    state = f"unusable: {error}"
        rows.append(
            {
                "name": name,
                "source": dataset.source,
                "what": dataset.what,
                "state": state,
                "provenance": dataset.provenance,
            }
        )
    return rows


def cached(name: str) -> Path:
    """Where the converted form of a published data set is kept."""
    return home() / f"{name}.npz"


def published(name: str) -> dict[str, NDArray[Any]]:
    """The converted arrays of a published data set, from the cache.

    Raises:
        MissingData: it is not there; the message says which commands bring it.
        DataError: what is there is not the published data.
    """
    dataset, path = _published(name), cached(name)
    bring = " or ".join(f"`{command}`" for command in dataset.commands)
    if not path.exists():
        raise MissingData(f"{name}, the {dataset.source} data, is not here ({path} does not exist); run {bring}")
    try:
        data = yandex.contents(path)
        if not yandex.is_npz(data):
            raise DataError("it is no .npz file")
        arrays = yandex.from_npz(data)
    except DataError as error:
        raise DataError(f"{path} is damaged: {error}; run {bring}") from None
    if yandex.content_digest(arrays) != dataset.content:
        raise DataError(f"{path} does not hold the published numbers; run {bring}")
    return arrays


def usable(name: str) -> bool:
    """Whether a published data set is here, and right; a ValueError for an unknown name."""
    try:
        published(name)
    except DataError:
        return False
    return True


def fetch(name: str, *, url: str | None = None, progress: bool = True) -> Path:
    """Download a published data set, check its digest, convert it, and return the path of the converted file.

    What is there already, and right, is not downloaded again. Nothing is kept of a download that broke off or that has
    another digest.

    Args:
        name: a key of ``DATASETS`` with a public address: ``"yandex60"``.
        url: another address of the same file.
        progress: show a bar on standard error.

    Raises:
        DownloadFailed: the server could not be reached, or did not send the whole file.
        WrongDigest: it sent something else.
        ValueError: the name is unknown.
    """
    dataset = _published(name)
    if usable(name):
        return cached(name)
    address = url or dataset.url or ""
    with _workspace(home()) as folder:
        data = _download(name, address, dataset.sha256 or "", Path(folder), progress)
    return _keep(name, yandex.from_pickle(data))


def _download(name: str, address: str, sha256: str, folder: Path, progress: bool) -> bytes:
    import logging

    import pooch

    other_way = f"`rankgym data import {name} FILE` takes a copy of the file, from wherever you can get it"
    logger = pooch.get_logger()
    level = logger.level
    logger.setLevel(logging.WARNING)  # its news is the path of a temporary file
    bar = _Bar(name) if progress else None
    answers: list[Any] = []
    hooks = {"response": lambda answer, **_: answers.append(answer)}
    try:
        get = pooch.HTTPDownloader(progressbar=bar or False, timeout=PATIENCE, hooks=hooks)
        path = pooch.retrieve(address, f"sha256:{sha256}", fname="download", path=folder, downloader=get)
        return Path(path).read_bytes()
    except OSError as error:  # requests' errors are OSErrors
        raise DownloadFailed(
            f"{name} could not be downloaded from {address}, and nothing was kept: {error}; try again, or without a "
            f"network: {other_way}"
        ) from None
    except ValueError as error:  # pooch's word for another digest
        raise WrongDigest(
            f"{address} did not send the published file, so nothing was kept: {error}; {other_way}"
        ) from None
    finally:
        for answer in answers:  # pooch leaves the connection of a broken download open
            answer.close()
        logger.setLevel(level)
        if bar is not None:
            bar.close()


class _Bar:
    """pooch's idea of a progress bar, drawn by rich."""

    def __init__(self, name: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
        self.bars = Progress(*columns, console=Console(stderr=True), transient=True)
        self.task = self.bars.add_task(name, total=None)
        self.bars.start()

    @property
    def total(self) -> float | None:
        return self.bars.tasks[0].total

    @total.setter
    def total(self, total: float) -> None:
        self.bars.update(self.task, total=total)

    def update(self, size: int) -> None:
        self.bars.advance(self.task, size)

    def reset(self) -> None:
        self.bars.reset(self.task)

    def close(self) -> None:
        self.bars.stop()


def import_file(name: str, path: str | Path) -> Path:
    """Take a published data set from a copy of the original file, and return the path of the converted file.

    Args:
        name: a key of ``DATASETS`` with a public address: ``"yandex60"``.
        path: the original file, or another machine's converted one (``.npz``).

    Only the published numbers are taken: the original must have its digest before it is unpickled at all, a converted
    file must hold the very same numbers. A pickle that names what it should not is refused by that name, whatever its
    digest.

    Raises:
        RefusedPickle: the file is a pickle that names something foreign.
        WrongDigest: it is not the published file.
        DataError: it cannot be read as what it seems to be.
        ValueError: the name is unknown.
        OSError: the file cannot be opened.
    """
    dataset = _published(name)
    data = yandex.contents(path)
    if yandex.is_npz(data):
        arrays = yandex.from_npz(data)
        found, right = yandex.content_digest(arrays), dataset.content
        if found != right:
            raise WrongDigest(
                f"{path} does not hold the published numbers: their digest is {found}, it must be {right}"
            )
        return _keep(name, arrays)
    found, right = hashlib.sha256(data).hexdigest(), dataset.sha256
    if found != right:
        for foreign in foreign_names(data, yandex.ALLOWED_NAMES):
            raise RefusedPickle(
                f"{path} is not the published file, but a pickle that names {shown(foreign)}; it was refused, and "
                f"nothing of it ran"
            )
        raise WrongDigest(f"{path} is not the published file: its sha256 is {found}, it must be {right}")
    return _keep(name, yandex.from_pickle(data))


def _published(name: str) -> Dataset:
    names = [known for known, dataset in DATASETS.items() if dataset.url]
    if name not in names:
        if name in DATASETS:
            raise ValueError(f"name = {name!r} comes with the package; allowed here: {names}")
        raise ValueError(f"name = {name!r} is no data set; allowed: {names}")
    return DATASETS[name]


def _workspace(folder: Path) -> tempfile.TemporaryDirectory[str]:
    """A folder inside ``folder`` that is gone afterwards: a rename out of it is atomic."""
    folder.mkdir(parents=True, exist_ok=True)
    return tempfile.TemporaryDirectory(prefix=".part-", dir=folder)


def _keep(name: str, arrays: Mapping[str, NDArray[Any]]) -> Path:
    """Put converted arrays into the cache: written aside, then renamed."""
    path = cached(name)
    with _workspace(path.parent) as folder:
        aside = Path(folder) / path.name
        np.savez(aside, **arrays)  # type: ignore[arg-type]
        aside.replace(path)
    return path

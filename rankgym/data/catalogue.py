"""The table of data sets, and the data cache: download, import, and read them.

The original files of a published data set are converted to the arrays that the cache keeps. The cache also holds the
preference matrices that the user imported under their own names, in a folder ``preferences``, and fits of click models,
in a folder ``fits``.
"""

import contextlib
import functools
import hashlib
import re
import time
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from rankgym.arguments import near
from rankgym.data import fits, fits_table, matrix_files, yandex
from rankgym.data.cache_folder import home as home
from rankgym.data.download import Bar, download
from rankgym.data.errors import DataError, DownloadFailed, MissingData, RefusedPickle, WrongDigest
from rankgym.data.files import NPZ, read_bytes, read_npz, write_npz
from rankgym.data.matrices import Array, condorcet_winner
from rankgym.data.pickles import foreign_names, shown
from rankgym.outputs import remove

STALE_SECONDS = 3600.0  # a download's folder that is older was left by one that was killed
MATRIX_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")  # of an imported matrix
KOMIYAMA = (
    "Komiyama, Honda, Kashima and Nakagawa, Regret lower bound and optimal algorithm in dueling bandit problem "
    "(COLT 2015)"
)


class OriginalFile(NamedTuple):
    """One of the original files of a data set that has several."""

    array: str  # the name of the array that it is converted to
    file: str  # its name, in the folder of the data set's address
    sha256: str
    size: int  # bytes


class Dataset(NamedTuple):
    """One data set.

    Examples:
        >>> from rankgym.data import DATASETS
        >>> DATASETS["yandex60"].source, DATASETS["yandex60"].commands
        ('published', ('rankgym data fetch yandex60', 'rankgym data import yandex60 FILE'))
    """

    what: str
    source: str  # the value of ``source=`` in environments and `rankgym.data.parameters`
    provenance: str
    embedded: str | None = None  # file of this package
    url: str | None = None  # public address of the original, if not embedded
    sha256: str | None = None  # digest of the original or embedded file
    size: int | None = None  # bytes of the original file
    content: str | None = None  # digest of the converted arrays
    parts: tuple[OriginalFile, ...] = ()  # the originals, if there are several; ``url`` is then a folder
    commands: tuple[str, ...] = ()  # that download or import it


DATASETS: dict[str, Dataset] = {
    "yandex-calibrated": Dataset(
        what="click models CM, PBM, DCM, DBN, UBM and CCM of 100 SYNTHETIC queries of 10 items; not the Yandex data",
        source="calibrated",
        provenance=(
            "drawn by rankgym.data.make_calibrated from a small model with figures (means, deviations, correlations) "
            "of the 60 published fits; no user's clicks"
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
        size=126_565,
        content="175eeffec6dc10488722073a1546a7799e0b8a5d94159f69b6b07629885eaa19",
        commands=("rankgym data fetch yandex60", "rankgym data import yandex60 FILE"),
    ),
    "arxiv": Dataset(
        what="preference matrix of 6 retrieval functions of arXiv's full-text search, compared by interleaving",
        source="any",
        provenance="figures of Yue and Joachims, Beat the mean bandit (ICML 2011); as used by " + KOMIYAMA,
    ),
    "cyclic": Dataset(
        what="preference matrix of 4 arms: a narrow winner, and three that beat each other clearly in a cycle",
        source="any",
        provenance="figures of " + KOMIYAMA,
    ),
    "arithmetic": Dataset(
        what="preference matrix of 8 arms in a total order, p_ij = 1/2 + 0.05 (j - i)",
        source="any",
        provenance="figures of " + KOMIYAMA,
    ),
    "mslr-calibrated": Dataset(
        what=(
            "preference matrices of SYNTHETIC rankers, 136, 136 and 135 of them, for the users perfect, navigational "
            "and informational; not the MSLR data"
        ),
        source="calibrated",
        provenance=(
            "drawn by rankgym.data.make_mslr from a small model with figures (quantiles of the margins, the winner's "
            "margins, cycles, near-ties) of the three published matrices; no user's comparisons"
        ),
        embedded="mslr_calibrated.npz",
        sha256="bda87cf23c31e70932ee759ea7eca776021f293dc576ad5cc6ee772fe45207f7",
    ),
    "mslr": Dataset(
        what=(
            "preference matrices of 136 feature rankers of MSLR (135 for the informational user), for the users "
            "perfect, navigational and informational; the original"
        ),
        source="published",
        provenance=(
            "estimated from about 400,000 simulated interleaved comparisons a pair, behind the experiments of MergeDTS "
            "(Li et al. 2020): github.com/chang-li/MergeDTS, commit 296f3e29, folder matrix"
        ),
        url="https://raw.githubusercontent.com/chang-li/MergeDTS/296f3e2943ac1291f2ca2316c5c75e9d0f1868c5/matrix",
        parts=(
            OriginalFile(
                "perfect",
                "MSLR-Perfect.txt",
                "79f8f3b327fdb29fdc5cd76a0029eae371c43a4741721ae3ef84bdda876d71c7",
                462_400,
            ),
            OriginalFile(
                "navigational",
                "MSLR-Nabigational.txt",  # spelt so there
                "b299a41e65ae47ef1451c4a4e7b66e4879cc9a49fb4966f3f24ecb259780ed0e",
                462_400,
            ),
            OriginalFile(
                "informational",
                "MSLR-Informational-CDC.txt",
                "cbd9a51a262f20fbb4061b7369c72a501d8501f99073d69dab8651b0197adc98",
                455_625,
            ),
        ),
        commands=("rankgym data fetch mslr", "rankgym data import mslr FILE FILE FILE"),
    ),
}
RESERVED = {"synthetic", "yandex", "letor", "calibrated", "published", "imported", "random"}  # words of the library


def listing() -> list[dict[str, str]]:
    """One row per data set: name, ``source=``, description, state in the cache, and provenance.

    Examples:
        >>> from rankgym.data import listing
        >>> row = listing()[0]
        >>> row["name"], row["source"], row["state"]
        ('yandex-calibrated', 'calibrated', 'comes with the package')
    """
    rows = []
    for name, dataset in DATASETS.items():
        state = "comes with the package"
        if dataset.url:
            state = f"in the cache: {cached(name)}"
            try:
                published(name)
            except MissingData:
                state = "not in the cache; run " + " or ".join(dataset.commands)
            except DataError as error:
                state = f"unusable: {error}"
        facts = {"source": dataset.source, "what": dataset.what, "state": state, "provenance": dataset.provenance}
        rows.append({"name": name} | facts)
    rows += [_imported_row(name) for name in imported_names()]
    return rows + [fits.listing_row(name) for name in fits.fits_names()]


def _imported_row(name: str) -> dict[str, str]:
    row = {"name": name, "source": "imported", "what": "preference matrix"}
    row |= {"state": f"in the cache: {_place(name)}", "provenance": "?"}
    try:
        matrix, row["provenance"] = _read_imported(name)
    except DataError as error:
        return row | {"state": f"unusable: {error}"}
    winner = condorcet_winner(matrix)
    who = f"Condorcet winner {winner}" if winner >= 0 else "no Condorcet winner"
    return row | {"what": f"preference matrix of {len(matrix)} arms, {who}"}


@functools.cache
def embedded(name: str) -> dict[str, NDArray[Any]]:
    """The arrays of a data set that comes with the package; do not modify them."""
    dataset = DATASETS[name]
    data = resources.files("rankgym.data").joinpath(dataset.embedded or "").read_bytes()
    if hashlib.sha256(data).hexdigest() != dataset.sha256:
        raise DataError(f"{dataset.embedded} of the installed package is damaged; install rankgym again")
    return read_npz(data, len(data))


def cached(name: str) -> Path:
    """The path of the converted form of a published data set."""
    return home() / f"{name}.npz"


def published(name: str) -> dict[str, NDArray[Any]]:
    """The converted arrays of a published data set, from the cache.

    Raises:
        MissingData: it is not in the cache; the message has the commands that download or import it.
        DataError: the file in the cache does not hold the published data.
    """
    dataset, path = _published(name), cached(name)
    bring = " or ".join(f"`{command}`" for command in dataset.commands)
    if not path.exists():
        missing = f"({path} does not exist)"
        raise MissingData(f"{name}, the {dataset.source} data, is not in the cache {missing}; run {bring}")
    try:
        if dataset.parts:
            names = [part.array for part in dataset.parts]
            matrices, origin = matrix_files.from_npz(matrix_files.contents(path), names)
            if origin != _origin(dataset):
                raise DataError("it was not made from the published files")
            return dict(matrices)
        arrays = yandex.from_npz(yandex.contents(path))
    except DataError as error:
        raise DataError(f"{path} is damaged: {error}; run {bring}") from None
    if yandex.content_digest(arrays) != dataset.content:
        raise DataError(f"{path} does not hold the published numbers; run {bring}")
    return arrays


def latest(name: str) -> dict[str, NDArray[Any]]:
    """The arrays of ``published``, read again only if the file in the cache has changed; do not modify them."""
    path = cached(name)
    return _read_once(name, path, path.stat().st_mtime_ns if path.exists() else 0)


@functools.lru_cache(maxsize=2)
def _read_once(name: str, path: Path, changed: int) -> dict[str, NDArray[Any]]:
    return published(name)


def _origin(dataset: Dataset) -> str:
    """The originals of a data set that has several, as the cached file names them."""
    return ", ".join(f"{part.file} (sha256 {part.sha256})" for part in dataset.parts)


def usable(name: str) -> bool:
    """Whether a published data set is in the cache and undamaged; a ValueError for an unknown name."""
    try:
        published(name)
    except DataError:
        return False
    return True


def fetch(name: str, *, url: str | None = None, progress: bool = True) -> Path:
    """Download a published data set, check its digest, convert it, and return the path of the converted file.

    A data set that is in the cache and undamaged is not downloaded again. Nothing is kept of a download that was
    interrupted or killed, has another digest, is larger than the published file by more than 100,000 bytes, takes more
    than 10 minutes a file or sends less than 1,000 bytes a second (on the average of 30 seconds).

    Args:
        name: a key of ``DATASETS`` with a public address: ``"yandex60"`` or ``"mslr"``.
        url: another address of the same file, or of a folder with the same files (``"mslr"``).
        progress: show a bar on standard error.

    Raises:
        DownloadFailed: the server could not be reached, did not send the whole file, or is beyond these limits.
        WrongDigest: the server sent another file.
        ValueError: the name is unknown.

    Examples:
        >>> from rankgym.data import fetch
        >>> fetch("yandex60").name  # doctest: +SKIP
        'yandex60.npz'

        (Skipped in tests, as it needs a network.)
    """
    dataset = _published(name)
    if usable(name):
        return cached(name)
    address = url or dataset.url or ""
    home().mkdir(parents=True, exist_ok=True)
    _remove_stale_folders()
    with Bar(name) if progress else contextlib.nullcontext() as bar:
        if dataset.parts:
            files = {p.array: _download(name, f"{address}/{p.file}", p.sha256, p.size, bar) for p in dataset.parts}
            return write_npz(cached(name), _from_texts(dataset, files))
        data = _download(name, address, dataset.sha256 or "", dataset.size, bar)
    return write_npz(cached(name), yandex.from_pickle(data))


def _remove_stale_folders() -> None:
    """Remove what a killed download of an earlier version left in the cache; files are not downloaded there now."""
    for folder in home().glob(".part-*"):
        with contextlib.suppress(OSError):
            if time.time() - folder.stat().st_mtime > STALE_SECONDS:
                remove(folder)


def _from_texts(dataset: Dataset, files: Mapping[str, bytes]) -> dict[str, NDArray[Any]]:
    """Convert original texts with the right digests, by the name of the array that each is converted to."""
    matrices = {part.array: matrix_files.from_bytes(files[part.array], part.file) for part in dataset.parts}
    return matrix_files.to_arrays(matrices, _origin(dataset))


def _download(name: str, address: str, sha256: str, size: int | None, bar: Bar | None) -> bytes:
    copies = "copies of the files" if DATASETS[name].parts else "a copy of the file"
    other_way = f"`{DATASETS[name].commands[-1]}` takes {copies}, wherever it comes from"
    try:
        data = download(address, size, bar)
    except DownloadFailed as error:
        raise DownloadFailed(
            f"{name} could not be downloaded from {address}, and nothing was kept: {error}; try again, or without a "
            f"network run {other_way}"
        ) from None
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        raise WrongDigest(
            f"{address} did not send the published file, so nothing was kept: its sha256 is {found}, it must be "
            f"{sha256}; run {other_way}"
        )
    return data


def import_file(name: str, *paths: str | Path) -> Path:
    """Import a published data set from copies of the original files, and return the path of the converted file.

    Args:
        name: a key of ``DATASETS`` with a public address: ``"yandex60"`` or ``"mslr"``.
        *paths: the original file, or the converted one (``.npz``) of another machine; for ``"mslr"`` the three
            originals, in any order and with any names: they are recognised by their digests.

    Only the published numbers are accepted: the digest of the original is checked before it is unpickled, and a
    converted file must hold the same numbers. A pickle that names something that is not allowed is refused whatever its
    digest, and the message has that name.

    Raises:
        RefusedPickle: the file is a pickle that names something that is not allowed.
        WrongDigest: the file is not the published one.
        DataError: the file cannot be read.
        ValueError: the name is unknown.
        OSError: the file cannot be opened.

    Examples:
        >>> import os, pickle, tempfile
        >>> from rankgym.data import import_file
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "queries.pkl")
        ...     with open(path, "wb") as file:
        ...         pickle.dump(print, file)
        ...     import_file("yandex60", path)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        rankgym.data.errors.RefusedPickle: ... is not the published file, but a pickle that names builtins.print; ...
    """
    dataset = _published(name)
    needed = len(dataset.parts) or 1
    if len(paths) != needed:
        files = ": " + ", ".join(part.file for part in dataset.parts) if dataset.parts else ""
        raise ValueError(f"{name}: the number of files = {len(paths)} is not allowed; allowed: {needed}{files}")
    if dataset.parts:
        return write_npz(cached(name), _from_texts(dataset, _originals_by_array(dataset, paths)))
    (path,) = paths
    data = yandex.contents(path)
    if data.startswith(NPZ):
        arrays = yandex.from_npz(data)
        found = yandex.content_digest(arrays)
        if found != dataset.content:
            digests = f"their digest is {found}, it must be {dataset.content}"
            raise WrongDigest(f"{path} does not hold the published numbers: {digests}")
        return write_npz(cached(name), arrays)
    found = hashlib.sha256(data).hexdigest()
    if found != dataset.sha256:
        for foreign in foreign_names(data, yandex.ALLOWED_NAMES):
            raise RefusedPickle(
                f"{path} is not the published file, but a pickle that names {shown(foreign)}; it was refused, and "
                f"nothing of it ran"
            )
        raise WrongDigest(f"{path} is not the published file: its sha256 is {found}, it must be {dataset.sha256}")
    return write_npz(cached(name), yandex.from_pickle(data))


def _originals_by_array(dataset: Dataset, paths: Sequence[str | Path]) -> dict[str, bytes]:
    """The bytes of the originals, for ``_from_texts``."""
    files = {}
    for path in paths:
        data = matrix_files.contents(path)
        found = hashlib.sha256(data).hexdigest()
        part = next((part for part in dataset.parts if part.sha256 == found), None)
        if part is None:
            right = ", ".join(f"{part.file} {part.sha256}" for part in dataset.parts)
            raise WrongDigest(f"{path} is not a published file: its sha256 is {found}, it must be one of {right}")
        if part.array in files:
            raise ValueError(f"{path} is {part.file} again; allowed: each of the {len(dataset.parts)} files once")
        files[part.array] = data
    return files


def import_matrix(name: str, path: str | Path) -> Path:
    """Import a preference matrix from a ``.npy`` or text file; environments take it as ``dataset=name``.

    A text file has one line for each arm, numbers separated by blanks or commas, and comments after ``#``. A matrix
    imported earlier under the same name is replaced. Returns the path of the file in the cache.

    Args:
        name: 1 to 64 letters, digits, ``-`` and ``_``, the first a letter or a digit; not a name of ``DATASETS``.
        path: the file. p_ij + p_ji = 1 and the diagonal 1/2 must hold up to 1e-6; in the cache they hold exactly: half
            of the difference is added to each of both.

    Raises:
        DataError: the file does not hold a preference matrix; the message has the line or index.
        ValueError: the name is not allowed.
        OSError: the file cannot be opened.

    Examples:
        >>> import os, tempfile
        >>> from unittest import mock
        >>> import gymnasium as gym, numpy as np, rankgym
        >>> from rankgym.data import import_matrix
        >>> with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, RANKGYM_DATA_HOME=folder):
        ...     path = os.path.join(folder, "mine.npy")
        ...     np.save(path, [[0.5, 0.6], [0.4, 0.5]])
        ...     _ = import_matrix("mine", path)
        ...     env = gym.make_vec("rankgym/Dueling-Synthetic-v0", dataset="mine")
        >>> env.unwrapped.num_arms, env.unwrapped.condorcet_winner.tolist()
        (2, [0])
    """
    check_new_name(name, "preference matrix")
    data = matrix_files.contents(path)
    if data.startswith((NPZ, matrix_files.PICKLE)):
        kind = "an .npz file" if data.startswith(NPZ) else "a pickle"
        raise DataError(
            f"{path} is {kind}, and {name} is not a published data set; allowed: a preference matrix as .npy or text, "
            f"or a name of {published_names()}"
        )
    matrix = matrix_files.from_bytes(data, str(path))
    origin = f"imported from {ascii(Path(path).name)[1:-1]}, sha256 {hashlib.sha256(data).hexdigest()}"
    return write_npz(_place(name), matrix_files.to_arrays({"preference": matrix}, origin))


def check_new_name(name: str, what: str) -> None:
    """Check a name for a data set of the user's, a "preference matrix" or "fits", or raise a ValueError.

    One of the same kind may have it: it will be replaced.
    """
    if not isinstance(name, str) or not MATRIX_NAME.fullmatch(name):
        raise ValueError(
            f"name = {name!r} is not allowed; allowed: 1 to 64 letters, digits, - and _, the first a letter or a digit"
        )
    taken = {*DATASETS, *RESERVED}
    if name.lower() in taken:
        raise ValueError(f"name = {name!r} is taken; allowed: any but {sorted(taken)}")
    others = imported_names() if what == "fits" else fits.fits_names()
    if name in others:
        kind, place = (
            ("preference matrix", _place(name)) if what == "fits" else ("collection of fits", fits.place(name))
        )
        raise ValueError(f"name = {name!r} is taken by a {kind}, {place}; allowed: another name")


def import_fits(name: str, path: str | Path) -> Path:
    """Import fits of click models from a CSV file; environments take them as ``source=name``.

    ``rankgym.data.fits_table`` describes the file. Fits imported earlier under the same name are replaced. Returns the
    path of the file in the cache.

    Args:
        name: as in ``import_matrix``.
        path: the file, UTF-8.

    Raises:
        DataError: the file does not hold fits; the message has the line, the column, the value and what is allowed.
        ValueError: the name is not allowed; see ``import_matrix``.
        OSError: the file cannot be opened.

    Examples:
        >>> import os, pathlib, tempfile
        >>> from unittest import mock
        >>> import gymnasium as gym, rankgym
        >>> from rankgym.data import import_fits
        >>> with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, RANKGYM_DATA_HOME=folder):
        ...     csv = pathlib.Path(folder, "shop.csv")
        ...     _ = csv.write_text("query,item,attraction;shoes,boot,0.4;shoes,clog,0.1".replace(";", os.linesep))
        ...     _ = import_fits("shop", csv)
        ...     env = gym.make_vec("rankgym/CM-Yandex-v0", source="shop", num_positions=1)
        >>> env.unwrapped.attraction.tolist()
        [[0.4, 0.1]]
    """
    check_new_name(name, "fits")
    data = read_bytes(path, fits_table.MAX_BYTES, "fits of click models")
    return fits.store(name, fits_table.from_csv(data, str(path)))


def imported_names() -> list[str]:
    """The names of the matrices that the user imported."""
    folder = home() / "preferences"
    names = [path.stem for path in folder.glob("*.npz")] if folder.is_dir() else []
    return sorted(filter(MATRIX_NAME.fullmatch, names))


def imported(name: str) -> Array:
    """The matrix that the user imported under this name.

    Raises:
        MissingData: no matrix was imported under this name; the message lists the imported ones.
        DataError: its file is damaged.
    """
    return _read_imported(name)[0]


def _place(name: str) -> Path:
    """The path of an imported matrix."""
    return home() / "preferences" / f"{name}.npz"


def _read_imported(name: str) -> tuple[Array, str]:
    path = _place(name)
    bring = f"run `rankgym data import {name} FILE`"
    if not MATRIX_NAME.fullmatch(name) or not path.exists():
        raise MissingData(f"no matrix was imported as {name!r}; imported: {imported_names()}")
    try:
        matrices, origin = matrix_files.from_npz(matrix_files.contents(path), ["preference"])
    except DataError as error:
        raise DataError(f"{path} is damaged: {error}; {bring}") from None
    return matrices["preference"], origin


def published_names() -> list[str]:
    """The data sets for ``fetch`` and ``import_file``.

    Examples:
        >>> from rankgym.data import published_names
        >>> published_names()
        ['yandex60', 'mslr']
    """
    return [name for name, dataset in DATASETS.items() if dataset.url]


def _published(name: str) -> Dataset:
    names = published_names()
    if name not in names:
        if name in DATASETS:
            raise ValueError(f"name = {name!r} comes with the package; allowed here: {names}")
        hint = near(name, names) if isinstance(name, str) else ""
        raise ValueError(f"name = {name!r} is not a data set{hint or ';'} allowed: {names}")
    return DATASETS[name]

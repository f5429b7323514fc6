"""The data of mergeRUCB's figure 2: a LETOR file, the user's or a synthetic collection, and its preference matrix."""

import functools
import os
import random
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from rankgym.data import catalogue
from rankgym.data.letor import file_digest, file_stamp
from rankgym.experiments.papers.figure import Scale
from rankgym.outputs import atomic_path

LETOR_FILE = "RANKGYM_LETOR_FILE"  # environment variable: the file whose rankers figure 2 interleaves
QUERIES, DOCUMENTS = 100, 20  # documents of a query
DUELS: dict[str, Any] = {"interleaving": "team-draft", "user_model": "navigational", "num_documents": 10}
GRADES = (0.5, 1.1, 1.6, 2.1)  # a document's grade is the number of these below its relevance
RANKERS: dict[Scale, int] = {"full": 136, "small": 32, "smoke": 6}  # of the synthetic collection
COLLECTION = 5  # its seed; with this one the best of 32 rankers leads by as much as the best one of MSLR


def prepare(scale: Scale, source: str) -> None:
    """Write the synthetic collection and the matrix of the file into the data cache, unless they are there.

    Raises:
        ValueError: no LETOR file was named, or none of its rankers beats all others.
    """
    if source == "calibrated":
        write_collection(RANKERS[scale])
    import_matrix(letor_file(scale, source))


def letor_file(scale: Scale, source: str) -> Path:
    """Return the file of the interleaved rankers: the synthetic collection, or the environment variable's file.

    Raises:
        ValueError: the variable is not set, or the file does not exist.
    """
    if source == "calibrated":
        return collection_path(RANKERS[scale])
    name = os.environ.get(LETOR_FILE)
    if not name or not os.path.isfile(name):
        what = "is not set" if not name else f"= {name!r} is not a file"
        raise ValueError(
            f"mergerucb-figure-2 interleaves the rankers of a LETOR file, and {LETOR_FILE} {what}; allowed: the path "
            "of one (the paper's: a fold of MSLR-WEB30K), or --source calibrated, a synthetic collection"
        )
    return Path(name).resolve()


def collection_path(rankers: int) -> Path:
    """Return the synthetic collection's path in the data cache."""
    return catalogue.home() / "reproduce" / f"mergerucb-figure-2-{COLLECTION}-{rankers}.txt"


def write_collection(rankers: int) -> Path:
    """Write the synthetic collection into the data cache, unless it is there; return its path."""
    path = collection_path(rankers)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_path(path) as unfinished:
            unfinished.write_text(collection_text(rankers), encoding="ascii")
    return path


def collection_text(rankers: int) -> str:
    """Return the synthetic collection, a LETOR file: the same bytes on any machine.

    A document has two normal properties: its relevance and another one. Each feature, that is each ranker, sees both
    with its own weights, and has noise. So rankers differ in quality, and equally good ones may still differ.
    """
    source, inverse = random.Random(f"mergeRUCB figure 2, {COLLECTION}, {rankers}"), NormalDist().inv_cdf

    def normal() -> float:
        return inverse(max(source.random(), 2.0**-54))

    skill = [1.2 * ranker / max(rankers - 1, 1) for ranker in range(rankers)]
    taste = [0.5 * normal() for _ in range(rankers)]
    lines = []
    for query in range(1, QUERIES + 1):
        for _ in range(DOCUMENTS):
            relevance, other = normal(), normal()
            grade = sum(relevance > border for border in GRADES)
            values = (s * relevance + t * other + normal() for s, t in zip(skill, taste, strict=True))
            words = " ".join(f"{number}:{value:.3f}" for number, value in enumerate(values, 1))
            lines.append(f"{grade} qid:{query} {words}\n")
    return "".join(lines)


def matrix_name(file: Path) -> str:
    """Return the name under which a file's matrix is imported: for a user's file, with a digest of its contents."""
    if file.parent == catalogue.home() / "reproduce":
        return file.stem
    return f"mergerucb-figure-2-{_digest(file, file_stamp(file))}"


@functools.lru_cache(maxsize=16)
def _digest(file: Path, stamp: tuple[int, ...]) -> str:
    return file_digest(file)[:12]


def import_matrix(file: Path) -> str:
    """Evaluate and import the file's exact preference matrix, unless it is imported; return its name.

    Raises:
        ValueError: no ranker beats all others, so that regret is undefined.
    """
    from rankgym.experiments.preferences.estimate import estimate

    name = matrix_name(file)
    out = catalogue.home() / "reproduce" / f"{name}.npy"
    out.parent.mkdir(parents=True, exist_ok=True)
    found = estimate(file, **DUELS, method="exact", out=out)
    if found.condorcet_winner < 0:
        raise ValueError(f"no ranker of {file} beats all others, so that regret is undefined; take another file")
    if name not in catalogue.imported_names() or not np.allclose(catalogue.imported(name), found.preference, atol=1e-9):
        catalogue.import_matrix(name, out)
    return name

"""Digests of everything that decides a result: settings, code and data.

A digest of code ignores comments, docstrings and layout: editing them leaves results valid.
"""

import functools
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import rankgym
from rankgym.data import catalogue, fits, letor
from rankgym.models import named
from rankgym.source import source_digest

# Modules and packages of rankgym that can change the numbers or the bytes of a result file.
PLAYING = (
    *("agent", "arguments", "data", "envs", "experiments.plan.agents", "experiments.run.result_file"),
    *("experiments.run.results", "experiments.run.rows", "interleaving", "kernels", "metrics", "models", "play"),
    *("registry", "spaces", "untrusted", "wrappers"),
)

DIGEST = "digest"  # the key of a file's own digest


def key_of(decides: Mapping[str, Any]) -> str:
    """Return the key of a job: a digest of all that ``decides`` its result, given as plain JSON values."""
    return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()[:20]


def with_digest(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document of plain JSON values with a digest of all of them, under ``DIGEST``."""
    return {**document, DIGEST: key_of(document)}


def has_own_digest(document: Mapping[str, Any]) -> bool:
    """Return whether a document has the digest of its other values, as ``with_digest`` gives it."""
    return document.get(DIGEST) == key_of({name: value for name, value in document.items() if name != DIGEST})


def playing_files() -> Iterator[Path]:
    """Yield the source and data files of ``PLAYING``."""
    home = Path(rankgym.__file__).parent
    for module in PLAYING:
        place = home.joinpath(*module.split("."))
        if place.is_dir():
            yield from sorted(path for path in place.rglob("*") if path.suffix in (".py", ".npz"))
        else:
            yield place.with_suffix(".py")


@functools.cache
def code_digest() -> str:
    """Return a digest of the package's code and data files that can change results."""
    home, digest = Path(rankgym.__file__).parent, hashlib.sha256()
    for path in playing_files():
        one = source_digest(path) if path.suffix == ".py" else hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(home).as_posix()} {one} ".encode())
    return digest.hexdigest()


def data_digests(arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return digests of the files and imported data sets that ``arguments`` name, at any depth.

    Published data sets are left out: their numbers are checked against digests in the code when they are read.
    """
    found = {}
    for text in _texts(arguments):
        if text in catalogue.imported_names():
            found[text] = hashlib.sha256(catalogue.imported(text).tobytes()).hexdigest()
        elif text in fits.fits_names():
            found[text] = fits.fits_digest(text)
        elif 0 < len(text) < 4096 and "\0" not in text and os.path.isfile(text):
            found[text] = _file_digest(os.path.abspath(text), letor.file_stamp(text))
    return found


def model_code(arguments: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return the digests of the modules of the user's own click model that ``arguments`` name; empty without one."""
    model: Any = arguments.get("model")
    return {model: named.model_code(model)} if named.is_own(model) else {}


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (Mapping, list, tuple)):
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(one)


@functools.lru_cache(maxsize=64)
def _file_digest(path: str, stamp: tuple[int, ...]) -> str:
    """Return the digest of a file, with its side file if it has one; the cache's key has sizes and times of change."""
    return letor.file_digest(path)

"""What ``rankgym data list NAME`` shows: one data set, its size, its parameters, and what plays it."""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankgym import data as room
from rankgym.arguments import near
from rankgym.data import catalogue, fits
from rankgym.data import preferences as matrices
from rankgym.data.matrices import condorcet_winner
from rankgym.models import MODELS
from rankgym.registry import ENVS

MOST_LABELS = 5  # of queries and items that are named
Line = tuple[str, str]  # what it is about, and a text


def details(name: str) -> list[Line]:
    """Describe the data set or the collection of fits ``name``, in lines.

    Raises:
        ValueError: the name is unknown; the message has the near miss and all names.
    """
    rows = {row["name"]: row for row in room.listing()}
    if name not in rows:
        raise ValueError(f"name = {name!r} is unknown{near(name, rows) or ';'} allowed: {', '.join(rows)}")
    lines = [(key, value) for key, value in rows[name].items() if key != "name"]
    if not rows[name]["state"].startswith(("in the cache", "comes with")):
        if name not in catalogue.DATASETS:  # a damaged file of the user's own
            return lines
        return lines + _played_by(_environments(name), _arguments(name))
    if name in room.fits_names():
        return lines + _of_fits(name)
    if name in room.SOURCES["yandex"].values():
        return lines + _of_click_models(name)
    return lines + _of_matrices(name)


# -- fits and click models --------------------------------------------------------------------------------------------


def _of_fits(name: str) -> list[Line]:
    found = room.load_fits(name)
    queries, items = found.item.shape
    lines = [("queries", f"{queries:,}: {numbered(found.query.tolist())}")]
    lines.append(("items", f"{items} in each query; of {found.query[0]}: {numbered(found.item[0].tolist())}"))
    if found.positions < items:
        lines.append(("positions", f"{found.positions} at most"))
    lines += [(f"parameter {key}", _values(found.axes[key], table)) for key, table in found.parameters.items()]
    lines.append(("digest", fits.fits_digest(name)))
    lines += [("note", line) for line in unplayed(found.axes)]
    models = sorted(models_of(found), key=lambda one: -len(one.axes))
    environments = [env for one in models for env in _ids(dataset="yandex", model=one.name)]
    return lines + _played_by(environments, ["--source", name])


def models_of(found: room.Fits) -> list[Any]:
    """Return the built-in click models that fits have all parameters of."""
    given = found.axes
    playable = [one for one in MODELS.values() if all(given.get(key) == axes for key, axes in one.axes.items())]
    return [one for one in playable if found.model in ("", one.name)]


def _of_click_models(name: str) -> list[Line]:
    source = next(key for key, value in room.SOURCES["yandex"].items() if value == name)
    queries = room.query_ids("yandex", source)
    lines = [("queries", f"{len(queries):,}: {numbered(queries)}")]
    for model, one in MODELS.items():
        tables = room.parameters("yandex", model, source)
        texts = [f"{key} {_values(one.axes[key], tables[key])}" for key in one.axes]
        lines.append((f"model {model}", "; ".join(texts)))
    lines.append(("items", f"{len(room.parameters('yandex', 'CM', source)['attraction'][0])} in each query"))
    lines.append(("digest", _digest(name)))
    return lines + _played_by(_environments(name), _arguments(name))


def _values(axes: tuple[str, ...], table: NDArray[np.float64]) -> str:
    """Say how a parameter is laid out, and in which range its values are."""
    return f"{fits.axes_text(axes)}, {table.min():.3g} .. {table.max():.3g}"


# -- preference matrices ----------------------------------------------------------------------------------------------


def _of_matrices(name: str) -> list[Line]:
    dataset, _, calibrated = name.partition("-")
    if dataset != "mslr":
        return [*_of_matrix("", matrices.load(name)), *_played_by(_environments(name), _arguments(name))]
    lines = []
    for user in matrices.USER_MODELS:
        source = "calibrated" if calibrated else "published"
        lines += _of_matrix(f"{user}: ", matrices.load("mslr", source=source, user_model=user))
    return lines + _played_by(_environments(name), _arguments(name))


def _of_matrix(user: str, matrix: NDArray[np.float64]) -> list[Line]:
    pairs = matrix[np.triu_indices(len(matrix), 1)]
    winner = condorcet_winner(matrix)
    text = f"{user}{len(matrix)}"
    if winner >= 0:
        rest = np.delete(matrix[winner], winner)
        text += f"; arm {winner} beats all others, with probabilities {rest.min():.3g} .. {rest.max():.3g}"
    else:
        text += "; no arm beats all others"
    text += f"; margins of pairs {np.abs(pairs - 0.5).min():.3g} .. {np.abs(pairs - 0.5).max():.3g}"
    return [("arms", text), ("digest", hashlib.sha256(matrix.tobytes()).hexdigest())]


# -- what plays it ----------------------------------------------------------------------------------------------------


def _environments(name: str) -> list[str]:
    """Return the ids that play a data set other than fits."""
    if name in room.SOURCES["yandex"].values():
        return _ids(dataset="yandex")
    if name in catalogue.imported_names():
        return ["rankgym/Dueling-Synthetic-v0"]
    return _ids(dataset=name.partition("-")[0])


def _arguments(name: str) -> list[str]:
    """Return the options by which ``_environments`` play it."""
    if name in catalogue.imported_names():
        winner = condorcet_winner(catalogue.imported(name))
        return ["--set", f"dataset={name}", *([] if winner >= 0 else ["--set winner=copeland"])]
    source = catalogue.DATASETS[name].source
    return ["--source published"] if source == "published" else []


def _ids(**arguments: str) -> list[str]:
    """Return the environments that have all of ``arguments`` by default."""
    return [name for name, (_, kwargs, _) in ENVS.items() if arguments.items() <= kwargs.items()]


def _played_by(environments: Iterable[str], options: Iterable[str]) -> list[Line]:
    short = [name.removeprefix("rankgym/") for name in environments]
    if not short:
        return [
            ("played by", "no environment as it is; your own click model takes it: --set model=package.module:MODEL")
        ]
    return [("played by", ", ".join(short)), ("command", " ".join(["rankgym compare", short[0], *options]))]


def _digest(name: str) -> str:
    """Return the sha256 that a data set of the catalogue is checked against."""
    return str(catalogue.DATASETS[name].content or catalogue.DATASETS[name].sha256)


def numbered(labels: Iterable[Any]) -> str:
    """Return the first labels with their numbers."""
    names = list(labels)
    shown = [f"{number} {label}" for number, label in enumerate(names[:MOST_LABELS])]
    return ", ".join([*shown, *(["..."] if len(names) > MOST_LABELS else [])])


def unplayed(given: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Return a line for each built-in model that fits with parameters of these axes nearly have, and for unknown names.

    A model is near if it has one of the parameters that no built-in model can use as they are.
    """
    models, lines = list(MODELS.values()), []
    known = {name for model in models for name in model.axes}
    playable = [model for model in models if all(given.get(name) == axes for name, axes in model.axes.items())]
    unused = given.keys() - {name for model in playable for name in model.axes}
    for model in models:
        faults = []
        for name, axes in model.axes.items():
            if name not in given:
                faults.append(f"there is no {name} ({fits.axes_text(axes)})")
            elif given[name] != axes:
                faults.append(f"{name} is {fits.axes_text(given[name])}; expected: {fits.axes_text(axes)}")
        if faults and unused & model.axes.keys():
            lines.append(f"not for {model.name}: {', and '.join(faults)}")
    for name in given:
        if name not in known:
            lines.append(f"{name} is a parameter of no built-in model{near(name, known)}")
    return lines

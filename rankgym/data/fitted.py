"""The click models' fitted parameters by data set, model and source, as environments take them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankgym.arguments import near, one_of
from rankgym.data import catalogue, fits, yandex

# {data set: {source: name in the catalogue}}
SOURCES = {"yandex": {"calibrated": "yandex-calibrated", "published": "yandex60"}}
# model: its parameters, by query and item (those in ``yandex.PER_QUERY``) or shared by all queries
PARAMETERS = {model: tuple(shapes) for model, (_, shapes) in yandex.CLASSES.items()} | {"DBM": ("attraction",)}
STAND_IN = {"DBM": "PBM"}  # no DBM was fitted; it is the PBM whose user examines every position


def parameters(dataset: str, model: str, source: str = "calibrated") -> dict[str, NDArray[np.float64]]:
    """A click model's parameters for all queries of a data set.

    Args:
        dataset: ``"yandex"``.
        model: ``"CM"``, ``"PBM"``, ``"DCM"``, ``"DBN"``, ``"UBM"``, ``"CCM"`` or ``"DBM"``.
        source: ``"calibrated"``: 100 synthetic queries that come with the package. ``"published"``: the 60 original
            ones, downloaded by ``rankgym data fetch yandex60``.

    Returns:
        Fresh arrays of probabilities whose first axis is the queries:

        * ``attraction`` (queries, 10) of all models, and ``satisfaction`` (queries, 10) of the DBN: by item, in the
          order of the production result page, so that the initial list is 0 .. 9. The DBM's attraction is the PBM's.
        * ``examination`` (queries, 10) of the PBM and ``termination`` (queries, 10) of the DCM: by position.
        * ``examination`` (queries, 10, 10) of the UBM: a row for each position, a column for the position of the
          previous click, and the last column for no click yet. A user at position k can only have clicked above it: in
          row k, the columns k .. 8 are never used.
        * ``abandonment`` (queries,) of the DBN; ``continue_noclick``, ``continue_click_irrelevant`` and
          ``continue_click_relevant`` (queries,) of the CCM.

        All parameters but attraction and satisfaction were fitted once for all queries, and are the same in each.

    Raises:
        ValueError: an argument is unknown; the message lists the allowed ones.
        MissingData: the published data is not in the cache; the message has the commands that download or import it.

    Examples:
        >>> from rankgym.data import parameters
        >>> pbm = parameters("yandex", "PBM")
        >>> {name: table.shape for name, table in pbm.items()}
        {'attraction': (100, 10), 'examination': (100, 10)}
        >>> pbm["examination"][0, :3].round(2).tolist()  # of the first positions
        [1.0, 0.96, 0.76]
    """
    arrays = _arrays(dataset, source)
    queries = len(arrays["query_id"])
    found = {}
    for name in one_of("model", model, PARAMETERS):
        values = arrays[f"{STAND_IN.get(model, model).lower()}_{name}"]
        if name in yandex.PER_QUERY:
            found[name] = values.copy()
        else:  # a single number is kept as (1,)
            found[name] = np.repeat(values if values.shape == (1,) else values[None], queries, axis=0)
    return found


def query_ids(dataset: str, source: str = "calibrated") -> list[str]:
    """The queries' names, in the order of the rows of ``parameters``, or those of your own fits.

    Args:
        dataset: ``"yandex"``.
        source: as in ``parameters``, or the name of your own fits.

    Raises:
        ValueError, MissingData: as ``parameters`` does.

    Examples:
        >>> from rankgym.data import query_ids
        >>> names = query_ids("yandex")
        >>> len(names), names[:2]
        (100, ['calibrated-00', 'calibrated-01'])
    """
    if source in fits.fits_names():
        return [str(name) for name in fits.load_fits(source).query]
    return [str(name) for name in _arrays(dataset, source)["query_id"]]


def _arrays(dataset: str, source: str) -> dict[str, NDArray[Any]]:
    known = one_of("dataset", dataset, SOURCES)
    if not isinstance(source, str) or source not in known:
        words = [*known, *fits.fits_names()]
        hint = near(source, words) if isinstance(source, str) else ""
        allowed = (
            f"allowed: {', '.join(map(repr, words))}, or fits that `rankgym data fit` or `rankgym data import` made"
        )
        raise ValueError(f"source = {source!r} is unknown{hint or ';'} {allowed}")
    name = known[source]
    return catalogue.embedded(name) if catalogue.DATASETS[name].embedded else catalogue.latest(name)

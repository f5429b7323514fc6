"""Data: fitted click models and preference matrices, embedded or published, and the cache of what was downloaded.

The default, ``source="calibrated"``, is synthetic and comes with the package. The published data are fetched from their
public address, or imported from a copy, and checked by digest. ``catalogue.py`` is the table of data sets,
``DATASETS``; ``preferences.py`` loads and draws preference matrices. May import arguments, kernels, outputs, progress.
"""

from rankgym.data.catalogue import DATASETS, Dataset, fetch, home, import_file, import_matrix, listing, published_names
from rankgym.data.errors import DataError, DownloadFailed, MissingData, RefusedPickle, WrongDigest
from rankgym.data.fitted import parameters, query_ids

__all__ = [
    "DATASETS",
    "DataError",
    "Dataset",
    "DownloadFailed",
    "MissingData",
    "RefusedPickle",
    "WrongDigest",
    "fetch",
    "home",
    "import_file",
    "import_matrix",
    "listing",
    "parameters",
    "published_names",
    "query_ids",
]

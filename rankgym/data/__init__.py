"""Data: fitted click models and preference matrices, embedded or published, and the cache of what was downloaded.

The default, ``source="calibrated"``, is synthetic and comes with the package. The published data are fetched from their
public address, or imported from a copy, and checked by digest. ``catalogue.py`` is the table of data sets,
``DATASETS``; ``preferences.py`` loads and draws preference matrices; ``fits.py`` keeps the user's own fits. May import
arguments, kernels, outputs, progress.
"""

from rankgym.data.cache_folder import home
from rankgym.data.catalogue import (
    DATASETS,
    Dataset,
    fetch,
    import_file,
    import_fits,
    import_matrix,
    listing,
    published_names,
)
from rankgym.data.errors import DataError, DownloadFailed, MissingData, RefusedPickle, WrongDigest
from rankgym.data.fits import Fits, fits_names, fitted_tables, load_fits, store
from rankgym.data.fitted import SOURCES, parameters, query_ids

__all__ = [
    "DATASETS",
    "SOURCES",
    "DataError",
    "Dataset",
    "DownloadFailed",
    "Fits",
    "MissingData",
    "RefusedPickle",
    "WrongDigest",
    "fetch",
    "fits_names",
    "fitted_tables",
    "home",
    "import_file",
    "import_fits",
    "import_matrix",
    "listing",
    "load_fits",
    "parameters",
    "published_names",
    "query_ids",
    "store",
]

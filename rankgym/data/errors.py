"""The errors of data sets. All are ValueErrors whose message says what to do."""


class DataError(ValueError):
    """A data set cannot be used: the base class of these errors."""


class MissingData(DataError, FileNotFoundError):
    """The data set is not in the cache; the message has the commands that download or import it."""


class DownloadFailed(DataError):
    """The download was not completed; nothing was kept."""


class WrongDigest(DataError):
    """The file is not the published one."""


class RefusedPickle(DataError):
    """The pickle names something that is not allowed, or cannot be read; nothing of it was run."""

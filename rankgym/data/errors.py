"""The errors of data sets. All are ValueErrors whose message says what to do."""


class DataError(ValueError):
    """A data set cannot be used: the base class of these errors.

    Raised by what reads files of data, such as ``import_fits`` and ``rankgym.logs.readers.read_log``.
    """


class MissingData(DataError, FileNotFoundError):
    """The data set is not in the cache; the message has the commands that download or import it.

    Examples:
        >>> import os, tempfile
        >>> from unittest import mock
        >>> from rankgym.data import parameters
        >>> with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, RANKGYM_DATA_HOME=folder):
        ...     parameters("yandex", "CM", source="published")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        rankgym.data.errors.MissingData: ...rankgym data fetch yandex60...
    """


class DownloadFailed(DataError):
    """The download was not completed; nothing was kept.

    See ``fetch``, which raises it.
    """


class WrongDigest(DataError):
    """The file is not the published one.

    See ``fetch`` and ``import_file``, which raise it.
    """


class RefusedPickle(DataError):
    """The pickle names something that is not allowed, or cannot be read; nothing of it was run.

    See ``import_file``, whose example shows one.
    """

"""What goes wrong with data, one class each; all of them are ValueErrors whose message says what to do."""

from __future__ import annotations

__all__ = ["DataError", "DownloadFailed", "MissingData", "RefusedPickle", "WrongDigest"]


class DataError(ValueError):
    """A data set cannot be had: the base of the errors of this room."""


class MissingData(DataError, FileNotFoundError):
    """The data set is not on this machine; the message names the commands that bring it."""


class DownloadFailed(DataError):
    """The download did not come to its end; nothing was kept."""


class WrongDigest(DataError):
    """The file is not the published one."""


class RefusedPickle(DataError):
    """The pickle names what it must not name, or cannot be read; nothing of it ran."""

"""Readers of click logs: the logs of two public challenges, and plain tables; ``read_log`` is the door.

May import data, kernels, progress and ``rankgym.logs.sessions``.
"""

from rankgym.logs.readers.reading import FORMS, MAX_BROKEN, Report, broken_text, read_log, read_parts

__all__ = ["FORMS", "MAX_BROKEN", "Report", "broken_text", "read_log", "read_parts"]

"""Processes that end with the one that started them."""

from __future__ import annotations

import multiprocessing
import os
from multiprocessing.connection import wait as wait_for


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait_for([parent.sentinel])
        os._exit(1)

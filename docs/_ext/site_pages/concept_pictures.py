"""The pictures of the pages on concepts."""

from pathlib import Path


def make(docs: Path) -> dict[str, str | bytes]:
    return {}

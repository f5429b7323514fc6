"""Write the generated pages: unchanged files keep their time, files that are no longer made are removed."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

FOLDERS = ("environments", "agents", "tasks", "api", "pictures", "facts")  # under docs; git ignores them
Made = Mapping[str, str | bytes]  # by the path under docs, with "/"


def write_files(docs: Path, made: Made) -> list[str]:
    """Write each file whose content is new, remove stale files of ``FOLDERS``, and return the names written.

    Sphinx reads a page again if its time changed, so unchanged pages must not be touched.
    """
    written = []
    for name, content in made.items():
        path, data = docs / name, content.encode("utf-8") if isinstance(content, str) else content
        if name.split("/")[0] not in FOLDERS:
            raise ValueError(f"name = {name!r} is outside of the generated folders; allowed: {', '.join(FOLDERS)}")
        if not path.is_file() or path.read_bytes() != data:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            written.append(name)
    for path in _present(docs):
        if path.relative_to(docs).as_posix() not in made:
            with suppress(FileNotFoundError):
                path.unlink()
    return written


def _present(docs: Path) -> Iterator[Path]:
    for folder in FOLDERS:
        yield from (path for path in (docs / folder).rglob("*") if path.is_file())

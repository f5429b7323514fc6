"""Side files of LightGBM: NAME.query holds the number of documents of each query of NAME, whose lines have no ``qid:``.

The format is that of LightGBM's parameter "query data" and of its example ``examples/lambdarank``: one number a line,
the queries in the order of the data file.
"""

import os
import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rankgym.data.errors import DataError
from rankgym.data.text_files import DAMAGE, damage, unpacked

SUFFIX = ".query"
LONGEST_LINE = 1 << 16  # bytes; a longer line is read as several


def query_file(path: str | os.PathLike[str]) -> Path | None:
    """Return the side file of ``path``, or None if there is none.

    It is NAME.query or NAME.query.gz beside NAME; for NAME.gz, those of NAME are looked for as well.
    """
    path = Path(path)
    names = [path.name, path.name.removesuffix(".gz")]
    places = (path.with_name(f"{name}{SUFFIX}{packed}") for name in names for packed in ("", ".gz") if name)
    return next(
        (place for place in places if os.path.isfile(place)), None
    )  # unlike Path's, False for a name that is too long


def query_starts(side: Path, data: Path, documents: int) -> NDArray[np.int64]:
    """Return where the queries of ``data`` start, (queries + 1,), from the sizes in ``side``, plain or gzip.

    Empty lines and comments after # are skipped.

    Raises:
        DataError: with file and line, if an entry is not a whole number of at least 1, or if the sizes do not add up to
            ``documents``.
    """
    start, line = [0], 0

    def fault(what: str) -> DataError:
        return DataError(f"{side}, line {max(line, 1)}: {what}")

    allowed = f"allowed: sizes that add up to the documents of {data.name}, {documents}"
    with side.open("rb") as file:
        stream = unpacked(file)
        try:
            while text := stream.readline(LONGEST_LINE):
                line += 1
                word = text.removeprefix(b"\xef\xbb\xbf").partition(b"#")[0].strip()
                if not word:
                    continue
                if not re.fullmatch(rb"\+?0*[1-9][0-9]{0,17}", word):
                    shown = ascii(word[:40].decode("utf-8", "backslashreplace"))
                    raise fault(f"{shown} is not the size of a query; allowed: one whole number, at least 1")
                start.append(start[-1] + int(word))
                if start[-1] > documents:
                    raise fault(f"the queries down to this line have {start[-1]} documents; {allowed}")
        except DAMAGE as error:
            raise fault(damage(error)) from None
    if len(start) == 1:
        raise fault(f"the file does not hold any size; {allowed}")
    if start[-1] < documents:
        raise fault(f"the sizes add up to {start[-1]}; {allowed}")
    return np.array(start, np.int64)

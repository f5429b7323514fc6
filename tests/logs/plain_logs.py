"""Writers of click logs in every form, and readers in plain Python that take a line at a time."""

import csv
import gzip
import io
from collections import Counter

FORMS = {"csv": "plain", "tsv": "plain", "parquet": "plain", "relevance": "relevance", "personalised": "personalised"}


def multiset(sessions):
    """How often each (query, documents, clicks) is in ``Sessions``."""
    found = Counter()
    for query, item, clicked, number in zip(
        sessions.query.tolist(),
        sessions.item.tolist(),
        sessions.clicked().tolist(),
        sessions.repeats.tolist(),
        strict=True,
    ):
        documents = [one for one in item if one >= 0]
        assert item == documents + [-1] * (len(item) - len(documents))
        assert not any(clicked[len(documents) :])
        assert all(sessions.item_query[one] == query for one in documents)
        labels = tuple(str(sessions.item_id[one]) for one in documents)
        found[str(sessions.query_id[query]), labels, tuple(clicked[: len(documents)])] += number
    return found


def counted(sessions):
    """The multiset of sessions (query, documents, clicks)."""
    return Counter((query, tuple(documents), tuple(map(bool, clicks))) for query, documents, clicks in sessions)


def table_rows(sessions):
    """The rows of a plain table, the names of the columns first, and two columns that readers leave alone."""
    most = max(len(documents) for _, documents, _ in sessions)
    numbers = range(1, most + 1)
    names = ["session", "query", *(f"item_{k}" for k in numbers), *(f"click_{k}" for k in numbers), "propensity"]
    rows = []
    for number, (query, documents, clicks) in enumerate(sessions):
        empty = [""] * (most - len(documents))
        rows.append([str(number), query, *documents, *empty, *(str(int(c)) for c in clicks), *empty, "0.5"])
    return [names, *rows]


def written(sessions, kind):
    """The bytes of a log with these sessions (query, documents, clicks)."""
    if kind in ("csv", "tsv"):
        text = io.StringIO(newline="")
        csv.writer(text, delimiter="," if kind == "csv" else "\t", lineterminator="\n").writerows(table_rows(sessions))
        return text.getvalue().encode()
    if kind == "parquet":
        return parquet(sessions)
    lines = relevance_lines(sessions) if kind == "relevance" else personalised_lines(sessions)
    return "".join(f"{line}\n" for line in lines).encode()


def parquet(sessions):
    """A Parquet file of a table, in groups of three rows."""
    import pyarrow
    from pyarrow import parquet as files

    names, *rows = table_rows(sessions)
    columns = {}
    for place, name in enumerate(names):
        values = [row[place] or None for row in rows]
        whole = name.startswith("click")
        columns[name] = pyarrow.array([None if v is None else int(v) for v in values] if whole else values)
    sink = io.BytesIO()
    files.write_table(pyarrow.table(columns), sink, row_group_size=3)
    return sink.getvalue()


def relevance_lines(sessions):
    """Two result pages to a session, the clicks below each of them."""
    for number, (query, documents, clicks) in enumerate(sessions):
        session = number // 2
        yield "\t".join([str(session), "0", "Q", query, "7", *documents])
        for document, click in zip(documents, clicks, strict=True):
            if click:
                yield f"{session}\t{number}\tC\t{document}"
                yield f"{session}\t{number + 1}\tC\t{document}"  # again


def personalised_lines(sessions):
    """Two result pages to a session, all clicks below both of them."""
    for session in range(0, len(sessions), 2):
        yield f"{session}\tM\t3\t77"
        pages = sessions[session : session + 2]
        for page, (query, documents, _) in enumerate(pages):
            yield "\t".join([str(session), "0", "Q", str(page), query, "1,2", *(f"{one},5" for one in documents)])
        for page, (_, documents, clicks) in enumerate(pages):
            for document, click in zip(documents, clicks, strict=True):
                if click:
                    yield f"{session}\t9\tC\t{page}\t{document}"


def naive_relevance(text):
    """The multiset of a relevance log's sessions, and the numbers of its broken lines."""
    pages, broken, current, unsure = [], [], None, False
    start = 0
    for number, line in enumerate(text.split("\n"), start=1):
        if not line:
            continue
        words = line.split("\t")
        if words[0] != current:
            current, start, unsure = words[0], len(pages), False
        kind = words[2] if len(words) > 2 else ""
        good = bool(words[0]) and len(words) > 2 and words[1].isascii() and words[1].isdigit()
        if (
            kind == "Q"
            and good
            and len(words) > 5
            and all([words[3], *words[5:]])
            and len(set(words[5:])) == len(words[5:])
        ):
            pages.append((words[3], words[5:], [False] * len(words[5:])))
        elif kind == "Q" and good:
            unsure = True
            broken.append(number)
        elif kind == "C" and good and len(words) == 4:
            page = next((page for page in reversed(pages[start:]) if words[3] in page[1]), None)
            if page:
                page[2][page[1].index(words[3])] = True
            elif not unsure:
                broken.append(number)
        else:
            broken.append(number)
    return counted(pages), broken


def write(folder, sessions, kind, *, packed=False):
    """Write a log and return its path."""
    data = written(sessions, kind)
    path = folder / f"log.{kind}{'.gz' if packed else ''}"
    path.write_bytes(gzip.compress(data) if packed else data)
    return path

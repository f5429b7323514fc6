"""Doors of data files: LETOR, side files, preference matrices, tables of fits, logs. What is accepted is read right.

Each file is compared with a plain reading of the same bytes, a line at a time, where there is one below.
"""

import collections
import contextlib
import functools
import gzip
import io
import re
from pathlib import Path

import fuzzing
import numpy as np

from rankgym import interleaving
from rankgym.data import DataError, fits, fits_table, letor, matrix_files
from rankgym.data.files import read_npz
from rankgym.data.matrices import check_preference
from rankgym.data.query_files import query_starts
from rankgym.extras import require
from rankgym.logs.evaluation.records import read_plain
from rankgym.logs.readers import read_parts

ENDS = ("\n", "\n", "\n", "\r\n", "\r")
NUMBERS = ("0", "1", "1.0", "-0", "1e5", "1e39", "1e-400", "-1", "nan", "inf", "1_0", "0x1", "99999999999999999999", "")
NUMBERS += (".5", "+.5", "5.", "1e", "1e+", "--1", "1.5e3", "0.5", "TRUE", "false", "4", "127", "128")


def lines_of(rng, lines):
    """The bytes of a text file of these lines, or of some that a mistake has changed; sometimes packed."""
    lines = list(lines)
    for _ in range(rng.choice((0, 1, 1, 2))):
        at, chosen = rng.randrange(len(lines)), rng.randrange(6)
        if chosen == 0:
            lines[at] = rng.choice((fuzzing.odd_text(rng), "", "# comment", lines[at] + " # comment", lines[at] + " "))
        elif chosen == 1:
            lines.insert(rng.randrange(len(lines)), lines[at])
        elif chosen == 2:
            del lines[at:]
            lines.append("")
        else:  # a word
            words = re.split(r"([ \t,:;]+)", lines[at])
            words[rng.randrange(len(words))] = rng.choice((*NUMBERS, fuzzing.odd_text(rng)))
            lines[at] = "".join(words)
    end = rng.choice(ENDS)
    data = (end.join(lines) + rng.choice(("", end))).encode("utf-8", "surrogatepass")
    data = rng.choice((data, data, data, b"\xef\xbb\xbf" + data, fuzzing.damaged(rng, data)))
    chosen = rng.random()
    if chosen < 0.1:
        data = gzip.compress(data)
        return fuzzing.damaged(rng, data) if chosen < 0.05 else data
    if chosen < 0.12:
        return rng.choice((data.decode("utf-8", "replace").encode("utf-16"), rng.randbytes(40)))
    return data


def unpacked(data):
    return gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data


def plain_lines(data):
    return re.split(rb"\r\n|\r|\n", unpacked(data).removeprefix(b"\xef\xbb\xbf"))


def put(name, data):
    path = Path(name)
    path.write_bytes(data)
    return path


# -- LETOR ------------------------------------------------------------------------------------------------------------


@functools.cache
def compile_readers():
    """Compile and import what the readers need, which takes longer than an input may."""
    letor.feature_rankings(letor.parse(put("first", b"0 qid:1 1:1\n"), progress=False), 3)
    require("pyarrow.parquet")
    for form, text in (("plain", b"query,item_1,click_1\nq,a,1\n"), ("relevance", b"1\t0\tQ\tq\t7\ta\n")):
        read_parts(put("first", text), form, progress=False)


def letor_file(rng):
    compile_readers()
    lines = ["label query features"] if rng.random() < 0.1 else []
    side = rng.random() < 0.15
    for query in range(rng.randrange(1, 4)):
        for _ in range(rng.randrange(1, 4)):
            features = sorted(rng.sample((*range(1, 12), 300, 10_000), rng.randrange(1, 5)))
            values = " ".join(f"{f}:{rng.choice((rng.random(), rng.randrange(9), -1.5e-7))}" for f in features)
            lines.append(f"{rng.randrange(5)} {'' if side else f'qid:{query} '}{values}")
    return lines_of(rng, lines), lines_of(rng, [str(rng.randrange(1, 4)) for _ in range(2)]) if side else None


def plain_documents(data):
    """Labels, queries and features by the plainest Python."""
    rows, headed = [], False
    for line in plain_lines(data):
        words = re.split(rb"[ \t]+", line.partition(b"#")[0].strip(b" \t"))
        if words == [b""]:
            continue
        if not rows and not headed and words[0][:1].isalpha():
            headed = True
            continue
        query = words.pop(1).removeprefix(b"qid:").decode() if words[1].startswith(b"qid:") else None
        rows.append((int(words[0]), query, {int(i): float(v) for i, v in (word.split(b":") for word in words[1:])}))
    return rows


def use_letor(given):
    data, side = given
    path, beside = put("letor.txt", data), Path("letor.txt.query")
    beside.unlink(missing_ok=True)
    if side is not None:
        beside.write_bytes(side)
    found, rows = letor.parse(path, progress=False), plain_documents(data)
    assert found.labels.tolist() == [label for label, _, _ in rows]
    width = max(max(values) for _, _, values in rows)
    expected = np.zeros((len(rows), width))
    for row, (_, _, values) in enumerate(rows):
        expected[row, [f - 1 for f in values]] = list(values.values())
    np.testing.assert_allclose(found.features, expected, rtol=1e-6, atol=1e-44)
    number = np.repeat(np.arange(len(found.query_ids)), np.diff(found.start))
    if rows[0][1] is not None:
        assert [found.query_ids[q] for q in number] == [query for _, query, _ in rows]
    letor.feature_rankings(found, 3)


def use_side_file(data):
    start = query_starts(put("d.query", data), Path("d"), 6)
    sizes = [int(word) for line in plain_lines(data) if (word := line.partition(b"#")[0].strip())]
    assert np.diff(start).tolist() == sizes
    assert sum(sizes) == 6


# -- preference matrices ----------------------------------------------------------------------------------------------


def matrix(rng, arms=None):
    arms = arms or rng.randrange(2, 6)
    p = [[0.5] * arms for _ in range(arms)]
    for i in range(arms):
        for j in range(i):
            p[i][j] = rng.choice((0.5, 0.0, 1.0, round(rng.random(), 3)))
            p[j][i] = 1.0 - p[i][j]
    return p


def matrix_file(rng):
    p = matrix(rng)
    if rng.random() < 0.4:
        stream = io.BytesIO()
        np.save(stream, np.array(p, rng.choice(("<f8", ">f8", "f4", "f2", "c16", "i8", "U5"))))
        return rng.choice((stream.getvalue(), fuzzing.damaged(rng, stream.getvalue())))
    separator = rng.choice((" ", ",", "\t", ", "))
    return lines_of(rng, [separator.join(map(repr, row)) for row in p])


def valid(p):
    assert p.dtype == np.float64
    assert ((p >= 0) & (p <= 1)).all()
    assert (p + p.T == 1.0).all()
    assert (np.diagonal(p) == 0.5).all()


def use_matrix_file(data):
    found = matrix_files.from_bytes(data, "FILE")
    valid(found)
    if not data.startswith(b"\x93NUMPY"):
        rows = [line.partition(b"#")[0].decode() for line in plain_lines(data)]
        expected = [[float(word) for word in re.split(r"[\s,]+", row.strip())] for row in rows if row.strip()]
        np.testing.assert_allclose(found, expected, atol=1e-6)


def matrix_value(rng):
    p = matrix(rng, rng.randrange(2, 4))
    chosen = rng.randrange(6)
    if chosen == 0:
        return fuzzing.odd_value(rng)
    if chosen == 1:
        return np.array(p).astype(rng.choice(("f2", "f4", "f8", "O", "U8", "i1", "?", "c8", "M8[D]")))
    return fuzzing.spoiled(rng, p) if chosen < 5 else p


def use_matrix_value(value):
    found = check_preference("preference", value)
    valid(found)
    np.testing.assert_allclose(found, np.array(value, float), atol=1e-8)


def archive(arrays):
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def kept_matrix(rng):
    arrays = matrix_files.to_arrays({"preference": np.array(matrix(rng))}, "fuzz")
    if rng.random() < 0.3:
        arrays[rng.choice(list(arrays))] = np.array(rng.choice((0, "x", [0.5, 0.5], [[0.5, np.nan]] * 2, b"x")))
    return rng.choice((archive(arrays), fuzzing.damaged(rng, archive(arrays))))


def use_kept_matrix(data):
    found, _ = matrix_files.from_npz(data, ["preference"])
    valid(found["preference"])


# -- fits -------------------------------------------------------------------------------------------------------------


def fits_lines(rng):
    end, separator = rng.choice(ENDS), rng.choice((",", ";", "\t"))
    rows = [["query", "item", "position", "attraction", "examination"]]
    rows += [[q, f"d{k}", "", f"0.{rng.randrange(99)}", ""] for q in ("a", "b")[: rng.randrange(1, 3)] for k in "123"]
    rows += [["", "", str(k), "", f"0.{rng.randrange(99)}"] for k in (1, 2)]
    for _ in range(rng.choice((0, 1, 1, 2))):
        row = rng.choice(rows)
        row[rng.randrange(len(row))] = rng.choice((*NUMBERS, fuzzing.odd_text(rng), '"', '"x', "rank"))
    data = end.join(separator.join(row) for row in rows).encode("utf-8", "surrogatepass")
    return rng.choice((data, data, b"\xef\xbb\xbf" + data, fuzzing.damaged(rng, data)))


def use_fits_lines(data):
    fits_table.is_fits_table(data)
    found = fits_table.from_csv(data, "fits.csv")
    if b'"' not in data:
        separator = max((b",", b";", b"\t"), key=plain_lines(data)[0].count)
        rows = [[c.strip().decode() for c in line.split(separator)] for line in plain_lines(data) if line.strip()]
        names, *rest = [row for row in rows if any(row)]
        at, item = names.index("attraction"), names.index("item")
        expected = sorted(float(row[at]) for row in rest if row[item])
        assert sorted(found.parameters["attraction"].ravel().tolist()) == expected
    assert fits.from_arrays(fits.to_arrays(found)).query.tolist() == found.query.tolist()


def kept_fits(rng):
    one = fits.Fits(
        np.array(["q"]), np.array([["a", "b"]]), {"attraction": np.array([[0.5, 0.1]])}, {"attraction": ("item",)}
    )
    arrays = fits.to_arrays(one)
    if rng.random() < 0.4:
        arrays[rng.choice([*arrays, "x", "axes.x", "parameter.x"])] = np.array(
            rng.choice((0, 2, "x", "item item", [0.5, 0.5], [[0.5, np.nan]], b"x", "{", "[" * 5000))
        )
        if rng.random() < 0.5:  # as by a careful forger
            arrays.pop("digest", None)
            with contextlib.suppress(DataError):
                arrays["digest"] = np.array(fits._digest(arrays))
    return rng.choice((archive(arrays), fuzzing.damaged(rng, archive(arrays))))


def use_kept_fits(data):
    fits.from_arrays(read_npz(data, 10**6))


# -- logs -------------------------------------------------------------------------------------------------------------

SESSIONS = 6
WORDS = ("a", "b", "c", "d", "x y", "ä", "7")


def sessions(rng):
    compile_readers()
    full = rng.random() < 0.5
    for _ in range(rng.randrange(1, SESSIONS)):
        shown = rng.sample(WORDS, 3 if full else rng.randrange(1, 4))
        yield rng.choice(WORDS[:3]), shown, [rng.randrange(2) for _ in shown]


def table(rng):
    rows = []
    for query, shown, clicks in sessions(rng):
        empty = [""] * (3 - len(shown))
        rows.append([query, *shown, *empty, *map(str, clicks), *empty, "0.5"])
    return [["query", "item_1", "item_2", "item_3", "click_1", "click_2", "click_3", "propensity"], *rows]


def text_table(rng):
    separator = rng.choice((",", ",", ";", "\t"))
    return lines_of(rng, [separator.join(row) for row in table(rng)])


def page_lines(rng, personalised):
    lines = []
    for number, (query, shown, clicks) in enumerate(sessions(rng)):
        session = str(number // 2)
        if personalised:
            lines.append(f"{session}\tM\t3\t77")
            lines.append(
                "\t".join([session, "0", rng.choice("QQQT"), str(number), query, "1,2", *(f"{s},5" for s in shown)])
            )
        else:
            lines.append("\t".join([session, "0", "Q", query, "7", *shown]))
        page = f"{number}\t" if personalised else ""
        lines += [f"{session}\t9\tC\t{page}{one}" for one, click in zip(shown, clicks, strict=True) if click]
    return lines_of(rng, lines)


def parquet_table(rng):
    """A Parquet file with columns of odd types, or one that is damaged."""
    import pyarrow
    from pyarrow import parquet

    names, *rows = table(rng)
    columns = {name: [row[k] or None for row in rows] for k, name in enumerate(names)}
    arrays = {name: pyarrow.array(values) for name, values in columns.items()}
    for name in names:
        if name.startswith("click"):
            whole = [None if value is None else int(value) for value in columns[name]]
            kind = rng.choice((pyarrow.int64(), pyarrow.bool_(), pyarrow.float64()))
            arrays[name] = pyarrow.array(whole).cast(kind)
    count = len(rows)
    for _ in range(rng.choice((0, 1, 1, 2))):
        name = rng.choice(names)
        odd = (
            lambda: pyarrow.array(
                [rng.choice((0.5, float("nan"), 1e300, None)) for _ in range(count)], pyarrow.float64()
            ),
            lambda: pyarrow.array([[1]] * count),
            lambda: pyarrow.array([{"a": 1}] * count),
            lambda: pyarrow.array([b"\xff"] * count),
            lambda: pyarrow.array([2**63] * count, pyarrow.uint64()),
            lambda: pyarrow.array(["q"] * count).dictionary_encode(),
            lambda: pyarrow.nulls(count),
            lambda: pyarrow.array([0] * count, pyarrow.timestamp("s")),
            lambda: pyarrow.array(
                [fuzzing.odd_text(rng).encode("utf-8", "ignore").decode()] * count, pyarrow.large_string()
            ),
        )
        arrays[rng.choice((name, name, "item_9", "propensity_1", "x"))] = rng.choice(odd)()
    sink = io.BytesIO()
    parquet.write_table(pyarrow.table(arrays), sink, row_group_size=2)
    return rng.choice((sink.getvalue(), fuzzing.damaged(rng, sink.getvalue())))


def multiset(found):
    """How often each (query, documents, clicks) is in ``Sessions``."""
    counted = collections.Counter()
    for query, item, clicked, times in zip(found.query, found.item, found.clicked(), found.repeats, strict=True):
        shown = [one for one in item.tolist() if one >= 0]
        assert item.tolist() == shown + [-1] * (len(item) - len(shown))
        assert not clicked[len(shown) :].any()
        assert (found.item_query[shown] == query).all()
        labels = tuple(str(found.item_id[one]) for one in shown)
        counted[str(found.query_id[query]), labels, tuple(clicked[: len(shown)].tolist())] += int(times)
    return counted


CLICKS = {"0": False, "1": True, "0.0": False, "1.0": True, "false": False, "true": True}


def plain_session(cells, names):
    """The session of a line of a table, or None if it is broken."""
    if len(cells) != len(names):
        return None
    row = dict(zip(names, cells, strict=True))
    numbers = range(1, 1 + sum(name.startswith("item_") for name in names))
    items, clicks = [row[f"item_{k}"] for k in numbers], [row[f"click_{k}"] for k in numbers]
    length = sum(map(bool, items))
    shown = items[:length]
    clicked = [CLICKS.get(click.lower()) for click in clicks]
    fine = row["query"] and length and all(shown) and len(set(shown)) == length and None not in clicked[:length]
    fine = fine and all(not click or clicked[k] is False for k, click in enumerate(clicks) if k >= length)
    fine = fine and max(len(label.encode()) for label in (row["query"], *shown)) <= 1000
    return (row["query"], tuple(shown), tuple(clicked[:length])) if fine else None


def plain_table(data):
    """The sessions of a table without quotes."""
    lines = [line for line in plain_lines(data) if line]
    separator = max((b",", b";", b"\t"), key=lines[0].count)
    names = [name.strip().decode() for name in lines[0].split(separator)]
    counted = collections.Counter()
    for line in lines[1:]:
        try:
            cells = line.decode().split(separator.decode())
        except UnicodeDecodeError:
            continue
        if b"\0" not in line and (found := plain_session(cells, names)):
            counted[found] += 1
    return counted


def use_log(form, plain=None):
    def use(data):
        found, _, _ = read_parts(put("log", data), form, max_broken=0.999, progress=False)
        counted = multiset(found)
        if plain is not None and b'"' not in unpacked(data):
            assert counted == plain(data)

    return use


def use_policy_log(data):
    found = read_plain(put("log", data), np.array(WORDS[:3]), np.array([WORDS] * 3), progress=False)
    assert found.displayed.shape == found.clicks.shape == (len(found.query), found.clicks.shape[1])


# -- interleaving -----------------------------------------------------------------------------------------------------


@functools.cache
def compile_methods():
    """Compile and import what the methods need."""
    for method in interleaving.INTERLEAVINGS:
        use_comparison({"left": [0, 1], "right": [1, 0], "method": method})


def comparison(rng):
    compile_methods()
    left = rng.sample(range(6), 4)
    given = {"left": left, "right": rng.sample(left, 4), "length": rng.choice((None, 1, 4)), "seed": rng.randrange(9)}
    given["method"] = rng.choice([*interleaving.INTERLEAVINGS, "balanced"])
    if rng.random() < 0.6:
        given[rng.choice((*given, "tau", "credit", "x"))] = fuzzing.odd_value(rng)
    elif rng.random() < 0.3:
        given["left"] = np.array(left, rng.choice(("i1", "u8", "f8", "O", "?", "U2")))
    return given


def use_comparison(given):
    found = interleaving.compare(**given)
    assert ((found.displayed >= -1) & (found.displayed < 1 << 24)).all()
    found.winner(np.zeros(found.displayed.shape, int))


FILES = (DataError,)
DOORS = {
    "LETOR file": fuzzing.Door(letor_file, use_letor, FILES),
    "side file": fuzzing.Door(lambda rng: lines_of(rng, ["1", "2", "3"]), use_side_file, FILES),
    "matrix file": fuzzing.Door(matrix_file, use_matrix_file, FILES),
    "matrix": fuzzing.Door(matrix_value, use_matrix_value),
    "imported matrix": fuzzing.Door(kept_matrix, use_kept_matrix, FILES),
    "table of fits": fuzzing.Door(fits_lines, use_fits_lines, FILES),
    "imported fits": fuzzing.Door(kept_fits, use_kept_fits, FILES),
    "plain log": fuzzing.Door(text_table, use_log("plain", plain_table), FILES),
    "Parquet log": fuzzing.Door(parquet_table, use_log("plain"), FILES),
    "relevance log": fuzzing.Door(lambda rng: page_lines(rng, False), use_log("relevance"), FILES),
    "personalised log": fuzzing.Door(lambda rng: page_lines(rng, True), use_log("personalised"), FILES),
    "log of a policy": fuzzing.Door(lambda rng: rng.choice((text_table, parquet_table))(rng), use_policy_log),
    "interleaving": fuzzing.Door(comparison, use_comparison),
}

"""The published queries: what is taken from the original pickle, what is refused, and how the file gets here."""

import contextlib
import copyreg
import hashlib
import http.server
import io
import pickle
import socket
import struct
import threading
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rankgym import data
from rankgym.data import catalogue, pickles, yandex

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
needs_original = pytest.mark.skipif(
    not (SHARED / "yandex60.pkl").exists(), reason="the original pickle is not among the shared data"
)


# -- a pickle like the original, written operation by operation, with made-up numbers ---------------------------------


def text(value):
    raw = value.encode("latin1") if isinstance(value, str) else value
    return b"U" + bytes([len(raw)]) + raw if len(raw) < 256 else b"T" + struct.pack("<i", len(raw)) + raw


def whole(value):
    return b"J" + struct.pack("<i", value)


def name(full):
    module, _, last = full.rpartition(".")
    return f"c{module}\n{last}\n".encode()


FLOAT64 = name(yandex.DTYPE) + text("f8") + whole(0) + whole(1) + b"\x87R"
FLOAT64 += b"(" + whole(3) + text("<") + b"NNN" + whole(-1) + whole(-1) + whole(0) + b"tb"
START = b"\x80\x02" + FLOAT64 + b"q\x000"  # the type is made once, and kept as number 0 of the memo


def array(values, dtype=b"h\x00", order=b"\x89"):
    shape = b"(" + b"".join(whole(n) for n in values.shape) + b"t"
    rebuilt = name(yandex.REBUILD) + name(yandex.ARRAY) + b"(" + whole(0) + b"t" + text("b") + b"\x87R"
    return rebuilt + b"(" + whole(1) + shape + dtype + order + text(values.tobytes()) + b"tb"


def number(value):
    return b"G" + struct.pack(">d", value)


def entry(model, arrays, row, relevances=None):
    """One query's dict: its model, called with its parameters and a seed, and its relevances."""
    kind, shapes = yandex.CLASSES[model]
    made = name(kind) + b"("
    for parameter, shape in shapes.items():
        values = arrays[f"{model.lower()}_{parameter}"]
        values = values[row] if parameter in yandex.PER_QUERY else values
        made += array(values) if shape else number(values[0])
        made += b"q\x01" if parameter == "attraction" else b""
    made += whole(12345) + b"tR"
    return b"}(" + text("model") + made + text("relevances") + (relevances or b"h\x01") + b"u"


def collection(arrays, order=range(59, -1, -1), models=tuple(yandex.CLASSES), spoil=None):
    """The whole pickle; queries are not sorted. ``spoil`` is {(model, row): what stands for that query's dict}."""
    out = START + b"}("
    for model in models:
        out += text(model) + b"}("
        for row in order:
            given = (spoil or {}).get((model, row))
            out += text(str(arrays["query_id"][row])) + (entry(model, arrays, row) if given is None else given)
        out += b"u"
    return out + b"u."


def made_up():
    rng = np.random.default_rng(7)
    arrays = {"query_id": np.sort(rng.choice(10**6, 60, replace=False)).astype(np.int64) + 1}
    return arrays | {parameter: rng.random(shape) for parameter, shape in yandex.SCHEMA.items()}


ARRAYS = made_up()
ORIGINAL = collection(ARRAYS)


def same(found, expected):
    assert list(found) == list(expected)
    for key, values in expected.items():
        assert found[key].dtype == values.dtype
        np.testing.assert_array_equal(found[key], values)


@pytest.fixture
def home(tmp_path, monkeypatch):
    folder = tmp_path / "home"
    monkeypatch.setenv("RANKGYM_DATA_HOME", str(folder))
    return folder


@pytest.fixture
def table(monkeypatch):
    """The catalogue with the made-up pickle in the place of the original one."""
    entry = data.DATASETS["yandex60"]._replace(
        url="http://127.0.0.1:9/nobody-listens",
        sha256=hashlib.sha256(ORIGINAL).hexdigest(),
        content=yandex.content_digest(ARRAYS),
    )
    monkeypatch.setitem(data.DATASETS, "yandex60", entry)
    return entry


# -- conversion -------------------------------------------------------------------------------------------------------


@needs_original
def test_the_original_converts_to_the_same_numbers_exactly():
    with np.load(SHARED / "yandex60.npz") as expected:
        same(yandex.read(SHARED / "yandex60.pkl"), dict(expected))


@needs_original
def test_the_catalogues_digests_are_those_of_the_original(home):
    entry = data.DATASETS["yandex60"]
    assert hashlib.sha256((SHARED / "yandex60.pkl").read_bytes()).hexdigest() == entry.sha256
    assert yandex.content_digest(yandex.read(SHARED / "yandex60.npz")) == entry.content
    assert data.import_file("yandex60", SHARED / "yandex60.pkl") == home / "yandex60.npz"
    found = data.parameters("yandex", "DCM", "published")
    assert {key: values.shape for key, values in found.items()} == {"attraction": (60, 10), "termination": (60, 10)}
    assert data.query_ids("yandex", "published")[:2] == ["401", "1153"]
    assert found["attraction"].mean(0)[0] == pytest.approx(0.415, abs=5e-4)


def test_a_made_up_collection_converts_to_what_went_in():
    same(yandex.from_pickle(ORIGINAL), ARRAYS)


def changed(parameter, place, value):
    arrays = {key: values.copy() for key, values in ARRAYS.items()}
    arrays[parameter][place] = value
    return arrays


BIG_ENDIAN = FLOAT64.replace(text("<"), text(">"))
OBJECTS = FLOAT64.replace(text("f8"), text("O8"))
ROW = ARRAYS["cm_attraction"][0]


def odd(made, relevances=ROW):
    return b"}(" + text("model") + made + text("relevances") + array(relevances) + b"u"


MALFORMED = {
    "a probability above 1": (collection(changed("cm_attraction", (3, 4), 1.1)), "cm_attraction"),
    "not a number": (collection(changed("dbn_satisfaction", (0, 0), np.nan)), "dbn_satisfaction"),
    "a negative examination": (collection(changed("ubm_examination", (0, 0), -1e-9)), "ubm_examination"),
    "59 queries": (collection(ARRAYS, order=range(59)), "60 numbered queries for CM"),
    "one query twice": (collection(ARRAYS, order=[0, *range(59)]), "60 numbered queries for CM"),
    "five models": (collection(ARRAYS, models=list(yandex.CLASSES)[:5]), "6 models"),
    "other queries for the second model": (
        collection(ARRAYS).replace(text(str(ARRAYS["query_id"][0])), text("77"), 1),
        "different queries for PBM",
    ),
    "examination differs between queries": (
        collection(ARRAYS, spoil={("PBM", 5): entry("PBM", changed("pbm_examination", 3, 0.5), 5)}),
        "examination of PBM",
    ),
    "relevances are not the attraction": (
        collection(ARRAYS, spoil={("CM", 0): entry("CM", ARRAYS, 0, relevances=array(ARRAYS["cm_attraction"][1]))}),
        "relevances",
    ),
    "another model's class": (
        collection(ARRAYS, spoil={("CM", 0): entry("UBM", ARRAYS, 0)}),
        "CascadeModel",
    ),
    "an argument too few": (
        collection(ARRAYS, spoil={("CM", 0): odd(name("users.users_inner.CascadeModel") + b"(" + array(ROW) + b"tR")}),
        "CascadeModel",
    ),
    "nine items": (
        collection(
            ARRAYS,
            spoil={("CM", 0): odd(name("users.users_inner.CascadeModel") + b"(" + array(ROW[:9]) + whole(1) + b"tR")},
        ),
        r"shape \(10,\) for attraction",
    ),
    "big-endian": (
        collection(
            ARRAYS,
            spoil={
                ("CM", 0): odd(
                    name("users.users_inner.CascadeModel") + b"(" + array(ROW, BIG_ENDIAN) + whole(1) + b"tR"
                )
            },
        ),
        "float64",
    ),
    "objects": (
        collection(
            ARRAYS,
            spoil={
                ("CM", 0): odd(name("users.users_inner.CascadeModel") + b"(" + array(ROW, OBJECTS) + whole(1) + b"tR")
            },
        ),
        "float64",
    ),
    "Fortran order": (
        collection(
            ARRAYS,
            spoil={
                ("CM", 0): odd(
                    name("users.users_inner.CascadeModel") + b"(" + array(ROW, FLOAT64, b"\x88") + whole(1) + b"tR"
                )
            },
        ),
        "float64",
    ),
    "a list for an array": (
        collection(ARRAYS, spoil={("CM", 0): odd(name("users.users_inner.CascadeModel") + b"(]" + whole(1) + b"tR")}),
        "float64",
    ),
    "a query that is a number": (collection(ARRAYS, spoil={("CM", 0): whole(3)}), "CascadeModel"),
    "a list": (b"\x80\x02].", "6 models"),
    "nothing": (b"", "cannot be read"),
    "no end": (ORIGINAL[:-1], "cannot be read"),
}


@pytest.mark.parametrize(("raw", "complaint"), MALFORMED.values(), ids=list(MALFORMED))
def test_what_is_not_the_collection_is_refused_with_a_reason(raw, complaint):
    with pytest.raises(data.DataError, match=complaint):
        yandex.from_pickle(raw)


def npz(arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def test_a_converted_file_reads_back_and_is_checked():
    same(yandex.from_npz(npz(ARRAYS)), ARRAYS)
    wrong = {
        "cm_attraction has dtype float32": ARRAYS | {"cm_attraction": ARRAYS["cm_attraction"].astype(np.float32)},
        r"shape \(10, 60\)": ARRAYS | {"cm_attraction": np.ascontiguousarray(ARRAYS["cm_attraction"].T)},
        "ascending": ARRAYS | {"query_id": ARRAYS["query_id"][::-1].copy()},
        "the arrays": {key: ARRAYS[key] for key in list(ARRAYS)[1:]},
        "cannot be read: ValueError: Object arrays": ARRAYS | {"query_id": np.array([print] * 60)},
        "unpacks to": ARRAYS | {"more": np.zeros(10**6)},
    }
    for complaint, arrays in wrong.items():
        with pytest.raises(data.DataError, match=complaint):
            yandex.from_npz(npz(arrays))


# -- hostile pickles --------------------------------------------------------------------------------------------------


class Hostile:
    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def mark(path):
    """A protocol-0 program that runs ``open(path, "w")``, which leaves a mark."""
    return f"c__builtin__\nopen\n(S{str(path)!r}\nS'w'\ntR".encode()


def unicode(value):
    return b"X" + struct.pack("<i", len(value)) + value.encode()


@pytest.fixture
def attacks(tmp_path):
    """{what: (pickle, what the refusal names)}, and the file that appears if any of them runs."""
    trap = tmp_path / "trap"
    opening = Hostile(open, str(trap), "w")
    cases = {
        f"open, protocol {protocol}": (pickle.dumps(opening, protocol), "open")
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    }
    system, cascade = name("os.system") + b"(" + text(f"touch {trap}") + b"tR", "users.users_inner.CascadeModel"
    inside = odd(name(cascade) + b"(" + array(ROW) + mark(trap) + b"tR")
    cases |= {
        "os.system": (b"\x80\x02" + system + b".", "os.system"),
        "posix.system": (pickle.dumps(Hostile(__import__("os").system, f"touch {trap}")), r"(posix|nt)\.system"),
        "eval": (pickle.dumps(Hostile(eval, f"open({str(trap)!r}, 'w')"), 2), "__builtin__.eval"),
        "INST": (f"(S{str(trap)!r}\nS'w'\nio\nopen\n.".replace("\nio", "\niio", 1).encode(), "io.open"),
        "deep inside a good collection": (collection(ARRAYS, spoil={("CM", 30): inside}), "__builtin__.open"),
        "as the state of an array": (
            b"\x80\x02" + name(yandex.REBUILD) + name(yandex.ARRAY) + b"(tR" + mark(trap) + b"b.",
            "__builtin__.open",
        ),
        "another name of numpy": (b"\x80\x02" + name("numpy.load") + text(str(trap)) + b"\x85R.", "numpy.load"),
        "numpy's memory": (b"\x80\x02" + name("numpy.core.multiarray.frombuffer") + b".", "multiarray.frombuffer"),
        "another class of users": (b"\x80\x02" + name("users.users_inner.Evil") + b")R.", "users_inner.Evil"),
        "an attribute of an allowed name": (
            b"\x80\x04" + unicode("numpy") + unicode("ndarray.__init__") + b"\x93.",
            "numpy.ndarray.__init__",
        ),
        "a name out of the memo": (
            b"\x80\x04" + unicode("os") + b"\x940" + unicode("x") + b"0h\x00" + unicode("system") + b"\x93.",
            "os.system",
        ),
        "a name under two allowed strings": (
            b"\x80\x04" + unicode("os") + unicode("system") + unicode("numpy") + unicode("dtype") + b"00\x93.",
            "os.system",
        ),
        "control characters": (b"\x80\x02cos\x1b[2J\nsystem\n.", r"os\\x1b\[2J"),
        "a persistent object": (b"\x80\x02" + text("x") + b"Q.", "BINPERSID"),
        "an extension code": (b"\x80\x02\x82\xf0.", "EXT1"),
        "a buffer": (b"\x80\x05\x97.", "NEXT_BUFFER"),
        "a huge array of bytes": (b"\x80\x05\x96" + struct.pack("<Q", 1 << 62) + b".", "cannot be read|BYTEARRAY8"),
        "a huge memo": (b"\x80\x02Nr\xff\xff\xff\x7f.", "too large"),
        "a long program": (b"\x80\x02" + 20_000 * b"N0" + b"N.", "too large"),
        "an attribute for an allowed name": (
            b"\x80\x02" + name(yandex.ARRAY) + b"N}" + text("__call__") + name(yandex.DTYPE) + b"s\x86b.",
            "cannot be read",
        ),
        "a new object of an allowed name": (b"\x80\x02" + name(yandex.ARRAY) + b")\x81.", "cannot be read"),
        "a key that takes a minute to hash": (b"\x80\x02})" + 35 * b"2\x86" + b"Ns.", "again and again"),
        "a member that takes a minute to hash": (b"\x80\x04\x8f()" + 12 * b"2\x86" + b"\x90.", "EMPTY_SET"),
        "a list that takes a minute to print": (b"\x80\x02]" + 60 * b"2\x86", "again and again"),
        "a list of itself": (b"\x80\x02]2a.", "not new"),
        "a deep tuple": (b"\x80\x02)" + 60 * b"\x85" + b".", "nested too deeply"),
        "a number that takes a minute to print": (
            b"\x80\x02\x8b" + struct.pack("<i", 10**6) + 10**6 * b"\x7f" + b".",
            "over 300 digits",
        ),
    }
    return cases, trap


def test_hostile_pickles_are_refused_by_name_and_nothing_of_them_runs(attacks):
    cases, trap = attacks
    copyreg.add_extension("os", "system", 0xF0)
    copyreg._extension_cache[0xF0] = __import__("os").system  # as if it had been used before: no name is asked for
    try:
        for raw, names in cases.values():
            with pytest.raises(data.RefusedPickle, match=names):
                pickles.load(raw, yandex.ALLOWED_NAMES)
            with pytest.raises(data.RefusedPickle, match=names):
                yandex.from_pickle(raw)
    finally:
        copyreg.remove_extension("os", "system", 0xF0)
        copyreg._extension_cache.pop(0xF0, None)
    assert not trap.exists()


def test_the_traps_would_have_sprung(attacks):
    cases, trap = attacks
    for case in ("open, protocol 0", "open, protocol 4", "eval", "INST"):
        pickle.loads(cases[case][0]).close()
        assert trap.exists()
        trap.unlink()


def test_importing_a_hostile_pickle_names_it_whatever_its_digest(attacks, home, table, monkeypatch, tmp_path):
    cases, trap = attacks
    file = tmp_path / "model_query_collection.pkl"
    for case in ("open, protocol 4", "os.system", "eval", "deep inside a good collection", "a name out of the memo"):
        raw, names = cases[case]
        file.write_bytes(raw)
        with pytest.raises(data.RefusedPickle, match=names):
            data.import_file("yandex60", file)
        with monkeypatch.context() as patch:
            patch.setitem(data.DATASETS, "yandex60", table._replace(sha256=hashlib.sha256(raw).hexdigest()))
            with pytest.raises(data.RefusedPickle, match=names):
                data.import_file("yandex60", file)
    assert not trap.exists()
    assert not home.exists()


def test_nothing_is_unpickled_before_its_digest_is_right(home, table, monkeypatch, tmp_path):
    monkeypatch.setattr(pickles, "load", lambda *_: pytest.fail("unpickled"))
    file = tmp_path / "file"
    for raw in (ORIGINAL[:-1] + b"N.", b"\x80\x02}.", b"", b"<!DOCTYPE html>", b"query\tclicks\n"):
        file.write_bytes(raw)
        with pytest.raises(data.DataError):
            data.import_file("yandex60", file)


def test_a_pickle_of_allowed_names_gives_records_and_calls_nothing():
    raw = b"\x80\x02" + name(yandex.ARRAY) + b"(" + whole(3) + b"tR}b."
    record = pickles.load(raw, yandex.ALLOWED_NAMES)
    assert (record.name, record.arguments, record.state) == ("numpy.ndarray", (3,), {})


INERT = (dict, list, tuple, set, frozenset, str, bytes, bytearray, int, float, type(None), pickles.Call)
SMALL = START + b"}(" + text("a") + entry("PBM", ARRAYS, 0) + text("b") + entry("CCM", ARRAYS, 1) + b"u."
SNIPPETS = [
    name("os.system") + b"(" + text("true") + b"tR",
    name(yandex.REBUILD),
    b"\x81",
    b"\x93",
    b"R",
    b"b",
    b"i",
    b"2",
]


def parts(thing):
    """Every object that can be reached from an unpickled one."""
    seen, stack = {}, [thing]
    while stack:
        thing = stack.pop()
        if id(thing) not in seen:
            seen[id(thing)] = thing
            if isinstance(thing, dict):
                stack += [*thing, *thing.values()]
            elif isinstance(thing, (list, tuple, set, frozenset)):
                stack += thing
            elif isinstance(thing, pickles.Call):
                stack += [*thing.arguments, thing.state]
    return seen.values()


def mutated(raw, edits):
    raw = bytearray(raw)
    for place, length, piece in edits:
        start = int(place * len(raw))
        raw[start : start + length] = piece
    return bytes(raw)


PIECES = st.one_of(st.binary(max_size=3), st.sampled_from(SNIPPETS))
EDITS = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 4), PIECES), min_size=1, max_size=6)


@settings(max_examples=100, deadline=None)
@given(EDITS)
def test_a_mutated_pickle_is_refused_or_gives_inert_records(edits):
    try:
        found = pickles.load(mutated(SMALL, edits), yandex.ALLOWED_NAMES)
    except data.RefusedPickle:
        return
    for part in parts(found):
        assert isinstance(part, INERT) or type(part) is pickles.Name, type(part)
        if isinstance(part, pickles.Call):
            assert part.name in yandex.ALLOWED_NAMES


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(EDITS)
def test_a_mutated_collection_is_refused_or_valid(edits):
    for raw, read in ((ORIGINAL, yandex.from_pickle), (npz(ARRAYS), yandex.from_npz)):
        try:
            found = read(mutated(raw, edits))
        except data.DataError:
            continue
        same(yandex.checked(found), found)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_are_refused_or_inert(raw):
    with contextlib.suppress(data.RefusedPickle):
        assert all(isinstance(part, (*INERT, bool, pickles.Name)) for part in parts(pickles.load(raw, ())))
    list(pickles.foreign_names(raw, ()))


# -- the cache: import, download, absence -----------------------------------------------------------------------------


def test_importing_fills_the_cache(home, table, tmp_path):
    file = tmp_path / "copy"
    file.write_bytes(ORIGINAL)
    assert data.import_file("yandex60", file) == home / "yandex60.npz"
    assert [path.name for path in home.iterdir()] == ["yandex60.npz"]
    found = data.parameters("yandex", "PBM", "published")
    np.testing.assert_array_equal(found["attraction"], ARRAYS["pbm_attraction"])
    np.testing.assert_array_equal(found["examination"], np.tile(ARRAYS["pbm_examination"], (60, 1)))
    found = data.parameters("yandex", "UBM", "published")
    np.testing.assert_array_equal(found["attraction"], ARRAYS["ubm_attraction"])
    np.testing.assert_array_equal(found["examination"], np.tile(ARRAYS["ubm_examination"], (60, 1, 1)))
    assert data.query_ids("yandex", "published") == [str(query) for query in ARRAYS["query_id"]]


def test_the_parameters_of_all_models_are_what_was_imported(home, table, tmp_path):
    """What is by query stays as it is; what the file has once is the same in each query; the DBM is the PBM's."""
    file = tmp_path / "copy"
    file.write_bytes(ORIGINAL)
    data.import_file("yandex60", file)
    for model, (_, shapes) in yandex.CLASSES.items():
        found = data.parameters("yandex", model, "published")
        assert list(found) == list(shapes)
        for parameter, shape in shapes.items():
            values, expected = found[parameter], ARRAYS[f"{model.lower()}_{parameter}"]
            assert values.shape == (60, *shape)
            for query in range(60):
                by_query = expected[query] if parameter in yandex.PER_QUERY else expected.reshape(shape)
                np.testing.assert_array_equal(values[query], by_query)
    np.testing.assert_array_equal(data.parameters("yandex", "DBM", "published")["attraction"], ARRAYS["pbm_attraction"])


def test_a_converted_file_can_be_imported_if_it_holds_the_published_numbers(home, table, tmp_path):
    file = tmp_path / "yandex60.npz"
    file.write_bytes(npz(changed("cm_attraction", (0, 0), 0.5)))
    with pytest.raises(data.WrongDigest, match=table.content):
        data.import_file("yandex60", file)
    file.write_bytes(npz(ARRAYS))
    same(yandex.read(data.import_file("yandex60", str(file))), ARRAYS)


def test_importing_another_file_names_both_digests_and_keeps_what_was_there(home, table, tmp_path):
    file = tmp_path / "file"
    file.write_bytes(ORIGINAL)
    data.import_file("yandex60", file)
    other = collection(changed("cm_attraction", (0, 0), 0.5))
    file.write_bytes(other)
    with pytest.raises(data.WrongDigest, match=hashlib.sha256(other).hexdigest()) as caught:
        data.import_file("yandex60", file)
    assert table.sha256 in str(caught.value)
    np.testing.assert_array_equal(data.parameters("yandex", "CM", "published")["attraction"], ARRAYS["cm_attraction"])


def test_importing_what_is_no_file_or_too_large(home, tmp_path):
    with pytest.raises(FileNotFoundError):
        data.import_file("yandex60", tmp_path / "nowhere")
    with (tmp_path / "large").open("wb") as file:
        file.truncate(10**9)
    with pytest.raises(data.DataError, match="at most 4000000"):
        data.import_file("yandex60", tmp_path / "large")


@pytest.mark.parametrize("bring", [data.fetch, lambda name: data.import_file(name, "anything")])
def test_unknown_names_are_refused_with_the_choices(home, bring):
    for wrong in ("yandex61", "yandex-calibrated", "", None):
        with pytest.raises(ValueError, match=r"allowed.*yandex60"):
            bring(wrong)


def test_without_the_data_the_error_says_what_to_run(home):
    for ask in (lambda: data.parameters("yandex", "CM", "published"), lambda: data.query_ids("yandex", "published")):
        with pytest.raises(FileNotFoundError) as caught:
            ask()
        assert isinstance(caught.value, ValueError)
        assert "`rankgym data fetch yandex60`" in str(caught.value)
        assert "`rankgym data import yandex60 FILE`" in str(caught.value)
        assert str(home) in str(caught.value)


def test_a_damaged_cache_is_not_used(home, table, tmp_path):
    file = tmp_path / "file"
    file.write_bytes(ORIGINAL)
    kept = data.import_file("yandex60", file)
    good = kept.read_bytes()
    for bad, complaint in (
        (good[:-100], "damaged"),
        (b"garbage", "damaged: the .npz file cannot be read"),
        (npz(changed("cm_attraction", (0, 0), 0.5)), "published numbers"),
    ):
        kept.write_bytes(bad)
        with pytest.raises(data.DataError, match=rf"(?s){complaint}.*rankgym data fetch"):
            data.parameters("yandex", "CM", "published")
        assert "unusable" in data.listing()[1]["state"]
    data.import_file("yandex60", file)
    assert data.parameters("yandex", "CM", "published")["attraction"].shape == (60, 10)


def test_the_home_of_the_data(monkeypatch):
    monkeypatch.delenv("RANKGYM_DATA_HOME", raising=False)
    assert data.home().parts[-2:] == ("rankgym", "data") or "rankgym" in data.home().parts
    monkeypatch.setenv("RANKGYM_DATA_HOME", "~/somewhere")
    assert data.home() == Path.home() / "somewhere"


class Server(http.server.BaseHTTPRequestHandler):
    files: ClassVar[dict] = {}

    def do_GET(self):
        body, length = self.files.get(self.path, (None, 0))
        self.send_response(200 if body is not None else 404)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(body or b"")
        self.close_connection = True

    def log_message(self, *_):
        pass


@pytest.fixture
def address(monkeypatch):
    """A server on loopback: the file, another one, half of it (the connection is cut), and nothing."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    other = collection(changed("cm_attraction", (0, 0), 0.5))
    files = {
        "/good": (ORIGINAL, len(ORIGINAL)),
        "/other": (other, len(other)),
        "/cut": (ORIGINAL[: len(ORIGINAL) // 2], len(ORIGINAL)),
    }
    if (SHARED / "yandex60.pkl").exists():
        original = (SHARED / "yandex60.pkl").read_bytes()
        files["/yandex60.pkl"] = (original, len(original))
    monkeypatch.setattr(Server, "files", files)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_download_fills_the_cache_and_is_not_repeated(home, table, address, capsys):
    assert data.fetch("yandex60", url=address + "/good") == home / "yandex60.npz"
    assert [path.name for path in home.iterdir()] == ["yandex60.npz"]
    same(yandex.read(home / "yandex60.npz"), ARRAYS)
    assert data.fetch("yandex60", url=address + "/nothing", progress=False) == home / "yandex60.npz"
    assert capsys.readouterr().out == ""


def test_the_address_is_the_tables(home, table, address, monkeypatch):
    monkeypatch.setitem(data.DATASETS, "yandex60", table._replace(url=address + "/good"))
    assert data.fetch("yandex60", progress=False).exists()


@needs_original
def test_the_original_comes_through_a_download(home, address):
    kept = data.fetch("yandex60", url=address + "/yandex60.pkl", progress=False)
    with np.load(SHARED / "yandex60.npz") as expected:
        same(yandex.read(kept), dict(expected))


@pytest.mark.parametrize(
    ("path", "error", "complaint"),
    [
        ("/other", data.WrongDigest, "hash"),
        ("/cut", data.DownloadFailed, "nothing was kept"),
        ("/nothing", data.DownloadFailed, "404"),
    ],
)
@pytest.mark.parametrize("progress", [False, True])
def test_a_failed_download_leaves_nothing_and_says_what_else_to_do(
    home, table, address, path, error, complaint, progress
):
    with pytest.raises(error, match=complaint) as caught:
        data.fetch("yandex60", url=address + path, progress=progress)
    assert "`rankgym data import yandex60 FILE`" in str(caught.value)
    assert address + path in str(caught.value)
    assert list(home.iterdir()) == []


def test_a_wrong_download_names_both_digests(home, table, address):
    with pytest.raises(data.WrongDigest, match=table.sha256) as caught:
        data.fetch("yandex60", url=address + "/other", progress=False)
    assert hashlib.sha256(Server.files["/other"][0]).hexdigest() in str(caught.value)


def test_offline_the_error_says_what_else_to_do(home, table):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        closed = unused.getsockname()[1]
    for url in (f"http://127.0.0.1:{closed}/x", "nonsense://address", "http://127.0.0.1:1000000/x"):
        with pytest.raises(data.DownloadFailed, match=r"rankgym data import yandex60 FILE"):
            data.fetch("yandex60", url=url, progress=False)
        assert list(home.iterdir()) == []


def test_an_interrupted_download_leaves_nothing(home, table, address, monkeypatch):
    def interrupt(self, size):
        raise KeyboardInterrupt

    monkeypatch.setattr(catalogue._Bar, "update", interrupt)
    with pytest.raises(KeyboardInterrupt):
        data.fetch("yandex60", url=address + "/good")
    assert list(home.iterdir()) == []


def test_an_interrupted_write_leaves_what_was_there(home, table, tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.write_bytes(ORIGINAL)
    kept = data.import_file("yandex60", file)
    before = kept.read_bytes()

    def broken(file, **_):
        file.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez", broken)
    with pytest.raises(OSError, match="disk full"):
        data.import_file("yandex60", file)
    assert kept.read_bytes() == before
    assert list(home.iterdir()) == [kept]

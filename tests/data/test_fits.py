"""Fits of click models from CSV files: what is read, where errors are, and what environments make of them."""

import csv
import io
import json
import re
import string

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rankgym import data, experiments
from rankgym.data import catalogue, fits, fits_table
from rankgym.experiments.plan.digests import data_digests
from rankgym.experiments.run.tidy_tables import OtherCode
from rankgym.models import MODELS
from rankgym.registry import ENVS

pytestmark = pytest.mark.usefixtures("quick_figures")

PBM = """query,item,position,attraction,examination
shoes,doc17,,0.8,
shoes,doc3,,0.4,
shoes,doc21,,0.1,
hats,a,,0.3,
hats,b,,0.5,
hats,c,,0.9,
,,1,,0.9
,,2,,0.5
hats,,2,,0.25
"""


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    folder = tmp_path / "home"
    monkeypatch.setenv("RANKGYM_DATA_HOME", str(folder))
    return folder


def read(text):
    return fits_table.from_csv(text.encode(), "fits.csv")


def imported(tmp_path, text, name="mine"):
    (tmp_path / "fits.csv").write_text(text)
    return data.import_fits(name, tmp_path / "fits.csv")


# -- reading ----------------------------------------------------------------------------------------------------------


def test_a_file_for_the_pbm():
    found = read(PBM)
    assert found.query.tolist() == ["shoes", "hats"]
    assert found.item.tolist() == [["doc17", "doc3", "doc21"], ["a", "b", "c"]]
    assert found.axes == {"attraction": ("item",), "examination": ("position",)}
    np.testing.assert_array_equal(found.parameters["attraction"], [[0.8, 0.4, 0.1], [0.3, 0.5, 0.9]])
    np.testing.assert_array_equal(found.parameters["examination"], [[0.9, 0.5], [0.9, 0.25]])  # hats has its own
    assert found.provenance["file"] == "fits.csv"
    assert len(found.provenance["sha256"]) == 64


def test_the_order_of_the_items_is_that_of_the_lines_or_the_ranks():
    assert read("item,attraction\nb,.2\na,.1\n").item.tolist() == [["b", "a"]]
    found = read("query,item,rank,attraction\nq,b,20,.2\nq,a,3,.1\nq,c,7,.3\n")
    assert found.item.tolist() == [["a", "c", "b"]]
    np.testing.assert_array_equal(found.parameters["attraction"], [[0.1, 0.3, 0.2]])


def test_files_for_the_other_models():
    dbn = read(
        "query,item,attraction,satisfaction,abandonment\nq,a,.5,.1,\nq,b,.4,.2,\nr,c,.3,.3,\nr,d,.2,.4,\n,,,,.05\n"
    )
    assert {name: dbn.axes[name] for name in MODELS["DBN"].axes} == MODELS["DBN"].axes
    np.testing.assert_array_equal(dbn.parameters["abandonment"], [0.05, 0.05])
    ubm = read("item,position,previous,attraction,examination\na,,,.5,\nb,,,.4,\n,1,,,.9\n,2,,,.7\n,2,1,,.8\n")
    assert ubm.axes == MODELS["UBM"].axes
    np.testing.assert_array_equal(ubm.parameters["examination"], [[[0, 0.9], [0.8, 0.7]]])


@pytest.mark.parametrize("delimiter", [";", "\t"])
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
def test_what_spreadsheets_write(delimiter, start):
    text = "\r\n".join([*PBM.replace(",", delimiter).splitlines(), delimiter * 4, ""])
    found = fits_table.from_csv(start + text.encode(), "fits.csv")
    assert fits_table.is_fits_table(start + text.encode())
    np.testing.assert_array_equal(found.parameters["examination"], [[0.9, 0.5], [0.9, 0.25]])


def test_pandas_writes_whole_numbers_beside_empty_cells_as_floats():
    pandas = pytest.importorskip("pandas")
    lines = [
        {"item": "a", "rank": 2, "attraction": 0.5},
        {"item": "b", "rank": 1, "attraction": 0.4},
        {"position": 1, "examination": 0.9},
        {"position": 2, "examination": 0.7},
        {"position": 2, "previous": 1, "examination": 0.8},
    ]
    text = pandas.DataFrame(lines).to_csv(index=False)
    assert ",2.0," in text
    found = read(text)
    assert found.item.tolist() == [["b", "a"]]
    np.testing.assert_array_equal(found.parameters["examination"], [[[0, 0.9], [0.8, 0.7]]])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (",,1,,0.9", ",,1.5,,0.9", "line 8, column 'position': '1.5' is out of range"),
        ("doc3,,0.4", "doc3,,1.3", r"line 3, column 'attraction': '1.3' is not a probability; allowed range \[0, 1\]"),
        ("doc3,,0.4", "doc3,,x", r"line 3, column 'attraction': 'x' is not a number; allowed range \[0, 1\]"),
        ("doc3,,0.4", "doc3,,nan", r"line 3, column 'attraction': 'nan' is not a probability"),
        ("doc3,,0.4", "doc3,,1_0", r"line 3, column 'attraction': '1_0' is not a number"),
        ("doc3,,0.4", 'doc3,,"0,4"', r"line 3, column 'attraction': '0,4' is not a number; .*; write a decimal point"),
        ("doc3,,0.4", "doc3,,", r"line 3, column 'attraction': attraction of query 'shoes' at item 'doc3' is missing"),
        ("doc3,", "doc17,", r"line 3, column 'item': 'doc17' of query 'shoes' stands in line 2 already"),
        ("shoes,doc3", ",doc3", r"line 3, column 'query': item 'doc3' has no query"),
        ("hats,c,,0.9,\n", "", r"line 6: query 'hats' has 2 items, and query 'shoes' has 3; allowed: as many in each"),
        (",,1,,0.9", ",,0,,0.9", r"line 8, column 'position': '0' is out of range; allowed: a whole number in 1 \.\. "),
        (",,1,,0.9", ",a,1,,0.9", "line 8: it has an item and a position; allowed: one of them in a line"),
        (",,1,,0.9", ",,1,0.9,0.9", "line 8, column 'attraction': it is given by position here and by item in line 2"),
        (",,1,,0.9", ",,2,,0.9", "line 9, column 'examination': '0.5' is given again, after line 8"),
        (
            ",,1,,0.9\n",
            "",
            "fits.csv: examination of query 'shoes' at position '1' is missing, as there is no such line; add one for "
            "all queries, such as ,,1,,0.5$",
        ),
        (",,1,,0.9", ",,1,,", r"line 8, column 'examination': examination of query 'shoes' at position '1' is missing"),
        (
            ",,2,,0.5\n",
            "",
            r"position '2' is missing, as there is no such line \(there is one for query 'hats' only\); add one for "
            "query 'shoes', or without it for all, such as shoes,,2,,0.5$",
        ),
        ("hats,,2,", "caps,,2,", "line 10, column 'examination': query 'caps' has no items"),
        (",,2,,0.5", ",,2,,0.5,7", "line 9: it has 6 entries; allowed: 5, as many as names"),
        ("attraction", "atraction", "line 1: there is no column 'attraction'; is it called 'atraction'?"),
        ("attraction", "my attraction", "line 1: 'my attraction' is not a name of a column"),
        ("examination", "attraction", "line 1: 'attraction' stands here twice"),
        ("doc21", 'doc"21', "doc"),
        ("doc21", '"doc21', "line .*: this is not CSV"),
    ],
)
def test_an_error_says_where_and_what(old, new, message):
    text = PBM.replace(old, new, 1)
    if message == "doc":  # a quote within a label is one of its letters
        assert read(text).item[0, 2] == 'doc"21'
        return
    with pytest.raises(data.DataError, match=message) as error:
        read(text)
    assert "\n" not in str(error.value)
    assert str(error.value).startswith("fits.csv")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: there is no column 'item'"),
        ("item,attraction\n", "fits.csv has no line with an item"),
        (",item,attraction\n0,a,.5\n", r"line 1: '' is not a name of a column; .*; pandas: to_csv\(..., index=False\)"),
        ("item,attraction,x\na,.5,\n", "line 1, column 'x': the column is empty"),
        ("item,rank,attraction\na,1,.5\nb,1,.5\n", "line 3, column 'rank': 1 is the rank of 'a', line 2"),
        ("item,rank,attraction\na,,.5\n", "line 2, column 'rank': '' is out of range"),
        ("item,rank,position,attraction,x\na,1,,.5,\n,1,1,,.5\n", "line 3, column 'rank': '1' is the rank of no item"),
        (
            "item,position,previous,attraction,x\na,,,.5,\n,2,2,,.5\n",
            r"column 'previous': '2' .* whole number in 1 \.\. 1",
        ),
        (
            "item,position,previous,attraction,x\na,,,.5,\n,1,1,,.5\n",
            "column 'previous': '1' .*allowed: empty: no click",
        ),
    ],
)
def test_other_errors_say_where_and_what(text, message):
    with pytest.raises(data.DataError, match=message):
        read(text)


def test_what_is_not_text():
    with pytest.raises(data.DataError, match=r"fits\.csv, line 2: this is not UTF-8 text"):
        fits_table.from_csv(b"item,attraction\na\xff,.5\n", "fits.csv")


WORDS = st.text(string.ascii_letters + string.digits + ' ,;"\t.-_é', min_size=1, max_size=6).map(str.strip)
PROBABILITY = st.floats(0, 1)


@settings(max_examples=60)
@given(st.data())
def test_what_is_written_is_read(draw):
    """Any labels and probabilities, in any order of columns, with either order of items."""
    label = WORDS.filter(bool)
    queries = draw.draw(st.lists(label, min_size=1, max_size=3, unique=True))
    items = [draw.draw(st.lists(label, min_size=2, max_size=2, unique=True)) for _ in queries]
    ranks = draw.draw(st.booleans())
    attraction = draw.draw(st.lists(st.tuples(PROBABILITY, PROBABILITY), min_size=len(queries), max_size=len(queries)))
    examination = draw.draw(st.lists(PROBABILITY, min_size=1, max_size=3))
    names = draw.draw(st.permutations(["query", "item", "position", "attraction", "examination", *["rank"][:ranks]]))
    rows = [
        {"query": query, "item": item, "attraction": repr(value), "rank": 2 - number if ranks else ""}
        for query, its, values in zip(queries, items, attraction, strict=True)
        for number, (item, value) in enumerate(zip(its, values, strict=True))
    ]
    rows += [{"position": k, "examination": repr(value)} for k, value in enumerate(examination, 1)]
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, names, extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    found = read(file.getvalue())
    turn = -1 if ranks else 1
    assert found.query.tolist() == queries
    assert found.item.tolist() == [its[::turn] for its in items]
    np.testing.assert_array_equal(found.parameters["attraction"], np.array(attraction)[:, ::turn])
    np.testing.assert_array_equal(found.parameters["examination"], np.tile(examination, (len(queries), 1)))
    same = fits.from_arrays(fits.to_arrays(fits.checked(found)))
    assert same.query.tolist() == queries
    assert (same.axes, same.model, dict(same.provenance)) == (found.axes, "", dict(found.provenance))


@settings(max_examples=200)
@given(
    st.binary(max_size=120)
    | st.text(st.sampled_from('item,attraction query;\n\t".0519-e\0é'), max_size=120).map(str.encode)
)
@example(b"item,attraction\n" + b'"' * 200_000)
@example(b"item,attraction\na," + b"1" * 200_000)
def test_any_file_is_read_or_refused(content):
    start = b"query,item,attraction\n"
    for text in (content, start + content):
        fits_table.is_fits_table(text)
        try:
            found = fits_table.from_csv(text, "fits.csv")
        except data.DataError as error:
            said = str(error)
        else:
            said = "fits.csv"
            assert found.parameters["attraction"].shape == found.item.shape
        assert said.startswith("fits.csv")
        assert "\n" not in said


# -- the data cache ---------------------------------------------------------------------------------------------------


def test_an_imported_file_is_listed_and_played(tmp_path, home):
    path = imported(tmp_path, PBM)
    assert path == home / "fits" / "mine.npz"
    assert [entry.name for entry in path.parent.iterdir()] == ["mine.npz"]
    assert data.fits_names() == ["mine"]
    (row,) = [row for row in data.listing() if row["name"] == "mine"]
    assert row["what"] == "fits of click models, 2 queries of 3 items: attraction by item, examination by position"
    assert row["source"] == "mine"
    assert "file fits.csv" in row["provenance"]
    env = gym.make("rankgym/PBM-Yandex-v0", source="mine", num_positions=2, query=1)
    _, info = env.reset(seed=0)
    assert info["optimal_reward"] == pytest.approx(0.9 * 0.9 + 0.25 * 0.5)
    assert env.unwrapped.initial_list.tolist() == [0, 1, 2]
    assert data.query_ids("yandex", "mine") == ["shoes", "hats"]
    assert gym.make("rankgym/CM-Yandex-v0", source="mine", num_positions=2).unwrapped.num_items == 3
    duel = gym.make("rankgym/Dueling-PBM-Yandex-v0", source="mine", num_positions=2, query=0)
    assert duel.reset(seed=0)[1]["optimal_reward"] == pytest.approx(0.9 * 0.8 + 0.5 * 0.4)


def test_there_are_five_positions_or_as_many_as_the_fits_have(tmp_path):
    imported(tmp_path, PBM)
    for env_id in ("PBM-Yandex-v0", "Dueling-PBM-Yandex-v0"):
        for arguments, positions in (({"source": "mine"}, 2), ({"source": "mine", "num_items": 1}, 1), ({}, 5)):
            assert gym.make(f"rankgym/{env_id}", **arguments).unwrapped.num_positions == positions
    assert gym.make("rankgym/CM-Yandex-v0", source="mine").unwrapped.num_positions == 3  # has none by position


def test_the_fits_decide_the_jobs(tmp_path):
    imported(tmp_path, PBM)
    before = data_digests({"source": "mine"})
    assert list(before) == ["mine"]
    imported(tmp_path, PBM.replace("0.8", "0.81"))
    assert data_digests({"source": "mine"}) != before


def test_what_the_fits_lack_is_said(tmp_path):
    imported(tmp_path, PBM)
    with pytest.raises(
        data.DataError, match="source = 'mine' does not fit DCM, whose termination is by position: no such"
    ):
        gym.make("rankgym/DCM-Yandex-v0", source="mine")
    words = "whose examination is by position and position of the previous click: it is by position"
    with pytest.raises(data.DataError, match=words):
        gym.make("rankgym/UBM-Yandex-v0", source="mine")
    words = r"num_positions = 3, but source = 'mine' has 2; allowed: 1 .. 2; give num_positions=2 \(--positions 2\)"
    with pytest.raises(ValueError, match=words):
        gym.make("rankgym/PBM-Yandex-v0", source="mine", num_positions=3)
    with pytest.raises(ValueError, match=words.replace("= 3", "= 10")):
        gym.make("rankgym/PBM-Yandex-Rerank-v0", source="mine")
    with pytest.raises(
        ValueError, match=r"source = 'mime' is unknown; did you mean 'mine'\? allowed: 'calibrated', .*'mine'"
    ):
        gym.make("rankgym/PBM-Yandex-v0", source="mime")


def test_synthetic_queries_do_not_silently_ignore_fits(tmp_path):
    imported(tmp_path, PBM)
    with pytest.raises(
        ValueError, match="source = 'mine' has no meaning with dataset = 'synthetic'; allowed with 'yandex'"
    ):
        gym.make("rankgym/PBM-Synthetic-v0", source="mine")


def test_fits_of_one_model_are_for_it_alone(tmp_path):
    data.store("log", read(PBM)._replace(model="PBM", provenance={"sessions": 1_000, "perplexity": 1.25}))
    assert data.load_fits("log").provenance == {"sessions": 1_000, "perplexity": 1.25}
    gym.make("rankgym/PBM-Yandex-v0", source="log", num_positions=2)
    with pytest.raises(data.DataError, match="source = 'log' has fits of PBM, not of CM; allowed: model = 'PBM'"):
        gym.make("rankgym/CM-Yandex-v0", source="log", num_positions=2)
    (row,) = [row for row in data.listing() if row["name"] == "log"]
    assert row["what"].startswith("fits of PBM, 2 queries")
    assert row["provenance"] == "sessions 1000, perplexity 1.25"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("yandex60", "name = 'yandex60' is taken; allowed: any but"),
        ("Published", "name = 'Published' is taken"),
        ("../x", "name = '../x' is not allowed; allowed: 1 to 64 letters"),
        ("matrix", "name = 'matrix' is taken by a preference matrix, .*; allowed: another name"),
    ],
)
def test_names_that_are_refused(tmp_path, name, message):
    (tmp_path / "matrix.txt").write_text(".5 .6\n.4 .5\n")
    data.import_matrix("matrix", tmp_path / "matrix.txt")
    with pytest.raises(ValueError, match=message):
        imported(tmp_path, PBM, name)
    assert data.fits_names() == []


def test_a_matrix_does_not_take_the_name_of_fits(tmp_path):
    imported(tmp_path, PBM)
    (tmp_path / "matrix.txt").write_text(".5 .6\n.4 .5\n")
    with pytest.raises(ValueError, match="name = 'mine' is taken by a collection of fits"):
        data.import_matrix("mine", tmp_path / "matrix.txt")


def test_a_failed_import_leaves_what_was_there(tmp_path):
    path = imported(tmp_path, PBM)
    before = path.read_bytes()
    with pytest.raises(data.DataError):
        imported(tmp_path, PBM.replace("0.8", "8"))
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == ["mine.npz"]


ARRAYS = ("format", "model", "query", "item", "provenance", "parameter.attraction", "axes.attraction", "digest")


@pytest.mark.parametrize("missing", ARRAYS)
def test_a_file_that_lacks_an_array_is_refused(missing):
    arrays = fits.to_arrays(fits.checked(read(PBM)))
    with pytest.raises(data.DataError):
        fits.from_arrays({name: array for name, array in arrays.items() if name != missing})


@pytest.mark.parametrize("changed", ["query", "parameter.attraction", "provenance"])
def test_a_damaged_file_is_refused(tmp_path, changed):
    path = imported(tmp_path, PBM)
    arrays = dict(np.load(path))
    arrays[changed] = arrays[changed][::-1].copy() if arrays[changed].ndim else np.array(json.dumps({}))
    np.savez(path, **arrays)
    with pytest.raises(data.DataError, match=r"mine.npz is damaged: .*digest.*; import or fit it again"):
        data.load_fits("mine")
    (row,) = [row for row in data.listing() if row["name"] == "mine"]
    assert row["state"].startswith("unusable: ")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("format", [1, 2], r"it has format '\[1 2\]'; allowed: 1"),
        ("format", "one", "it has format 'one'; allowed: 1"),
        ("model", b"x", r"model has dtype \|S1; allowed: numbers and text"),
        ("provenance", "[" * 5_000, "its provenance is wrong: its JSON is nested too deeply"),
    ],
)
def test_arrays_of_the_wrong_kind_are_refused_even_with_the_right_digest(name, value, said):
    arrays = fits.to_arrays(fits.checked(read(PBM))) | {name: np.array(value)}
    arrays.pop("digest")
    digest = np.array("?") if name == "model" else np.array(fits._digest(arrays))
    with pytest.raises(data.DataError, match=said):
        fits.from_arrays(arrays | {"digest": digest})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"query": np.array(["a", "a"])}, "query has a label twice"),
        ({"query": np.array(["a"])}, r"query has shape \(1,\) and item \(2, 3\)"),
        ({"query": np.array([1, 2])}, "have dtypes int64"),
        ({"axes": {"attraction": ("item",)}}, "there are axes of"),
        ({"axes": {"attraction": ("position",), "examination": ("position",)}}, "no parameter attraction by item"),
        ({"axes": {"attraction": ("item",), "examination": ("place",)}}, "parameter 'examination' has axes"),
        ({"model": None}, "model is not a text"),
        (
            {"parameters": {"attraction": np.full((2, 3), 1.5), "examination": np.ones((2, 2))}},
            r"attraction\[0, 0\] = 1.5 is",
        ),
        (
            {"parameters": {"attraction": np.ones((2, 4)), "examination": np.ones((2, 2))}},
            "attraction has dtype float64",
        ),
    ],
)
def test_fits_that_do_not_fit_together_are_not_stored(change, message):
    with pytest.raises(data.DataError, match=message):
        data.store("mine", read(PBM)._replace(**change))
    assert data.fits_names() == []


# -- the command ------------------------------------------------------------------------------------------------------


def test_the_command_imports_and_says_what_plays_them(run, tmp_path):
    (tmp_path / "fits.csv").write_text(PBM)
    result = run("data", "import", "mine", "fits.csv")
    assert result.exit_code == 0, result.output
    assert "2 queries of 3 items, for the models CM, PBM, DBM;" in result.output
    assert "rankgym compare PBM-Yandex-v0 --source mine plays" in result.output
    assert result.output.endswith("numbered in the order of the file: 0 shoes, 1 hats\n")
    assert "examination by position" in run("data", "list").output
    words = ("compare", "PBM-Yandex-v0", "--source", "mine", "--agents", "toprank,cascade-kl-ucb", "--rounds", "20")
    played = run(*words, "--jobs", "1")
    assert played.exit_code == 0, played.output
    assert "2 queries" in " ".join(played.output.split())


def test_the_details_of_fits(run, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "2000")
    imported(tmp_path, PBM)
    result = run("data", "list", "mine")
    assert result.exit_code == 0, result.output
    found = dict(re.findall(r"^  (\S.*?)  +(.*?) *$", result.output, re.MULTILINE))
    assert found["queries"] == "2: 0 shoes, 1 hats"
    assert found["items"] == "3 in each query; of shoes: 0 doc17, 1 doc3, 2 doc21"
    assert found["positions"] == "2 at most"
    assert found["parameter attraction"].startswith("by item, 0.")
    assert found["parameter examination"] == "by position, 0.25 .. 0.9"
    assert found["digest"] == fits.fits_digest("mine")
    assert "file fits.csv, sha256" in found["provenance"]
    assert "PBM-Yandex-v0" in found["played by"].split(", ")
    assert "UBM-Yandex-v0" not in found["played by"].split(", ")
    words = found["command"].split()
    assert words[:2] == ["rankgym", "compare"]
    played = run(*words[1:], "--agents", "static", "--rounds", "20", "--jobs", "1")
    assert played.exit_code == 0, played.output


@pytest.mark.parametrize("name", data.DATASETS)
def test_the_details_of_a_data_set_name_what_plays_it(run, monkeypatch, name):
    monkeypatch.setenv("COLUMNS", "2000")
    result = run("data", "list", name)
    assert result.exit_code == 0, result.output
    found = dict(re.findall(r"^  (\S.*?)  +(.*?) *$", result.output, re.MULTILINE))
    here = not data.DATASETS[name].url
    assert ("digest" in found) == here
    command = found["command"].split()
    assert f"rankgym/{command[2]}" in ENVS
    assert set(found["played by"].split(", ")) <= {env.removeprefix("rankgym/") for env in ENVS}
    if here:
        agent = "rucb" if command[2].startswith("Dueling") else "static"
        played = run(*command[1:], "--agents", agent, "--rounds", "20", "--jobs", "1")
        assert played.exit_code == 0, played.output


def test_details_of_an_unknown_name_say_the_near_one_and_all(run, tmp_path):
    imported(tmp_path, PBM)
    result = run("data", "list", "mime")
    assert result.exit_code == 2
    assert result.output.startswith(
        "error: name = 'mime' is unknown; did you mean 'mine'? allowed: yandex-calibrated, "
    )
    assert " mine" in result.output


@pytest.mark.parametrize("content", [b"", b"shoes,doc17,0.8\n", PBM.encode("utf-16")])
def test_a_csv_file_that_is_neither_fits_nor_a_matrix_says_how_fits_begin(run, tmp_path, content):
    (tmp_path / "fits.csv").write_bytes(content)
    result = run("data", "import", "mine", "fits.csv")
    assert result.exit_code != 0
    assert "begins with names of columns: query,item,attraction" in " ".join(result.output.split())


def test_the_command_says_where_a_file_is_wrong(run, tmp_path):
    (tmp_path / "fits.csv").write_text(PBM.replace("0.8", "8"))
    result = run("data", "import", "mine", "fits.csv")
    assert result.exit_code != 0
    assert "fits.csv, line 2, column 'attraction': '8' is not a probability" in " ".join(result.output.split())
    assert catalogue.fits.fits_names() == []


def test_queries_of_fits_are_chosen_by_their_names(run, tmp_path):
    imported(tmp_path, PBM)
    made = {"source": "mine", "num_positions": 2}
    assert gym.make_vec("rankgym/PBM-Yandex-v0", query="hats", **made).unwrapped.pool.tolist() == [1]
    for query in (["hats", 0], ("hats", "shoes"), np.array(["hats", "shoes"])):
        venv = gym.make_vec("rankgym/PBM-Yandex-v0", num_envs=2, query=query, **made)
        assert venv.reset(seed=0)[1]["query"].tolist() == [1, 0]
    duels = gym.make_vec("rankgym/Dueling-PBM-Yandex-v0", query="hats", **made)
    assert duels.unwrapped.pool.tolist() == [1]
    said = r"query = 'hat' is unknown; did you mean 'hats'\? allowed: 'shoes', 'hats', 0 \.\. 1, a list of these"
    for query in ("hat", ["shoes", "hat"]):
        with pytest.raises(ValueError, match=said):
            gym.make_vec("rankgym/PBM-Yandex-v0", query=query, **made)
    with pytest.raises(ValueError, match=r"query = 'shoes' is unknown or empty with 100 queries; allowed: 0 \.\. 99"):
        gym.make_vec("rankgym/PBM-Yandex-v0", query="shoes")
    options = ("--source", "mine", "--positions", "2", "--agents", "static", "--rounds", "20", "--jobs", "1", "--out")
    for query, folder in (("hats", "names"), ("1", "numbers"), ("hats,shoes", "both")):
        result = run("compare", "PBM-Yandex-v0", "--query", query, *options, folder)
        assert result.exit_code == 0, result.output
    named, numbered = (
        json.loads((tmp_path / folder / "compare.json").read_text())["agents"] for folder in ("names", "numbers")
    )
    assert named == numbered
    result = run("compare", "PBM-Yandex-v0", "--query", "hat", *options, "none")
    assert result.exit_code != 0
    assert "did you mean 'hats'?" in " ".join(result.output.split())
    assert run("assumptions", "PBM-Yandex-v0", "--query", "hats", *options[:4]).exit_code == 0


def test_labels_of_digits_are_chosen_by_a_prefix(run, tmp_path):
    imported(tmp_path, PBM.replace("shoes", "1730").replace("hats", "1"))
    options = ("--source", "mine", "--positions", "2", "--agents", "static", "--rounds", "20", "--jobs", "1", "--out")
    for query, folder in (("label:1730,label:1", "labels"), ("0,1", "numbers"), ("label:1", "label"), ("1", "number")):
        result = run("compare", "PBM-Yandex-v0", "--query", query, *options, folder)
        assert result.exit_code == 0, result.output
    for one, other in (("labels", "numbers"), ("label", "number")):
        read_agents = [json.loads((tmp_path / name / "compare.json").read_text())["agents"] for name in (one, other)]
        assert read_agents[0] == read_agents[1]
    wrong = run("compare", "PBM-Yandex-v0", "--query", "1730", *options, "none")
    assert "query = 1730 is out of range; did you mean label:1730?" in " ".join(wrong.stderr.split())
    unknown = run("compare", "PBM-Yandex-v0", "--query", "label:9", *options, "none")
    assert "query = '9' is unknown; allowed: '1730', '1'" in " ".join(unknown.stderr.split())
    without = run("compare", "PBM-Yandex-v0", "--query", "label:9", "--agents", "static", "--rounds", "20")
    assert without.exit_code == 2


def test_a_cache_that_is_a_file_is_named_by_its_variable(run, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    (tmp_path / "fits.csv").write_text("query,item,attraction\nshoes,a,.5\nshoes,b,.25\n")
    monkeypatch.setenv("RANKGYM_DATA_HOME", str(tmp_path / "file"))
    result = run("data", "import", "mine", str(tmp_path / "fits.csv"))
    assert result.exit_code == 2
    assert f"RANKGYM_DATA_HOME = {tmp_path / 'file'} is not a folder" in " ".join(result.stderr.split())


def test_the_details_of_a_damaged_file_say_so(run, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "2000")
    imported(tmp_path, PBM)
    place = fits.place("mine")
    place.write_bytes(place.read_bytes()[:-200])
    result = run("data", "list", "mine")
    assert result.exit_code == 0, result.output
    assert f"unusable: {place} is damaged" in result.stdout


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            "item,attraction,satisfaction,abandonment\na,.5,.1,\nb,.4,.2,\n,,,.05\n",
            ["for the models CM, DBN, DBM; rankgym compare DBN-Yandex-v0 --source mine plays"],
        ),
        (
            "item,attraction,satisfaction,abandonment\na,.5,.1,.1\nb,.4,.2,.1\n",
            ["not for DBN: abandonment is by item; expected: one number"],
        ),
        ("item,attraction,satisfaction\na,.5,.1\n", ["not for DBN: there is no abandonment (one number)"]),
        (
            "item,attraction,examination,gamma\na,.5,.1,.2\n",
            [
                "not for PBM: examination is by item; expected: by position",
                "not for UBM: examination is by item; expected: by position and position of the previous click",
                "gamma is a parameter of no built-in model",
            ],
        ),
        ("item,attraction,satisfacton\na,.5,.1\n", ["of no built-in model; did you mean 'satisfaction'?"]),
    ],
)
def test_the_command_says_which_models_cannot_be_played_and_why(run, tmp_path, text, lines):
    (tmp_path / "fits.csv").write_text(text)
    result = run("data", "import", "mine", "fits.csv")
    assert result.exit_code == 0, result.output
    for line in lines:
        assert line in result.output
    assert result.output.count("not for ") == sum("not for " in line for line in lines)
    assert "(replaced)" not in result.output
    assert "(replaced)" in run("data", "import", "mine", "fits.csv").output


# -- names where a person sees them -----------------------------------------------------------------------------------


def test_pictures_in_text_name_queries_and_items(tmp_path):
    imported(tmp_path, PBM)
    kwargs = {"source": "mine", "num_positions": 2, "render_mode": "ansi"}
    env = gym.make("rankgym/PBM-Yandex-v0", query="hats", **kwargs)
    env.reset(seed=0)
    assert env.render() == "query 1 (hats): nothing displayed yet"
    env.step(np.array([2, 0]))
    first, *lines = env.render().splitlines()
    assert first == "query 1 (hats), round 0"
    assert [line.replace("click", "").split() for line in lines] == [["1.", "item", "2", "c"], ["2.", "item", "0", "a"]]
    scene = env.unwrapped.scene()
    assert (scene.query_name, scene.item_names) == ("hats", ("a", "b", "c"))
    few = gym.make("rankgym/PBM-Yandex-v0", query="shoes", num_items=2, **kwargs).unwrapped
    few.reset(seed=0)
    assert few.scene().item_names == ("doc17", "doc3")
    duel = gym.make("rankgym/Dueling-PBM-Yandex-v0", query="shoes", **kwargs)
    duel.reset(seed=0)
    duel.step({"left": np.array([0, 1]), "right": np.array([1, 0])})
    assert duel.render().startswith("query 0 (shoes), round 0: left [0, 1]")
    assert "doc17" in duel.render()
    assert duel.unwrapped.scene().query_name == "shoes"
    plain = gym.make("rankgym/PBM-Yandex-v0", query=0, render_mode="ansi")
    plain.reset(seed=0)
    assert plain.render() == "query 0: nothing displayed yet"


def test_the_page_and_the_tables_of_a_sweep_name_them(run, tmp_path):
    pandas = pytest.importorskip("pandas")
    imported(tmp_path, PBM)
    words = ["PBM-Yandex-v0", "--source", "mine", "--positions", "2", "--agents", "static", "--rounds", "20"]
    watched = run("watch", *words, "--query", "hats", "--out", "page.html")
    assert watched.exit_code == 0, watched.output
    page = (tmp_path / "page.html").read_text()
    assert '"names":["a","b","c"]' in page
    assert '"query":"1 (hats)"' in page
    assert run("compare", *words, "--jobs", "1", "--out", "out").exit_code == 0
    assert run("sweep", "export", "out", "--to", "out.csv").exit_code == 0
    found = pandas.read_csv(tmp_path / "out.csv")
    assert found.groupby("query").query_name.unique().map(list).tolist() == [["shoes"], ["hats"]]
    assert run("sweep", "export", "out", "--to", "out.parquet").exit_code == 0
    pandas.testing.assert_frame_equal(
        experiments.load(tmp_path / "out.parquet").to_pandas().astype({"query_name": str}),
        experiments.load(tmp_path / "out").to_pandas().astype({"query_name": str}),
    )
    imported(tmp_path, PBM.replace("hats", "caps"))  # other fits: their names are not those of the results
    with pytest.warns(OtherCode):
        assert "query_name" not in experiments.load(tmp_path / "out").column_names

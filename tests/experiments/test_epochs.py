"""Comparisons in environments that change: regret per epoch in tables and files, breakpoints in figures."""

import csv
import dataclasses
import io
import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from rankgym import style
from rankgym.commands.tables import fitting_epochs
from rankgym.experiments import compare
from rankgym.experiments.judge.comparison import caption
from rankgym.experiments.judge.table_columns import Column, counted
from rankgym.experiments.run.results import Played, join
from rankgym.experiments.show import comparison_figure
from rankgym.experiments.show.tables import cell, csv_text, epoch_columns, epoch_title, group_columns, markdown_text
from rankgym.play.history import MEASURES

ENV = "rankgym/CM-Yandex-Breakpoint-v0"
SMALL = {"rounds": 300, "query": [4, 0, 7], "runs": 2, "seed": 3, "progress": False}
COMMON = {"breakpoints": [100, 250, 700]}
DRAWN = {"num_breakpoints": 4, "horizon": 600}  # rows differ in how many come within 300 rounds
AGENTS = ["static", "cascade-swucb"]


@pytest.fixture(scope="module")
def stationary():
    return compare("rankgym/PBM-Synthetic-v0", ["static", "toprank"], rounds=1000, query=[0, 1], runs=2, progress=False)


@pytest.fixture(scope="module")
def common():
    return compare(ENV, AGENTS, **SMALL, **COMMON)


@pytest.fixture(scope="module")
def drawn():
    return compare(ENV, AGENTS, **SMALL, **DRAWN)


def with_epochs(comparison, breakpoints, epoch_regret):
    """``comparison`` as if it had these epochs, with regrets (epochs, rows) for every agent."""
    histories = {
        label: history._replace(epoch_regret=np.array(epoch_regret, float) * (1 + n))
        for n, (label, history) in enumerate(comparison.histories.items())
    }
    return dataclasses.replace(comparison, breakpoints=breakpoints, histories=histories)


def many(comparison, epochs):
    """``comparison`` with so many epochs of five rounds each, with regret 1, 2, 3, ... in all rows."""
    regrets = np.tile(np.arange(1.0, epochs + 1)[:, None], (1, comparison.rows))
    return with_epochs(comparison, tuple(range(5, 5 * epochs, 5)), regrets)


# -- the numbers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["common", "drawn"])
def test_the_regrets_of_epochs_add_up_to_the_regret(kind, request):
    found = request.getfixturevalue(kind)
    for history in found.histories.values():
        assert history.epoch_regret.shape == (found.epochs, 6)
        assert np.allclose(np.nansum(history.epoch_regret, axis=0), history.regret[-1], rtol=1e-9, atol=1e-9)
        assert not np.isnan(history.epoch_regret[0]).any()
        reached = ~np.isnan(history.epoch_regret)
        assert (reached[:-1] >= reached[1:]).all()  # NaN from some epoch on
        assert reached[-1].any()
    assert found.epochs == 3 if kind == "common" else found.epochs >= 2


def test_an_epochs_regret_is_what_was_added_between_its_breakpoints(common):
    for history in common.histories.values():
        at = [np.zeros(6), *(history.at(r)["regret"] for r in (100, 250, 300))]
        for epoch, (before, after) in enumerate(itertools.pairwise(at)):
            assert np.allclose(history.epoch_regret[epoch], after - before, rtol=1e-9, atol=1e-9)


def test_rows_with_drawn_breakpoints_have_different_numbers_of_epochs(drawn):
    counts = {label: (~np.isnan(h.epoch_regret)).sum(axis=0).tolist() for label, h in drawn.histories.items()}
    assert len(set(counts["static"])) > 1
    assert counts["static"] == counts["cascade-swucb"]  # the same users change for every agent


def test_breakpoints_and_evenly_spaced_rounds_are_recorded(common, stationary):
    rounds = set(common.histories["static"].rounds.tolist())
    assert {1, 10, 100, 250, 300} <= rounds
    assert {round(1.5 * n) for n in range(1, 201)} <= rounds
    assert len(stationary.histories["static"].rounds) < 62  # as they ever were: 20 a decade


def test_of_too_many_breakpoints_none_is_recorded_for_its_own_sake():
    found = compare(ENV, ["static"], rounds=2011, query=0, breakpoints=[*range(7, 2011, 7)], progress=False)
    assert len(found.breakpoints) == found.epochs - 1 == 287
    assert len(found.histories["static"].rounds) < 270


def test_breakpoints_beyond_the_last_round_are_none(tmp_path, quick_figures):
    found = compare(ENV, ["static"], **SMALL, breakpoints=[300], out=tmp_path)
    assert (found.breakpoints, found.epochs) == ((), 0)
    assert "breakpoints" not in found.settings()
    assert "regret_epoch_0" not in found.table()[0]
    text = (tmp_path / "table.md").read_text()
    assert "per epoch" not in text
    assert text.endswith("; 300 rounds, seed 3; no breakpoint within 300 rounds (the first is at 300).\n")


@pytest.mark.parametrize(
    ("env", "arguments", "words"),
    [
        ("CM-Yandex-Breakpoint-v0", {}, "; no breakpoint within 10 rounds (the first is at 10k)"),
        ("PBM-Yandex-Breakpoint-v0", {"epoch_lengths": [7000]}, " within 10 rounds (the first is at 7k)"),
        ("CM-Yandex-Breakpoint-v0", {"epoch_lengths": [70, 1]}, " within 10 rounds (the first is at 70)"),
        ("CM-Yandex-Breakpoint-v0", {"breakpoints": []}, "; no breakpoint within 10 rounds"),
        ("CM-Yandex-Breakpoint-v0", {"breakpoints": [9]}, "; 10 rounds, seed 0"),
        ("CM-Yandex-Breakpoint-v0", {"num_breakpoints": 0}, "; 10 rounds, seed 0; no breakpoint within 10 rounds"),
        ("CM-Yandex-Breakpoint-v0", {"num_breakpoints": 1}, "; 10 rounds, seed 0; breakpoints drawn for each row"),
        ("CM-TwoLevel-Breakpoint-v0", {"horizon": 10}, "; 10 rounds, seed 0"),
        ("PBM-Yandex-v0", {}, "; 10 rounds, seed 0"),
    ],
)
def test_the_caption_says_where_no_breakpoint_comes(env, arguments, words):
    found = compare(env, ["static"], rounds=10, query=0, progress=False, **arguments)
    assert caption(found).endswith(words)


def test_where_the_first_breakpoint_goes_by_the_horizon_nobody_knows_it():
    found = compare("CM-TwoLevel-Breakpoint-v0", ["static"], rounds=1, query=0, progress=False)
    assert caption(found).endswith("; 1 round, seed 0; no breakpoint within 1 round")


# -- rows come together -----------------------------------------------------------------------------------------------


def played(regrets, first=0):
    """A result of one record whose rows, from ``first`` on, have these regrets per epoch."""
    epochs = max(map(len, regrets))
    epoch_regret = np.array([[*row, *[math.nan] * (epochs - len(row))] for row in regrets]).T
    measures = np.array([[sum(row) for row in regrets]])
    rows = np.arange(first, first + len(regrets))
    others = {"environment": "", "agent": "", "env_id": "", "env_kwargs": {}, "query": 0 * rows, "run": rows}
    rest = {"measures": dict.fromkeys(MEASURES, measures), "epoch_regret": epoch_regret, "settled_at": 0 * rows - 1}
    return Played(rounds=np.array([1]), row=rows, **others, **rest)


@given(
    st.lists(st.lists(st.floats(0, 100), min_size=1, max_size=5), min_size=1, max_size=8),
    st.sets(st.integers(1, 7)),
    st.randoms(use_true_random=False),
)
def test_blocks_with_different_numbers_of_epochs_are_one_history_however_they_are_cut(regrets, cuts, random):
    rows = len(regrets)
    edges = [0, *sorted(cut for cut in cuts if cut < rows), rows]
    pieces = [played(regrets[start:stop], start) for start, stop in itertools.pairwise(edges)]
    random.shuffle(pieces)
    for one, other in zip(join(pieces).history(), played(regrets).history(), strict=True):
        assert np.array_equal(one, other, equal_nan=True)


def test_rows_count_once_and_those_that_are_not_asked_for_leave_no_trace():
    whole = join([played([[1, 2], [3, 4, 5, 6], [7]], 1), played([[8], [1, 2]])], rows=2)
    assert whole.row.tolist() == [0, 1]
    assert np.array_equal(whole.history().epoch_regret, [[8, 1], [np.nan, 2]], equal_nan=True)


@pytest.mark.parametrize("schedule", [COMMON, DRAWN], ids=["common", "drawn"])
def test_processes_and_resuming_change_no_byte(tmp_path, quick_figures, schedule):
    one, two, later = (tmp_path / name for name in ("one", "two", "later"))
    compare(ENV, AGENTS[1:], **SMALL, **schedule, out=one)
    compare(ENV, AGENTS[1:], **SMALL, **schedule, out=two, jobs=2)
    compare(ENV, AGENTS[1:], **{**SMALL, "runs": 3}, **schedule, out=later)
    found = compare(ENV, AGENTS[1:], **SMALL, **schedule, out=later)  # with results of rows that it does not have
    assert found.notes[0].startswith("all 6 rows of every agent were kept")
    assert len(list((two / "results").iterdir())) == 2
    for name in ("cascade-swucb.npz", "compare.json"):
        assert (one / name).read_bytes() == (two / name).read_bytes() == (later / name).read_bytes(), name


# -- files ------------------------------------------------------------------------------------------------------------


def test_files_hold_breakpoints_and_epochs(tmp_path, quick_figures, common):
    compare(ENV, AGENTS, **SMALL, **COMMON, out=tmp_path)
    assert json.loads((tmp_path / "compare.json").read_text())["breakpoints"] == [100, 250]
    with np.load(tmp_path / "static.npz") as file:
        assert np.array_equal(file["epoch_regret"], common.histories["static"].epoch_regret)
    for line in csv.DictReader((tmp_path / "table.csv").read_text().splitlines()):
        regrets = common.histories[line["agent"]].epoch_regret
        for epoch in range(3):
            assert math.isclose(float(line[f"regret_epoch_{epoch}"]), regrets[epoch].mean(), rel_tol=1e-12)
            error = regrets[epoch].std(ddof=1) / math.sqrt(6)
            assert math.isclose(float(line[f"regret_epoch_{epoch}_se"]), error, rel_tol=1e-9, abs_tol=1e-12)
        assert "regret_epoch_3" not in line


def test_drawn_breakpoints_are_null_and_the_caption_says_so(drawn):
    assert drawn.settings()["breakpoints"] is None
    assert caption(drawn).endswith("; 300 rounds, seed 3; breakpoints drawn for each row")


def test_in_a_stationary_environment_all_is_as_it_was(tmp_path, quick_figures, stationary):
    compare("rankgym/PBM-Synthetic-v0", ["static"], rounds=10, query=0, out=tmp_path, progress=False)
    with np.load(tmp_path / "static.npz") as file:
        assert file.files == ["rounds", "regret", "violations", "ndcg", "reward", "query", "seed"]
    settings = json.loads((tmp_path / "compare.json").read_text())
    assert list(settings) == [
        *["environment", "arguments", "source", "agents", "rounds", "runs", "seed", "seeds", "queries", "rows"],
        *["cutoff", "recorded_rounds", "versions", "code"],
    ]
    assert csv_text(stationary).splitlines()[0].endswith(",reward_per_round,reward_per_round_se,sessions_per_second")
    assert markdown_text(stationary).endswith("; 1k rounds, seed 0.\n")
    assert epoch_columns(stationary) == []


def test_rows_without_an_epoch_are_not_in_its_mean(stationary):
    nan = math.nan
    found = with_epochs(stationary, None, [[1, 2, 3, 6], [nan, 5, nan, 7], [nan, nan, nan, 9]])
    line, twice = found.table()
    assert [line[f"regret_epoch_{n}"] for n in range(3)] == [3, 6, 9]
    assert [twice[f"regret_epoch_{n}"] for n in range(3)] == [6, 12, 18]
    assert math.isclose(line["regret_epoch_0_se"], math.sqrt(14 / 3 / 4))
    assert math.isclose(line["regret_epoch_1_se"], 1.0)
    assert math.isnan(line["regret_epoch_2_se"])  # one row
    assert cell(line, Column("regret_epoch_2", (), True)) == "9.00"


def test_the_table_of_epochs_in_markdown(stationary):
    found = with_epochs(stationary, (100, 500), [[1, 3, 1, 3], [10, 12, 12, 10], [2000, 2000, 2000, 2000]])
    assert markdown_text(found).splitlines()[-7:] == [
        "",
        "Regret per epoch:",
        "",
        "| agent | 0-99 | 100-499 | 500-999 |",
        "| --- | ---: | ---: | ---: |",
        "| static | 2.00 ± 0.58 | 11.00 ± 0.58 | 2,000 ± 0 |",
        "| toprank | 4.0 ± 1.2 | 22.0 ± 1.2 | 4,000 ± 0 |",
    ]
    assert markdown_text(found).startswith(markdown_text(stationary))


def test_drawn_epochs_have_numbers_and_the_table_says_whose_mean_it_is(stationary):
    found = with_epochs(stationary, None, [[1, 3, 1, 3], [10, math.nan, 12, 10]])
    lines = markdown_text(found).splitlines()
    assert lines[-6:-3] == [
        "Regret per epoch, mean over the rows that have come to it:",
        "",
        "| agent | epoch 0 | epoch 1 |",
    ]


def test_of_many_epochs_the_first_and_the_last_are_shown_and_csv_has_all(stationary):
    twelve, thirteen, found = (many(stationary, number) for number in (12, 13, 200))
    assert all(column.key for column in epoch_columns(twelve))
    assert [c.head for c in epoch_columns(thirteen) if not c.key] == [("2", "more")]
    assert len(epoch_columns(thirteen)) == 12
    assert [c.key.removeprefix("regret_epoch_") for c in epoch_columns(found)] == [
        *["0", "1", "2", "3", "4", "5", "", "195", "196", "197", "198", "199"]
    ]
    assert epoch_title(found, epoch_columns(found)) == "regret per epoch; table.csv has all 200"
    assert "| 25-29 | 189 more | 975-979 |" in markdown_text(found)
    assert "| 6.00 ± 0 | ... | 196.0 ± 0 |" in markdown_text(found)
    assert epoch_columns(found)[-1].head == ("995-", "999")
    (line, _) = csv.DictReader(csv_text(found).splitlines())
    assert [float(line[f"regret_epoch_{n}"]) for n in range(200)] == list(range(1, 201))


def shown(comparison, width):
    console = Console(file=io.StringIO(), width=width)
    _, table, columns, _ = fitting_epochs(comparison, console)
    console.print(table)
    return console.file.getvalue(), [column.key for column in columns]


def test_the_terminal_shows_errors_or_fewer_epochs_as_there_is_room(stationary):
    found = many(stationary, 10)
    seen = []
    for width in range(150, 20, -1):
        text, keys = shown(found, width)
        state = len(keys), text.count("±")
        if state not in seen:
            seen.append(state)
        assert max(map(len, text.splitlines())) <= width
        assert keys[0] == "regret_epoch_0"
        assert keys[-1] == "regret_epoch_9"
        assert ("more" in text) == ("" in keys) == (len(keys) != 10)
    assert seen == [(10, 20), *((number, 0) for number in range(10, 2, -1))]


def test_ten_epochs_fit_into_80_columns(stationary):
    """With numbers of five characters and names of fourteen."""
    starts = tuple(range(10_000, 100_000, 10_000))
    found = with_epochs(stationary, starts, np.full((10, 4), 1234.0))
    long = {"static": "cascade-kl-ucb", "toprank": "cascade-swucb"}
    agents = tuple(spec._replace(label=long[spec.label]) for spec in found.agents)
    histories = {long[label]: history for label, history in found.histories.items()}
    found = dataclasses.replace(found, agents=agents, histories=histories, seconds=dict.fromkeys(histories, 1.0))
    _, table, columns, _ = fitting_epochs(found, console := Console(file=io.StringIO(), width=80))
    console.print(table)
    lines = console.file.getvalue().splitlines()
    assert [column.key for column in columns] == [f"regret_epoch_{n}" for n in range(10)]
    assert lines[1].split() == ["agent", "0", *(f"{n}0k" for n in range(1, 10))]
    assert [line.split() for line in lines[3:5]] == [
        ["cascade-kl-ucb", *["1,234"] * 10],
        ["cascade-swucb", *["2,468"] * 10],
    ]


@pytest.mark.parametrize(("epochs", "size", "last"), [(25, 3, 1), (200, 20, 0), (204, 21, 15), (1000, 100, 0)])
def test_of_a_great_many_epochs_groups_are_summed(stationary, epochs, size, last):
    found = many(stationary, epochs)
    title, table, columns, errors = fitting_epochs(found, Console(width=200))
    assert columns == group_columns(found, size)
    assert errors
    rest = f" ({last} in the last column)" if last else ""
    assert title == f"regret per {size} epochs{rest}, by their first round; table.csv has each of the {epochs:,}"
    starts = range(0, epochs, size)
    assert [column.head for column in columns] == [(counted(5 * start),) for start in starts]
    sums = [float(sum(range(start + 1, min(start + size, epochs) + 1))) for start in starts]
    line, twice = found.epoch_groups(size)
    assert [line[column.key] for column in columns] == sums
    assert [twice[column.key] for column in columns] == [2 * each for each in sums]
    cells = [next(iter(column.cells)).plain for column in table.columns[1:]]
    assert cells == [cell(line, column) for column in columns]
    assert sum(sums) == epochs * (epochs + 1) / 2  # nothing twice, nothing left out


def test_the_error_of_a_group_is_that_of_the_rows_sums(stationary):
    found = with_epochs(stationary, (100, 500), [[1, 3, 1, 3], [10, 12, 12, 10], [7, 7, 7, 7]])
    line, _ = found.epoch_groups(2)
    assert list(line) == ["regret_epochs_0_1", "regret_epochs_0_1_se", "regret_epochs_2_2", "regret_epochs_2_2_se"]
    assert line["regret_epochs_0_1"] == np.mean([11, 15, 13, 13])
    assert math.isclose(line["regret_epochs_0_1_se"], np.std([11, 15, 13, 13], ddof=1) / 2)
    assert line["regret_epochs_2_2_se"] == 0


def test_a_narrow_terminal_has_fewer_groups(stationary):
    found = many(stationary, 200)
    seen = [len(shown(found, width)[1]) for width in range(120, 10, -1)]
    assert sorted(set(seen), reverse=True) == [10, 9, 8, 7, 6, 5, 4, 3]
    assert seen == sorted(seen, reverse=True)
    assert all(shown(found, width)[1][-1].endswith("_199") for width in (120, 60, 30))


def test_drawn_breakpoints_make_no_groups(stationary):
    found = dataclasses.replace(many(stationary, 30), breakpoints=None)
    title, _, columns, _ = fitting_epochs(found, Console(width=300))
    assert [column.head[0] for column in columns][-1] == "29"
    assert title == "regret per epoch, by its number, mean over the rows that have come to it; table.csv has all 30"


@pytest.mark.parametrize("epochs", [2, 3, 4])
@pytest.mark.parametrize("width", [10, 20])
def test_no_terminal_is_too_narrow(stationary, epochs, width):
    text, keys = shown(many(stationary, epochs), width)
    assert (len(keys), keys[0], keys[-1]) == (min(epochs, 3), "regret_epoch_0", f"regret_epoch_{epochs - 1}")
    assert "…" not in text


def test_the_least_regret_of_an_epoch_stands_out(stationary):
    console = Console(file=io.StringIO(), width=100, force_terminal=True)
    found = many(stationary, 20)
    console.print(fitting_epochs(found, console)[1])
    lines = {line.split()[0]: line for line in console.file.getvalue().splitlines() if "..." in line}
    assert len(lines) == 2
    bold = [("static" in name, line.count("\x1b[1;32m")) for name, line in lines.items()]
    assert sorted(bold) == [(False, 0), (True, len(fitting_epochs(found, console)[2]) - 1)]


# -- figures ----------------------------------------------------------------------------------------------------------


def marks(axes):
    """Where vertical lines of the whole height stand in a panel."""
    found = []
    for collection in axes.collections:
        if type(collection).__name__ == "LineCollection":
            for (x, bottom), (same, top) in collection.get_segments():
                assert (x, bottom, top) == (same, 0, 1)
                corners = collection.get_transform().transform([(x, 0), (x, 1)])
                assert np.allclose(axes.transAxes.inverted().transform(corners)[:, 1], (0, 1))
                assert np.allclose(axes.transData.inverted().transform(corners)[:, 0], x)
                found.append(x)
    return found


def test_panels_are_linear_and_have_lines_at_the_breakpoints(common):
    figure = comparison_figure.draw_comparison(common)
    assert len(figure.axes) == 3
    for axes, measure in zip(figure.axes, ("regret", "violations", "ndcg"), strict=True):
        assert marks(axes) == [100, 250]
        assert (axes.get_xscale(), axes.get_yscale()) == ("linear", "linear")
        assert axes.get_xlim() == (0, 300)
        for line, history in zip(axes.lines, common.histories.values(), strict=True):
            drawn = slice(2 if measure == "ndcg" else 0, None)  # of NDCG so far, a mean, not the first hundredth
            assert np.array_equal(line.get_xdata(), history.rounds[drawn])
            assert np.array_equal(line.get_ydata(), getattr(history, measure).mean(axis=1)[drawn])
    assert figure.get_supxlabel() == f"{caption(common)}; dotted lines: breakpoints"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == AGENTS


def test_lines_at_breakpoints_do_not_stretch_the_axes(stationary):
    flat = {label: h._replace(ndcg=0.5 + 0 * h.ndcg) for label, h in stationary.histories.items()}
    found = dataclasses.replace(with_epochs(stationary, (500,), [[1] * 4] * 2), histories=flat)
    for label, history in found.histories.items():
        found.histories[label] = history._replace(epoch_regret=np.ones((2, 4)))
    bottom, top = comparison_figure.draw_comparison(found).axes[2].get_ylim()
    assert 0.4 < bottom < 0.5 < top < 0.6


@pytest.mark.parametrize(
    ("epochs", "step", "words"),
    [
        (31, 1, "breakpoints"),
        (32, 2, "every second breakpoint"),
        (61, 2, "every second breakpoint"),
        (200, 10, "every 10th breakpoint"),
        (1000, 50, "every 50th breakpoint"),
    ],
)
def test_many_breakpoints_are_thinned_out_and_the_caption_says_so(stationary, epochs, step, words):
    found = dataclasses.replace(many(stationary, epochs), breakpoints=tuple(range(1, epochs)))
    figure = comparison_figure.draw_comparison(found)
    assert marks(figure.axes[0]) == list(found.breakpoints[step - 1 :: step])
    assert figure.get_supxlabel().endswith(f"; dotted lines: {words}")


def test_drawn_breakpoints_have_no_lines(drawn):
    figure = comparison_figure.draw_comparison(drawn)
    assert [marks(axes) for axes in figure.axes] == [[], [], []]
    assert figure.axes[0].get_xscale() == "linear"
    assert figure.get_supxlabel() == caption(drawn)


def test_stationary_figures_have_no_lines(stationary):
    figure = comparison_figure.draw_comparison(stationary)
    assert [marks(axes) for axes in figure.axes] == [[], [], []]
    assert [axes.get_xscale() for axes in figure.axes] == ["log"] * 3
    assert figure.get_supxlabel() == caption(stationary)


def test_a_figure_of_epochs_is_the_same_file_twice(common, tmp_path):
    for name in ("one", "two"):
        style.write(comparison_figure.draw_comparison(common), tmp_path / name, "svg")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()

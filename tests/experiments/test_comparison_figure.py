"""The figure shows the means and nothing else; without matplotlib all else is written."""

import dataclasses
import sys

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

from rankgym import style
from rankgym.experiments import compare
from rankgym.experiments.judge.agreements import agreement_notes
from rankgym.experiments.show import comparison_figure
from rankgym.experiments.show.tables import markdown_text
from rankgym.style import LOOKS

ENV = "rankgym/PBM-Synthetic-v0"


@pytest.fixture(scope="module")
def comparison():
    return compare(ENV, ["static", "random", "toprank"], rounds=200, query=[0, 1, 2], progress=False)


def test_lines_are_the_means_over_rows(comparison):
    regret, violations, quality = comparison_figure.draw_comparison(comparison).axes
    for axes, measure in ((regret, "regret"), (violations, "violations"), (quality, "ndcg")):
        assert len(axes.lines) == 3
        for line, history in zip(axes.lines, comparison.histories.values(), strict=True):
            assert np.array_equal(line.get_xdata(), history.rounds)
            assert np.array_equal(line.get_ydata(), getattr(history, measure).mean(axis=1))
    assert (regret.get_xscale(), regret.get_yscale()) == ("log", "log")


def test_bands_are_one_standard_error_wide(comparison):
    _, _, quality = comparison_figure.draw_comparison(comparison).axes
    for band, history in zip(quality.collections, comparison.histories.values(), strict=True):
        corners = band.get_paths()[0].vertices
        mean, error = history.ndcg.mean(axis=1), history.ndcg.std(axis=1, ddof=1) / np.sqrt(3)
        assert np.isclose(corners[:, 1].max(), (mean + error).max())
        assert np.isclose(corners[:, 1].min(), (mean - error).min())


def test_the_legend_names_the_agents_by_their_regret(comparison):
    figure = comparison_figure.draw_comparison(comparison)
    ends = {label: history.regret[-1].mean() for label, history in comparison.histories.items()}
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == sorted(ends, key=ends.get, reverse=True)


def test_agents_look_as_in_all_figures(comparison):
    for axes in comparison_figure.draw_comparison(comparison).axes:
        for line, spec in zip(axes.lines, comparison.agents, strict=True):
            assert (line.get_color(), line.get_marker() or "") == (LOOKS[spec.label].color, LOOKS[spec.label].marker)


def test_own_agents_are_drawn_on_top_and_those_that_do_not_learn_below(comparison):
    specs = (*comparison.agents, comparison.agents[0]._replace(label="mine:Mine"))
    histories = {**comparison.histories, "mine:Mine": comparison.histories["toprank"]}
    figure = comparison_figure.draw_comparison(dataclasses.replace(comparison, agents=specs, histories=histories))
    static, random, toprank, mine = (line.get_zorder() for line in figure.axes[0].lines)
    assert static == random < toprank < mine


def scaled(history, factor):
    return {name: factor * getattr(history, name) for name in ("regret", "violations", "ndcg")}


@pytest.mark.parametrize(("agents", "bands"), [(9, True), (10, False)])
def test_many_bands_would_hide_each_other(comparison, agents, bands):
    spec, history = comparison.agents[0], comparison.histories["random"]
    specs = tuple(spec._replace(label=f"agent {n}") for n in range(agents))
    histories = {spec.label: history._replace(**scaled(history, n + 1)) for n, spec in enumerate(specs)}
    figure = comparison_figure.draw_comparison(dataclasses.replace(comparison, agents=specs, histories=histories))
    for axes in figure.axes:
        assert len(axes.lines) == agents
        assert len(axes.collections) == (agents if bands else 0)
    assert ("mean ± standard error" in figure.get_supxlabel()) == bands


def test_agents_that_agree_are_all_seen_and_named(comparison):
    specs = (*comparison.agents, comparison.agents[0]._replace(label="twin"))
    history = comparison.histories["random"]
    seconds = {**comparison.seconds, "twin": 1.0}
    histories = {**comparison.histories, "twin": history}
    found = dataclasses.replace(comparison, agents=specs, histories=histories, seconds=seconds)
    assert found.agreements == [["random", "twin"]]
    figure = comparison_figure.draw_comparison(found)
    assert "random and twin coincide" in figure.get_supxlabel().replace("\n", " ")
    for axes in figure.axes:
        lines = {line.get_label(): line for line in axes.lines}
        assert np.array_equal(lines["random"].get_ydata(), lines["twin"].get_ydata())
        assert lines["twin"].get_zorder() > max(lines[spec.label].get_zorder() for spec in comparison.agents)
        assert lines["twin"].is_dashed()  # the other one is seen through the gaps
        assert lines["twin"].get_color() != lines["random"].get_color()
        assert lines["twin"].get_markevery() != lines["random"].get_markevery()
    (note,) = agreement_notes(found.histories)
    assert note.startswith(f"random and twin agree to the last bit in each of the {found.rows} rows")
    assert note in markdown_text(found)
    other = history._replace(reward=history.reward + np.eye(found.rows)[-1])
    assert dataclasses.replace(found, histories={**found.histories, "twin": other}).agreements == []


def test_the_figure_of_duels_begins_where_regret_can_be_told_from_zero():
    pytest.importorskip("scipy")
    found = compare("Dueling-Arithmetic-v0", ["rucb", "random-duels"], rounds=20_000, runs=2, progress=False)
    regret, accuracy = comparison_figure.draw_comparison(found).axes
    first, last = regret.get_xlim()
    assert (first, last) == accuracy.get_xlim()
    assert last == 20_000
    assert np.log10(first) % 1 == 0
    rucb = found.histories["rucb"]
    top = regret.get_ylim()[1]
    assert rucb.regret[rucb.rounds < first].mean(axis=1).max(initial=0) <= 0.01 * top
    assert first == 100 or rucb.regret[rucb.rounds <= 10 * first].mean(axis=1).max() > 0.01 * top


def test_a_comparison_says_in_a_few_lines_what_it_is(comparison):
    lines = repr(comparison).splitlines()
    assert lines[0].startswith(f"Comparison of 3 agents in {ENV}")
    assert [line.split(":")[0].strip() for line in lines[1:]] == [spec.label for spec in comparison.agents]
    assert all(": regret " in line for line in lines[1:])
    assert max(map(len, lines)) < 200


def test_a_history_of_ones_own_comes_into_the_picture_of_a_comparison(comparison):
    matplotlib.use("agg")
    ax = comparison.plot("ndcg")
    mine = comparison.histories["toprank"]
    assert mine._replace(ndcg=mine.ndcg / 2).plot("ndcg", ax=ax, label="mine") is ax
    title = ax.get_title()
    assert title.split() == f"{ENV.removeprefix('rankgym/')}: NDCG, mean ± standard error of rows".split()
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == [*(spec.label for spec in comparison.agents), "mine"]
    assert {line.get_color() for line in ax.lines} >= {LOOKS["toprank"].color}
    plt.close(ax.figure)


@pytest.mark.parametrize(("kind", "start"), [("png", b"\x89PNG\r\n"), ("svg", b"<?xml")])
def test_the_same_numbers_give_the_same_file(comparison, tmp_path, kind, start):
    for name in ("one", "two"):
        style.write(comparison_figure.draw_comparison(comparison), tmp_path / name, kind)
    one = (tmp_path / "one").read_bytes()
    assert one.startswith(start)
    assert len(one) > 10_000
    assert one == (tmp_path / "two").read_bytes()


def test_no_regret_at_all_can_be_drawn(tmp_path):
    best = {"attraction": [0.9, 0.5, 0.1], "examination": [1.0, 0.5]}
    arguments = {"num_positions": 2, "parameters": best, "progress": False}
    found = compare(ENV, ["static"], rounds=50, query=0, out=tmp_path, **arguments)
    assert found.table()[0]["regret"] == 0
    assert (tmp_path / "regret.png").stat().st_size > 10_000


def test_a_single_round_can_be_drawn(tmp_path):
    compare(ENV, ["random"], rounds=1, query=0, out=tmp_path, progress=False)
    assert (tmp_path / "regret.png").stat().st_size > 10_000


def test_without_matplotlib_all_else_is_written(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for name in ("rankgym.experiments.show.comparison_figure", "rankgym.style"):
        monkeypatch.delitem(sys.modules, name)
        monkeypatch.delattr(name)
    found = compare(ENV, ["static"], rounds=20, query=0, out=tmp_path, progress=False)
    assert found.notes == ['no figure without matplotlib: pip install "rankgym[experiments]"']
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "compare.json",
        "lock",
        "log.jsonl",
        "plan.json",
        "results",
        "static.npz",
        "sweep.json",
        "table.csv",
        "table.md",
    ]

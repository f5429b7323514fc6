"""Figures show the means and nothing else."""

import io

import numpy as np
import pytest

from rankgym import style
from rankgym.experiments.run.results import Played
from rankgym.experiments.show import figures
from rankgym.experiments.show.figures import Curve, Pair, Panel

ROUNDS = np.array([1, 2, 4, 10, 100, 1000])


def played(agent="toprank", rows=6, **measures):
    rng = np.random.default_rng(len(agent))
    regret = np.cumsum(rng.random((len(ROUNDS), rows)), axis=0)
    quality = rng.random((1000, rows))
    mean_so_far = np.cumsum(quality, axis=0)[ROUNDS - 1] / ROUNDS[:, None]
    violations = np.cumsum(quality > 0.5, axis=0)[ROUNDS - 1].astype(float)
    return Played(
        "CM",
        agent,
        "rankgym/CM-Yandex-v0",
        {},
        ROUNDS,
        np.arange(rows),
        np.arange(rows),
        np.zeros(rows, int),
        {"regret": regret, "ndcg": mean_so_far, "violations": violations, "quality": quality[:0], **measures},
        rng.random((4, rows)),
        np.full(rows, -1),
    )


def drawn(figure):
    file = io.BytesIO()
    figures.write(figure, file, "png", scale=1)
    return file.getvalue()


# -- curves -----------------------------------------------------------------------------------------------------------


def test_a_curve_is_the_mean_over_rows():
    one = played()
    found = figures.curve(one)
    regret = one.measures["regret"]
    assert found.label == "toprank"
    assert np.array_equal(found.x, ROUNDS)
    assert np.array_equal(found.mean, regret.mean(axis=1))
    assert np.allclose(found.error, regret.std(axis=1, ddof=1) / np.sqrt(6))
    assert figures.curve(one, label="TopRank").label == "TopRank"


@pytest.mark.parametrize("measure", ["ndcg", "violations"])
def test_what_a_round_has_is_the_mean_between_records(measure):
    one = played()
    quality = np.random.default_rng(len("toprank"))
    quality.random((len(ROUNDS), 6))
    amounts = quality.random((1000, 6))
    amounts = amounts if measure == "ndcg" else amounts > 0.5
    found = figures.per_round(one, measure)
    starts = [0, *ROUNDS[:-1]]
    assert np.allclose(found.mean, [amounts[a:b].mean() for a, b in zip(starts, ROUNDS, strict=True)])
    assert np.allclose(found.x, [np.mean(np.arange(a, b) + 1) for a, b in zip(starts, ROUNDS, strict=True)])
    assert np.array_equal(figures.per_round(one, measure, least=5).x, found.x[found.x >= 5])


def test_epochs_are_means_over_the_rows_that_came_to_them():
    one = played()
    one.epoch_regret[3, 2:] = np.nan
    found = figures.per_epoch(one)
    assert np.allclose(found.mean[:3], one.epoch_regret[:3].mean(axis=1))
    assert np.isclose(found.mean[3], one.epoch_regret[3, :2].mean())
    assert found.x.tolist() == [0, 1, 2, 3]
    assert found.marked


# -- panels -----------------------------------------------------------------------------------------------------------

AGENTS = ["static", "bubblerank", "toprank"]


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_lines_are_the_curves_and_bands_one_standard_error_wide(scale):
    curves = [figures.curve(played(agent)) for agent in AGENTS]
    (axes,) = figures.panels([Panel("CM", curves, xscale=scale, yscale=scale)]).axes
    assert (axes.get_xscale(), axes.get_yscale()) == (scale, scale)
    for line, band, curve in zip(axes.lines, axes.collections, curves, strict=True):
        assert np.array_equal(line.get_xdata(), curve.x)
        assert np.array_equal(line.get_ydata(), curve.mean)
        corners = band.get_paths()[0].vertices[:, 1]
        assert np.isclose(corners.max(), (curve.mean + curve.error).max())
    assert axes.get_title(loc="left") == "CM"


def test_the_legend_is_in_the_order_in_which_curves_end():
    ends = {"a": 3.0, "b": 9.0, "c": 1.0}
    curves = [Curve(name, np.array([1, 2]), np.array([5.0, end])) for name, end in ends.items()]
    figure = figures.panels([Panel("", curves)])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["b", "a", "c"]


def test_the_labels_of_a_panel_that_shares_none_stand_together():
    def panel(**ends):
        return Panel("", [Curve(name, np.array([1, 2]), np.array([5.0, end])) for name, end in ends.items()])

    figure = figures.panels([panel(a=3.0, b=9.0), panel(c=1.0, d=2.0), panel(b=1.0), panel(e=4.0)])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["b", "a", "d", "c", "e"]
    apart = figures.panels([panel(a=3.0, b=9.0), panel(), panel(c=1.0, d=2.0)])
    assert [text.get_text() for text in apart.legends[0].get_texts()] == ["b", "a", "d", "c"]


def test_a_legend_of_many_names_is_read_row_by_row():
    names = [f"a rather long name {n}" for n in range(7)]
    columns = style.columns_of_names(names, 6.6, False)
    rows = len(columns[0])
    assert [column[row] for row in range(rows) for column in columns if row < len(column)] == names


def test_breakpoints_are_marked_and_said():
    curves = [figures.curve(played())]
    figure = figures.panels([Panel("CM", curves, breakpoints=[100, 500, 2000])], caption="six queries")
    (lines,) = [c for c in figure.axes[0].collections if type(c).__name__ == "LineCollection"]
    assert [segment[0][0] for segment in lines.get_segments()] == [100, 500]  # the third comes later
    assert figure.get_supxlabel() == "six queries; dotted lines: breakpoints"


def test_marked_curves_have_error_bars():
    curve = Curve("mergerucb", np.array([10, 20, 30]), np.array([1.0, 2, 3]), np.array([0.1, 0.2, np.nan]), True)
    (axes,) = figures.panels([Panel("MSLR", [curve], xlabel="K")]).axes
    assert len(axes.containers) == 1
    assert axes.get_xticks().tolist() == [10, 20, 30]


def test_frames_can_be_cut():
    (axes,) = figures.panels([Panel("CM", [figures.curve(played())], top=2.0, bottom=0.5)]).axes
    assert axes.get_ylim() == (0.5, 2.0)


@pytest.mark.parametrize(("number", "grid"), [(1, (1, 1)), (3, (1, 3)), (4, (2, 2)), (20, (4, 5))])
def test_many_panels_are_small_multiples(number, grid):
    figure = figures.panels([Panel(f"query {n}", [figures.curve(played())]) for n in range(number)])
    assert len(figure.axes) == number
    assert figure.axes[0].get_gridspec().get_geometry() == grid


def test_a_point_a_query_and_how_many_on_either_side():
    x, y = np.array([1.0, 2, 3, 4, 5]), np.array([2.0, 1, 1, 0, 5])
    (axes,) = figures.scatter([Pair("PBM", "toprank", "cascade-kl-ucb", x, y)]).axes
    assert [text.get_text() for text in axes.texts] == ["1 of 5", "3 of 5"]
    full, hollow = axes.collections
    assert len(full.get_offsets()) == 4
    assert hollow.get_offsets()[0].tolist() == [4, axes.get_ylim()[0]]
    assert axes.get_xlim() == axes.get_ylim()


@pytest.mark.parametrize("draw", [figures.panels, figures.scatter])
def test_no_panels_are_refused(draw):
    with pytest.raises(ValueError, match=r"panels = .* is empty; allowed: at least one"):
        draw([])


def test_what_has_nothing_to_show_can_be_drawn():
    nothing = Curve("toprank", np.array([1, 10]), np.array([0.0, 0.0]), np.array([np.nan, np.nan]))
    unknown = nothing._replace(label="static", mean=np.array([np.nan, np.nan]))
    for scale in ("linear", "log", "symlog"):
        drawn(figures.panels([Panel("none", [nothing, unknown], xscale="log", yscale=scale), Panel("empty", [])]))
    drawn(figures.scatter([Pair("none", "x", "y", np.zeros(3), np.zeros(3))]))


@pytest.mark.parametrize(("low", "high"), [(115.0, 160.0), (18.0, 95.0), (3.0, 2e6)])
def test_a_logarithmic_axis_has_labels_however_short_it_is(low, high):
    figure = figures.panels([Panel("", [Curve("toprank", np.array([1, 10]), np.array([low, high]))], yscale="log")])
    (axes,) = figure.axes
    drawn(figure)
    bottom, top = axes.get_ylim()
    labels = [tick.label1.get_text() for tick in axes.yaxis.get_major_ticks() if bottom <= tick.get_loc() <= top]
    assert sum(map(bool, labels)) >= 2


@pytest.mark.parametrize(
    ("low", "high", "within"),
    [(2100.0, 33_000.0, "125"), (0.3, 9.0, "125"), (900.0, 60_000.0, "13"), (11.0, 800.0, "13"), (2.0, 2e4, "1")],
)
def test_few_decades_have_labels_within_them(low, high, within):
    curves = [Curve("toprank", np.array([1, 10]), np.array([low, high]))]
    (axes,) = figures.panels([Panel("", curves, xscale="log", yscale="log")]).axes
    bottom, top = axes.get_ylim()
    labels = [axes.yaxis.get_major_formatter()(tick) for tick in axes.get_yticks() if bottom <= tick <= top]
    assert 3 <= len(labels) == len(set(labels)) <= 7
    assert {label.rstrip("kM").replace("0", "").replace(".", "") for label in labels} == set(within)


def test_ticks_are_round_numbers():
    curves = [Curve("toprank", np.array([1, 10]), np.array([0.43, 1.0]))]
    (axes,) = figures.panels([Panel("", curves, from_zero=False)]).axes
    assert np.allclose([tick for tick in axes.get_yticks() if 0.43 <= tick < 1.02], [0.6, 0.8, 1.0])  # not 0.55, 0.7


def test_the_same_numbers_give_the_same_file(tmp_path):
    curves = [figures.curve(played(agent)) for agent in AGENTS]
    for kind, start in (("png", b"\x89PNG\r\n"), ("svg", b"<?xml")):
        for name in ("one", "two"):
            figures.write(figures.panels([Panel("CM", curves)]), tmp_path / name, kind)
        assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
        assert (tmp_path / "one").read_bytes().startswith(start)


def test_a_png_of_twice_the_scale_has_twice_the_size():
    figure = figures.panels([Panel("CM", [figures.curve(played())])])
    sizes = []
    for scale in (1, 2):
        file = io.BytesIO()
        figures.write(figure, file, "png", scale=scale)
        sizes.append(int.from_bytes(file.getvalue()[16:20]))
    assert sizes[1] == 2 * sizes[0] == pytest.approx(200 * figure.get_figwidth(), abs=2)


def test_points_that_are_not_joined_have_no_line():
    curve = Curve("bubblerank", np.array([1, 1.2, 9]), np.array([1.0, 2, 3]), np.ones(3), True, False)
    line = Curve("least squares", np.array([1, 9]), np.array([1.0, 3]))
    (axes,) = figures.panels([Panel("CM", [curve, line])]).axes
    assert next(one.get_linestyle() for one in axes.lines if len(one.get_xdata()) == 3) == "None"
    assert len(axes.get_xticks()) != 3  # two of the points are too near each other to be named


def test_there_is_no_tick_at_half_an_epoch():
    panel = Panel("CM", [figures.per_epoch(played()._replace(epoch_regret=np.ones((2, 6))))], xlabel="epoch")
    for width in (3.7, 9.0):  # of a phone, and of a screen
        (axes,) = figures.panels([panel], columns=1, width=width).axes
        assert [tick for tick in axes.get_xticks() if 0 <= tick <= 1] == [0, 1]

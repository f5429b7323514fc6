"""A paper's table and figure."""

import io
import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

pytest.importorskip("matplotlib")

from rankgym.experiments.run.results import Played, Results
from rankgym.experiments.show.paper import escaped, latex_table, paper_figure
from rankgym.style import write

ROUNDS = np.array([1, 10, 100])


def played(agent, environment="CM", rows=4, epochs=0, rounds=ROUNDS, **measures):
    values = {"regret": np.outer([1.0, 2.0, 3.0], np.arange(1.0, rows + 1)), **measures}
    numbers, of_epochs, settled = np.arange(rows), np.ones((epochs, rows)), np.full(rows, -1)
    return Played(environment, agent, "x", {}, rounds, numbers, numbers, 0 * numbers, values, of_epochs, settled)


def cells(text):
    """The table's lines as lists of cells."""
    return [
        [cell.strip() for cell in line.removesuffix(r" \\").split(" & ")] for line in text.splitlines() if "&" in line
    ]


def test_a_table_has_means_with_errors():
    text = latex_table(Results([played("toprank"), played("a_b:c=5%", ndcg=np.full((3, 4), 0.25))]))
    assert cells(text) == [
        ["Agent", "Regret", "NDCG"],
        ["toprank", r"$7.5 \pm 1.9$", ""],
        [r"a\_b:c=5\%", r"$7.5 \pm 1.9$", r"$0.25 \pm 0$"],
    ]
    assert text.startswith(
        "% needs \\usepackage{booktabs}\n% mean and standard error after 100 rounds over 4 rows in CM\n"
    )
    assert text.count(r"\begin{tabular}{@{}lrr@{}}") == text.count(r"\end{tabular}") == 1
    rules = re.findall(r"\\(\w+rule)", text)
    assert rules == ["toprule", "midrule", "bottomrule"]


def test_environments_are_named_once_and_what_differs_is_a_column():
    results = [played("toprank"), played("random"), played("toprank", "PBM", rows=1, rounds=ROUNDS * 100)]
    text = latex_table(Results(results))
    assert cells(text) == [
        ["Environment", "Agent", "Rounds", "Rows", "Regret"],
        ["CM", "toprank", "$100$", "$4$", r"$7.5 \pm 1.9$"],
        ["", "random", "$100$", "$4$", r"$7.5 \pm 1.9$"],
        ["PBM", "toprank", r"$10\,000$", "$1$", "$3.00$"],
    ]
    assert text.count("midrule") == 2
    with pytest.raises(ValueError, match="results is empty"):
        latex_table(Results([]))


def test_what_is_unknown_is_a_dash():
    assert cells(latex_table(Results([played("rucb", accuracy=np.full((3, 4), np.nan))])))[1][-1] == "--"


@given(st.text())
@example("---")
def test_any_name_is_text_for_latex(name):
    """Nothing special is left but what escapes it."""
    text = escaped(name)
    bare = re.sub(r"\\(text\w+\{\}|[&%$#_{}])|-\{\}(?=-)", "", text)
    assert not set(bare) & set("&%$#_{}~^\\<>|\n")
    assert "--" not in text


def fonts(figure):
    return {text.get_fontsize() for axes in figure.axes for text in (axes.xaxis.label, axes.yaxis.label, axes.title)}


def test_a_figure_fits_a_papers_column():
    results = Results([played("toprank"), played("random"), played("toprank", "PBM", epochs=2)])
    figure = paper_figure(results)
    assert figure.get_figwidth() == 3.3
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["CM", "PBM"]
    assert len({axes.get_position().x0 for axes in figure.axes}) == 1  # one below the other
    assert fonts(figure) == {8.0}
    assert [(axes.get_xscale(), axes.get_yscale()) for axes in figure.axes] == [("log", "log"), ("linear", "linear")]
    wide = paper_figure(results, x="log", y="linear", width=6.9)
    assert [(axes.get_xscale(), axes.get_yscale()) for axes in wide.axes] == [("log", "linear")] * 2
    one = paper_figure(Results([played("toprank")]))
    assert [axes.get_title(loc="left") for axes in one.axes] == [""]


def test_a_pdf_has_letters_that_publishers_take_and_the_same_bytes():
    files = []
    for _ in range(2):
        file = io.BytesIO()
        write(paper_figure(Results([played("toprank")])), file, "pdf")
        files.append(file.getvalue())
    assert files[0] == files[1]
    assert b"/Type3" not in files[0]
    assert b"/CIDFontType2" in files[0]
    width = float(re.search(rb"/MediaBox \[ 0 0 ([\d.]+) ", files[0])[1])
    assert np.isclose(width, 3.3 * 72)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"measure": "loss"}, "measure = 'loss' is unknown; allowed: 'regret'"),
        ({"measure": "ndcg"}, "measure = 'ndcg' is known in no result; allowed: 'regret'"),
        ({"width": 1.0}, r"width = 1.0 is out of range; allowed: a number in \[1.5, 12\]"),
    ],
)
def test_a_figure_of_nothing_is_refused(options, said):
    with pytest.raises(ValueError, match=said):
        paper_figure(Results([played("toprank")]), **options)

"""A report is one valid HTML file that needs no network, and whose verdicts differ in words."""

import base64
import math
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from rankgym.experiments.judge.claims import Claim, judge
from rankgym.experiments.judge.intervals import Estimate
from rankgym.experiments.run.results import Played, Results
from rankgym.experiments.show.report import Picture, Table, report, sweep_report, write_report

VOID = {"meta", "img", "br", "source"}
SVG = '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><g id="figure_1"/></svg>'


class Reader(HTMLParser):
    """All tags, with their attributes; fails where they are not balanced."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.words = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        names = [name for name, _ in attributes]
        assert len(set(names)) == len(names)
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def claim(name, low, high, needs_rounds=0):
    found = Estimate(low, low, high, "bootstrap over 60 queries, 99 %")
    text = f"{name} < 3 & so on"
    return Claim(
        "section 1; figure 1", text, "regret", (lambda _: found,), (0.9, 1.1), "a stand-in", needs_rounds, name=name
    )


JUDGEMENTS = judge([claim("a", 0.95, 1.0), claim("b", 2.0, 3.0), claim("c", 1.0, math.inf)], Results([]), 10)
WHOLE = report(
    "figure-1: <regret>",
    summary="First.\n\nSecond: 5 < 6.",
    pictures=[Picture(SVG, "Left", "Regret of five agents"), Picture(SVG, "", 'Quoted "words"')],
    judgements=JUDGEMENTS,
    tables=[Table("Ranks", ["agent", "mean rank"], [["toprank", "1.50"], ["static", ""]], "Friedman")],
    settings={"rounds": 100, "agents": ["toprank"], "name": "</pre><script>"},
    versions={"rankgym": "0.1.0"},
)


def test_it_is_balanced_and_begins_as_html_does():
    page = Reader(WHOLE)
    assert WHOLE.startswith('<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">')
    assert [tag for tag, _ in page.tags if tag in ("html", "head", "body", "title", "h1")] == [
        "html",
        "head",
        "title",
        "body",
        "h1",
    ]
    assert ("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}) in page.tags
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_nothing_is_fetched_and_nothing_runs():
    page = Reader(WHOLE)
    assert not [tag for tag, _ in page.tags if tag in ("script", "link", "iframe", "object")]
    for _, attributes in page.tags:
        for name in ("src", "href"):
            assert attributes.get(name, "data:").startswith("data:")
    assert "url(" not in WHOLE
    policy = next(a["content"] for tag, a in page.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'")


def test_pictures_are_inside_and_are_described():
    first, second = [attributes for tag, attributes in Reader(WHOLE).tags if tag == "img"]
    assert first["alt"] == "Regret of five agents"
    assert second["alt"] == 'Quoted "words"'
    for image in (first, second):
        assert base64.b64decode(image["src"].removeprefix("data:image/svg+xml;base64,")).decode() == SVG


def test_text_is_escaped():
    text = Reader(WHOLE).text
    for words in ("figure-1: <regret>", "Second: 5 < 6.", "a < 3 & so on", "</pre><script>"):
        assert words in text


def test_verdicts_differ_in_words_in_signs_and_in_looks():
    found = re.findall(r'class="verdict (\w+)">(.) ([^<]+)<', WHOLE)
    assert [words for _, _, words in found] == ["holds", "does not hold", "cannot be decided at this scale"]
    assert len({look for look, _, _ in found}) == len({sign for _, sign, _ in found}) == 3
    text = Reader(WHOLE).text
    assert "Of 3 claims 1 holds, 1 does not hold, 1 cannot be decided at this scale." in text
    assert text.count("Bootstrap over 60 queries, 99 %.") == 3
    assert "A stand-in." in text


def test_settings_are_folded():
    page = Reader(WHOLE)
    assert [tag for tag, _ in page.tags].count("details") == 2
    assert not any("open" in attributes for tag, attributes in page.tags if tag == "details")
    assert '"rounds": 100' in page.text


def test_numbers_stand_to_the_right():
    assert re.findall(r'<td class="number">([^<]*)', WHOLE) == ["1.50", ""]


def test_what_is_not_there_has_no_heading():
    page = Reader(report("Empty"))
    assert page.text == "Empty Empty"


def test_it_is_written_whole(tmp_path):
    write_report(tmp_path / "report.html", "Title", summary="Words.")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == report("Title", summary="Words.")
    assert len(list(tmp_path.iterdir())) == 1


def played(agent, environment, duels=False):
    rng = np.random.default_rng(len(agent))
    names = ("regret", "accuracy", "reward") if duels else ("regret", "violations", "ndcg", "reward")
    return Played(
        environment,
        agent,
        "rankgym/CM-Yandex-v0",
        {},
        np.array([1, 10, 100]),
        np.arange(12),
        np.arange(12) % 6,
        np.arange(12) // 6,
        {name: rng.random((3, 12)) for name in names},
        rng.random((0 if duels else 3, 12)),
        np.full(12, -1),
    )


def test_legends_of_a_report_have_one_order(tmp_path, monkeypatch):
    """Whatever the order of the curves' ends in later figures."""
    figures = pytest.importorskip("rankgym.experiments.show.figures")
    pytest.importorskip("scipy.stats")
    orders, draw = [], figures.panels
    monkeypatch.setattr(
        figures, "panels", lambda *given, **rest: orders.append([*rest["order"]]) or draw(*given, **rest)
    )
    agents = [played(name, "CM") for name in ("a", "bb", "ccc")] + [played("rucb", "MSLR", True)]
    sweep_report(tmp_path / "report.html", Results(agents))
    assert len(orders) == 10
    assert len({tuple(order) for order in orders}) == 1
    assert set(orders[0]) == {"a", "bb", "ccc", "rucb"}


def test_any_sweep_has_a_report(tmp_path):
    pytest.importorskip("scipy.stats")
    pytest.importorskip("matplotlib")
    agents = [played("toprank", "CM"), played("static", "CM"), played("rucb", "MSLR", True)]
    agents.append(agents[0]._replace(agent="twin"))
    sweep_report(tmp_path / "report.html", Results(agents), "Two environments")
    page = Reader((tmp_path / "report.html").read_text(encoding="utf-8"))
    alts = [attributes["alt"] for tag, attributes in page.tags if tag == "img"]
    assert alts == [
        "cumulative regret over rounds",
        "violations over rounds",
        "NDCG, mean so far over rounds",
        "accuracy over rounds",
        "regret of each epoch",
    ]
    narrow = [attributes for tag, attributes in page.tags if tag == "source"]
    assert len(narrow) == len(alts)
    for attributes in narrow:
        svg = base64.b64decode(attributes["srcset"].partition("base64,")[2]).decode()
        assert float(re.search(r'<svg [^>]*width="([\d.]+)pt"', svg)[1]) / 72 * 96 <= 390 - 2 * 16  # css pixels
    first = page.words.index("agent")
    assert page.words[first + 2 : first + 3] != ["rounds"]
    assert page.words.index("regret", first) < page.words.index("violations", first) < page.words.index("rows", first)
    assert "CM: toprank and twin agree to the last bit in each of the 12 rows" in page.text
    assert "Ranks by regret: CM" in page.text
    assert "Ranks by regret: MSLR" not in page.text
    assert "Means after the last round" in page.text
    with pytest.raises(ValueError, match="at least one job"):
        sweep_report(tmp_path / "none.html", Results([]))

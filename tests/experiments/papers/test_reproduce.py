"""Reproducing figures: names, the table, smoke runs, going on, missing data and libraries, the pace."""

import json
import re
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgym.data import MissingData
from rankgym.experiments.judge import claims
from rankgym.experiments.papers import FIGURES, PAPERS, listing
from rankgym.experiments.papers import reproduce as papers
from rankgym.experiments.papers.figure import SCALES, SOURCES, check_scale, check_source
from rankgym.experiments.papers.listing import find_figures, list_figures, sessions_by_agent
from rankgym.experiments.papers.pace import measure_pace
from rankgym.experiments.run.results import Played, Results

parquet = pytest.importorskip("pyarrow.parquet")
for library in ("joblib", "filelock", "scipy", "matplotlib"):
    pytest.importorskip(library)

MINE = [figure for paper in ("bubblerank", "toprank") for figure in PAPERS[paper]]


# -- names and the table ----------------------------------------------------------------------------------------------


def test_names_of_figures_of_papers_and_all():
    assert find_figures("toprank-figure-4") == [FIGURES["toprank-figure-4"]]
    assert find_figures("bubblerank") == list(PAPERS["bubblerank"])
    assert find_figures(["toprank-figure-4", "toprank"]) == [FIGURES["toprank-figure-4"], FIGURES["toprank-figure-3"]]
    assert find_figures(["all", "toprank"]) == list(FIGURES.values())


def test_a_near_name_is_suggested():
    with pytest.raises(ValueError, match="did you mean 'bubblerank-figure-1'"):
        find_figures("bubblerank-figure1")
    with pytest.raises(ValueError, match="no figure was named"):
        find_figures([])


@given(st.lists(st.text() | st.sampled_from([*FIGURES, *PAPERS, "all"]) | st.integers(), min_size=1))
def test_any_names_are_found_or_refused(names):
    known = [name in FIGURES or name in PAPERS or name == "all" for name in names]
    if all(known):
        found = find_figures(names)
        assert len({figure.name for figure in found}) == len(found) > 0
    else:
        with pytest.raises(ValueError, match=re.escape(repr(names[known.index(False)]))):
            find_figures(names)


@given(st.text() | st.sampled_from([*SCALES, *SOURCES]) | st.none() | st.integers())
def test_any_scale_and_source_are_known_or_refused(word):
    for check, allowed in ((check_scale, SCALES), (check_source, SOURCES)):
        if word in allowed:
            assert check(word) == word
        else:
            with pytest.raises(ValueError, match=re.escape(f"= {word!r} is unknown")):
                check(word)


def test_the_table_has_each_figure_under_its_own_name():
    numbers = {"bubblerank": 4, "toprank": 2, "nonstationary": 2, "mergerucb": 7}
    assert {paper: len(figures) for paper, figures in PAPERS.items()} == numbers
    for paper, figures in PAPERS.items():
        assert all(figure.name.startswith(f"{paper}-figure-") for figure in figures)
    assert list(FIGURES) == [figure.name for figures in PAPERS.values() for figure in figures]


@pytest.mark.parametrize("figure", FIGURES.values(), ids=list(FIGURES))
def test_claims_have_names_of_their_own_and_say_where_they_stand(figure):
    names = [claim.name for claim in figure.claims]
    assert len(set(names)) == len(names) > 0
    for claim in figure.claims:
        assert "section" in claim.where or "appendix" in claim.where
        assert claim.text
        assert not re.search(r"[{}]", f"{claim.name}{claim.where}{claim.text}")  # no placeholder is left


@pytest.mark.parametrize("figure", MINE, ids=lambda figure: figure.name)
def test_sessions_are_counted_without_making_environments(figure):
    sweep = figure.sweep("smoke", "calibrated")
    assert sum(sessions_by_agent(sweep).values()) == sum(job.sessions for job in sweep.jobs())
    assert "settings" in vars(sweep)  # by jobs()
    assert "settings" not in vars(figure.sweep("full", "published"))
    assert sum(sessions_by_agent(figure.sweep("full", "published")).values()) > 1e10


def test_the_list_says_what_is_needed(tmp_path, monkeypatch):
    monkeypatch.setenv("RANKGYM_DATA_HOME", str(tmp_path))
    monkeypatch.setattr(listing, "FIGURES", {figure.name: figure for figure in MINE})
    entries = list_figures("published")
    assert [entry.figure for entry in entries] == MINE
    first = entries[0]
    assert first.sessions == {"full": 45_000_000_000, "small": 2_250_000_000, "smoke": 90_000}
    assert "yandex60" in first.data[0]
    assert "rankgym data fetch yandex60" in first.data[0]
    assert all(entry.data == [] for entry in list_figures("calibrated"))


# -- one figure of each paper, in seconds -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory):
    """The folder of a smoke run, and what came of it."""
    out = tmp_path_factory.mktemp("reproduced")
    names = ["bubblerank-figure-1", "toprank-figure-4"]
    return out, papers.reproduce(names, scale="smoke", source="calibrated", out=out, jobs=1, progress=False)


def test_everything_is_written(reproduced):
    out, done = reproduced
    assert sorted(path.name for path in out.iterdir()) == [
        "bubblerank-figure-1-smoke-calibrated",
        "data",
        "toprank-figure-4-smoke-calibrated",
    ]
    for found in done:
        assert sorted(path.name for path in found.folder.iterdir()) == sorted(papers.FILES)
        assert len(found.judgements) == len(found.figure.claims)
        assert not any("{" in one.measured.quantity + one.measured.note for one in found.judgements)
        assert (found.folder / "figure.png").read_bytes().startswith(b"\x89PNG")


def verdicts(holding, unsure, long):
    """Judgements at 100 rounds: so many that hold, that are not sure, and that speak of 1,000 rounds."""
    found = []
    for verdict, needs, number in ((0, 0, holding), (2, 0, unsure), (2, 1000, long)):
        measure = lambda results: pytest.fail("not measured here")  # noqa: E731
        claim = claims.Claim("section 1", "text", "quantity", (measure,), (0.0, 1.0), "", needs, name="name")
        found += [claims.Judgement(claim, None, claims.VERDICTS[verdict], "why")] * number
    return found


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ((1, 0, 0), "this scale decides 1 of 1 claim"),
        ((0, 0, 1), "this scale decides 0 of 1 claim; 1 speaks of more rounds than were played"),
        ((2, 0, 3), "this scale decides 2 of 5 claims; 3 speak of more rounds than were played"),
        (
            (2, 1, 0),
            "this scale decides 2 of 3 claims; the interval of one is too wide, and more queries or runs would "
            "narrow it",
        ),
        (
            (1, 2, 1),
            "this scale decides 1 of 4 claims; 1 speaks of more rounds than were played; the intervals of 2 are too "
            "wide, and more queries or runs would narrow them",
        ),
    ],
)
def test_how_much_is_decided_and_why_not_the_rest(numbers, said):
    assert papers.what_is_decided(verdicts(*numbers), rounds=100) == said


def test_the_tables_say_what_was_played_and_what_that_decides(reproduced):
    _, done = reproduced
    for found in done:
        text = (found.folder / "claims.md").read_text(encoding="utf-8")
        document = json.loads((found.folder / "claims.json").read_text(encoding="utf-8"))
        svg = (found.folder / "figure.svg").read_text(encoding="utf-8")
        assert document["played"] in text
        assert document["decides"] in text
        assert "scale smoke, calibrated data" in document["played"]
        assert "6 rows of 1k rounds" in document["played"]
        assert "speak of more rounds than were played" in document["decides"]
        assert "Scale smoke, calibrated data" in svg  # in the figure's caption
        assert document["counts"] == claims.counts(found.judgements)
        assert [one["name"] for one in document["claims"]] == [claim.name for claim in found.figure.claims]
        assert all(claim.text.replace("|", "\\|") in text for claim in found.figure.claims)
        assert found.figure.setting in text


def test_duels_are_called_duels():
    rounds, rows = np.array([1, 500]), np.arange(3)
    one = Played("mslr", "rucb", "", {}, rounds, rows, rows, rows, {}, np.zeros((0, 3)), np.array([-1, 7, -1]))
    for measures, words in (
        (("regret", "ndcg"), "1.5e3 sessions in all"),
        (("regret", "accuracy"), "1.5e3 duels in all"),
    ):
        played = one._replace(measures={name: np.zeros((2, 3)) for name in measures})
        assert words in papers.what_was_played("smoke", "calibrated", Results([played]))


def test_the_data_are_those_of_the_figure(reproduced):
    _, (first, _) = reproduced
    table = parquet.read_table(first.folder / "data.parquet")
    agents = set(table["agent"].to_pylist())
    assert agents == {"bubblerank", "cascade-kl-ucb", "batchrank", "toprank", "static"}
    assert set(table["environment"].to_pylist()) == {"CM", "DCM", "PBM"}
    assert max(table["round"].to_pylist()) == 1_000


def test_claims_that_need_more_rounds_are_not_decided(reproduced):
    for found in reproduced[1]:
        for judgement in found.judgements:
            if judgement.claim.needs_rounds > 1_000:
                assert judgement.verdict == "cannot be decided at this scale"


def test_what_is_there_is_not_played_again_and_files_are_the_same(reproduced):
    out, (first, _) = reproduced
    played = {path: path.stat().st_mtime_ns for path in (out / "data" / "results").iterdir()}
    before = {name: (first.folder / name).read_bytes() for name in papers.FILES}
    (first.folder / "claims.md").unlink()
    again = papers.reproduce(
        ["bubblerank-figure-1", "bubblerank-figure-2"], scale="smoke", source="calibrated", out=out, progress=False
    )
    assert {path: path.stat().st_mtime_ns for path in (out / "data" / "results").iterdir()} == played
    assert {name: (first.folder / name).read_bytes() for name in papers.FILES} == before
    assert again[1].folder.name == "bubblerank-figure-2-smoke-calibrated"


def test_the_pace_is_that_of_the_log(reproduced, tmp_path):
    _, (first, _) = reproduced
    assert first.pace.sessions == 90_000
    assert 0 < first.pace.played <= 90_000
    sweep = first.figure.sweep("smoke", "calibrated")
    lines = [
        {"key": job.key, "seconds": 2.0, "sessions": job.sessions, "played": job.sessions // 2} for job in sweep.jobs()
    ]
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"key": "half a li', encoding="utf-8")
    pace = measure_pace(first.figure, sweep, tmp_path, "calibrated")
    assert (pace.sessions, pace.played, pace.seconds) == (90_000, 45_000, 30.0)
    assert pace.full == 3 * 5 * 100 * 10 * 5_000_000
    assert pace.full_seconds == pytest.approx(30.0 * pace.full / 90_000)
    assert pace.rate == 3_000
    log.unlink()
    assert measure_pace(first.figure, sweep, tmp_path, "calibrated") is None


# -- what goes wrong --------------------------------------------------------------------------------------------------


def test_missing_published_data_say_how_to_get_them(tmp_path, monkeypatch):
    monkeypatch.setenv("RANKGYM_DATA_HOME", str(tmp_path / "none"))
    with pytest.raises(MissingData, match=r"rankgym data fetch yandex60.*calibrated"):
        papers.reproduce("toprank", scale="smoke", out=tmp_path / "out", progress=False)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("library", papers.LIBRARIES)
def test_missing_libraries_say_which_extra_has_them(library, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(RuntimeError, match=rf'{library}.*pip install "rankgym\[experiments\]"'):
        papers.reproduce("toprank", scale="smoke", source="calibrated", out=tmp_path / "out", progress=False)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_an_interruption_or_a_failure_says_that_the_same_command_resumes(error, tmp_path, monkeypatch):
    def stopped(sweep, folder, *, resume, **options):  # there is no sweep.json for `rankgym sweep resume`
        raise error(f"results are kept in {folder}; to resume: {resume}")

    monkeypatch.setattr(papers, "run_sweep", stopped)
    with pytest.raises(error, match=r"data; to resume: the same command$"):
        papers.reproduce("toprank", scale="smoke", source="calibrated", out=tmp_path, progress=False)


def test_a_folder_that_cannot_be_written_is_refused_at_once(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="cannot be written"):
        papers.reproduce("toprank", scale="smoke", source="calibrated", out=tmp_path / "file", progress=False)

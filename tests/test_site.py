"""The site's pages are made from the code, and say what readers look for; the full build is a step of CI."""

import importlib
import re
import runpy
import shlex
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from site_pages import agent_pages, api_pages, charts, concept_pictures, environment_pages, model_facts, task_pages
from site_pages.docstring_rst import as_rst, shorten_signature
from site_pages.docstrings import as_markdown, entries_of, in_cell, listed_arguments, sections_of, split_docstring
from site_pages.drawing import Drawing
from site_pages.files import write_files
from site_pages.html_access import accessible

from rankgym.experiments.plan.agents import shipped_models
from rankgym.experiments.scoring.suite import SUITES
from rankgym.models import MODELS
from rankgym.registry import ENVS
from rankgym_agents import AGENTS

DOCS = Path(__file__).resolve().parents[1] / "docs"


def test_every_id_agent_and_task_is_listed():
    listed = {name: re.findall(r"^\| \[`?([\w-]+)`?\]", page, flags=re.M) for name, page in (
        ("environments", environment_pages.index_page()),
        ("agents", agent_pages.index_page((DOCS / "models" / "index.md").read_text("utf-8"))),
        ("tasks", task_pages.index_page()),
    )}  # fmt: skip
    assert set(listed["environments"]) == {name.removeprefix("rankgym/") for name in ENVS}
    assert listed["agents"][: len(AGENTS)] == list(AGENTS)
    assert sorted(listed["agents"][len(AGENTS) :]) == shipped_models()
    assert listed["tasks"] == list(SUITES[charts.SUITE].tasks)


def test_an_environments_page_has_every_argument_with_its_text(tmp_path):
    pytest.importorskip("PIL")
    letor = tmp_path / "sample.txt"
    letor.write_text(environment_pages.LETOR)
    for name in ("rankgym/PBM-Yandex-v0", "rankgym/CM-Yandex-Breakpoint-v0", "rankgym/Dueling-LETOR-v0"):
        with environment_pages.one_env(name, letor) as env:
            page = environment_pages.page(name, env, drawn=False)
        rows = dict(re.findall(r"^\| `(\w+)` \| `[^|]*` \| (.*) \|$", page, flags=re.M))
        assert rows["horizon"].startswith("sessions of an episode")
        assert all(rows.values()), [key for key, text in rows.items() if not text]
    assert "There is no record" in page  # no task plays a LETOR file


def test_every_agent_says_what_it_assumes():
    assumed = agent_pages.assumptions((DOCS / "agents.md").read_text(encoding="utf-8"))
    assert set(assumed) == set(AGENTS)
    page = agent_pages.page("toprank", assumed, {"toprank": [("PBM", "3.5")]}, recorded=True)
    assert "Assumption 3" in page
    assert "{index} ! toprank assumptions" in page  # else ten pages come first in the search
    assert "| `delta` | " in page
    assert "3.5 (PBM)" in page
    assert "../tasks/learns-fast.md" in page


def test_every_agent_shows_its_example_and_the_text_of_its_knobs():
    for name in AGENTS:
        page = agent_pages.page(name, {}, {}, recorded=False)
        assert not re.search(r"^\| `\w+` \| `[^|]*` \|  \|$", page, flags=re.M), name
        assert f"## Example\n\n```pycon\n>>> from rankgym_agents import {AGENTS[name].__name__}\n" in page


def test_the_search_knows_the_horizon():
    assert "{index} ! horizon," in environment_pages.index_page()


def test_a_tasks_page_links_to_its_environment():
    page = task_pages.page("few-arms", charts.suite().tasks["few-arms"])
    assert "(../environments/Dueling-Arxiv-v0.md)" in page
    assert "| 1 | [`winner-stays`](../agents/winner-stays.md) |" in page
    assert "| -0.0 |" not in page
    assert "{}" not in page


INTERNAL = ("rankgym.pictures.", "rankgym.submissions.", "rankgym.wrappers.actions.BASE_COLUMN")  # no user calls them


def test_every_public_name_has_an_entry():
    found = {}
    for folder in ("rankgym", "agents/rankgym_agents"):
        for path in (DOCS.parent / folder).rglob("*.py"):
            if "\n__all__ = " in path.read_text("utf-8"):
                parts = path.relative_to(DOCS.parent / Path(folder).parent).with_suffix("").parts
                module = importlib.import_module(".".join(parts).removesuffix(".__init__"))
                found |= {f"{module.__name__}.{name}": getattr(module, name) for name in module.__all__}
    lacking = {full for full, one in found.items() if api_pages.home_of(full.rpartition(".")[2], one) is None}
    assert {full for full in lacking if not full.startswith(INTERNAL)} == set()


@pytest.mark.parametrize("name", ["adaptive-index", *shipped_models()])
def test_a_learned_agent_has_a_model_card(name):
    card = (DOCS / "models" / f"{name}.md").read_text("utf-8")
    heads = re.findall("^## (.+)$", card, flags=re.M)
    assert {"What it is for", "Where it wins and loses", "Who saw which queries", "What it must not be used for"} < {
        *heads
    }
    assert f"```{{include}} ../facts/{name}.md\n" in card
    assert f"]({name}.md)" in (DOCS / "models" / "index.md").read_text("utf-8")


def test_the_facts_of_a_model_card_are_those_of_the_file():
    model_card = pytest.importorskip("rankgym.sb3", reason="needs the extra sb3").model_card
    facts = model_facts.of_policy("ppo-breakpoint")
    training = model_card("ppo-breakpoint")["training"]
    command = facts.partition("```sh\n")[2].removesuffix("\n```\n")
    assert shlex.split(command.replace("\\\n", "")) == shlex.split(training["command"])
    for fact in (
        "| seed | 0 |",
        f"{training['steps']:,}",
        f"weights     {model_card('ppo-breakpoint')['weights']}",
        "3 of 10 items",
    ):
        assert fact in facts


def test_a_public_name_is_documented_at_home_and_indexed_once():
    import rankgym
    import rankgym.wrappers

    assert ":no-index:" not in api_pages.directive("rankgym", "RecordRegret", rankgym.RecordRegret)
    assert ":no-index:" in api_pages.directive("rankgym.wrappers", "RecordRegret", rankgym.wrappers.RecordRegret)
    assert api_pages.directive("rankgym", "simulate", rankgym.simulate).startswith(".. autofunction:: rankgym.simulate")
    assert "Keys: ``CM``, " in api_pages.directive("rankgym.models", "MODELS", MODELS)


def test_pictures_of_concepts_are_right():
    attraction = np.array([concept_pictures.ATTRACTION])
    displayed, found = np.arange(5)[None], np.zeros((1, 5))
    MODELS["CM"].examine(attraction, displayed, found)
    assert found[0] == pytest.approx(concept_pictures.examination_of("CM"))
    MODELS["DCM"].examine(attraction, np.full((1, 5), concept_pictures.TERMINATION), displayed, found)
    assert found[0] == pytest.approx(concept_pictures.examination_of("DCM"))
    pictures = concept_pictures.make(DOCS)
    shown = {
        name
        for page in (DOCS / "concepts").glob("*.md")
        for name in re.findall(r"pictures/concept-[\w-]+\.svg", page.read_text("utf-8"))
    }
    assert shown == set(pictures)
    assert all(len(picture) < 20_000 for picture in pictures.values())


def test_docstrings_become_markdown():
    assert as_markdown("a ``b`` < c `d`") == "a `b` &lt; c `d`"
    assert as_markdown("    >>> 1 < 2\n    True\n\nthen") == "```pycon\n>>> 1 < 2\nTrue\n```\n\nthen"
    text, sections = split_docstring(
        "Text.\n\nArgs:\n    a: one\n        more.\n    d, **b: two.\n\nExamples:\n    >>> 1"
    )
    assert (text, sections["Examples"]) == ("Text.", ">>> 1")
    assert entries_of(sections["Args"]) == {"a": "one more.", "d": "two.", "b": "two."}
    found = sections_of("## One\n## Two\ntext\n")
    assert found == {"One": "text", "Two": "text"}
    assert listed_arguments("* `a`, `b`: both\n  lines.\n* `c`: x\n\nnot c") == {
        "a": "both\n  lines.",
        "b": "both\n  lines.",
        "c": "x",
    }
    assert in_cell("one\n  line: a | b\n    * x\n    * y") == r"one line: a \| b<br>x<br>y"


def test_docstrings_become_restructured_text():
    assert as_rst("|V(R)| of `a`s and rest_") == r"\|V(R)\| of ``a``\ s and rest\_"
    assert as_rst("text\n* one\n* two") == "text\n\n* one\n* two"
    assert ".. rubric:: Head" in as_rst("## Head")
    assert "   :header-rows: 1" in as_rst("| a | b |\n|---|---|\n| `1` | 2 |")
    assert as_rst(">>> f(*args_)\n|x|") == ">>> f(*args_)\n|x|"


def test_signatures_name_arrays_as_the_code_does():
    long = "(rows: ~numpy.ndarray[tuple[~typing.Any, ...], ~numpy.dtype[~numpy.int64]])"
    assert shorten_signature(None, "", "", None, None, long, None) == ("(rows: NDArray[int64])", None)


def test_pages_are_mended_for_keyboards_screen_readers_and_narrow_screens():
    assert accessible("<pre>x</pre>") == '<pre tabindex="0">x</pre>'
    assert accessible('<div class="table-wrapper docutils">') == '<div class="table-wrapper docutils" tabindex="0">'
    assert accessible('<p class="caption" role="heading">') == '<p class="caption" role="heading" aria-level="2">'
    assert accessible('<h1>a.b_c<a href="">') == '<h1>a.<wbr>b_<wbr>c<a href="">'
    assert accessible('<h2>TwoWords<a href="">') == '<h2>Two<wbr>Words<a href="">'
    assert accessible('<h2>Two words.<a href="">') == '<h2>Two words.<a href="">'
    assert accessible('<img alt="x" src="a.svg" />') == '<a href="a.svg"><img alt="x" src="a.svg" /></a>'


def test_the_theme_has_the_landmarks_that_the_template_names():
    theme = Path(pytest.importorskip("furo").__file__).parent / "theme" / "furo" / "page.html"
    changes = re.findall(r"replace\('(.*?)', '.*?'\)", (DOCS / "_templates" / "page.html").read_text("utf-8"))
    assert len(changes) == 2
    assert all(theme.read_text("utf-8").count(old) == 1 for old in changes)


def test_pictures_escape_words_and_have_a_title():
    drawing = Drawing(10, 10, "a < b")
    drawing.word(0, 0, "c & d")
    assert "<title>a &lt; b</title>" in drawing.svg()
    assert "c &amp; d" in drawing.svg()


def test_unchanged_pages_keep_their_time_and_stale_ones_go(tmp_path):
    assert write_files(tmp_path, {"agents/a.md": "1", "tasks/b.md": "2"}) == ["agents/a.md", "tasks/b.md"]
    assert write_files(tmp_path, {"agents/a.md": "1"}) == []
    assert [path.name for path in tmp_path.rglob("*.md")] == ["a.md"]
    with pytest.raises(ValueError, match=r"name = 'index.md' is outside .* allowed: environments, agents"):
        write_files(tmp_path, {"index.md": ""})


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("index.md", "`horizon=`"),
        ("index.md", "(experiments.md#resuming)"),
        ("index.md", "(citing.md)"),
        ("index.md", "(papers.md#the-papers)"),
        ("experiments.md", "### Resuming"),
        ("papers.md", "[2, violations](claims/bubblerank-figure-2.md)"),
        ("concepts/step.md", "**`horizon=` is the argument that changes its"),
    ],
)
def test_newcomers_questions_are_answered_near_the_start_page(page, words):
    assert words in (DOCS / page).read_text(encoding="utf-8")


def test_the_start_pages_python_runs():
    readme = (DOCS.parent / "README.md").read_text("utf-8")  # whose blocks another test runs
    for name in ("index.md", "start.md", "concepts/regret.md", "concepts/duels.md"):
        for block in re.findall(r"```python\n(.*?)```", (DOCS / name).read_text("utf-8"), flags=re.S):
            if block in readme:
                continue
            exec(compile(re.sub(r"\b(\d{1,3}(?:_\d{3})+)\b", "200", block), name, "exec"), {})


def test_the_settings_name_pages_and_styles_that_exist():
    settings = runpy.run_path(str(DOCS / "conf.py"))
    assert all((DOCS / "_static" / name).is_file() for name in settings["html_css_files"])
    assert settings["html_theme"] == "furo"


def test_every_page_is_in_the_sidebar():
    """Sphinx warns of a page that no toctree names: add a new one to docs/index.md."""
    trees = "\n".join(
        f"{page.parent.relative_to(DOCS).as_posix()}/{line.rpartition('<')[2].rstrip('>')}".removeprefix("./") + "\n"
        for page in (
            *(DOCS / name for name in ("index.md", "papers.md")),
            *(DOCS / name / "index.md" for name in ("concepts", "models")),
        )
        for tree in re.findall(r"^```\{toctree\}\n(.*?)^```", page.read_text("utf-8"), flags=re.M | re.S)
        for line in tree.splitlines()
    ).split()
    pages = {page.relative_to(DOCS).with_suffix("").as_posix() for page in DOCS.rglob("*.md")}
    made = {page for page in pages if page.startswith(("environments/", "agents/", "tasks/", "api/", "facts/"))}
    assert pages - made - {"index"} <= set(trees)

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
from site_pages.docstring_rst import as_rst, each_attribute, shorten_signature
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
    pytest.importorskip("rankgym.sb3", reason="needs the extra sb3")  # whose policies' cards are read
    listed = {name: re.findall(r"^\| \[`?([\w-]+)`?\]", page, flags=re.M) for name, page in (
        ("environments", environment_pages.index_page()),
        ("agents", agent_pages.index_page({})),
        ("tasks", task_pages.index_page()),
    )}  # fmt: skip
    assert set(listed["environments"]) == {name.removeprefix("rankgym/") for name in ENVS}
    assert listed["agents"] == [*AGENTS, *shipped_models()]
    assert listed["tasks"] == list(SUITES[charts.SUITE].tasks)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A page for each class of environments by id, without its picture."""
    pytest.importorskip("PIL")
    letor, made = tmp_path_factory.mktemp("letor") / "sample.txt", {}
    letor.write_text(environment_pages.LETOR)
    for name in (
        *("PBM-Yandex-v0", "CM-Yandex-Breakpoint-v0", "PBM-Yandex-Rerank-v0"),
        *("Dueling-MSLR-v0", "Dueling-LETOR-v0", "Dueling-PBM-Yandex-v0"),
    ):
        with environment_pages.one_env(f"rankgym/{name}", letor) as env:
            made[name] = environment_pages.page(f"rankgym/{name}", env, drawn=False)
    return made


def arguments_on(page):
    """The default and the text of each argument in a page's table."""
    return {name: texts for name, *texts in re.findall(r"^\| `(\w+)` \| (.*?) \| (.*) \|$", page, flags=re.M)}


def test_an_environments_page_has_every_argument_with_its_text(pages):
    for page in pages.values():
        rows = arguments_on(page)
        assert rows["horizon"][0] == "`1_000_000`"
        assert rows["horizon"][1].startswith("sessions of an episode")
        assert all(text for _, text in rows.values()), rows
        texts = [text for _, text in rows.values()]
        assert len(set(texts)) == len(texts)  # each says what its own argument does
        assert "Default:" not in "".join(texts)
    assert "There is no record" in pages["Dueling-LETOR-v0"]  # no task plays a LETOR file


def test_defaults_are_those_of_the_id(pages):
    found = {name: arguments_on(page) for name, page in pages.items()}
    assert found["PBM-Yandex-v0"]["num_positions"][0] == "5, or as many as imported fits have"
    assert found["CM-Yandex-Breakpoint-v0"]["num_positions"][0] == "`3`"
    assert found["CM-Yandex-Breakpoint-v0"]["jumps"][0] == "3"
    assert found["Dueling-MSLR-v0"]["keep_winner"][0] == "`True`"


def test_what_is_as_elsewhere_stands_on_the_page_or_has_a_link(pages):
    page = pages["CM-Yandex-Breakpoint-v0"]
    assert "## Action Space\n\n`Permutation(num_items, num_positions)`: the displayed list" in page
    assert "As in [`RankingVectorEnv`](PBM-Yandex-v0.md#information), and `epoch`" in page
    assert "[`DuelingVectorEnv`](Dueling-MSLR-v0.md#arguments)." in pages["Dueling-LETOR-v0"]
    assert "describes them" not in "".join(pages.values())


def test_an_example_says_which_environment_it_plays(pages):
    for name, page in pages.items():
        example = page.partition("\n## Examples\n")[2].partition("\n## ")[0]
        assert (f"rankgym/{name}" in example) != ("\nPlayed in [`" in example)
        assert "env.step(env.action_space.sample())" in page  # of its own id, too


def test_code_blocks_end_where_they_should(pages):
    """An open block would show all that follows it as it is, headings, tables and links."""
    agents = {name: agent_pages.page(name, {}, {}, recorded=name in charts.records()) for name in AGENTS}
    tasks = {name: task_pages.page(name, task) for name, task in charts.suite().tasks.items()}
    for page in (*pages.values(), *agents.values(), *tasks.values(), *map(api_pages.page, api_pages.PACKAGES)):
        fences = [line.strip() for line in page.splitlines() if line.lstrip().startswith("```")]
        assert all(len(fence) > 3 for fence in fences[::2]), fences
        assert {*fences[1::2]} <= {"```"}
        assert len(fences) % 2 == 0


def test_every_agent_says_what_it_assumes():
    assumed = agent_pages.assumptions((DOCS / "agents.md").read_text(encoding="utf-8"))
    assert set(assumed) == set(AGENTS)
    page = agent_pages.page("toprank", assumed, {"toprank": [("PBM", "3.5")]}, recorded=True)
    assert "Assumption 3" in page
    assert "{index} ! toprank assumptions" in page  # else ten pages come first in the search
    assert "| `delta` | " in page
    assert "3.5 (PBM)" in page
    assert "../tasks/learns-fast.md" in page
    assert page.count("TopRank: a practical algorithm") == 1  # the title of its paper


def test_every_agent_shows_its_example_and_the_text_of_its_knobs():
    for name in AGENTS:
        page = agent_pages.page(name, {}, {}, recorded=False)
        assert not re.search(r"^\| `\w+` \| [^|]* \|  \|$", page, flags=re.M), name
        assert f"## Example\n\n```pycon\n>>> from rankgym_agents import {AGENTS[name].__name__}\n" in page


def test_the_search_knows_the_horizon():
    assert "{index} ! horizon," in environment_pages.index_page()


def test_a_tasks_page_links_to_its_environment():
    page = task_pages.page("few-arms", charts.suite().tasks["few-arms"])
    assert "(../environments/Dueling-Arxiv-v0.md)" in page
    assert "| 1 | [`winner-stays`](../agents/winner-stays.md) |" in page
    assert "| -0.0 |" not in page
    assert "{}" not in page


def test_equal_losses_share_a_place():
    page = task_pages.page("safety", charts.suite().tasks["safety"])
    assert re.findall(r"^\| (\d) \| .* \| 0 ± 0 \|$", page, flags=re.M) == ["1"] * 3
    assert "| 4 | " in page
    assert "| 1 of 24 | 0 ± 0 violations |" in agent_pages.page("static", {}, {}, recorded=True)


def test_each_declined_task_has_its_own_reason():
    page = agent_pages.page("ppo-safe", {}, {}, recorded=True)
    assert "It does not play `known-breakpoints`, `unknown-breakpoints`: num_positions = 3, but" in page
    assert "`fifty-items`: num_positions = 5, but" in page


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
    assert ".. code-block:: pycon" in as_rst("```python\n>>> 1\n1\n\n```")
    text = "Attributes:\n    a, b: both\n        lines.\n\nSee a, b: c."
    assert each_attribute(text) == text.replace("a, b: both", "a: both\n        lines.\n    b: both")


def test_signatures_name_arrays_as_the_code_does():
    long = "(rows: ~numpy.ndarray[tuple[~typing.Any, ...], ~numpy.dtype[~numpy.int64]])"
    assert shorten_signature(None, "", "", None, None, long, None) == ("(rows: NDArray[int64])", None)
    union = (
        "~numpy._typing._array_like._Buffer | ~numpy._typing._array_like._SupportsArray[~numpy.dtype[~typing.Any]] | "
        "~numpy._typing._nested_sequence._NestedSequence[~numpy._typing._array_like._SupportsArray["
        "~numpy.dtype[~typing.Any]]] | complex | bytes | str | "
        "~numpy._typing._nested_sequence._NestedSequence[complex | bytes | str]"
    )
    long = f"(a: {union} | None, b: {union} | int)"
    assert shorten_signature(None, "", "", None, None, long, None) == (
        "(a: ArrayLike | None, b: ArrayLike | int)",
        None,
    )


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

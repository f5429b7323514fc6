"""The tutorials run from start to end, the numbers in their texts are true, and their notebooks are up to date."""

import json
import re
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "tutorials"
FIRST, MODELS, LEARNING = "01_first_steps", "02_click_models", "03_learning_against_bandits"
NAMES = (FIRST, MODELS, LEARNING)
LARGEST = 600_000  # bytes of a notebook, so that code hosts show it

FACTS = {  # by tutorial: words of the text, and the output that makes them true
    FIRST: [
        ("five different items out of ten", r"Permutation\(10, 5\)"),
        ("Nobody has clicked yet", r"observation:  \[0 0 0 0 0\]"),
        ("`terminated` and `truncated` are both `False`", "terminated: False   truncated: False"),
        ("A list that is not a ranking is refused", "repeats item 3; a ranking of 5 positions needs 5 different items"),
        ("every number is the same", r"seed 3 again: True\nseed 4:       False"),
        (
            "each of them clicks the same",
            r"position 2: 1,000 of 1,000 the same\nposition 3: +[1-9]\d\d of",
        ),
        ("we may subtract row by row", "ahead in 100 of 100 rows"),
    ],
    MODELS: [
        ("every order is best", r"CM .*\b120\n(?s:.*)DBM .*\b120\n"),
        ("sorted by attraction is best, and nothing else", r"PBM +1\.545  1\.545  0 1 2 3 4 +1\n"),
        ("Here the sorted list is best", r"UBM +1\.742  1\.742  0 1 2 3 4 "),
        ("That is 0.9 + 0.1 · 0.5 = 0.95", r"\[0, 1\]: 0\.95 clicks"),
        ("That is 0.5 + 0.9 = 1.40", r"\[1, 0\]: 1\.40 clicks, regret 0\.00"),
        ("on other queries, it often is not", r"UBM +1\.150 +0\.019 +[5-9]\d\n"),
        ("never click more than once: B", r"(?m)^B .*0\.00\nB .*0\.00$"),
        ("At position 2 of A, 0.41 / 0.5 and 0.24 / 0.3", r"A  01234  0\.70 0\.41 .*\nA  43210  0\.21 0\.24 "),
        ("of C, 0.30 / 0.5 is 0.6 and 0.26 / 0.3", r"C  01234  0\.70 0\.30 .*\nC  43210  0\.21 0\.26 "),
    ],
    LEARNING: [("we draw 100 new ones", "100 new queries")],
}
SMALL = {"STEPS": 2_048, "ROUNDS": 100}


@pytest.fixture(scope="module")
def maker():
    for needed in ("jupytext", "nbclient", "ipykernel", "matplotlib"):
        pytest.importorskip(needed)
    return SimpleNamespace(**runpy.run_path(str(FOLDER / "make_notebooks.py"), run_name="maker"))


@pytest.fixture(scope="module")
def executed(maker):
    """Return a function that executes a tutorial, once, in a temporary folder; the slow one with few rounds."""
    done = {}

    def execute(name):
        if name not in done:
            if name == LEARNING:
                pytest.importorskip("stable_baselines3")
            small = SMALL if name == LEARNING else {}
            done[name] = maker.execute(maker.read(FOLDER / f"{name}.py", **small))
        return done[name]

    return execute


def committed(name):
    return json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))


def source_of(cell):
    return "".join(cell["source"])


def texts(notebook):
    return [source_of(cell) for cell in notebook["cells"] if cell["cell_type"] == "markdown"]


def printed(notebook):
    """Return what the code cells print, one text for each cell."""
    cells = (cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    return ["".join("".join(out.get("text", "")) for out in cell["outputs"]) for cell in cells]


def pictures(notebook):
    outputs = [out for cell in notebook["cells"] for out in cell.get("outputs", [])]
    return [out["data"]["image/png"] for out in outputs if "image/png" in out.get("data", {})]


@pytest.mark.parametrize("name", NAMES)
def test_a_tutorial_runs_and_shows_what_its_text_says(name, executed):
    notebook = executed(name)
    text, output = " ".join(" ".join(texts(notebook)).split()), "\n".join(printed(notebook))
    for words, proof in FACTS[name]:
        assert words in text, f"no longer in the text: {words}"
        assert re.search(proof, output), f"{words!r} needs the output {proof!r}"


@pytest.mark.parametrize("name", [FIRST, MODELS])
def test_the_notebook_has_the_outputs_of_its_cells(name, executed):
    assert printed(committed(name)) == printed(executed(name))


@pytest.mark.parametrize("name", NAMES)
def test_the_notebook_has_the_cells_of_its_script(name, maker):
    made, kept = maker.read(FOLDER / f"{name}.py"), committed(name)
    assert [source_of(cell) for cell in kept["cells"]] == [cell.source for cell in made.cells], (
        "run python examples/tutorials/make_notebooks.py"
    )
    assert [cell["id"] for cell in kept["cells"]] == [f"cell-{number:02d}" for number in range(len(made.cells))]


@pytest.mark.parametrize("name", NAMES)
def test_the_notebook_is_small_and_has_nothing_that_changes_by_itself(name):
    notebook = committed(name)
    assert (FOLDER / f"{name}.ipynb").stat().st_size < LARGEST
    assert pictures(notebook)
    for cell in notebook["cells"]:
        assert "execution" not in cell["metadata"]
        assert {out["output_type"] for out in cell.get("outputs", [])} <= {"stream", "display_data"}, source_of(cell)
        assert all(out.get("name", "stdout") == "stdout" for out in cell.get("outputs", [])), source_of(cell)


@pytest.mark.parametrize("name", NAMES)
def test_a_decimal_number_in_the_text_is_in_an_output_or_in_the_code(name):
    notebook = committed(name)
    code = [source_of(cell) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    known = set(re.findall(r"\d+\.\d+", "\n".join(code + printed(notebook))))
    plain = re.sub(r"`[^`]*`", "", "\n".join(texts(notebook)))
    in_text = set(re.findall(r"\d+\.\d+", plain))
    assert {number for number in in_text if float(number) not in map(float, known)} <= {"1.96"}


def test_a_simulation_is_as_close_to_the_formula_as_chance_allows(executed):
    # By Hoeffding, one of 5 click rates in 7 models is off by .031 with probability 70 exp(-20,000 * .031^2) = 3.2e-7.
    off = re.findall(r"simulation: at most (\d\.\d+) from the formula", "\n".join(printed(executed(MODELS))))
    assert len(off) == 7
    assert all(float(distance) < 0.031 for distance in off)


def differences(table):
    """Return {policy: {bandit: [(mean, half width) for each time]}} of the printed differences."""
    found, policy, bandit = {}, "", ""
    for line in table.splitlines():
        if line.endswith(" minus ..."):
            policy = line.removesuffix(" minus ...")
            found[policy] = {}
        elif "±" not in line:
            bandit = line.strip()
        elif policy:
            pairs = re.findall(r"(\S+) ± (\S+)", line.replace(",", ""))
            found[policy][bandit] = [(float(mean), float(width)) for mean, width in pairs]
    return found


def test_the_text_says_where_the_policies_win_and_where_they_do_not():
    outputs = printed(committed(LEARNING))
    similar, uniform = (differences(out) for out in outputs if " minus ..." in out)
    assert set(similar) == set(uniform) == {"ppo-pbm", "trained:seed=0", "trained:seed=1"}
    rival = "thompson-cascade:feedback=all"
    for bandits in similar.values():
        assert all(times[1][0] + times[1][1] < 0 for times in bandits.values())  # after 1,000 all win
        assert all((sum(times[2]) < 0) is (name != rival) for name, times in bandits.items())
        assert abs(bandits[rival][2][0]) < bandits[rival][2][1]  # after 10,000 the interval contains 0
    assert sum(bandits[rival][2][0] > 0 for bandits in similar.values()) == 2  # two have the larger mean
    for bandit in (rival, "pbm-ucb"):
        assert abs(uniform["ppo-pbm"][bandit][1][0]) < uniform["ppo-pbm"][bandit][1][1]
    assert uniform["trained:seed=0"][rival][1][0] > uniform["trained:seed=0"][rival][1][1]  # behind
    assert all(sum(times[1]) < 0 for times in uniform["trained:seed=1"].values())


def test_the_text_says_where_the_regret_of_the_policies_comes_from():
    output = next(out for out in printed(committed(LEARNING)) if "ten worst queries" in out)
    found = re.findall(r"(\S+)\n  ten worst queries: (\d+)% of the regret,\n  (\d+)% of theirs from", output)
    shares = {name: (int(share), int(late)) for name, share, late in found}
    share_of_bandit, late_of_bandit = shares.pop("thompson-cascade:feedback=all")
    assert set(shares) == {"ppo-pbm", "trained:seed=0", "trained:seed=1"}
    assert all(share > share_of_bandit for share, _ in shares.values())
    assert all(late > late_of_bandit for _, late in shares.values())


def test_parameters_that_a_tutorial_does_not_have_are_refused(maker):
    with pytest.raises(ValueError, match=r"ROUND is not a parameter of 01_first_steps\.py"):
        maker.read(FOLDER / "01_first_steps.py", ROUND=5)


def test_a_notebook_is_the_same_when_it_is_made_twice(maker, tmp_path):
    script = tmp_path / "small.py"
    script.write_text('# %%\nprint("one")\n# %%\nimport warnings\nwarnings.warn("no")\nprint("two")\n')
    for target in ("first.ipynb", "second.ipynb"):
        maker.write(maker.execute(maker.read(script)), tmp_path / target)
    assert (tmp_path / "first.ipynb").read_bytes() == (tmp_path / "second.ipynb").read_bytes()
    assert printed(json.loads((tmp_path / "first.ipynb").read_text())) == ["one\n", "two\n"]

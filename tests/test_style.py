"""An agent looks the same in all figures, no two curves look alike, nor do they in grey; no figure needs a display."""

import itertools
import os
import subprocess
import sys

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.text import Text

from rankgym import style
from rankgym.experiments.plan.agents import shipped_models
from rankgym.experiments.show.figures import Curve, Panel, panels
from rankgym.style import COLOURS, LOOKS, OWN_COLOURS, agent_name, looks, stands_back
from rankgym_agents import AGENTS, DUELERS, RANKERS


def grey(color):
    return np.dot(to_rgb(color), [0.299, 0.587, 0.114])


def test_every_agent_and_shipped_model_has_a_look():
    assert set(LOOKS) == {*AGENTS, *shipped_models(), "least squares"}


@pytest.mark.parametrize("names", [[*RANKERS, *shipped_models()], list(DUELERS)])
def test_no_two_agents_that_meet_look_alike_in_grey(names):
    """Baselines have no markers, and all others have dashes or markers of their own."""
    assert len({(repr(LOOKS[name].dashes), LOOKS[name].marker) for name in names}) == len(names)
    for one, other in itertools.pairwise(names):
        shades = abs(grey(LOOKS[one].color) - grey(LOOKS[other].color))
        assert LOOKS[one].dashes != LOOKS[other].dashes or shades > 0.1 or LOOKS[one].marker != LOOKS[other].marker
    assert [name for name in names if stands_back(name)] == [name for name in names if not LOOKS[name].marker]


def test_an_agent_looks_the_same_whatever_is_beside_it():
    for beside in ([], ["static", "mine:Mine"], ["rcs", "bubblerank"]):
        assert looks([*beside, "toprank"])["toprank"] == LOOKS["toprank"]
    assert looks(["toprank:delta=0.1"])["toprank:delta=0.1"] == LOOKS["toprank"]


def test_an_agent_with_other_knobs_shares_its_colour():
    labels = ["toprank:delta=1e-6", "toprank", *(f"toprank:delta=1e-{n}" for n in range(7, 10))]
    found = looks(labels)
    assert list(found) == labels
    assert found["toprank"] == LOOKS["toprank"]
    assert {look.color for look in found.values()} == {LOOKS["toprank"].color}
    assert len({repr(look.dashes) for look in found.values()}) == len(labels)
    assert len({look.marker for look in found.values()}) == len(labels)


@pytest.mark.parametrize(
    "labels",
    [
        ["static", "bubblerank", "toprank", "batchrank", "cascade-kl-ucb"],
        ["mergerucb", "rucb", "rcs", "btm", "interleaved-filter", "savage", "sparring", "multisbm", "doubler"],
        [f"0.5^{i}" for i in range(1, 6)],
        [f"agent {n}" for n in range(14)],
        [*RANKERS, "Mine", "mine:Other"],
        [*DUELERS, "Mine", "mine:Other"],
    ],
)
def test_no_two_curves_look_alike_even_without_colours(labels):
    found = looks(labels)
    learners = [label for label in labels if not stands_back(label)]
    assert list(found) == labels
    assert len({found[label].color for label in learners}) == len(learners)
    assert len({(repr(look.dashes), look.marker) for look in found.values()}) == len(labels)


def test_own_agents_have_colours_of_their_own():
    assert not {look.color for look in LOOKS.values()} & set(OWN_COLOURS)
    labels = ["Mine", "random:Mine", "toprank", "results/best.zip"]
    assert [agent_name(label) for label in labels] == [None, None, "toprank", None]
    own = [look.color for label, look in looks(labels).items() if label != "toprank"]
    assert own == list(OWN_COLOURS[:3])


def test_colours_can_be_told_apart():
    colours = np.array([to_rgb(color) for color in COLOURS])
    apart = np.abs(colours[:, None] - colours[None]).max(axis=2) + np.eye(len(COLOURS))
    assert apart.min() > 0.2


@pytest.mark.parametrize("words", ["price $5 or $10", r"cost $\frac$"])
def test_a_dollar_sign_is_a_dollar_sign(tmp_path, words):
    x = np.array([1.0, 2.0])
    drawn = panels([Panel(words, [Curve(words, x, x)], xlabel=words, ylabel=words)], caption=words, order=[words])
    texts = [text for text in drawn.findobj(Text) if text.get_text() == words]
    assert len(texts) == 5  # title, two axes, legend, caption
    assert not any(text.get_parse_math() for text in texts)
    style.write(drawn, tmp_path / "figure.svg", "svg")  # matplotlib fails at wrong mathematics here


def test_figures_need_no_display():
    """A backend for windows is configured, there is no display, and a figure is drawn without either."""
    code = (
        "import io, sys; import numpy as np; from rankgym.experiments.show.figures import Curve, Panel, panels, write\n"
        "write(panels([Panel('', [Curve('a', np.arange(3), np.ones(3))])]), io.BytesIO(), 'png')\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    environment = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    environment |= {"MPLBACKEND": "tkagg", "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, timeout=120)

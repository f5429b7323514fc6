"""What tests of several rooms share: the published queries, the command line, figures. Hypothesis asserts no time."""

import gc
import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings
from typer.testing import CliRunner

from rankgym import data
from rankgym.cli import app

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # windows that no display is needed for
os.environ.setdefault("OMP_NUM_THREADS", "1")  # torch's threads would wait for those of other tests' processes
# The first example may have to compile a kernel; `--hypothesis-profile default` tries five times as many examples.
settings.register_profile("rankgym", deadline=None, max_examples=20)
settings.load_profile("rankgym")
gc.set_threshold(100_000, 20, 20)  # garbage collections take a sixth of the time else


def pytest_collection_finish():
    """Leave what was collected out of garbage collections."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give all tests of a file to one process, with its agent's examples: two would compile its kernels at a time."""
    from xdist.scheduler import LoadFileScheduling

    class WithExamples(LoadFileScheduling):
        def _split_scope(self, nodeid):
            return super()._split_scope(nodeid).replace("agents/rankgym_agents/", "tests/agents/test_")

    return WithExamples(config, log)


ORIGINAL = Path(__file__).resolve().parents[2] / "shared" / "data" / "yandex60.pkl"


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """The parameters of a model's published queries, by its name, from beside the checkout or the user's data cache."""
    with pytest.MonkeyPatch.context() as patch:
        if ORIGINAL.exists():
            patch.setenv("RANKGYM_DATA_HOME", str(tmp_path_factory.mktemp("data")))
            data.import_file("yandex60", ORIGINAL)
        try:
            data.query_ids("yandex", "published")
        except data.MissingData:
            pytest.skip("no published queries here; run: rankgym data fetch yandex60")
        yield lambda model: data.parameters("yandex", model, "published")


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run the command line in an empty folder, on a wide terminal."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("RANKGYM_DEBUG", raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))
    runner = CliRunner()
    return lambda *words: runner.invoke(app, list(words), prog_name="rankgym")


@pytest.fixture
def quick_figures():
    """Figures of comparisons are files of one word; ``undo`` draws them again."""
    from rankgym import style
    from rankgym.experiments.show import comparison_figure

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(comparison_figure, "draw_comparison", lambda comparison: None)
        patch.setattr(style, "write", lambda figure, path, kind: path.write_text(kind))
        yield patch

"""What a person does with a history: data frames, files, plots."""

import contextlib
import io
import subprocess
import sys
import zipfile

import hypothesis.extra.numpy as arrays
import matplotlib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankgym import DuelingHistory, History, extras
from rankgym.play.history import DUELING_MEASURES, MEASURES
from rankgym.style import COLOURS, LOOKS

FLOATS = st.floats(width=64)


@st.composite
def some_history(draw):
    records, rows, epochs = draw(st.integers(0, 5)), draw(st.integers(1, 4)), draw(st.integers(0, 3))
    steps = draw(st.lists(st.integers(1, 10**9), min_size=records, max_size=records))
    rounds = np.cumsum(np.array(steps, np.int64))
    cls = draw(st.sampled_from([History, DuelingHistory]))
    names = MEASURES if cls is History else DUELING_MEASURES
    values = {name: draw(arrays.arrays(np.float64, (records, rows), elements=FLOATS)) for name in names}
    if cls is History:
        values["epoch_regret"] = draw(arrays.arrays(np.float64, (epochs, rows), elements=FLOATS))
    return cls(rounds, **values)


def history(rounds=(1, 10, 100), rows=4, epochs=0, seed=0):
    rng = np.random.default_rng(seed)
    regret, violations, ndcg, reward = rng.random((4, len(rounds), rows)).cumsum(axis=1)
    return History(np.array(rounds), regret, violations, ndcg, reward, rng.random((epochs, rows)))


# -- files ------------------------------------------------------------------------------------------------------------


@given(one=some_history())
@settings(max_examples=40, deadline=None)
def test_a_history_comes_back_from_its_file_bit_for_bit(one, tmp_path_factory):
    path = tmp_path_factory.mktemp("histories") / "one.npz"
    one.save(path)
    again = type(one).load(path)
    assert type(again) is type(one)
    for before, after in zip(one, again, strict=True):
        assert before.dtype == after.dtype
        assert before.shape == after.shape
        assert before.tobytes() == after.tobytes()
    assert [path.name for path in path.parent.iterdir()] == ["one.npz"]


@given(place=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255), cut=st.booleans())
@settings(max_examples=60, deadline=None)
def test_a_damaged_file_is_refused_or_holds_the_same(place, flip, cut, tmp_path_factory):
    path, one = tmp_path_factory.mktemp("histories") / "one.npz", history()
    one.save(path)
    data = bytearray(path.read_bytes())
    at = int(place * len(data))
    if cut:
        del data[at:]
    else:
        data[at] ^= flip
    path.write_bytes(data)
    with contextlib.suppress(ValueError):  # it is not refused for a byte that means nothing, such as a date
        again = History.load(path)
        assert all(np.array_equal(a, b) for a, b in zip(one, again, strict=True))


def pickled(path):
    with path.open("wb") as file:
        np.savez(file, rounds=np.array([object()], object))


def without_regret(path):
    np.savez(path, rounds=np.arange(3))


def of_other_shapes(path):
    one = history()._asdict() | {"reward": np.zeros((2, 4))}
    np.savez(path, **one)


def with_rounds_backwards(path):
    np.savez(path, **history((10, 5, 1))._asdict())


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: path.write_text("not a history"), "is damaged, or not the file of a history"),
        (lambda path: path.write_bytes(b""), "is damaged, or not the file of a history"),
        (pickled, "is damaged, or not the file of a history"),
        (without_regret, "has no 'regret'; allowed: a file of History.save"),
        (of_other_shapes, r"reward has shape \(2, 4\); allowed: \(3, 4\)"),
        (with_rounds_backwards, "are not in order"),
        (lambda path: path.mkdir(), "is not a regular file"),
        (
            lambda path: DuelingHistory(np.array([1]), *np.zeros((3, 1, 2))).save(path),
            "it is the file of a DuelingHistory; use DuelingHistory.load",
        ),
    ],
)
def test_a_foreign_file_is_named(make, said, tmp_path):
    path = tmp_path / "one.npz"
    make(path)
    with pytest.raises(ValueError, match=said):
        History.load(path)


def test_a_history_is_written_to_a_named_file_only(tmp_path):
    with pytest.raises(ValueError, match=r"path = '.*one.csv' is not the name.*allowed: FILE.npz"):
        history().save(tmp_path / "one.csv")
    with pytest.raises(ValueError, match="in a folder that does not exist"):
        history().save(tmp_path / "nowhere" / "one.npz")
    with pytest.raises(ValueError, match=r"regret has shape \(3,\)"):
        history()._replace(regret=np.zeros(3)).save(tmp_path / "one.npz")
    with pytest.raises(ValueError, match="regret has dtype <U1"):
        history()._replace(regret=np.full((3, 4), "a")).save(tmp_path / "one.npz")
    assert list(tmp_path.iterdir()) == []


def test_the_same_history_gives_the_same_bytes(tmp_path):
    for name in ("a.npz", "b.npz"):
        history().save(tmp_path / name)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.npz") as file:
        assert file.namelist() == [f"{name}.npy" for name in History._fields]


# -- data frames ------------------------------------------------------------------------------------------------------


def test_a_data_frame_has_a_line_for_each_row_and_record():
    one = history()
    frame = one.to_pandas()
    assert list(frame) == ["round", "row", *MEASURES]
    assert len(frame) == 3 * 4
    for record, round in enumerate(one.rounds):
        for row in range(4):
            (line,) = frame[(frame["round"] == round) & (frame.row == row)].itertuples()
            assert [getattr(line, name) for name in MEASURES] == [getattr(one, name)[record, row] for name in MEASURES]


def test_epochs_have_a_data_frame_of_their_own():
    one = history(epochs=3)
    frame = one.to_pandas(epochs=True)
    assert list(frame) == ["epoch", "row", "regret"]
    assert np.array_equal(frame.pivot(index="epoch", columns="row", values="regret"), one.epoch_regret)
    assert history().to_pandas(epochs=True).empty


def test_duels_have_their_own_measures():
    accuracy = np.array([[0.0, np.nan]])
    one = DuelingHistory(np.array([7]), np.ones((1, 2)), accuracy, -np.ones((1, 2)))
    frame = one.to_pandas()
    assert list(frame) == ["round", "row", *DUELING_MEASURES]
    assert frame.accuracy.isna().tolist() == [False, True]


@pytest.mark.parametrize(("library", "use"), [("pandas", History.to_pandas), ("matplotlib", History.plot)])
def test_a_missing_library_is_an_error_that_names_the_extra(library, use, monkeypatch):
    real = extras.importlib.import_module

    def missing(name):
        if name.startswith(library):
            raise ModuleNotFoundError(name=name)
        return real(name)

    monkeypatch.setattr(extras.importlib, "import_module", missing)
    with pytest.raises(RuntimeError, match=rf"needs {library}.*rankgym\[experiments\]"):
        use(history())


# -- plots ------------------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def closed():
    matplotlib.use("agg")
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def test_a_plot_has_the_mean_over_rows_and_its_standard_error():
    one = history()
    ax = one.plot("reward", label="toprank")
    (line,) = ax.lines
    assert np.array_equal(line.get_xdata(), one.rounds)
    assert np.allclose(line.get_ydata(), one.reward.mean(axis=1))
    assert line.get_color() == LOOKS["toprank"].color
    (band,) = ax.collections
    error = one.reward.std(axis=1, ddof=1) / 2
    ends = band.get_paths()[0].vertices
    assert np.isclose(ends[:, 1].max(), (one.reward.mean(axis=1) + error).max())
    assert (ax.get_xscale(), ax.get_xlabel(), ax.get_ylabel()) == ("log", "rounds", "cumulative reward")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["toprank"]
    assert ax.get_title() == "Cumulative reward: mean ± standard error of rows"


def test_a_plot_leaves_matplotlibs_settings_as_the_backend_sets_them():
    """Setting up its backend, a notebook makes pyplot interactive; that must last."""
    script = """
import sys, types
import matplotlib, matplotlib.backends.backend_agg as agg
backend = types.ModuleType("notebook_backend")
backend.FigureManager = agg.FigureManagerBase
class Canvas(agg.FigureCanvasAgg):
    @classmethod
    def new_manager(cls, figure, number):
        matplotlib.interactive(True)
        return super().new_manager(figure, number)
backend.FigureCanvas = Canvas
sys.modules["notebook_backend"] = backend
matplotlib.use("module://notebook_backend")
import numpy as np
from rankgym import DuelingHistory
DuelingHistory(np.array([1, 10]), *np.ones((3, 2, 4))).plot(label="a")
print(matplotlib.is_interactive())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("True", "")


def test_epochs_are_drawn_over_linear_rounds():
    assert history(epochs=2).plot().get_xscale() == "linear"


def test_several_histories_share_axes_and_differ():
    ax = history(seed=1).plot(label="mine")
    ax.set_title("my own")
    for number, label in enumerate(["toprank:delta=0.1", "toprank", "mine too", None, None]):
        assert history(seed=2 + number).plot(ax=ax, label=label) is ax
    seen = {(line.get_color(), line.get_linestyle(), line.get_marker()) for line in ax.lines}
    assert len(seen) == 6
    assert ax.get_title() == "my own"
    assert ax.lines[0].get_color() == COLOURS[0]
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["mine", "toprank:delta=0.1", "toprank", "mine too"]


def test_two_equal_histories_are_both_seen():
    ax = history().plot(label="random")
    history().plot(ax=ax, label="batchrank")
    assert colours_of(ax.figure) >= {LOOKS["random"].color.lower(), LOOKS["batchrank"].color.lower()}
    random, batchrank = ax.lines
    assert random.get_zorder() < batchrank.get_zorder()
    assert batchrank.is_dashed()


def colours_of(figure):
    """The colours that a picture has in at least 100 dots."""
    file = io.BytesIO()
    figure.savefig(file, format="rgba", dpi=100)
    found, times = np.unique(np.frombuffer(file.getvalue(), np.uint8).reshape(-1, 4), axis=0, return_counts=True)
    return {"#" + bytes(colour[:3]).hex() for colour in found[times >= 100]}


@pytest.mark.parametrize("measure", ["accuracy", "epoch_regret", None])
def test_a_wrong_measure_is_named(measure):
    with pytest.raises(ValueError, match=r"measure = .* is unknown; allowed: 'regret', 'violations', 'ndcg', 'reward'"):
        history().plot(measure)


def test_a_label_is_a_text():
    with pytest.raises(ValueError, match="label = 3 is not a text"):
        history().plot(label=3)

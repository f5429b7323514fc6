"""The calibrated MSLR matrices: what the file holds, that it can be drawn again, and that it has the figures."""

import hashlib
import itertools
import subprocess
import sys
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from rankgym import data
from rankgym.data import make_mslr, matrix_files
from rankgym.data.preferences import USER_MODELS, condorcet_winner, load

ROOT = Path(__file__).resolve().parents[2]
FILE = resources.files("rankgym.data").joinpath("mslr_calibrated.npz")
# of the published matrices, as they were handed to us; beside make_mslr.MATRIX_STATISTICS, which has to have the same
PUBLISHED = {
    "perfect": (136, 109, 0.163, [0.006, 0.012, 0.031, 0.075, 0.136, 0.250], [0.0066, 0.0175, 0.0204], 0.117),
    "navigational": (136, 109, 0.164, [0.005, 0.010, 0.027, 0.065, 0.124, 0.241], [0.0056, 0.0058, 0.0145], 0.105),
    "informational": (135, 113, 0.095, [0.007, 0.013, 0.035, 0.086, 0.169, 0.307], [0.0047, 0.0058, 0.0090], 0.115),
}
CYCLIC = {"perfect": 447, "navigational": 377, "informational": 336}
NEAR = {"perfect": 20, "navigational": 32, "informational": 10}


@pytest.fixture(scope="module")
def drawn():
    return {user: make_mslr.draw(user) for user in USER_MODELS}


def test_the_embedded_file_is_what_the_script_draws(drawn):
    with np.load(FILE) as embedded:
        assert set(embedded) == {"version", *USER_MODELS}
        assert embedded["version"] == 1
        for user, matrix in drawn.items():
            np.testing.assert_array_equal(embedded[user], matrix_files.packed(matrix))
    for user, matrix in drawn.items():
        np.testing.assert_array_equal(load("mslr", user_model=user), matrix)


def test_the_script_writes_the_same_bytes_each_time(tmp_path):
    made = tmp_path / "first.npz", tmp_path / "second.npz"
    make_mslr.main(["--out", str(made[0])])
    subprocess.run(
        [sys.executable, "-m", "rankgym.data.make_mslr", "--out", str(made[1])], cwd=ROOT, check=True, timeout=60
    )
    assert made[0].read_bytes() == made[1].read_bytes()
    assert made[0].stat().st_size < 60_000


def test_the_catalogue_has_the_embedded_files_digest():
    assert hashlib.sha256(FILE.read_bytes()).hexdigest() == data.DATASETS["mslr-calibrated"].sha256


def test_it_is_labelled_synthetic():
    row = next(row for row in data.listing() if row["name"] == "mslr-calibrated")
    assert "SYNTHETIC" in row["what"]
    assert "not the MSLR data" in row["what"]
    assert (row["source"], row["state"]) == ("calibrated", "comes with the package")


@pytest.mark.parametrize("user", USER_MODELS)
def test_the_made_matrices_have_the_published_figures(user):
    """Counted with loops in plain Python, not with the script's own functions."""
    arms, winner, smallest, quantiles, of_winner, mean = PUBLISHED[user]
    p = load("mslr", user_model=user).tolist()
    pairs = list(itertools.combinations(range(arms), 2))
    assert len(p) == arms
    assert all(len(row) == arms for row in p)
    assert all(p[i][j] + p[j][i] == 1.0 and p[i][j] != 0.5 for i, j in pairs)  # complementary, no ties
    assert all(p[i][i] == 0.5 for i in range(arms))
    assert min(map(min, p)) == pytest.approx(smallest, abs=1e-5)
    assert max(map(max, p)) == pytest.approx(1 - smallest, abs=1e-5)
    margins = sorted(abs(p[i][j] - 0.5) for i, j in pairs)
    for level, wanted in zip((0.05, 0.10, 0.25, 0.50, 0.75, 0.90), quantiles, strict=True):
        assert margins[int(level * (len(margins) - 1))] == pytest.approx(wanted, abs=1e-4)
    row = sorted(p[winner][j] - 0.5 for j in range(arms) if j != winner)
    assert row[:3] == pytest.approx(of_winner, abs=1e-5)
    assert sum(row) / len(row) == pytest.approx(mean, abs=1e-5)
    beats = [{j for j in range(arms) if p[i][j] > 0.5} for i in range(arms)]
    circles = sum(sum(1 for k in beats[j] if i in beats[k]) for i in range(arms) for j in beats[i]) / 3
    assert circles == pytest.approx(CYCLIC[user], rel=0.005)
    near = [sum(abs(p[i][j] - 0.5) <= 0.002 for j in range(arms) if j != i) for i in range(arms)]
    assert sum(count > 5 for count in near) == NEAR[user]


def test_the_figures_of_the_script_are_these():
    for user, (arms, winner, smallest, quantiles, of_winner, mean) in PUBLISHED.items():
        figures = make_mslr.MATRIX_STATISTICS[user]
        assert figures[:3] == (arms, winner, smallest)
        assert (list(figures.margins), list(figures.winner_smallest)) == (quantiles, of_winner)
        assert (figures.winner_mean, figures.cyclic, figures.near) == (mean, CYCLIC[user], NEAR[user])


def test_estimating_the_figures_from_a_draw_gives_them_back(drawn, tmp_path, capsys):
    for user, matrix in drawn.items():
        found, wanted = make_mslr.estimate(matrix), make_mslr.MATRIX_STATISTICS[user]
        assert found[:6] == wanted[:6]
    np.savetxt(tmp_path / "m.txt", drawn["perfect"])
    make_mslr.main(["--estimate", str(tmp_path / "m.txt")])
    printed = capsys.readouterr().out
    assert "winner_smallest = (0.0066, 0.0175, 0.0204)" in printed
    assert "cyclic = 447" in printed


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_every_seed_gives_matrices_with_what_is_solved_for(seed, drawn):
    for user in USER_MODELS:
        matrix = make_mslr.draw(user, seed)
        assert make_mslr.estimate(matrix)[:6] == make_mslr.MATRIX_STATISTICS[user][:6]
        assert condorcet_winner(matrix) == make_mslr.MATRIX_STATISTICS[user].winner
        assert (matrix + matrix.T == 1.0).all()
        assert (matrix != drawn[user]).mean() > 0.9


@pytest.mark.parametrize(("user", "distance"), [("perfect", 0.0), ("navigational", 0.0027), ("informational", 0.0030)])
def test_the_seed_is_the_nearest_of_its_neighbours(user, distance):
    seed = make_mslr.SEEDS[user]
    nearest, found = make_mslr.search(user, range(seed - 10, seed + 10))
    assert nearest == seed
    assert found == pytest.approx(distance, abs=1e-4)


def test_the_table_in_the_documentation_is_the_scripts(capsys):
    make_mslr.main(["--table"])
    printed = capsys.readouterr().out.strip()
    assert printed.count("\n") == 14
    assert printed in (ROOT / "docs" / "preferences.md").read_text()


@pytest.mark.parametrize("arms", [2, 3, 10])
def test_packing_keeps_every_entry(arms):
    rng = np.random.default_rng(0)
    p = np.full((arms, arms), 0.5)
    upper = np.triu_indices(arms, 1)
    p[upper] = rng.integers(0, 2**16, len(upper[0])) / 2**16
    p[upper[::-1]] = 1.0 - p[upper]
    np.testing.assert_array_equal(matrix_files.unpacked(matrix_files.packed(p)), p)

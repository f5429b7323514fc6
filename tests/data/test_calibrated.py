"""The calibrated queries: what the file holds, that it can be drawn again, and how near it is to the published ones."""

import hashlib
import subprocess
import sys
from importlib import resources
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import rankgym
from rankgym import data
from rankgym.data import make_calibrated, yandex
from rankgym_agents import AGENTS

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared" / "data"
FILE = resources.files("rankgym.data").joinpath("yandex_calibrated.npz")
needs_published = pytest.mark.skipif(
    not (SHARED / "yandex60.npz").exists(), reason="the published queries are not among the shared data"
)


@pytest.fixture(scope="module")
def drawn():
    return make_calibrated.draw()


def test_the_embedded_file_is_what_the_script_draws(drawn):
    with np.load(FILE) as embedded:
        assert set(embedded) == {"version", "query_id", *drawn}
        for name, values in drawn.items():
            np.testing.assert_array_equal(embedded[name], values)


def test_the_script_writes_the_same_bytes_each_time(tmp_path):
    made = tmp_path / "first.npz", tmp_path / "second.npz"
    make_calibrated.main(["--out", str(made[0])])
    subprocess.run(
        [sys.executable, "-m", "rankgym.data.make_calibrated", "--out", str(made[1])], cwd=ROOT, check=True, timeout=60
    )
    assert made[0].read_bytes() == made[1].read_bytes()
    assert made[0].stat().st_size < 40_000


def test_the_catalogue_has_the_embedded_files_digest():
    assert hashlib.sha256(FILE.read_bytes()).hexdigest() == data.DATASETS["yandex-calibrated"].sha256


@pytest.mark.parametrize(
    ("model", "names"),
    [("CM", {"attraction"}), ("PBM", {"attraction", "examination"}), ("DCM", {"attraction", "termination"})],
)
def test_parameters_of_the_calibrated_queries(model, names):
    found = data.parameters("yandex", model)
    assert set(found) == names
    for values in found.values():
        assert values.shape == (100, 10)
        assert values.dtype == np.float64
        assert ((values > 0) & (values <= 1)).all()
    for name in names - {"attraction"}:
        assert (found[name] == found[name][0]).all()
    assert len(np.unique(found["attraction"])) > 900


def test_parameters_are_the_callers_own():
    data.parameters("yandex", "PBM")["examination"][:] = 0.0
    found = data.parameters("yandex", "PBM")
    assert found["examination"][7].tolist() == make_calibrated.FIGURES.examination
    assert found["examination"].flags.writeable
    assert found["examination"].flags.c_contiguous


def test_no_calibrated_query_looks_like_an_original():
    ids = data.query_ids("yandex")
    assert len(set(ids)) == 100
    assert all(name.startswith("calibrated-") for name in ids)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("yahoo", "CM"), r"dataset = 'yahoo'.*\['yandex'\]"),
        (("yandex", "cm"), r"model = 'cm'.*\['CM', 'PBM', 'DCM'\]"),
        (("yandex", "CM", "real"), r"source = 'real'.*\['calibrated', 'published'\]"),
        (("yandex", None), "model = None"),
    ],
)
def test_unknown_choices_are_named(arguments, complaint):
    with pytest.raises(ValueError, match=complaint):
        data.parameters(*arguments)


def test_the_listing_cannot_be_misread(tmp_path, monkeypatch):
    monkeypatch.setenv("RANKGYM_DATA_HOME", str(tmp_path))
    rows = {row["name"]: row for row in data.listing()}
    assert set(rows) == set(data.DATASETS)
    calibrated, published = rows["yandex-calibrated"], rows["yandex60"]
    assert calibrated["source"] == "calibrated"
    assert "SYNTHETIC" in calibrated["what"]
    assert "not the Yandex data" in calibrated["what"]
    assert "comes with the package" in calibrated["state"]
    assert published["source"] == "published"
    assert "the original" in published["what"]
    assert "rankgym data fetch yandex60" in published["state"]
    assert "rankgym data import yandex60 FILE" in published["state"]


def test_the_drawn_means_and_deviations_by_rank_are_the_figures(drawn):
    for m, model in enumerate(make_calibrated.MODELS):
        attraction = drawn[f"{model.lower()}_attraction"]
        np.testing.assert_allclose(attraction.mean(0), make_calibrated.FIGURES.mean[m], atol=1e-6)
        np.testing.assert_allclose(attraction.std(0), make_calibrated.FIGURES.deviation[m], atol=1e-6)


def test_another_seed_draws_other_queries_with_the_same_figures(drawn):
    other = make_calibrated.draw(seed=1)
    assert (other["cm_attraction"] != drawn["cm_attraction"]).mean() > 0.99
    np.testing.assert_allclose(other["pbm_attraction"].mean(0), drawn["pbm_attraction"].mean(0), atol=2e-6)


def logits(attraction):
    z = np.log(attraction / (1 - attraction))
    return (z - z.mean(0)) / z.std(0)


def test_one_querys_models_agree_with_each_other(drawn):
    """As in the fits: within-rank correlations of the logits are .78 (CM, PBM), .87 (CM, DCM), .90 (PBM, DCM)."""
    z = {model: logits(drawn[f"{model.lower()}_attraction"]) for model in make_calibrated.MODELS}
    assert (z["CM"] * z["PBM"]).mean() == pytest.approx(0.78, abs=0.05)
    assert (z["CM"] * z["DCM"]).mean() == pytest.approx(0.87, abs=0.05)
    assert (z["PBM"] * z["DCM"]).mean() == pytest.approx(0.90, abs=0.05)


# -- beside the published queries -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def published():
    return yandex.read(SHARED / "yandex60.npz")


@needs_published
def test_the_figures_are_estimated_from_the_published_queries(published, capsys):
    assert make_calibrated.estimate(published) == make_calibrated.FIGURES
    make_calibrated.main(["--estimate", str(SHARED / "yandex60.npz")])
    assert "bend = 0.14" in capsys.readouterr().out


@needs_published
def test_mean_attraction_and_disorder_are_near_the_published(drawn, published):
    rows = make_calibrated.compare(drawn, published)
    measured = {row.measure for row in rows}
    assert {f"attraction, rank {k}" for k in range(1, 11)} | {"misordered pairs of 45"} <= measured
    for row in rows:
        allowed = 0.01 if "rank" in row.measure else 0.25 if row.measure == "attraction, sorted, 10" else 0.15
        assert row.calibrated == pytest.approx(row.published, rel=allowed), row


@needs_published
def test_the_seed_is_the_nearest_of_its_neighbours(published):
    seed = make_calibrated.SEED
    nearest, distance = make_calibrated.search(published, range(seed - 20, seed + 20))
    assert nearest == seed
    assert distance == pytest.approx(0.0656, abs=5e-4)


@needs_published
def test_the_table_in_the_documentation_is_the_scripts(capsys):
    make_calibrated.main(["--table", str(SHARED / "yandex60.npz")])
    table = capsys.readouterr().out.strip()
    assert table.count("\n") > 20
    assert table in (ROOT / "docs" / "calibration.md").read_text()


@needs_published
@pytest.mark.slow
@pytest.mark.parametrize("model", make_calibrated.MODELS)
def test_learning_costs_about_as_much_as_on_the_published_queries(model, tmp_path, monkeypatch):
    """Mean regret after 1e5 rounds within 20 %, the project's tolerance. Seeds are fixed, so the figures are, too."""
    monkeypatch.setenv("RANKGYM_DATA_HOME", str(tmp_path))
    data.import_file("yandex60", SHARED / "yandex60.npz")
    rounds = 100_000
    for agent in ("toprank", "bubblerank", "cascade-kl-ucb"):
        regret = {}
        for source, queries in (("calibrated", 100), ("published", 60)):
            env = gym.make_vec(f"rankgym/{model}-Yandex-v0", num_envs=queries, query="all", source=source)
            ranker = AGENTS[agent].for_env(env, horizon=rounds, seed=0)
            history = rankgym.simulate(ranker, env, rounds, seed=0, progress=False)
            regret[source] = history.regret[-1].mean()
        assert regret["calibrated"] == pytest.approx(regret["published"], rel=0.2), agent

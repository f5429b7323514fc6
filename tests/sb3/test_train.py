"""Training: what is kept, that it can be repeated, taken up again and interrupted, and what is refused."""

import csv
import inspect
import itertools
import json
import shlex
import shutil

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("stable_baselines3")
pytest.importorskip("sb3_contrib")

import torch as th
from stable_baselines3 import PPO

import rankgym
from rankgym.sb3.agent import SB3Agent
from rankgym.sb3.average import Average
from rankgym.sb3.callbacks import Watch
from rankgym.sb3.defaults import ALGORITHMS, DEFAULTS, EVALUATION_SEED
from rankgym.sb3.model_files import model_card, weights_digest
from rankgym.sb3.plackett_luce import PlackettLucePolicy
from rankgym.sb3.plan import EvaluationResult
from rankgym.sb3.training import summary, train
from rankgym_agents import StaticRanker

ENV = "PBM-Synthetic-v0"
SMALL = {
    "rows": 8,
    "horizon": 20,
    "query": [0, 1, 2],
    "eval_query": [3, 4],
    "env_kwargs": {"num_items": 4, "num_positions": 2},
    "average": 0,
    "progress": False,
}
CHOSEN = {"n_steps": 16, "n_epochs": 2, "learning_rate": 1e-3, "width": 8}
TINY = {**SMALL, "steps": 64 * 8, **CHOSEN}
NETS = {  # hyperparameters that make a training short
    "ppo": {"n_steps": 16},
    "a2c": {"n_steps": 16},
    "maskable-ppo": {"n_steps": 16},
    "dqn": {"learning_starts": 16, "buffer_size": 1_000},
    "sac": {"learning_starts": 16, "buffer_size": 1_000, "gradient_steps": 1},
    "td3": {"learning_starts": 16, "buffer_size": 1_000, "gradient_steps": 1},
}


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A training, and its folder."""
    return train(ENV, **TINY, out=tmp_path_factory.mktemp("done") / "run")


def report(training):
    return json.loads((training.out / "train.json").read_text())


# -- what comes of it -------------------------------------------------------------------------------------------------


def test_policies_learn(tmp_path):
    """Regret of the drawn lists on queries that were not trained on falls to less than two thirds: measured, a half."""
    training = train(
        ENV, **{**SMALL, "query": list(range(64)), "rows": 64}, steps=64 * 640, eval_runs=10, n_steps=32, width=16
    )
    untrained, trained = training.curve[0].regret, training.best["regret"]
    assert trained < 2 / 3 * untrained


def test_the_same_arguments_give_the_same_weights(done):
    again = train(ENV, **TINY)
    assert again.weights == done.weights == weights_digest(again.model)
    strip = [one._replace(seconds=0.0) for one in again.curve]
    assert strip == [one._replace(seconds=0.0) for one in done.curve]


def test_evaluations_do_not_touch_the_weights(done):
    assert train(ENV, **TINY, eval_every=10**9, eval_runs=1).weights == done.weights


def test_another_seed_or_reward_gives_others(done):
    assert train(ENV, **TINY, seed=1).weights != done.weights
    assert train(ENV, **TINY, reward="clicks").weights != done.weights


@pytest.mark.parametrize(("algo", "policy"), DEFAULTS)
def test_every_algorithm_trains_and_its_model_plays(algo, policy, tmp_path):
    given = {**SMALL, "algo": algo, "policy": policy, "steps": 256, "eval_every": 128, **NETS[algo]}
    training = train(ENV, **given, out=tmp_path / "run")
    assert isinstance(training.model, ALGORITHMS[algo])
    assert training.steps == 256
    first = model_card(tmp_path / "run" / "best.zip")
    assert [name for name, _ in first["layers"]] == list(DEFAULTS[algo, policy][0])
    env = gym.make_vec(f"rankgym/{ENV}", num_envs=4, query=[3, 4], horizon=20, **SMALL["env_kwargs"])
    agent = SB3Agent.for_env(env, model=tmp_path / "run" / "last.zip", seed=EVALUATION_SEED)
    history = rankgym.simulate(agent, env, 20, seed=EVALUATION_SEED, progress=False)
    assert history.regret[-1].mean() == training.curve[-1].regret
    assert train(ENV, **given).weights == training.weights


def test_files_say_everything(done):
    said = report(done)
    assert {path.name for path in done.out.iterdir()} == {"best.zip", "last.zip", "curve.csv", "train.json"}
    assert said["settings"]["environments"] == [f"rankgym/{ENV}"]
    assert said["settings"]["hyperparameters"] == CHOSEN
    assert said["algorithm"]["n_steps"] == 16
    assert said["policy_kwargs"] == {"activation": "relu", "width": 8}
    assert said["last"] == {"steps": 512, "weights": done.weights}
    assert said["resumed_at"] == []
    assert set(said["versions"]) >= {"rankgym", "python", "numpy", "torch", "stable-baselines3", "sb3-contrib"}
    assert [EvaluationResult(**one) for one in said["curve"]] == done.curve
    with (done.out / "curve.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert [float(line["regret"]) for line in lines] == [one.regret for one in done.curve]
    assert [one.steps for one in done.curve] == [0, 128, 256, 384, 512]
    assert said["best"]["regret"] == done.best["regret"] == min(one.regret for one in done.curve)
    for name in ("best", "last"):
        assert weights_digest(PPO.load(done.out / f"{name}.zip")) == said[name]["weights"]
        card = model_card(done.out / f"{name}.zip")["training"]
        assert (card["steps"], card["seconds"]) == (said[name]["steps"], pytest.approx(said["seconds"], abs=60))
        assert card["regret"] == next(one.regret for one in done.curve if one.steps == card["steps"])


def test_its_command_makes_the_same_training_again(done):
    words = shlex.split(report(done)["command"])
    assert words[:3] == ["rankgym", "train", ENV]
    for option, value in (
        ("--steps", "512"),
        ("--rows", "8"),
        ("--layers", "ItemStatistics"),
        ("--query", "0,1,2"),
        ("--set", "num_items=4"),
        ("--param", "n_steps=16"),
    ):
        assert value in [after for word, after in itertools.pairwise(words) if word == option]
    assert "--truth" in words


def test_the_summary_has_the_numbers(done):
    text = "\n".join(summary(done))
    assert done.weights in text
    assert f"regret {done.curve[-1].regret:,.1f}" in text
    assert "best.zip, last.zip, curve.csv, train.json\n" in text
    compare = "rankgym compare PBM-Synthetic-v0 --set num_items=4 --set num_positions=2 --query 3,4 --rounds 20"
    assert f"{compare} --agents cascade-kl-ucb,{done.out}/best.zip compares it\n" in text
    assert "best.zip was chosen by these evaluations, which flatter it" in text
    assert "--source published" not in text


@pytest.mark.parametrize(
    ("change", "words", "advised"),
    [
        ({}, "PBM-Yandex-v0 --query test --rounds 20 ", True),
        ({"source": "calibrated"}, "PBM-Yandex-v0 --source calibrated --query test ", True),
        ({"source": "published"}, "PBM-Yandex-v0 --source published --query test ", False),
        (
            {"name": "it's", "many": [1, 2], "number": "3"},
            """ 'name=it'"'"'s' --set 'many=[1, 2]' --set 'number="3"' """,
            True,
        ),
    ],
)
def test_the_summary_has_a_command(change, words, advised, done):
    first = [one._replace(environment="rankgym/PBM-Yandex-v0") for one in done.curve]
    names = {"environments": ["rankgym/PBM-Yandex-v0"], "env_kwargs": change, "eval_query": "test", "average": 0.1}
    text = "\n".join(summary(done._replace(curve=first, settings={**done.settings, **names})))
    assert f"rankgym compare {words.lstrip() if words[0] != ' ' else 'PBM-Yandex-v0 --set' + words}" in text
    assert ("such as those of --source published" in text) == advised
    assert "best.zip, last.zip, average.pth, curve.csv, train.json\n" in text


@pytest.mark.parametrize(
    ("query", "eval_query", "shared"),
    [
        ("train", "test", False),
        ("test", "test", True),
        ("all", "test", True),
        ("train", None, True),
        ([0, 1], [1, 2], True),
        ([0, 1], 2, False),
        ("train", [0, 3], False),  # not known
    ],
)
def test_the_summary_says_where_evaluations_have_been_trained_on(query, eval_query, shared, done):
    settings = {**done.settings, "query": query, "eval_query": eval_query}
    assert ("queries of these evaluations were trained on" in summary(done._replace(settings=settings))) == shared


def test_where_no_bar_is_seen_evaluations_are_lines(capsys):
    training = train(ENV, **{**TINY, "progress": True})
    lines = [line for line in capsys.readouterr().err.splitlines() if " steps: regret " in line]
    assert len(lines) == len(training.curve)
    assert lines[0].startswith("0 of 512 steps: regret ")
    rivals = ", ".join(f"{name} {regret:,.1f}" for name, regret in training.rivals.items())
    assert all(line.endswith(f"; {rivals}") for line in lines)


def test_the_rivals_play_the_evaluation(done):
    """The production list's regret does not depend on chance: 20 sessions of two queries."""
    env = gym.make_vec(f"rankgym/{ENV}", num_envs=2, query=[3, 4], num_items=4, num_positions=2, horizon=20)
    history = rankgym.simulate(StaticRanker.for_env(env), env, 20, seed=0, progress=False)
    assert list(done.rivals) == ["the production list", "Thompson sampling", "the adaptive index"]
    assert done.rivals["the production list"] == pytest.approx(history.regret[-1].mean())


def test_the_summary_says_who_was_beaten(done):
    rivals = {"the production list": done.best["regret"] + 1, "the adaptive index": done.best["regret"]}
    text = "\n".join(summary(done._replace(rivals=rivals)))
    assert f"less than the production list ({done.best['regret'] + 1:,.1f})\n" in text
    assert f"NOT less than the adaptive index ({done.best['regret']:,.1f}): more steps may help" in text
    assert "NOT" not in "\n".join(summary(done._replace(rivals={"the production list": 1e9})))


@pytest.mark.parametrize(("algo", "wanted"), [("dqn", "RankingNumber"), ("sac", "ScoresToRanking")])
def test_who_forgets_the_wrapper_of_actions_is_told(algo, wanted):
    with pytest.raises(ValueError, match=rf"layers = \['ItemStatistics'\]; allowed: with {wanted}"):
        train(ENV, **SMALL, algo=algo, steps=8, layers=["ItemStatistics"])


def test_rows_are_split_among_environments():
    names = ["PBM-Synthetic-v0", "CM-Synthetic-v0", "DCM-Synthetic-v0"]
    training = train(names, **{**TINY, "steps": 1})
    assert [part.env.num_envs for part in training.model.env.parts] == [2, 3, 3]
    assert [one.environment for one in training.curve[-3:]] == [f"rankgym/{name}" for name in names]
    assert training.best["regret"] == min(
        np.mean([one.regret for one in training.curve if one.steps == steps]) for steps in (0, training.steps)
    )


def test_safe_lists_violate_nothing():
    kwargs = {"num_items": 5, "num_positions": 5, "initial_list": [4, 3, 2, 1, 0]}
    training = train(
        ENV, **{**SMALL, "env_kwargs": kwargs}, steps=256, layers=["ItemStatistics", "SafeLists"], n_steps=16
    )
    assert training.model.policy.max_displacement == 1
    assert [one.violations for one in training.curve] == [0.0] * len(training.curve)


def test_layers_have_keywords():
    layers = [("ItemStatistics", {"discounts": [1.0, 0.9]}), "TimeAware"]
    training = train(ENV, **{**TINY, "steps": 1}, layers=layers)
    assert training.model.rankgym["layers"][0] == ["ItemStatistics", {"discounts": [1.0, 0.9]}]
    assert training.model.rankgym["layers"][1][0] == "TimeAware"


def test_learning_rates_may_fall():
    training = train(ENV, **{**TINY, "learning_rate": "linear:0.002"})
    rate = training.model.policy.optimizer.param_groups[0]["lr"]
    assert rate == 0.0  # the last rollout is the end
    assert training.model.lr_schedule(1.0) == 0.002
    assert training.model.lr_schedule(0.5) == 0.001


def test_rows_are_split_among_horizons_too():
    training = train([ENV, "CM-Synthetic-v0"], **{**TINY, "steps": 1, "horizon": [30, 20]})
    parts = training.model.env.parts
    assert [(part.env.spec.id, part.horizon, part.env.num_envs) for part in parts] == [
        ("rankgym/PBM-Synthetic-v0", 20, 2),
        ("rankgym/PBM-Synthetic-v0", 30, 2),
        ("rankgym/CM-Synthetic-v0", 20, 2),
        ("rankgym/CM-Synthetic-v0", 30, 2),
    ]


@pytest.mark.parametrize(("horizon", "given", "played"), [(20, None, 20), ([30, 20], None, 20), (20, 35, 35)])
def test_evaluations_have_a_horizon(horizon, given, played):
    training = train(ENV, **{**TINY, "steps": 1, "horizon": horizon}, eval_horizon=given)
    env = gym.make_vec(f"rankgym/{ENV}", num_envs=4, query=[3, 4], horizon=played, **SMALL["env_kwargs"])
    agent = SB3Agent.for_env(env, model=training.model, seed=EVALUATION_SEED)
    history = rankgym.simulate(agent, env, played, seed=EVALUATION_SEED, progress=False)
    assert history.regret[-1].mean() == training.curve[-1].regret


# -- averaged weights -------------------------------------------------------------------------------------------------


def test_an_average_is_the_mean_at_first_and_then_fades(done):
    """Weights 1, 2, 3, ... at rate 1/4: the mean as long as there are four of them, then a quarter of each new one."""
    policy = done.model.policy
    kept = {name: weights.clone() for name, weights in policy.state_dict().items()}
    average = Average(done.model, 0.25)
    try:
        expected = 0.0
        for number in range(1, 9):
            policy.load_state_dict({name: th.full_like(weights, number) for name, weights in kept.items()})
            average.move()
            expected = (number + 1) / 2 if number <= 4 else 0.75 * expected + 0.25 * number
            with average.applied():
                for weights in policy.state_dict().values():
                    assert weights.flatten().tolist() == pytest.approx([expected] * weights.numel(), rel=1e-6)
            assert all((weights == number).all() for weights in policy.state_dict().values())
    finally:
        policy.load_state_dict(kept)


def test_the_average_is_what_is_evaluated_and_kept(done, tmp_path):
    training = train(ENV, **{**TINY, "average": 0.3}, out=tmp_path / "run")
    assert training.weights == done.weights  # the learning does not know of it
    state = th.load(training.out / "average.pth", weights_only=True)
    assert state["moves"] == 4  # rollouts
    assert model_card(training.out / "best.zip")["training"]["regret"] == training.best["regret"]
    assert "regret" not in model_card(training.out / "last.zip")["training"]  # nobody measured that of its own weights
    for name in ("last", "best"):
        model = PPO.load(training.out / f"{name}.zip")
        assert weights_digest(model) == report(training)[name]["weights"]
    env = gym.make_vec(f"rankgym/{ENV}", num_envs=4, query=[3, 4], horizon=20, **SMALL["env_kwargs"])
    agent = SB3Agent.for_env(env, model=training.out / "best.zip", seed=EVALUATION_SEED)
    history = rankgym.simulate(agent, env, 20, seed=EVALUATION_SEED, progress=False)
    assert history.regret[-1].mean() == training.best["regret"]


def test_an_average_is_taken_up_again(tmp_path):
    weights = []
    for name in ("one", "two"):
        train(ENV, **{**TINY, "steps": 256, "average": 0.3}, out=tmp_path / name)
        again = train(ENV, **{**TINY, "average": 0.3}, out=tmp_path / name, resume=True)
        state = th.load(again.out / "average.pth", weights_only=True)
        assert state["moves"] == 4
        weights.append(state["weights"])
    assert all(th.equal(weights[0][name], weights[1][name]) for name in weights[0])
    (tmp_path / "one" / "average.pth").write_bytes(b"")
    with pytest.raises(ValueError, match=r"average.pth cannot be read .*; allowed: fresh"):
        train(ENV, **{**TINY, "average": 0.3, "steps": 600}, out=tmp_path / "one", resume=True)


# -- taken up again ---------------------------------------------------------------------------------------------------


def test_a_training_is_taken_up_again(tmp_path, done):
    halves = []
    for name in ("one", "two"):
        first = train(ENV, **{**TINY, "steps": 256}, eval_every=128, out=tmp_path / name)
        moments = first.model.policy.optimizer.state_dict()["state"][0]["exp_avg"].clone()
        second = train(ENV, **TINY, eval_every=128, out=tmp_path / name, resume=True)
        halves.append(second)
        assert second.steps == 512
        assert [one.steps for one in second.curve] == [0, 128, 256, 384, 512]
        assert second.curve[:3] == first.curve
        assert second.best["regret"] <= first.best["regret"]
        assert second.seconds > first.seconds
        assert report(second)["resumed_at"] == [256]
        loaded = PPO.load(tmp_path / name / "last.zip").policy.optimizer.state_dict()["state"][0]
        assert loaded["step"] == 32  # of all 4 rollouts, 2 epochs, 4 batches: the optimizer went on counting
        assert not th.equal(moments, loaded["exp_avg"])
    assert halves[0].weights == halves[1].weights  # it can be repeated itself
    assert halves[0].weights != done.weights  # but is not the uninterrupted one


def test_a_training_that_is_done_is_left_alone(tmp_path):
    first = train(ENV, **TINY, out=tmp_path / "run")
    files = {path.name: path.read_bytes() for path in first.out.iterdir()}
    again = train(ENV, **TINY, out=tmp_path / "run", resume=True)
    assert again.weights == first.weights
    assert again.curve == first.curve
    assert files == {path.name: path.read_bytes() for path in first.out.iterdir()}


def test_falling_learning_rates_go_on_where_they_were(tmp_path):
    rates = {"learning_rate": "linear:0.002"}
    train(ENV, **{**TINY, "steps": 256, **rates}, eval_every=10**6, out=tmp_path / "run")
    seen = []
    learn = PPO.train

    def spy(self):
        learn(self)
        seen.append(self.policy.optimizer.param_groups[0]["lr"])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PPO, "train", spy)
        train(ENV, **{**TINY, **rates}, eval_every=10**6, out=tmp_path / "run", resume=True)
    assert seen == pytest.approx([0.002 * (1 - (256 + 128 * n) / 512) for n in (1, 2)])


def test_ctrl_c_keeps_what_was_learned(tmp_path, monkeypatch):
    step = Watch._on_step

    def interrupted(self):
        if self.num_timesteps >= 300:
            raise KeyboardInterrupt
        return step(self)

    monkeypatch.setattr(Watch, "_on_step", interrupted)
    with pytest.raises(KeyboardInterrupt) as interruption:
        train(ENV, **TINY, eval_every=10**6, out=tmp_path / "run")
    (note,) = interruption.value.__notes__
    assert "last.zip has everything learned in 256 steps" in note
    assert "--resume` continues from there" in note
    monkeypatch.undo()
    last = tmp_path / "run" / "last.zip"
    assert model_card(last)["training"]["steps"] == 256
    at_256 = train(ENV, **{**TINY, "steps": 256})
    assert weights_digest(PPO.load(last)) == at_256.weights
    done = train(ENV, **TINY, eval_every=10**6, out=tmp_path / "run", resume=True)
    assert done.steps == 512
    assert report(done)["resumed_at"] == [256]


@pytest.mark.parametrize(("algo", "average"), [("ppo", 0), ("ppo", 0.3), ("sac", 0)])
def test_ctrl_c_in_the_midst_of_an_update_leaves_nothing_of_it(algo, average, tmp_path, monkeypatch):
    """What is kept is what a training of as many steps as it says has: weights, optimizers, average."""
    constant = {"learning_rate": 1e-3}  # a falling one knows where the training ends
    given = {**SMALL, **NETS[algo], **constant, "algo": algo, "average": average, "eval_every": 10**6}
    updates, step = [], th.optim.Adam.step

    def interrupted(self, *args, **kwargs):
        updates.append(self)
        if len(updates) == 105:  # PPO: 4 epochs of 4 batches; SAC: the last of three optimizers
            raise KeyboardInterrupt
        return step(self, *args, **kwargs)

    monkeypatch.setattr(th.optim.Adam, "step", interrupted)
    with pytest.raises(KeyboardInterrupt) as interruption:
        train(ENV, **given, steps=2_048, out=tmp_path / "run")
    monkeypatch.undo()
    steps = json.loads((tmp_path / "run" / "train.json").read_text())["last"]["steps"]
    assert steps == {"ppo": 6 * 128, "sac": 36 * 8}[algo]
    assert f"everything learned in {steps:,} steps" in interruption.value.__notes__[0]
    assert "regret" not in model_card(tmp_path / "run" / "last.zip")["training"]
    train(ENV, **given, steps=steps, out=tmp_path / "whole")
    kept, whole = (ALGORITHMS[algo].load(tmp_path / name / "last.zip") for name in ("run", "whole"))
    assert weights_digest(kept) == weights_digest(whole)
    assert (kept.num_timesteps, kept._n_updates) == (whole.num_timesteps, whole._n_updates)
    states = [model.get_parameters() for model in (kept, whole)]
    states += [{"entropy": model.log_ent_coef.detach()} for model in (kept, whole) if algo == "sac"]
    if average:
        states += [th.load(tmp_path / name / "average.pth", weights_only=True) for name in ("run", "whole")]
    for mine, theirs in zip(states[::2], states[1::2], strict=True):
        assert leaves(mine) == leaves(theirs)


def leaves(state):
    """All numbers of nested dicts, lists and tensors."""
    if isinstance(state, th.Tensor):
        return state.tolist()
    if isinstance(state, dict):
        return {key: leaves(value) for key, value in state.items()}
    return [leaves(part) for part in state] if isinstance(state, (list, tuple)) else state


def test_an_interrupted_training_without_a_folder_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Watch, "_on_step", lambda self: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt) as interruption:
        train(ENV, **TINY)
    assert not hasattr(interruption.value, "__notes__")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_replaced_only_if_asked(done, tmp_path):
    out = tmp_path / "run"
    train(ENV, **{**TINY, "steps": 1}, out=out)
    with pytest.raises(ValueError, match=r"has a training already; allowed: another folder, resume .* or fresh"):
        train(ENV, **{**TINY, "steps": 1}, out=out)
    assert train(ENV, **TINY, out=out, fresh=True).weights == done.weights


def test_nothing_of_the_old_training_outlives_the_first_step(tmp_path, monkeypatch):
    out = tmp_path / "run"
    train(ENV, **{**TINY, "steps": 1, "average": 0.3}, out=out)
    (out / "notes.txt").write_text("mine")
    before = {path.name for path in out.iterdir()}
    assert before == {"best.zip", "last.zip", "average.pth", "curve.csv", "train.json", "notes.txt"}
    with pytest.raises(ValueError, match="width"):
        train(ENV, **{**TINY, "width": 0}, out=out, fresh=True)
    assert {path.name for path in out.iterdir()} == before  # what is refused replaces nothing
    there = []

    def look(self):
        there.append({path.name for path in out.iterdir()})
        raise KeyboardInterrupt

    monkeypatch.setattr(Watch, "_on_training_start", look)
    with pytest.raises(KeyboardInterrupt):
        train(ENV, **TINY, out=out, fresh=True)
    assert there == [{"notes.txt"}]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 1}, r"seed = 1, but the training in .* had 0; allowed: the same, another folder, or fresh"),
        ({"rows": 9}, "rows = 9, but the training"),
        ({"stagger": False}, "stagger = False, but the training in .* had True"),
        ({"gamma": 0.5}, "hyperparameters = .*gamma.*, but the training"),
        ({"fresh": True}, "resume = True and fresh = True; allowed: one of them"),
        ({"out": None}, "out = None and resume = True; allowed: out with a training in it"),
    ],
)
def test_only_the_same_training_is_taken_up_again(change, message, done):
    with pytest.raises(ValueError, match=message):
        train(ENV, **{**TINY, "out": done.out, "resume": True, **change})


@pytest.mark.parametrize(
    ("part", "key", "old", "message"),
    [
        (
            "algorithm",
            "gamma",
            0.5,
            "gamma = 0.99 by default, but the training in .* had 0.5; allowed: the rankgym version that began",
        ),
        ("algorithm", "gamma", None, "gamma = 0.99 by default, but the training in .* had its library's;"),
        ("algorithm", "vf_coef", 0.7, "vf_coef = its library's by default, but .* had 0.7"),
        ("policy_kwargs", "activation", "tanh", "activation = 'relu' by default, but the .* had 'tanh'"),
    ],
)
def test_other_defaults_are_noticed(part, key, old, message, done, tmp_path):
    shutil.copytree(done.out, tmp_path / "run")
    path = tmp_path / "run" / "train.json"
    said = json.loads(path.read_text())
    said[part].pop(key, None)
    said[part] |= {} if old is None else {key: old}
    path.write_text(json.dumps(said))
    with pytest.raises(ValueError, match=message):
        train(ENV, **TINY, out=tmp_path / "run", resume=True)


def test_pairs_are_the_same_when_read_again(tmp_path):
    """JSON has lists only."""
    given = {**SMALL, **NETS["dqn"], "algo": "dqn", "train_freq": [2, "step"], "eval_every": 10**6}
    train(ENV, **given, steps=64, out=tmp_path / "run")
    assert train(ENV, **given, steps=128, out=tmp_path / "run", resume=True).steps == 128


def test_a_damaged_record_is_no_training(tmp_path):
    for name, text in (("train.json", "{"), ("last.zip", "")):
        (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=r"train.json is damaged \(RefusedFile: it is not JSON: .*\); allowed: fresh"):
        train(ENV, **TINY, out=tmp_path, resume=True)


@pytest.mark.parametrize(
    "change",
    [
        {"curve": [{"steps": 128}]},
        {"curve": 3},
        {"last": {"steps": "128", "weights": ""}},
        {"best": {"steps": 128, "regret": "small"}},
        {"best": 3.5},
        {"seconds": None},
    ],
)
def test_a_damaged_value_of_the_record_is_refused(done, change, tmp_path):
    (tmp_path / "last.zip").write_bytes((done.out / "last.zip").read_bytes())
    (tmp_path / "train.json").write_text(json.dumps(report(done) | change))
    with pytest.raises(ValueError, match=r"train.json is damaged \(.*\); allowed: fresh"):
        train(ENV, **{**TINY, "steps": 600}, out=tmp_path, resume=True)


# -- TensorBoard and the bar ------------------------------------------------------------------------------------------


def test_tensorboard_has_the_curves(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    training = train(ENV, **TINY, tensorboard=tmp_path / "tb")
    events = EventAccumulator(str(tmp_path / "tb"))
    events.Reload()
    for name in ("eval/regret", "eval/violations", "train/episode_regret", "train/episode_violations"):
        assert name in events.Tags()["scalars"]
    assert [event.step for event in events.Scalars("eval/regret")] == [one.steps for one in training.curve]


def test_without_tensorboard_one_is_told(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torch.utils.tensorboard", None)
    with pytest.raises(ValueError, match=r"tensorboard = 'tb', but TensorBoard is not installed; allowed: None, or"):
        train(ENV, **TINY, tensorboard="tb")


def test_episodes_of_the_training_are_told(done):
    episodes = report(done)["training_episodes"]
    assert episodes[-1]["steps"] == 512
    assert episodes[-1]["regret"] > 0
    assert 0 <= episodes[-1]["violations"] <= 20


def test_the_bar_counts_steps(capsys, monkeypatch):
    monkeypatch.setattr("rankgym.sb3.callbacks.PATIENCE", 0.0)
    monkeypatch.setattr("rankgym.sb3.callbacks.REDRAW_SECONDS", 0.0)
    train(ENV, **{**TINY, "progress": True})
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "512/512" in captured.err
    assert "steps/s" in captured.err
    assert "best" in captured.err


# -- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"algo": "poo"}, r"algo = 'poo' is unknown; did you mean 'ppo'\? allowed: ppo, a2c"),
        (
            {"policy": "mpl"},
            r"policy = 'mpl' is unknown with algo = 'ppo'; did you mean 'mlp'\? allowed: plackett-luce",
        ),
        ({"algo": "sac", "policy": "plackett-luce"}, "policy = 'plackett-luce' is unknown with algo = 'sac'"),
        ({"policy": "mlp", "truth": True}, "truth = True and policy = 'mlp'; allowed"),
        ({"steps": 0}, r"steps = 0 is out of range; allowed: a whole number, at least 1"),
        ({"rows": 0}, "rows = 0 is out of range"),
        ({"horizon": None}, "horizon = None is out of range"),
        ({"horizon": [20, 0]}, r"horizon\[1\] = 0 is out of range"),
        ({"horizon": [20, 20]}, r"horizon = \[20, 20\]; allowed: a whole number, or several that differ"),
        ({"horizon": list(range(1, 10))}, "rows = 8 is out of range; allowed: .* at least 9"),
        ({"n_steps": 200_000}, "n_steps = 200000 and rows = 8 make rollouts of 1,600,000 steps; allowed: .* 1,000,000"),
        ({"eval_horizon": 0}, "eval_horizon = 0 is out of range"),
        ({"average": 1}, r"average = 1 is out of range; allowed: a number in \[0, 1\)"),
        ({"seed": -1}, "seed = -1 is out of range"),
        ({"seed": 10**9 - 7}, r"seed = 999999993 is out of range; allowed: seed \+ rows up to 1,000,000,000"),
        ({"truth": "no"}, "truth = 'no' is out of range; allowed: True, False, None"),
        ({"stagger": 0}, "stagger = 0 is out of range; allowed: True, False"),
        ({"stagger": None}, "stagger = None is out of range"),
        ({"algo": ["ppo"]}, r"algo = \['ppo'\] is unknown"),
        ({"env_ids": 7}, "env_ids = 7 is out of range; allowed: an id, or a list of ids"),
        ({"env_ids": None}, "env_ids = None is out of range"),
        ({"env_ids": [ENV, 7]}, r"env_ids = \['PBM-Synthetic-v0', 7\] is out of range; allowed: an id, or a list of"),
        ({"env_kwargs": [1]}, r"env_kwargs = \[1\] is out of range; allowed: a dict of the environment's arguments"),
        ({"env_kwargs": "num_items=4"}, "env_kwargs = 'num_items=4' is out of range"),
        ({"env_kwargs": {3: 4}}, "env_kwargs = {3: 4} is out of range"),
        (
            {"layers": "ItemStatistics"},
            r"layers = 'ItemStatistics' is out of range; .* a list, such as \['ItemStatistics'",
        ),
        ({"layers": 7}, "layers = 7 is out of range; allowed: a list, such as"),
        ({"layers": [7]}, "layers has 7; allowed: a wrapper's name, or its name and a dict of its keywords"),
        ({"layers": [("ItemStatistics",)]}, "layers has .*; allowed: a wrapper's name, or its name and a dict"),
        ({"layers": [("ItemStatistics", [1])]}, "layers has .*; allowed: a wrapper's name, or its name and a dict"),
        ({"layers": [("ItemStatistics", {"discount": 1})]}, "layers has 'ItemStatistics' with {'discount': 1}: "),
        ({"threads": 0}, "threads = 0 is out of range"),
        ({"eval_every": 0}, "eval_every = 0 is out of range"),
        ({"eval_runs": 1.5}, "eval_runs = 1.5 is out of range"),
        ({"query": 10**6}, "query = 1000000 is out of range"),
        ({"eval_query": "tset"}, "query = 'tset' is unknown"),
        ({"reward": "money"}, "reward = 'money' is unknown"),
        ({"layers": ["Statistics"]}, r"layers has 'Statistics', which is unknown; did you mean 'ItemStatistics'\?"),
        ({"layers": ["SafeLists", "ItemStatistics"]}, "allowed: SafeLists last"),
        ({"layers": []}, "wrap"),
        ({"gama": 1}, r"gama = 1 is unknown to ppo and its policy; did you mean 'gamma'\? allowed: learning_rate"),
        ({"policy_kwargs": {}}, "policy_kwargs = {} is not a hyperparameter: give its entries one by one"),
        ({"verbose": 1}, "verbose = 1 is not a hyperparameter: it is fixed"),
        (
            {"learning_rate": "quick"},
            "learning_rate = 'quick' is out of range; allowed: a number, at least 0, or 'linear:",
        ),
        ({"learning_rate": "linear:-1"}, "learning_rate = 'linear:-1' is out of range; allowed: a number, at least 0"),
        ({"learning_rate": "linear:nan"}, "learning_rate = 'linear:nan' is out of range"),
        (
            {"learning_rate": -1},
            "learning_rate = -1 is out of range; allowed: a number, at least 0, or 'linear:NUMBER'",
        ),
        ({"clip_range": "linear:x"}, "clip_range = 'linear:x' is out of range"),
        ({"gamma": "x"}, r"^gamma = 'x' is out of range; allowed: a number in \[0, 1\]$"),
        ({"gamma": 5}, r"^gamma = 5 is out of range; allowed: a number in \[0, 1\]$"),
        ({"gamma": float("nan")}, "gamma = nan is out of range"),
        ({"gamma": True}, "gamma = True is out of range"),
        ({"gae_lambda": -0.1}, r"gae_lambda = -0.1 is out of range; allowed: a number in \[0, 1\]"),
        ({"n_epochs": 0.5}, "^n_epochs = 0.5 is out of range; allowed: a whole number, at least 1$"),
        ({"n_epochs": 0}, "n_epochs = 0 is out of range"),
        ({"n_steps": 0}, "^n_steps = 0 is out of range; allowed: a whole number, at least 1$"),
        ({"n_steps": [16]}, r"n_steps = \[16\] is out of range"),
        (
            {"n_steps": 10**13},
            "n_steps = 10000000000000 and rows = 8 make rollouts of 80,000,000,000,000 steps; allowed",
        ),
        ({"batch_size": 0}, "batch_size = 0 is out of range"),
        ({"ent_coef": "auto"}, "ent_coef = 'auto' is out of range; allowed: a number$"),
        ({"ent_coef": 10**400}, "ent_coef = 1000.* is out of range; allowed: a number$"),
        ({"target_kl": "x"}, "target_kl = 'x' is out of range; allowed: a number, at least 0, or None$"),
        ({"normalize_advantage": 1}, "normalize_advantage = 1 is out of range; allowed: True, False$"),
        ({"temperature": "hot"}, "temperature = 'hot' is out of range; allowed: a number$"),
        ({"width": 2.5}, "width = 2.5 is out of range; allowed: a whole number$"),
        ({"optimizer_kwargs": 3}, "optimizer_kwargs = 3 is out of range; allowed: a dict, or None$"),
        ({"width": 0}, "width"),
        (
            {"env_kwargs": {"horizon": 3}},
            "env_kwargs has horizon = 3; allowed: others, train has horizon as an argument",
        ),
        ({"env_kwargs": {"itmes": 3}}, "PBM-Synthetic-v0: .*itmes"),
        ({"env_kwargs": {"num_items": np.ones(3)}}, "the arguments are not plain JSON values"),
        ({"env_ids": []}, r"env_ids = \[\]; allowed: at least one, each once"),
        ({"env_ids": [ENV, ENV]}, "allowed: at least one, each once"),
        ({"env_ids": "Dueling-Arxiv-v0"}, "environment 'Dueling-Arxiv-v0' has duels; allowed: one of rankings"),
        ({"env_ids": "PBM-Yandexx-v0"}, r"environment 'PBM-Yandexx-v0' is unknown; did you mean 'PBM-Yandex-v0'\?"),
        ({"env_ids": [ENV, "CM-Synthetic-v0"], "rows": 1}, "rows = 1 is out of range; allowed: .* at least 2"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_happens(change, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        train(**{"env_ids": ENV, **TINY, "out": tmp_path / "run", **change})
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("algo", "given", "message"),
    [
        ("ppo", {"net_arch": 64}, "net_arch = 64 is out of range; allowed: a list, or a dict, or None"),
        ("ppo", {"net_arch": [-1]}, "ppo with the policy mlp cannot be made: "),
        ("ppo", {"net_arch": ["x"]}, "ppo with the policy mlp cannot be made: "),
        ("ppo", {"activation_fn": "relu"}, "activation_fn = 'relu' is unknown to ppo and its policy"),
        (
            "ppo",
            {"use_sde": True, "layers": ["ItemStatistics", "RankingNumber"]},
            "gSDE.* can only be used with continuous actions",
        ),
        ("sac", {"ent_coef": "some"}, "ent_coef = 'some' is out of range; allowed: a number, or 'auto'"),
        ("sac", {"train_freq": 0}, "train_freq = 0 is out of range; allowed: a whole number, at least 1"),
        (
            "sac",
            {"train_freq": [0, "step"]},
            r"train_freq = \[0, 'step'\] is out of range; allowed: .* or \[N, 'step'\]$",
        ),
        ("sac", {"train_freq": [1, "episode"]}, r"train_freq = \[1, 'episode'\] is out of range"),
        ("sac", {"train_freq": []}, r"train_freq = \[\] is out of range"),
        ("sac", {"buffer_size": 0}, "buffer_size = 0 is out of range"),
        ("td3", {"policy_delay": 0}, "policy_delay = 0 is out of range"),
        ("dqn", {"exploration_fraction": 0}, "exploration_fraction = 0 is out of range"),
        ("dqn", {"tau": 1.5}, r"tau = 1.5 is out of range; allowed: a number in \[0, 1\]"),
    ],
)
def test_wrong_hyperparameters_of_other_algorithms(algo, given, message, tmp_path):
    given = {"policy": "mlp", "steps": 64, **SMALL, **NETS[algo], **given}
    with pytest.raises(ValueError, match=message):
        train(ENV, algo=algo, out=tmp_path / "run", **given)
    assert not (tmp_path / "run").exists()


def test_seeds_of_evaluations_are_not_those_of_a_training():
    assert train(ENV, **{**TINY, "steps": 1}, seed=EVALUATION_SEED - 8).steps == 128


def test_out_must_be_a_folder(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="cannot be written"):
        train(ENV, **TINY, out=tmp_path / "file")


def test_defaults_are_hyperparameters_of_their_algorithms():
    for (algo, policy), (_, hyperparameters) in DEFAULTS.items():
        known = set(inspect.signature(ALGORITHMS[algo]).parameters)
        if policy == "plackett-luce":
            known |= set(inspect.signature(PlackettLucePolicy).parameters)
        assert set(hyperparameters) <= known

"""Trained models as agents: the contract of all agents, the law of their lists, and what files say."""

import copy
import functools
import json
import math
import pickle
import zipfile

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("stable_baselines3")
pytest.importorskip("sb3_contrib")

import torch as th
from sb3_contrib import MaskablePPO
from scipy.stats import chi2
from stable_baselines3 import A2C, DQN, PPO, SAC, TD3
from stable_baselines3.common.vec_env import VecNormalize

import rankgym
from rankgym import wrappers
from rankgym.kernels import bits, session_seed, uniform
from rankgym.sb3.agent import SB3Agent, gumbel_noise
from rankgym.sb3.model_files import describe, export_model, model_card, weights_digest
from rankgym.sb3.plackett_luce import PlackettLuce, PlackettLucePolicy
from rankgym.sb3.vec_env import RankingVecEnv
from rankgym.wrappers.actions import BASE_COLUMN

SMALL = {"net_arch": [16]}
OFF = {"buffer_size": 100, "policy_kwargs": SMALL}
ON = {"n_steps": 8, "batch_size": 16}
DRAWS = {"width": 8, "temperature": 5.0}

# what a model is: algorithm, policy, keywords, layers, whether its critic sees the truth
FORMS = {
    "ppo": (PPO, PlackettLucePolicy, {**ON, "policy_kwargs": DRAWS}, ["ItemStatistics"], True),
    "a2c": (
        A2C,
        PlackettLucePolicy,
        {"n_steps": 8, "policy_kwargs": DRAWS},
        ["ItemStatistics", "LastDisplayed"],
        False,
    ),
    "sac": (SAC, "MlpPolicy", OFF, ["ItemStatistics", "ScoresToRanking"], False),
    "td3": (TD3, "MlpPolicy", OFF, ["ItemStatistics", "TimeAware", "ScoresToRanking"], False),
    "scores": (PPO, "MlpPolicy", {**ON, "policy_kwargs": SMALL}, ["ItemStatistics", "ScoresToRanking"], False),
    "dqn": (DQN, "MlpPolicy", OFF, ["ItemStatistics", "RankingNumber"], False),
    "slots": (
        MaskablePPO,
        "MlpPolicy",
        {**ON, "policy_kwargs": SMALL},
        ["ItemStatistics", "SlotBySlot"],
        False,
    ),
    "swaps": (PPO, "MlpPolicy", {**ON, "policy_kwargs": SMALL}, ["ItemStatistics", "AdjacentSwaps"], False),
    "safe": (
        PPO,
        PlackettLucePolicy,
        {**ON, "policy_kwargs": {**DRAWS, "max_displacement": 1, "base_column": BASE_COLUMN}},
        ["ItemStatistics", "SafeLists"],
        False,
    ),
}
DRAWN = ("ppo", "a2c", "safe")


def layered(names, items=6, positions=3, rows=2, horizon=200, **arguments):
    """A vector environment in wrappers."""
    arguments = {"query": "all", "autoreset_mode": "Disabled", **arguments}
    env = gym.make_vec(
        "rankgym/PBM-Synthetic-v0",
        num_envs=rows,
        num_items=items,
        num_positions=positions,
        horizon=horizon,
        **arguments,
    )
    for name in names:
        env = getattr(wrappers, name)(env)
    return env


@functools.cache
def model_of(form, items=6, positions=3, spread=4.0):
    """An untrained model, its weights larger than they begin, so that it does something."""
    cls, policy, keywords, names, truth = FORMS[form]
    env = layered(names, items, positions)
    keywords = {**keywords, "policy_kwargs": dict(keywords["policy_kwargs"])}
    model = cls(policy, RankingVecEnv(env, truth=truth, seed=0), seed=0, device="cpu", **keywords)
    with th.no_grad():
        for weights in model.policy.parameters():
            weights *= spread
    describe(model, env)
    return model


@functools.cache
def file_of(form, folder, items=6, positions=3):
    path = folder / f"{form}-{items}-{positions}.zip"
    model_of(form, items, positions).save(path)
    return path


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


def agent_of(form, *, rows=2, items=6, positions=3, horizon=200, **keywords):
    shape = {"num_items": items, "num_positions": positions, "num_envs": rows, "horizon": horizon, "seed": 0}
    return SB3Agent(**{**shape, "model": model_of(form, items, positions), **keywords})


def users(rows, positions, rounds, seed=0):
    """Clicks (rounds, rows, positions) of users who do not care what is displayed."""
    return np.random.default_rng(seed).integers(0, 2, (rounds, rows, positions)).astype(np.int8)


# -- the contract -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_models_keep_the_contract_of_agents(form):
    def factory(*, num_items, num_positions, **rest):
        safe = form in ("swaps", "safe") and num_items == 1  # where there is nothing to exchange
        known = form if num_positions <= num_items and not safe else "ppo"
        model = model_of(known, max(num_items, 1), min(num_positions, num_items))
        return SB3Agent(num_items=num_items, num_positions=num_positions, model=model, **rest)

    rankgym.check_agent(factory, rounds=24)


@pytest.mark.parametrize("form", FORMS)
def test_what_is_no_session_is_refused_and_changes_nothing(form):
    agent, other = agent_of(form), agent_of(form)
    for clicks in users(2, 3, 5):
        shown = agent.act()
        np.testing.assert_array_equal(shown, other.act())
        for wrong in (
            (shown[:, :2], clicks),
            (np.zeros_like(shown), clicks),
            (shown, clicks + 2),
            (shown.astype(float), clicks),
        ):
            with pytest.raises(ValueError, match="allowed: "):
                agent.update(*wrong)
        agent.update(shown, clicks)
        other.update(shown, clicks)


@pytest.mark.parametrize("form", ["ppo", "slots", "safe"])
def test_who_asks_twice_gets_the_same_list_twice(form):
    agent = agent_of(form)
    for clicks in users(2, 3, 5):
        shown = agent.act()
        np.testing.assert_array_equal(agent.act(), shown)
        agent.update(shown, clicks)


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("form", DRAWN)
def test_a_row_does_not_depend_on_the_batch(form, deterministic):
    rows, alone = 64, 5
    many = agent_of(form, rows=rows, deterministic=deterministic)
    one = agent_of(form, rows=1, seed=alone, deterministic=deterministic)
    few = agent_of(form, rows=7, seed=[alone, 1, 2, 3, 4, 5, 6], deterministic=deterministic)
    clicks = users(1, 3, 60)
    for t in range(60):
        shown = many.act()
        np.testing.assert_array_equal(one.act()[0], shown[alone])
        np.testing.assert_array_equal(few.act()[0], shown[alone])
        for agent in (many, one, few):
            seen = np.broadcast_to(clicks[t], (agent.num_envs, 3))
            lists = np.broadcast_to(shown[alone], (agent.num_envs, 3))
            agent.update(lists, seen)


# -- what it shows ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_simulate_plays_what_the_model_predicts_in_the_wrapped_environment(form):
    rows, rounds = 7, 40
    model, names = model_of(form), FORMS[form][3]
    env = layered(names, rows=rows, horizon=rounds)
    observation, info = env.reset(seed=3)
    regret, played = np.zeros(rows), 0
    while played < rounds:
        masks = {"action_masks": env.action_masks()} if form == "slots" else {}
        actions, _ = model.predict(observation, deterministic=True, **masks)
        observation, *_, info = env.step(actions)
        if "regret" in info:
            regret += info["regret"]
            played += 1
    bare = layered([], rows=rows, horizon=rounds)
    agent = SB3Agent.for_env(bare, model=model, seed=0, deterministic=True)
    history = rankgym.simulate(agent, bare, rounds, seed=3, progress=False)
    np.testing.assert_allclose(history.regret[-1], regret, rtol=1e-12)
    assert regret.std() > 0


@pytest.mark.kernels
def test_noise_is_minus_log_minus_log_of_the_rows_own_coins():
    key = np.array([3, 2**63 + 5, 3], np.uint64)
    noise = np.empty((3, 5))
    gumbel_noise(key, np.int64(7), noise)
    for row in range(3):
        for i in range(5):
            seed = np.uint64(session_seed(key[row], 7))
            u = max(uniform(np.uint64(bits(seed, i))), 2.0**-54)
            assert noise[row, i] == pytest.approx(-math.log(-math.log(u)), rel=1e-12)
    np.testing.assert_array_equal(noise[0], noise[2])


@pytest.mark.parametrize("noise", [None, 1, 2.5])
def test_lists_are_drawn_by_the_policys_own_law(noise):
    """Chi-square of the 12 lists of 2 out of 4 items: fails by chance with probability 1e-7 each."""
    rows, items, positions = 40_000, 4, 2
    model = model_of("ppo", items, positions)
    agent = agent_of("ppo", rows=rows, items=items, positions=positions, noise=noise)
    for clicks in users(1, positions, 3):  # some history, the same in all rows
        shown = np.tile(agent.act()[:1], (rows, 1))
        agent.update(shown, np.tile(clicks, (rows, 1)))
    table = agent.state.layers[0].observe(agent.state.clicks)
    assert (table == table[0]).all()
    with th.no_grad():
        scores = model.policy.scores(table[:1])
    lists = np.array([(i, j) for i in range(items) for j in range(items) if i != j])
    law = PlackettLuce(items, positions).proba_distribution(scores.expand(len(lists), -1) / (noise or 1))
    expected = rows * law.log_prob(th.from_numpy(lists)).exp().double().numpy()
    assert expected.min() > 5
    shown = agent.act()
    counts = np.array([(shown == one).all(1).sum() for one in lists])
    assert counts.sum() == rows
    assert ((counts - expected) ** 2 / expected).sum() < chi2.isf(1e-7, len(lists) - 1)


def test_without_noise_the_greedy_list_is_shown():
    quiet, greedy = agent_of("ppo", rows=50, noise=0), agent_of("ppo", rows=50, deterministic=True)
    for clicks in users(50, 3, 20):
        np.testing.assert_array_equal(quiet.act(), greedy.act())
        for agent in (quiet, greedy):
            agent.update(agent.act(), clicks)


def test_a_model_says_how_much_noise_it_wants():
    model = copy.deepcopy(model_of("ppo"))
    model.rankgym["noise"] = 0.25
    shape = {"num_items": 6, "num_positions": 3, "model": model}
    assert SB3Agent(**shape).state.noise == 0.25
    assert SB3Agent(**shape, noise=3).state.noise == 3
    assert SB3Agent(**shape, deterministic=True).state.noise == 0


def test_noise_beside_a_model_that_is_to_be_played_deterministically():
    """The message does not speak of an argument that nobody gave."""
    model = copy.deepcopy(model_of("ppo"))
    model.rankgym["deterministic"] = True
    shape = {"num_items": 6, "num_positions": 3, "model": model}
    with pytest.raises(ValueError, match=r"noise = 2, but PPO is to be played deterministically, by its card; a"):
        SB3Agent(**shape, noise=2)
    assert SB3Agent(**shape).state.noise == SB3Agent(**shape, noise=0).state.noise == 0
    assert SB3Agent(**shape, noise=2, deterministic=False).state.noise == 2
    assert SB3Agent(**shape, deterministic=False).state.noise == 1


def test_rounds_are_drawn_apart():
    """Nothing that the policy sees differs, but the round. All is seeded: nothing is left to chance."""
    agent, twin = agent_of("ppo", rows=50), agent_of("ppo", rows=50)
    twin.state.round[0] = 1
    assert (agent.act() != twin.act()).any(axis=1).sum() > 10
    for number in range(3):
        assert agent.state.round.tolist() == [number]
        agent.update(agent.act(), np.zeros((50, 3), np.int8))


def test_a_plackett_luce_model_ranks_any_number_of_items():
    for items in (3, 6, 11):
        shape = {"num_items": items, "num_positions": 3, "num_envs": 40, "seed": 0, "horizon": 10**6}
        agent = SB3Agent(model=model_of("ppo"), **shape)
        shown = agent.act()
        assert set(np.unique(shown)) == set(range(items))
        agent.update(shown, np.ones((40, 3), np.int8))


@pytest.mark.parametrize("form", ["swaps", "safe"])
def test_safe_models_stay_within_one_exchange_of_the_base_list(form):
    agent = agent_of(form, rows=50)
    for clicks in users(50, 3, 30):
        base = agent.state.layers[-1].base.copy()
        shown = agent.act()
        place = np.argsort(base, axis=1)
        assert (np.abs(np.take_along_axis(place, shown, 1) - np.arange(3)) <= 1).all()
        agent.update(shown, clicks)


# -- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_a_saved_model_plays_as_the_model_itself(form, folder):
    saved, itself = agent_of(form, model=file_of(form, folder)), agent_of(form)
    assert saved.card == itself.card == model_card(file_of(form, folder))
    for clicks in users(2, 3, 10):
        shown = saved.act()
        np.testing.assert_array_equal(shown, itself.act())
        saved.update(shown, clicks)
        itself.update(shown, clicks)


def test_what_a_model_says_of_itself():
    card = model_of("safe").rankgym
    assert card == json.loads(json.dumps(card))
    assert [name for name, _ in card["layers"]] == ["ItemStatistics", "SafeLists"]
    assert (card["num_items"], card["num_positions"], card["horizon"]) == (6, 3, 200)
    assert card["envs"] == ["rankgym/PBM-Synthetic-v0"]
    assert (card["rankgym"], card["algo"], card["deterministic"]) == (rankgym.__version__, "PPO", False)
    assert model_of("sac").rankgym["deterministic"] is True
    assert model_of("ppo").rankgym["truth"] is True


@pytest.mark.parametrize("form", FORMS)
def test_an_exported_model_plays_alike_and_has_no_pickles(form, folder, tmp_path):
    source, targets = file_of(form, folder), [tmp_path / "one.safetensors", tmp_path / "two.safetensors"]
    cards = [export_model(source, target) for target in targets]
    assert targets[0].read_bytes() == targets[1].read_bytes()
    assert cards[0] == model_card(targets[0]) == {**model_card(source), "weights": weights_digest(model_of(form))}
    mine, theirs = agent_of(form, model=targets[0]), agent_of(form, model=source)
    for clicks in users(2, 3, 20):
        np.testing.assert_array_equal(mine.act(), theirs.act())
        for agent in (mine, theirs):
            agent.update(agent.act(), clicks)


def test_an_export_has_the_ending_by_which_it_is_read(folder, tmp_path):
    with pytest.raises(ValueError, match=r"target = '.*one.zip' has another ending; allowed: .safetensors"):
        export_model(file_of("a2c", folder), tmp_path / "one.zip")


def test_nothing_in_a_file_is_executed(folder, tmp_path):
    """A file whose pickles would raise is read all the same."""
    source, spoilt = file_of("a2c", folder), tmp_path / "spoilt.zip"
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(spoilt, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "data":
                data = json.loads(content)
                for value in data.values():
                    if isinstance(value, dict) and ":serialized:" in value:
                        value[":serialized:"] = "bm8gcGlja2xl"
                content = json.dumps(data).encode()
            new.writestr(name, content)
    with pytest.raises(Exception, match=r".*"):
        A2C.load(spoilt)
    np.testing.assert_array_equal(agent_of("a2c", model=spoilt).act(), agent_of("a2c").act())


def test_making_an_agent_leaves_torchs_generator_alone(folder):
    th.manual_seed(5)
    expected = th.rand(3)
    th.manual_seed(5)
    agent = agent_of("ppo", model=file_of("ppo", folder))
    agent.act()
    assert th.equal(th.rand(3), expected)


def test_the_threads_of_torch_are_as_they_were():
    before = th.get_num_threads()
    th.set_num_threads(2)
    try:
        agent_of("ppo").act()
        assert th.get_num_threads() == 2
    finally:
        th.set_num_threads(before)


def test_the_model_is_left_alone():
    model = model_of("ppo")
    digest = weights_digest(model)
    agent = agent_of("ppo")
    agent.act()
    assert weights_digest(model) == digest
    assert next(model.policy.parameters()).dtype == th.float32
    assert not any(
        p.data_ptr() == q.data_ptr()
        for p, q in zip(model.policy.parameters(), agent.state.policy.parameters(), strict=True)
    )


@pytest.mark.parametrize("form", FORMS)
def test_copies_go_their_own_way(form):
    agent = agent_of(form)
    for clicks in users(2, 3, 4):
        agent.update(agent.act(), clicks)
    twins = [copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))]
    for clicks in users(2, 3, 4, seed=1):
        shown = agent.act()
        agent.update(shown, clicks)
    for twin in twins:
        for clicks in users(2, 3, 4, seed=1):
            shown = twin.act()
            twin.update(shown, clicks)
        np.testing.assert_array_equal(twin.act(), agent.act())


def test_digests_tell_weights_apart():
    one = model_of("ppo")
    digest = weights_digest(one)
    assert digest == weights_digest(one)
    assert digest != weights_digest(model_of("ppo", 6, 3, 4.0000005))


# -- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"model": 7}, "model = 7 is not a model; allowed: a file, or a model of stable-baselines3"),
        (
            {"model": "nowhere.zip"},
            "model = 'nowhere.zip' cannot be read: No such file or directory; allowed: a file, or ppo-breakpoint, "
            "ppo-cm, ppo-dcm, ppo-pbm, ppo-safe",
        ),
        ({"deterministic": 1}, "deterministic = 1 is unknown; allowed: True, False, None"),
        ({"noise": -1}, "noise = -1 is out of range; allowed: a number in [0, 1e+06]"),
        ({"noise": "much"}, "noise = 'much' is out of range; allowed: a number in [0, 1e+06]"),
        ({"noise": 1, "deterministic": True}, "deterministic = True and noise = 1; allowed: one of them"),
        ({"num_positions": 2}, "num_positions = 2, but PPO was trained with 3; allowed: 3"),
        ({"num_positions": 7}, "num_positions = 7 is out of range; allowed: a whole number in 1 .. 6"),
    ],
)
def test_wrong_arguments(keywords, message):
    shape = {"num_items": 6, "num_positions": 3, "model": model_of("ppo")}
    with pytest.raises(ValueError) as refusal:
        SB3Agent(**{**shape, **keywords})
    assert str(refusal.value) == message


@pytest.mark.parametrize("form", [form for form in FORMS if form not in DRAWN])
def test_other_policies_are_played_deterministically_and_as_trained(form):
    with pytest.raises(ValueError, match=r"deterministic = False, but the policy of .* only Plackett-Luce"):
        agent_of(form, deterministic=False)
    with pytest.raises(ValueError, match=r"noise = 2, but the policy of .*; allowed: 0 or None, only Plackett-Luce"):
        agent_of(form, noise=2)
    with pytest.raises(ValueError, match=r"num_items = 7, but \w+ was trained with 6; allowed: 6"):
        SB3Agent(num_items=7, num_positions=3, model=model_of(form), horizon=100)


@given(content=st.binary(max_size=200))
@settings(deadline=None, max_examples=30)
def test_any_other_file_is_refused(content, tmp_path_factory):
    path = tmp_path_factory.mktemp("files") / "model.zip"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is not a model of stable-baselines3"):
        model_card(path)


def test_a_model_that_says_nothing_is_refused(tmp_path):
    model = PPO(PlackettLucePolicy, RankingVecEnv(layered(["ItemStatistics"])), n_steps=8, batch_size=16)
    model.save(tmp_path / "plain.zip")
    for source in (model, tmp_path / "plain.zip"):
        with pytest.raises(ValueError, match=r"does not say what it was trained on; allowed: .*describe"):
            model_card(source)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"policy": "os:system"}, "has the policy os:system, which no file may name"),
        ({"policy": "stable_baselines3.nowhere.policies:Policy"}, "which is not installed"),
        (
            {"policy": "stable_baselines3.common.policies:BaseModel"},
            "policies:BaseModel, which is not a policy; allowed: a policy's class",
        ),
        ({"policy": "rankgym.sb3.training:train"}, "which no file may name"),
        ({"policy": "stable_baselines3.common.policies:BasePolicy"}, "does not fit its policy here"),
        ({"policy": ["os", "system"]}, r"is damaged: policy = \['os', 'system'\]; allowed: a text"),
        ({"policy_kwargs": None}, "is damaged: policy_kwargs = None; allowed: a dict"),
        ({"policy_kwargs": {"width": 1e30}}, "does not fit its policy here"),
        ({"num_items": "6"}, "is damaged: num_items = '6'; allowed: a whole number, at least 1"),
        ({"num_positions": True}, "is damaged: num_positions = True; allowed: a whole number"),
        ({"num_positions": 0}, "is damaged: num_positions = 0; allowed: a whole number, at least 1"),
        ({"truth": 0}, "is damaged: truth = 0; allowed: true, false"),
        ({"deterministic": "no"}, "is damaged: deterministic = 'no'; allowed: true, false"),
        ({"noise": -1}, "is damaged: noise = -1 is out of range; allowed: a number in"),
        ({"layers": {}}, "is damaged: layers = {}; allowed: a list"),
        ({"layers": ["ItemStatistics"]}, "is damaged: layers has 'ItemStatistics'; allowed: a name and a dict"),
        ({"layers": [[["x"], {}]]}, "is damaged: layers has .*; allowed: a name and a dict of keywords"),
        ({"layers": [["ItemStatistics", {"x": 1}]]}, "has the wrapper ItemStatistics with {'x': 1}: .*'x'"),
        (
            {"layers": [["ItemStatistics", {"discounts": "x"}]]},
            "has the wrapper ItemStatistics with {'discounts': 'x'}",
        ),
        (
            {"layers": [["ScoresToRanking", {}], ["ScoresToRanking", {}]]},
            "has the wrapper ScoresToRanking with {}: env",
        ),
        ({"policy_kwargs": {"widht": 3}}, "does not fit its policy here"),
        ({"policy_kwargs": {"width": 3}}, "does not fit its policy here"),
        ({"layers": [["Unheard", {}]]}, "the model's wrapper 'Unheard' is unknown; allowed: .*ItemStatistics"),
    ],
)
def test_files_that_do_not_fit(change, message, folder, tmp_path):
    with zipfile.ZipFile(file_of("a2c", folder)) as old, zipfile.ZipFile(tmp_path / "odd.zip", "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "data":
                data = json.loads(content)
                data["rankgym"] |= change
                content = json.dumps(data).encode()
            new.writestr(name, content)
    with pytest.raises(ValueError, match=message):
        agent_of("a2c", model=tmp_path / "odd.zip")


def test_weights_that_are_none_are_refused(folder, tmp_path):
    with zipfile.ZipFile(file_of("a2c", folder)) as old, zipfile.ZipFile(tmp_path / "odd.zip", "w") as new:
        new.writestr("data", old.read("data"))
        th.save({"actor": 3}, tmp_path / "weights")
        new.write(tmp_path / "weights", "policy.pth")
    with pytest.raises(
        ValueError, match=r"is not a model of stable-baselines3 \(TypeError: policy.pth has something else"
    ):
        agent_of("a2c", model=tmp_path / "odd.zip")


def test_scaled_observations_are_not_described():
    """What VecNormalize has seen is in no model's file, so that the policy would be shown other numbers."""
    env = layered(["ItemStatistics"])
    for norm_obs in (True, False):
        scaled = VecNormalize(RankingVecEnv(layered(["ItemStatistics"])), norm_obs=norm_obs)
        model = PPO(PlackettLucePolicy, scaled, n_steps=8, batch_size=16)
        if norm_obs:
            with pytest.raises(ValueError, match=r"that VecNormalize scales, .*; allowed: .*norm_obs=False"):
                describe(model, env)
            assert not hasattr(model, "rankgym")
        else:
            assert describe(model, env)["policy"] == "rankgym.sb3.plackett_luce:PlackettLucePolicy"


def test_only_what_can_be_played_is_described():
    env = layered(["ItemStatistics"])
    model = PPO("MlpPolicy", RankingVecEnv(env), n_steps=8, batch_size=16)
    with pytest.raises(ValueError, match=r"whose lists may show an item twice; allowed: a PlackettLucePolicy, or"):
        describe(model, env)
    with pytest.raises(ValueError, match=r"model has the action space .* allowed: that of env"):
        describe(model_of("sac"), layered(["ItemStatistics", "RankingNumber"]))
    with pytest.raises(ValueError, match=r"of shape \(6, \d+\), but those of env have shape \(6, \d+\); allowed"):
        describe(model_of("ppo"), layered(["ItemStatistics", "LastDisplayed"]))
    with pytest.raises(ValueError, match="not a ranking environment"):
        describe(model_of("ppo"), gym.make_vec("CartPole-v1", num_envs=1))
    wrapped = layered(["ItemStatistics", "ScoresToRanking"])
    kwargs = {"net_arch": [4], "activation_fn": th.nn.ReLU}
    odd = PPO("MlpPolicy", RankingVecEnv(wrapped), n_steps=8, batch_size=16, policy_kwargs=kwargs)
    with pytest.raises(ValueError, match="not plain JSON"):
        describe(odd, wrapped)
    sees = PPO("MultiInputPolicy", RankingVecEnv(wrapped, truth=True), n_steps=8, batch_size=16)
    with pytest.raises(ValueError, match="sees the truth when it acts; allowed: truth=False"):
        describe(sees, wrapped)

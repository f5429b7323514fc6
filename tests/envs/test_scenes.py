"""Scenes say what the last session was, through resets, snapshots, stretches and repeated sessions."""

import json
import re
from collections import Counter

import numpy as np
import pytest
from families import FAMILIES, FEW, MODELS, no_nan, played
from hypothesis import given
from hypothesis import strategies as st

import rankgym
from rankgym import scenes
from rankgym.models import users
from rankgym.play.game import Game
from rankgym.scenes import DuelScene, RankingScene, as_plain
from rankgym.wrappers.against_itself import AgainstItself
from rankgym_agents import AGENTS

# -- scenes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_a_scene_is_what_info_says(make_family, family):
    env = make_family(family)
    before = env.reset(seed=0)[1]
    scene = env.unwrapped.scene()
    assert (scene.round, scene.regret) == (None, None)
    assert scene.regret_so_far in (0.0, None)
    assert getattr(scene, "query", None) == before.get("query")
    total = 0.0
    for number, info in enumerate(played(env, 12)):
        scene, total = env.unwrapped.scene(), total + info["regret"]
        assert (scene.round, scene.regret, scene.regret_so_far) == (number, no_nan(info["regret"]), no_nan(total))
        if isinstance(scene, DuelScene):
            assert [scene.problem, scene.left, scene.right, scene.winner] == [
                info[name] for name in ("problem", "left", "right", "winner")
            ]
            continue
        places = len(scene.displayed)
        assert [place.item for place in scene.displayed] == info["displayed"][:places].tolist()
        assert [place.clicked for place in scene.displayed] == info["clicks"][:places].astype(bool).tolist()
        assert (info["displayed"][places:] == -1).all()
        assert scene.query == info["query"]
        if isinstance(scene, RankingScene):
            keys = ("expected_reward", "optimal_reward", "misordered")
            assert [getattr(scene, name) for name in keys] == [info[name] for name in keys]
            assert scene.epoch == info.get("epoch")
        else:
            assert [scene.left.credit, scene.right.credit] == info["credit"].tolist()
            assert scene.winner == info["winner"]


@pytest.mark.parametrize("family", FEW)
def test_who_looks_seldom_sees_the_same(make_family, family):
    """Whether somebody looked before, wrote into an observation or an action, or began a new episode matters not."""
    looking, seldom = make_family(family), make_family(family)
    for episode in range(2):
        for env in (looking, seldom):
            env.reset(seed=episode)
            env.action_space.seed(episode)
        for number in range(6):
            for env in (looking, seldom):
                action = env.action_space.sample()
                observation, *_ = env.step(action)
                observation[:] = 1
                for part in action.values() if isinstance(action, dict) else [action]:
                    if isinstance(part, np.ndarray) and part.ndim:
                        part[:] = part[::-1].copy()
            scene = looking.unwrapped.scene()
            if number % 4 == 3:
                assert seldom.unwrapped.scene() == scene
    seldom.reset(seed=2)
    looking.reset(seed=2)
    assert seldom.unwrapped.scene() == looking.unwrapped.scene()


@pytest.mark.parametrize("family", [*MODELS, "breakpoints", "two levels", "rankings"])
def test_rewards_are_those_of_the_users_that_are_shown(make_family, family):
    """A click has the probability examined * attraction, in every model here, also just before a breakpoint."""
    env = make_family(family, cutoff=None)
    for _ in played(env, 9):
        scene = env.unwrapped.scene()
        lists = [(scene.best, scene.optimal_reward if isinstance(scene, RankingScene) else None)]
        if isinstance(scene, RankingScene):
            lists.append((scene.displayed, scene.expected_reward))
        for places, reward in lists:
            assert all(place.attraction == scene.attraction[place.item] for place in places)
            clicks = sum(place.attraction * place.examined for place in places)
            if reward is not None:
                assert clicks == pytest.approx(reward, abs=1e-9)


def test_a_duel_knows_its_odds(make_family):
    env = make_family("arms")
    for _ in played(env, 12):
        scene, truth = env.unwrapped.scene(), env.unwrapped
        assert scene.left_beats_right == truth.preference[scene.left, scene.right]
        assert scene.best_arm == truth.best_arm
        assert scene.gaps == pytest.approx(truth.preference[scene.best_arm] - 0.5)
        assert scene.arms == truth.arms.tolist()
        assert scene.regret == pytest.approx((scene.gaps[scene.left] + scene.gaps[scene.right]) / 2)


def test_what_the_best_arm_is_and_which_regret_counts_is_said(make_family):
    env = make_family("Copeland")
    env.reset(seed=0)
    assert (env.unwrapped.scene().best_by, env.unwrapped.scene().regret_kind) == ("copeland", "weak")
    env = make_family("balanced")
    env.reset(seed=0)
    assert env.unwrapped.scene().regret_kind == "strong"


def test_sides_of_a_duel_of_rankings(make_family):
    env = make_family("rankings")
    for info in played(env, 12):
        scene = env.unwrapped.scene()
        for number, side in enumerate((scene.left, scene.right)):
            assert side.ranking == info[("left", "right")[number]].tolist()
            assert side.expected_reward == info["expected_reward"][number]
            assert side.gap == info["optimal_reward"] - side.expected_reward
        clicked = [place.left_share for place in scene.displayed if place.clicked]
        assert [scene.left.credit, scene.right.credit] == [sum(clicked), len(clicked) - sum(clicked)]
        assert scene.tied == (scene.left.credit == scene.right.credit)


def test_credit_is_given_by_position_only_where_the_method_does(make_family):
    env = make_family("balanced")
    for _ in played(env, 3):
        assert {place.left_share for place in env.unwrapped.scene().displayed} == {None}
    pytest.importorskip("scipy", reason="optimized interleaving needs SciPy")
    env, sides = make_family("rankings", interleaving="optimized", horizon=40), set()
    for info in played(env, 40):
        clicked = [place.left_share for place in env.unwrapped.scene().displayed if place.clicked]
        assert [1.0 in clicked, 0.0 in clicked] == (info["credit"] > 0).tolist()
        sides |= set(clicked)
    assert sides == {1.0, 0.0, None}


def test_sides_of_a_duel_of_rankers(make_family):
    env = make_family("rankers", rankers=[2, 0])
    lists = Counter()
    for info in played(env, 12):
        scene = env.unwrapped.scene()
        assert [(side.arm, side.feature) for side in (scene.left, scene.right)] == [
            (info[name], [2, 0][info[name]]) for name in ("left", "right")
        ]
        assert [side.gap for side in (scene.left, scene.right)] == pytest.approx(
            [[0.0, 0.2][info[name]] for name in ("left", "right")]
        )
        assert scene.best_arm == 0
        assert scene.left_beats_right == [[0.5, 0.7], [0.3, 0.5]][info["left"]][info["right"]]
        lists[scene.query, scene.left.arm, tuple(scene.left.ranking)] += 1
        assert len(scene.left.ranking) == scene.num_positions == 5
    assert len({(query, arm) for query, arm, _ in lists}) == len(lists)  # a ranker has one list for a query
    env = make_family("rankers without a matrix")
    for _ in played(env, 1):
        scene = env.unwrapped.scene()
        assert [scene.best_arm, scene.left_beats_right, scene.left.gap, scene.regret_so_far] == [None] * 4


def test_readers_of_documents_click_as_their_model_says(make_family):
    env = make_family("rankers", user_model="informational")
    for _ in played(env, 6):
        scene, reader = env.unwrapped.scene(), users.user("informational", 2)
        grades = [reader.clicking.tolist().index(place.attraction) for place in scene.displayed]
        chances = users.click_vectors(reader, [grades])[0]
        for k, place in enumerate(scene.displayed):
            clicked = np.arange(len(chances)) >> k & 1 == 1
            assert place.attraction * place.examined == pytest.approx(chances[clicked].sum())


@pytest.mark.parametrize("family", FAMILIES)
def test_scenes_are_plain_values(make_family, family):
    env = make_family(family)
    for _ in played(env, 2):
        plain = as_plain(env.unwrapped.scene())
        assert json.loads(json.dumps(plain, allow_nan=False)) == plain
        assert plain["scene"] == type(env.unwrapped.scene()).__name__


def test_there_are_no_scenes_without_a_render_mode(make_family):
    env = make_family("PBM", None, 2)
    for _ in played(env, 2):
        pass
    with pytest.raises(ValueError, match=r'^render_mode = None .* render_mode="ansi"$'):
        env.scene(0)
    assert env.regret_so_far.tolist() == [0, 0]


@given(row=st.one_of(st.integers().filter(lambda row: not 0 <= row < 2), st.text(), st.floats(), st.none()))
def test_scenes_of_rows_that_are_not_there(row):
    env = rankgym.envs.RankingVectorEnv(2, render_mode="ansi")
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"^row = .*(0 \.\. 1|allowed)"):
        env.scene(row)


# -- rows, resets, snapshots, stretches -------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FEW)
def test_a_row_of_a_batch_looks_as_it_does_alone(make_family, family):
    pytest.importorskip("PIL", reason="Pillow is not installed: pip install rankgym[render]")
    batch = make_family(family, "rgb_array", 3)
    singles = [make_family(family, "rgb_array") for _ in range(3)]
    batch.reset(seed=5)
    for row, env in enumerate(singles):
        env.reset(seed=5 + row)
    batch.action_space.seed(0)
    for _ in range(4):
        actions = batch.action_space.sample()
        batch.step(actions)
        for row, env in enumerate(singles):
            one = {side: lists[row] for side, lists in actions.items()} if isinstance(actions, dict) else actions[row]
            env.step(one)
    frames = batch.render()
    assert isinstance(frames, tuple)
    assert len(frames) == 3
    assert all(np.array_equal(frame, env.render()) for frame, env in zip(frames, singles, strict=True))


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize("family", FEW)
def test_the_regret_so_far_is_that_of_the_episode(make_family, family, mode):
    env = make_family(family, "ansi", 3, autoreset_mode=mode, horizon=3)
    totals = np.zeros(3)
    env.reset(seed=0)
    env.action_space.seed(0)
    for step in range(9):
        *_, info = env.step(env.action_space.sample())
        fresh = step % 4 == 3 if mode == "NextStep" else step % 3 == 2
        totals = np.zeros(3) if fresh else totals + info["regret"]
        assert [env.scene(row).regret_so_far for row in range(3)] == totals.tolist()
        assert [env.scene(row).round is None for row in range(3)] == [fresh] * 3


def test_breakpoints_of_the_episode_before_are_forgotten(make_family):
    env = make_family("breakpoints", epoch_lengths=None, num_breakpoints=1, horizon=8)
    for episode in range(8):
        for info in played(env, 8, seed=episode):
            assert env.unwrapped.scene().optimal_reward == info["optimal_reward"]
            assert env.unwrapped.scene().regret == info["regret"]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_snapshot_keeps_the_scene(make_family, family):
    """Also the last one before a breakpoint, whose truth the environment no longer has."""
    env, other = make_family(family, "ansi", 3), make_family(family, "ansi", 3)
    other.reset(seed=99)
    for _ in played(env, 4):
        other.restore(env.snapshot())
        assert [other.scene(row) for row in range(3)] == [env.scene(row) for row in range(3)]


STRETCHED = {
    "PBM": "toprank",
    "breakpoints": "cascade-kl-ucb",
    "arms": "rucb",
    "rankings": "bubblerank",
    "rankers": "rucb",
}


@pytest.mark.parametrize("threads", [0, 1])
@pytest.mark.parametrize("family", STRETCHED)
def test_compiled_stretches_count_the_regret(make_family, family, threads):
    env = make_family(
        family, "rgb_array", 2, horizon=400, **({"epoch_lengths": 150} if family == "breakpoints" else {})
    )
    agent = AGENTS[STRETCHED[family]].for_env(AgainstItself(env) if family == "rankings" else env, horizon=400, seed=0)
    game = Game(agent, env, 350, threads=threads)
    game.reset(3)
    game.play(350, lambda number: None)
    scenes = [env.scene(row) for row in range(2)]
    assert [scene.regret_so_far for scene in scenes] == game.history().regret[-1].tolist()
    assert [scene.round for scene in scenes] == [349, 349]
    if family == "rankers":  # the regret of the last duel, too
        gaps = [0.2, 0.1, 0.0]
        assert [s.regret for s in scenes] == pytest.approx([(gaps[s.left.arm] + gaps[s.right.arm]) / 2 for s in scenes])


@pytest.mark.parametrize("family", FEW)
def test_repeated_sessions_count_the_regret(make_family, family):
    env = make_family(family, "ansi", 2, horizon=50)
    for _ in played(env, 1):
        action = env.action_space.sample()
    env.step(action)
    times = env.alike() if family == "breakpoints" else 20
    before, last = env.scene(1).regret_so_far, env.scene(1).regret
    env.repeat(times)
    assert env.scene(1).regret_so_far == pytest.approx(before + times * last)
    assert env.scene(1).round == 1 + times


def test_the_docstring_of_a_scene_explains_each_field():
    for scene in (*scenes.Scene.__args__, scenes.Side, scenes.Position):
        text = scene.__doc__.partition("Attributes:")[2]
        assert re.findall(r"^        (\w+): \w", text, flags=re.M) == list(scene._fields)

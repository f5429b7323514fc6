"""Scenes say what the last session was, pictures show it, and nothing is drawn unless somebody asks."""

import itertools
import json
import re
import sys
from collections import Counter
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import RecordVideo
from gymnasium.wrappers.vector import HumanRendering
from hypothesis import given
from hypothesis import strategies as st

import rankgym
from rankgym.envs import sessions
from rankgym.experiments.bench.cases import write_letor
from rankgym.models import users
from rankgym.pictures import canvas, draw
from rankgym.play.game import Game
from rankgym.scenes import DuelScene, InterleavedScene, Position, RankingScene, as_plain
from rankgym.wrappers.against_itself import AgainstItself
from rankgym_agents import AGENTS

pytest.importorskip("PIL", reason="Pillow is not installed: pip install rankgym[render]")

MODELS = ("CM", "PBM", "DCM", "DBN", "UBM", "CCM", "DBM")
LETOR = "rankgym/Dueling-LETOR-v0"
FAMILIES = {
    **{model: (f"rankgym/{model}-Yandex-v0", {}) for model in MODELS},
    "re-ranking": ("rankgym/DCM-Yandex-Rerank-v0", {"reference": "sorted"}),
    "breakpoints": ("rankgym/CM-Yandex-Breakpoint-v0", {"epoch_lengths": 2}),
    "two levels": ("rankgym/CM-TwoLevel-Breakpoint-v0", {"breakpoints": [1, 4]}),
    "arms": ("rankgym/Dueling-MSLR-v0", {"num_arms": 5}),
    "Copeland": ("rankgym/Dueling-Synthetic-v0", {"winner": "copeland", "regret": "weak"}),
    "rankings": ("rankgym/Dueling-PBM-Yandex-v0", {}),
    "balanced": ("rankgym/Dueling-CM-Yandex-v0", {"interleaving": "balanced", "regret": "strong"}),
    "rankers": (LETOR, {}),
    "rankers without a matrix": (LETOR, {"preferences": None, "interleaving": "team-draft"}),
}
FEW = ("PBM", "breakpoints", "arms", "rankings", "rankers")  # one of each family


@pytest.fixture(scope="module")
def letor(tmp_path_factory):
    """The arguments of duels on a LETOR file whose third ranker is the best of three."""
    folder = tmp_path_factory.mktemp("letor")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RANKGYM_DATA_HOME", str(folder))
        write_letor(folder / "train.txt", 4, 7, 3)
        np.savetxt(folder / "p.txt", [[0.5, 0.4, 0.3], [0.6, 0.5, 0.4], [0.7, 0.6, 0.5]])
        yield {"file": str(folder / "train.txt"), "preferences": str(folder / "p.txt"), "num_documents": 5}


@pytest.fixture
def make(letor):
    def made(family, mode="ansi", num_envs=None, **more):
        name, own = FAMILIES[family]
        arguments = {"horizon": 12, **(letor if name == LETOR else {}), **own, **more}
        if num_envs is None:
            return gym.make(name, render_mode=mode, **arguments)
        return gym.make_vec(name, num_envs=num_envs, render_mode=mode, **arguments)

    return made


def played(env, steps, seed=0):
    """Yield the info of each step, with random actions."""
    env.reset(seed=seed)
    env.action_space.seed(seed)
    for _ in range(steps):
        yield env.step(env.action_space.sample())[-1]


def no_nan(value):
    return None if np.isnan(value) else value


# -- scenes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_a_scene_is_what_info_says(make, family):
    env = make(family)
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


@pytest.mark.parametrize("family", [*MODELS, "breakpoints", "two levels", "rankings"])
def test_rewards_are_those_of_the_users_that_are_shown(make, family):
    """A click has the probability examined * attraction, in every model here, also just before a breakpoint."""
    env = make(family, cutoff=None)
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


def test_a_duel_knows_its_odds(make):
    env = make("arms")
    for _ in played(env, 12):
        scene, truth = env.unwrapped.scene(), env.unwrapped
        assert scene.left_beats_right == truth.preference[scene.left, scene.right]
        assert scene.best_arm == truth.best_arm
        assert scene.gaps == pytest.approx(truth.preference[scene.best_arm] - 0.5)
        assert scene.arms == truth.arms.tolist()
        assert scene.regret == pytest.approx((scene.gaps[scene.left] + scene.gaps[scene.right]) / 2)


def test_what_the_best_arm_is_and_which_regret_counts_is_said(make):
    env = make("Copeland")
    env.reset(seed=0)
    assert (env.unwrapped.scene().best_by, env.unwrapped.scene().regret_kind) == ("copeland", "weak")
    env = make("balanced")
    env.reset(seed=0)
    assert env.unwrapped.scene().regret_kind == "strong"


def test_sides_of_a_duel_of_rankings(make):
    env = make("rankings")
    for info in played(env, 12):
        scene = env.unwrapped.scene()
        for number, side in enumerate((scene.left, scene.right)):
            assert side.ranking == info[("left", "right")[number]].tolist()
            assert side.expected_reward == info["expected_reward"][number]
            assert side.gap == info["optimal_reward"] - side.expected_reward
        clicked = [place.left_share for place in scene.displayed if place.clicked]
        assert [scene.left.credit, scene.right.credit] == [sum(clicked), len(clicked) - sum(clicked)]
        assert scene.tied == (scene.left.credit == scene.right.credit)


def test_credit_is_given_by_position_only_where_the_method_does(make):
    env = make("balanced")
    for _ in played(env, 3):
        assert {place.left_share for place in env.unwrapped.scene().displayed} == {None}
    pytest.importorskip("scipy", reason="optimized interleaving needs SciPy")
    env, sides = make("rankings", interleaving="optimized", horizon=40), set()
    for info in played(env, 40):
        clicked = [place.left_share for place in env.unwrapped.scene().displayed if place.clicked]
        assert [1.0 in clicked, 0.0 in clicked] == (info["credit"] > 0).tolist()
        sides |= set(clicked)
    assert sides == {1.0, 0.0, None}


def test_sides_of_a_duel_of_rankers(make, letor):
    env = make("rankers", rankers=[2, 0])
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
    env = make("rankers without a matrix")
    for _ in played(env, 1):
        scene = env.unwrapped.scene()
        assert [scene.best_arm, scene.left_beats_right, scene.left.gap, scene.regret_so_far] == [None] * 4


def test_readers_of_documents_click_as_their_model_says(make):
    env = make("rankers", user_model="informational")
    for _ in played(env, 6):
        scene, reader = env.unwrapped.scene(), users.user("informational", 2)
        grades = [reader.clicking.tolist().index(place.attraction) for place in scene.displayed]
        chances = users.click_vectors(reader, [grades])[0]
        for k, place in enumerate(scene.displayed):
            clicked = np.arange(len(chances)) >> k & 1 == 1
            assert place.attraction * place.examined == pytest.approx(chances[clicked].sum())


@pytest.mark.parametrize("family", FAMILIES)
def test_scenes_are_plain_values(make, family):
    env = make(family)
    for _ in played(env, 2):
        plain = as_plain(env.unwrapped.scene())
        assert json.loads(json.dumps(plain, allow_nan=False)) == plain
        assert plain["scene"] == type(env.unwrapped.scene()).__name__


def test_there_are_no_scenes_without_a_render_mode(make):
    env = make("PBM", None, 2)
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
def test_a_row_of_a_batch_looks_as_it_does_alone(make, family):
    batch = make(family, "rgb_array", 3)
    singles = [make(family, "rgb_array") for _ in range(3)]
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
def test_the_regret_so_far_is_that_of_the_episode(make, family, mode):
    env = make(family, "ansi", 3, autoreset_mode=mode, horizon=3)
    totals = np.zeros(3)
    env.reset(seed=0)
    env.action_space.seed(0)
    for step in range(9):
        *_, info = env.step(env.action_space.sample())
        fresh = step % 4 == 3 if mode == "NextStep" else step % 3 == 2
        totals = np.zeros(3) if fresh else totals + info["regret"]
        assert [env.scene(row).regret_so_far for row in range(3)] == totals.tolist()
        assert [env.scene(row).round is None for row in range(3)] == [fresh] * 3


def test_breakpoints_of_the_episode_before_are_forgotten(make):
    env = make("breakpoints", epoch_lengths=None, num_breakpoints=1, horizon=8)
    for episode in range(8):
        for info in played(env, 8, seed=episode):
            assert env.unwrapped.scene().optimal_reward == info["optimal_reward"]
            assert env.unwrapped.scene().regret == info["regret"]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_snapshot_keeps_the_scene(make, family):
    """Also the last one before a breakpoint, whose truth the environment no longer has."""
    env, other = make(family, "ansi", 3), make(family, "ansi", 3)
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
def test_compiled_stretches_count_the_regret(make, family, threads):
    env = make(family, "rgb_array", 2, horizon=400, **({"epoch_lengths": 150} if family == "breakpoints" else {}))
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
def test_repeated_sessions_count_the_regret(make, family):
    env = make(family, "ansi", 2, horizon=50)
    for _ in played(env, 1):
        action = env.action_space.sample()
    env.step(action)
    times = env.alike() if family == "breakpoints" else 20
    before, last = env.scene(1).regret_so_far, env.scene(1).regret
    env.repeat(times)
    assert env.scene(1).regret_so_far == pytest.approx(before + times * last)
    assert env.scene(1).round == 1 + times


# -- pictures ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_frames_of_an_episode_have_one_size(make, family):
    env = make(family, "rgb_array")
    env.reset(seed=0)
    frames = [env.render()]
    frames += [env.render() for _ in played(env, 12)]
    assert {(frame.dtype, frame.shape) for frame in frames} == {(np.dtype(np.uint8), frames[0].shape)}
    height, width, colours = frames[0].shape
    assert (height % 2, width, colours) == (0, canvas.WIDTH, 3)  # films need even sizes
    assert len({frame.tobytes() for frame in frames}) == 13  # the round alone makes each another one


@pytest.mark.parametrize("family", FEW)
def test_nothing_is_drawn_unless_somebody_asks(make, family, monkeypatch):
    drawn = []
    monkeypatch.setattr(sessions, "draw", lambda scene: drawn.append(scene) or np.zeros((2, 2, 3), np.uint8))
    env = make(family, "rgb_array")
    for _ in played(env, 5):
        pass
    assert drawn == []
    env.render()
    assert len(drawn) == 1


PLACES = [Position(item, 0.1 * item, 0.5, False, None) for item in range(3)]
PAGE = RankingScene("PBM", 1, 7, None, PLACES, PLACES, False, [0.0, 0.1, 0.2], 3, "clicks", 0.3, 0.4, 1, 0.1, 2.5)


def changed_rows(one, other):
    return np.flatnonzero((draw(one) != draw(other)).any(axis=(1, 2)))


def test_a_click_is_seen_where_it_happened():
    places = []
    for k in range(3):
        clicked = [place._replace(clicked=n == k) for n, place in enumerate(PLACES)]
        rows = changed_rows(PAGE, PAGE._replace(displayed=clicked))
        listed = rows[rows > 120]  # below the figures, among which is the number of clicks
        assert len(rows) > len(listed) > 0
        assert np.ptp(listed) < canvas.ROW
        places.append(listed)
    assert all(upper.max() < lower.min() for upper, lower in itertools.pairwise(places))


@pytest.mark.parametrize("change", [{"attraction": 0.9}, {"examined": 0.25}, {"item": 8}])
def test_a_change_in_the_list_is_seen(change):
    places = [PLACES[0]._replace(**change), *PLACES[1:]]
    assert len(changed_rows(PAGE, PAGE._replace(displayed=places)))
    assert len(changed_rows(PAGE, PAGE._replace(best=places)))


@pytest.mark.parametrize(
    "change",
    [{"round": 8}, {"epoch": 1}, {"query": 2}, {"regret": 0.2}, {"regret_so_far": 2.6}, {"misordered": 2},
     {"expected_reward": 0.2}, {"optimal_reward": 0.5}, {"cutoff": 2}, {"best_is_sorted": True}, {"model": "CM"},
     {"attraction": [0.0, 0.1, 0.9]}],
)  # fmt: skip
def test_every_fact_of_a_result_page_is_seen(change):
    assert len(changed_rows(PAGE, PAGE._replace(**change)))


DUEL = DuelScene(0, 3, 1, 2, 0, 0.6, [0, 1, 2], [0.0, 0.1, 0.2], 0, "condorcet", "average", 0.15, 1.5)


@pytest.mark.parametrize(
    "change",
    [{"problem": 1}, {"round": 4}, {"left": 0}, {"right": 0}, {"winner": 1}, {"left_beats_right": 0.4},
     {"arms": [5, 6, 7]}, {"gaps": [0.0, 0.1, 0.3]}, {"best_arm": 1}, {"best_by": "borda"}, {"regret_kind": "weak"},
     {"regret": 0.1}, {"regret_so_far": 1.6}],
)  # fmt: skip
def test_every_fact_of_a_duel_is_seen(change):
    assert len(changed_rows(DUEL, DUEL._replace(**change)))


@pytest.mark.parametrize("field", ["winner", "tied", "user", "interleaving", "query", "regret", "regret_so_far"])
def test_every_fact_of_an_interleaved_duel_is_seen(make, field):
    env = make("rankings")
    *_, _ = played(env, 3)
    scene = env.unwrapped.scene()
    other = {"winner": 1 - scene.winner, "tied": not scene.tied, "user": "CM", "interleaving": "balanced"}
    value = other.get(field, 77)
    assert len(changed_rows(scene, scene._replace(**{field: value})))
    first = scene.displayed[0]
    for place in (first._replace(clicked=not first.clicked), first._replace(left_share=1 - first.left_share)):
        assert len(changed_rows(scene, scene._replace(displayed=[place, *scene.displayed[1:]])))
    for side in (scene.left._replace(credit=9), scene.left._replace(gap=9), scene.left._replace(ranking=[9, 8, 7])):
        assert len(changed_rows(scene, scene._replace(left=side)))


@given(
    items=st.integers(1, 400), positions=st.integers(1, 60), name=st.text(st.characters(codec="ascii"), max_size=300)
)
def test_pictures_of_any_size_and_name_stay_on_the_sheet(items, positions, name):
    positions = min(items, positions)
    places = [Position(10_000 - k, 1.0, 1.0, True, None) for k in range(positions)]
    scene = PAGE._replace(
        model=name.replace("\n", " "), displayed=places, best=places, attraction=[1.0] * items, query=10**9,
        regret_so_far=1e12, misordered=10**9, cutoff=1,
    )  # fmt: skip
    picture = draw(scene)
    assert picture.shape[0] <= 900
    assert (picture[:, : canvas.MARGIN - 8] == 255).all()
    assert (picture[:, canvas.RIGHT_EDGE + 16 :] == 255).all()
    assert picture.shape == draw(scene._replace(displayed=[], round=None)).shape


def test_what_is_left_out_of_a_long_list_is_said():
    places = [Position(k, 0.5, 0.5, False, None) for k in range(canvas.MAX_ROWS + 5)]
    scene = PAGE._replace(displayed=places, best=places, attraction=[0.5] * len(places))
    below = [*places[:-1], places[-1]._replace(clicked=True)]
    rows = changed_rows(scene, scene._replace(displayed=below))
    assert len(rows[rows > 120])  # the line "5 more positions, 1 click there"


@given(chance=st.floats(0, 1), winner=st.integers(0, 1), arms=st.integers(2, 300), left=st.integers(0, 1))
def test_duels_of_any_odds_stay_on_the_sheet(chance, winner, arms, left):
    numbers = [n + 10**6 for n in range(arms)]
    gaps = [0.0] * arms if chance == 0 else np.linspace(0, 0.5, arms).tolist()
    scene = DUEL._replace(
        left=left, right=arms - 1, winner=winner, left_beats_right=chance, arms=numbers, gaps=gaps, best_arm=arms - 1
    )
    picture = draw(scene)
    assert (picture[:, : canvas.MARGIN - 8] == 255).all()
    assert (picture[:, canvas.RIGHT_EDGE + 16 :] == 255).all()
    assert picture.shape == draw(scene._replace(round=None, left=None, right=None, winner=None)).shape


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (canvas.LEFT, canvas.RIGHT),
        (canvas.RIGHT, canvas.OTHERS),
        (canvas.BLUE, canvas.SKY),
        (canvas.SKY, canvas.PALE),
        (canvas.INK, canvas.PAPER),
    ],
)
def test_colours_that_stand_side_by_side_differ_in_grey(one, other):
    def lightness(color):
        return np.dot([int(color[k : k + 2], 16) for k in (1, 3, 5)], [0.299, 0.587, 0.114])

    assert abs(lightness(one) - lightness(other)) > 35


# -- Gymnasium ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def no_display():  # see the tests' conftest.py
    pytest.importorskip("pygame", reason="pygame-ce is not installed: pip install rankgym[render]")


@pytest.mark.parametrize("family", FEW)
def test_gymnasium_finds_no_fault_in_any_mode(make, family, no_display):
    check_env(make(family, None).unwrapped)


@pytest.mark.parametrize("family", FEW)
def test_the_window_shows_the_picture(make, family, no_display, monkeypatch):
    import pygame

    env = make(family, "human")
    monkeypatch.setitem(env.unwrapped.metadata, "render_fps", 1_000)  # without waiting
    assert env.render_mode == "human"
    for _ in played(env, 3):
        window = pygame.surfarray.array3d(pygame.display.get_surface())
        assert np.array_equal(np.transpose(window, (1, 0, 2)), env.unwrapped.render())
        assert env.render() is None
    env.close()


def test_the_window_of_a_batch(make, no_display):
    pytest.importorskip("cv2", reason="Gymnasium's window of a batch needs opencv: pip install opencv-python")
    env = HumanRendering(make("PBM", "rgb_array", 2))
    *_, _ = played(env, 2)
    assert env.window.get_size()[0] == canvas.WIDTH
    env.close()


def test_a_wrapped_environment_can_be_made_again_with_a_window(make, no_display):
    """As Gymnasium's ``check_env`` does."""
    env = rankgym.RecordRegret(make("PBM", None))
    again = env.spec.make(render_mode="human")
    assert again.render_mode == "human"
    assert isinstance(again, rankgym.RecordRegret)
    again.close()


@pytest.mark.parametrize("mode", ["human", "rgb_array", "rgb_array_list"])
def test_the_spec_makes_the_same_environment(make, mode, no_display):
    env = make("PBM", mode)
    again = gym.make(gym.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert (str(again), again.render_mode) == (str(env), mode)
    env.close()
    again.close()


def test_frames_are_collected(make):
    env = make("arms", "rgb_array_list")
    *_, _ = played(env, 3)
    assert len(env.render()) == 4


@pytest.mark.parametrize("family", FEW)
def test_a_film_of_each_family(make, family, tmp_path):
    moviepy = pytest.importorskip("moviepy", reason="moviepy is not installed: pip install moviepy")
    env = make(family, "rgb_array", horizon=5)
    size = draw(played_scene(make, family)).shape
    env = RecordVideo(env, str(tmp_path / "films"), disable_logger=True)
    *_, _ = played(env, 5)
    env.close()
    (film,) = (tmp_path / "films").glob("*.mp4")
    with moviepy.VideoFileClip(str(film)) as clip:
        assert clip.n_frames == 6  # the reset's, and those of five sessions
        assert (*clip.size[::-1], 3) == size


def played_scene(make, family):
    env = make(family)
    *_, _ = played(env, 1)
    return env.unwrapped.scene()


@given(mode=st.one_of(st.text(), st.integers(), st.just("ansi "), st.just("human_list"), st.just(["ansi"])))
def test_unknown_modes_are_refused_with_those_allowed(mode):
    single = "allowed: None, 'human', 'ansi', 'rgb_array', 'ansi_list', 'rgb_array_list'"
    with pytest.raises(ValueError, match=r"^render_mode = ") as found:
        rankgym.envs.single_ranking(render_mode=mode)
    assert str(found.value).endswith(single)
    with pytest.raises(TypeError, match="allowed: None, 'ansi', 'rgb_array'"):
        rankgym.envs.DuelingVectorEnv(render_mode=mode)


def test_a_batch_says_how_it_is_shown_in_a_window():
    with pytest.raises(ValueError, match=r"allowed: None, 'ansi', 'rgb_array'; .* gymnasium\.wrappers\.vector\.Human"):
        gym.make_vec("rankgym/PBM-Yandex-v0", num_envs=2, render_mode="human")


@pytest.mark.parametrize(("library", "mode"), [("PIL", "rgb_array"), ("PIL", "human"), ("pygame", "human")])
def test_what_is_not_installed_is_said_at_once(library, mode, monkeypatch):
    """By a TypeError, too: stable-baselines3 tries rgb_array and goes on without."""
    monkeypatch.setitem(sys.modules, library, None)
    wanted = rf"^render_mode = '{mode}': this needs {library}, which is not installed; pip install \"rankgym\[render\]"
    for kind in (RuntimeError, TypeError):
        with pytest.raises(kind, match=wanted):
            gym.make("rankgym/PBM-Yandex-v0", render_mode=mode)


def test_modes_are_listed_where_their_libraries_are_installed(monkeypatch):
    """Else Gymnasium's ``check_env``, which tries what is listed, would fail in a core installation."""
    modes = ["human", "ansi", "rgb_array"]
    for missing, listed in ((None, modes), ("pygame", modes[1:]), ("PIL", ["ansi"])):
        monkeypatch.setattr(sessions.importlib.util, "find_spec", lambda name, missing=missing: name != missing)
        assert sessions.installed(modes) == listed
    monkeypatch.undo()
    assert rankgym.envs.SingleEnv.metadata["render_modes"] == sessions.installed(modes)


def test_texts_need_no_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    env = gym.make("rankgym/PBM-Yandex-v0", render_mode="ansi")
    env.reset(seed=0)
    assert isinstance(env.unwrapped.scene(), RankingScene)
    assert not isinstance(env.unwrapped.scene(), InterleavedScene)


def test_the_python_of_the_documentation_runs(tmp_path, monkeypatch):
    pytest.importorskip("moviepy", reason="moviepy is not installed: pip install moviepy")
    text = (Path(__file__).parents[2] / "docs" / "seeing.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.S)
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in blocks:
        exec(compile(block, "seeing.md", "exec"), names)
    assert len(blocks) == 2
    assert [film.name for film in (tmp_path / "films").iterdir()] == ["rl-video-episode-0.mp4"]
    assert names["scene"].round == 0

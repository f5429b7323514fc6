"""Pictures show the scenes, and nothing is drawn unless somebody asks; Gymnasium's wrappers show and record them."""

import itertools
import re
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from families import FAMILIES, FEW, played
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import RecordVideo
from gymnasium.wrappers.vector import HumanRendering
from hypothesis import given
from hypothesis import strategies as st

import rankgym
from rankgym.envs import sessions
from rankgym.pictures import canvas, draw
from rankgym.scenes import DuelScene, InterleavedScene, Position, RankingScene

pytest.importorskip("PIL", reason="Pillow is not installed: pip install rankgym[render]")

# -- pictures ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_frames_of_an_episode_have_one_size(make_family, family):
    env = make_family(family, "rgb_array")
    env.reset(seed=0)
    frames = [env.render()]
    frames += [env.render() for _ in played(env, 12)]
    assert {(frame.dtype, frame.shape) for frame in frames} == {(np.dtype(np.uint8), frames[0].shape)}
    height, width, colours = frames[0].shape
    assert (height % 2, width, colours) == (0, canvas.WIDTH, 3)  # films need even sizes
    assert len({frame.tobytes() for frame in frames}) == 13  # the round alone makes each another one


@pytest.mark.parametrize("family", FEW)
def test_nothing_is_drawn_unless_somebody_asks(make_family, family, monkeypatch):
    drawn = []
    monkeypatch.setattr(sessions, "draw", lambda scene: drawn.append(scene) or np.zeros((2, 2, 3), np.uint8))
    env = make_family(family, "rgb_array")
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
def test_every_fact_of_an_interleaved_duel_is_seen(make_family, field):
    env = make_family("rankings")
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
def test_gymnasium_finds_no_fault_in_any_mode(make_family, family, no_display):
    check_env(make_family(family, None).unwrapped)


@pytest.mark.parametrize("family", FEW)
def test_the_window_shows_the_picture(make_family, family, no_display, monkeypatch):
    import pygame

    env = make_family(family, "human")
    monkeypatch.setitem(env.unwrapped.metadata, "render_fps", 1_000)  # without waiting
    assert env.render_mode == "human"
    for _ in played(env, 3):
        window = pygame.surfarray.array3d(pygame.display.get_surface())
        assert np.array_equal(np.transpose(window, (1, 0, 2)), env.unwrapped.render())
        assert env.render() is None
    env.close()


def test_the_window_of_a_batch(make_family, no_display):
    pytest.importorskip("cv2", reason="Gymnasium's window of a batch needs opencv: pip install opencv-python")
    env = HumanRendering(make_family("PBM", "rgb_array", 2))
    *_, _ = played(env, 2)
    assert env.window.get_size()[0] == canvas.WIDTH
    env.close()


def test_a_wrapped_environment_can_be_made_again_with_a_window(make_family, no_display):
    """As Gymnasium's ``check_env`` does."""
    env = rankgym.RecordRegret(make_family("PBM", None))
    again = env.spec.make(render_mode="human")
    assert again.render_mode == "human"
    assert isinstance(again, rankgym.RecordRegret)
    again.close()


@pytest.mark.parametrize("mode", ["human", "rgb_array", "rgb_array_list"])
def test_the_spec_makes_the_same_environment(make_family, mode, no_display):
    env = make_family("PBM", mode)
    again = gym.make(gym.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert str(env) in str(again)  # within Gymnasium's TimeLimit, whose steps are the horizon
    assert again.render_mode == mode
    env.close()
    again.close()


def test_frames_are_collected(make_family):
    env = make_family("arms", "rgb_array_list")
    *_, _ = played(env, 3)
    assert len(env.render()) == 4


@pytest.mark.parametrize("family", FEW)
def test_a_film_of_each_family(make_family, family, tmp_path):
    moviepy = pytest.importorskip("moviepy", reason="moviepy is not installed: pip install moviepy")
    env = make_family(family, "rgb_array", horizon=5)
    size = draw(played_scene(make_family, family)).shape
    env = RecordVideo(env, str(tmp_path / "films"), disable_logger=True)
    *_, _ = played(env, 5)
    env.close()
    (film,) = (tmp_path / "films").glob("*.mp4")
    with moviepy.VideoFileClip(str(film)) as clip:
        assert clip.n_frames == 6  # the reset's, and those of five sessions
        assert (*clip.size[::-1], 3) == size


def played_scene(make_family, family):
    env = make_family(family)
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

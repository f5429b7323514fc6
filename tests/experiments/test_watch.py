"""Watching: what a page's data say is what playing gives, changes are exact, and no text becomes markup."""

import json
import re
from html import escape, unescape
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankgym
from rankgym.agent import Agent, Beliefs
from rankgym.conformance.asking import checked_beliefs
from rankgym.experiments.plan.agents import AgentFailed
from rankgym.experiments.watch import page as pages
from rankgym.experiments.watch.episode import ALL_SHOWN, FIRST_SHOWN, Change, shown_rounds, watch
from rankgym.experiments.watch.events import CHAMPION, STRUCTURE, Selection, changes
from rankgym.experiments.watch.notes import Actions
from rankgym.style import MARKERS, OVER
from rankgym.wrappers.against_itself import AgainstItself
from rankgym_agents import AGENTS


@pytest.fixture(scope="module")
def letor(tmp_path_factory):
    """A small file of three features."""
    chance, path = np.random.default_rng(2), tmp_path_factory.mktemp("letor") / "file.txt"
    lines = [
        f"{grade} qid:{query} " + " ".join(f"{n}:{grade * n + chance.random():.4f}" for n in range(1, 4))
        for query in range(4)
        for grade in (0, 1, 2, 0)
    ]
    path.write_text("\n".join(lines))
    return str(path)


CASES = {
    "PBM-Yandex-v0": (["toprank", "cascade-ucb1"], 60, {"query": 3}),
    "CM-Yandex-Breakpoint-v0": (["cascade-swucb", "random"], 700, {"breakpoints": [30, 600]}),
    "DCM-Yandex-Rerank-v0": (["bubblerank"], 60, {}),
    "Dueling-Arxiv-v0": (["rucb", "mergerucb"], 600, {}),
    "Dueling-MSLR-v0": (["rmed1"], 60, {"num_arms": 5}),
    "Dueling-PBM-Yandex-v0": (["toprank"], 60, {}),
    "Dueling-LETOR-v0": (["doubler"], 60, {"file": None}),
}


def replayed(name, agent, rounds, arguments, seed):
    """Play on one's own: yield each round's observation, info, the regret so far, and the agent."""
    venv = gym.make_vec(f"rankgym/{name}", num_envs=1, horizon=rounds, **arguments)
    env = AgainstItself(venv) if "Dueling-PBM" in name else venv
    player = AGENTS[agent].for_env(env, horizon=rounds, seed=seed)
    observation, _ = env.reset(seed=seed)
    total = 0.0
    for _ in range(rounds):
        action = player.act(observation)
        observation, *_, info = env.step(action)
        won = np.eye(2, dtype=np.int8)[info["winner"]] if isinstance(action, dict) else observation
        player.update(action, won)
        total += info["regret"][0]
        yield observation[0], {key: values[0] for key, values in info.items()}, total, player


@pytest.mark.parametrize("name", CASES)
def test_what_is_shown_is_what_step_gives(name, letor):
    agents, rounds, given = CASES[name]
    given = {**given, **({"file": letor} if "file" in given else {})}
    episode = watch(name, agents, rounds=rounds, seed=4, progress=False, **given)
    arguments = {"query": 0, **given} if "Yandex" in name else given
    assert episode.shown[0] == 1
    assert episode.shown[-1] == rounds
    for watched in episode.agents:
        assert len(watched.scenes) == len(watched.beliefs) == len(episode.shown)
        place = 0
        for number, (seen, info, total, player) in enumerate(
            replayed(name, watched.label, rounds, arguments, 4), start=1
        ):
            if number != episode.shown[place]:
                continue
            scene = watched.scenes[place]
            assert scene.round == info["round"] == number - 1
            assert scene.regret_so_far == pytest.approx(total) or (np.isnan(total) and scene.regret_so_far is None)
            if "displayed" in info:
                displayed = [int(item) for item in info["displayed"] if item >= 0]
                assert [position.item for position in scene.displayed] == displayed
                assert [position.clicked for position in scene.displayed] == [bool(c) for c in seen[: len(displayed)]]
            if hasattr(player, "candidate"):
                pair = (scene.left, scene.right) if "Arxiv" in name or "MSLR" in name else None
                assert pair in (None, (info["left"], info["right"]))
                assert scene.winner == info["winner"]
            assert watched.beliefs[place] == player.beliefs(0)
            place += 1
        assert place == len(episode.shown)


def test_the_regret_is_that_of_simulate():
    episode = watch("PBM-Yandex-v0", ["toprank"], rounds=900, seed=7, query=[5], progress=False)
    venv = gym.make_vec("rankgym/PBM-Yandex-v0", num_envs=1, query=5, horizon=900)
    agent = AGENTS["toprank"].for_env(venv, seed=7)
    history = rankgym.simulate(agent, venv, 900, seed=7, progress=False)
    assert episode.agents[0].scenes[-1].regret_so_far == pytest.approx(history.regret[-1, 0])


def test_rounds_after_users_have_changed_are_shown():
    given = {"breakpoints": [2_003, 4_007], "rounds": 5_000, "progress": False}
    episode = watch("CM-Yandex-Breakpoint-v0", ["static"], query=0, **given)
    assert episode.epochs == [2_004, 4_008]
    for first in episode.epochs:
        assert {first + later for later in (*range(7), 8, 10, 50, 100, 501, 794)} <= set(episode.shown)
    assert len(episode.shown) < len(shown_rounds(5_000)) + 2 * 40


def test_what_beat_the_mean_gives_up_at_the_horizon_says_so():
    episode = watch("Dueling-Arxiv-v0", ["btm"], rounds=600, progress=False)
    *before, last = [change for change in episode.agents[0].changes if change.kind == STRUCTURE]
    assert last.round == 600
    assert last.text.endswith("are given up (exploration ends at the horizon)")
    assert not any("horizon" in change.text for change in before)


@pytest.mark.parametrize(
    ("credit", "words"),
    [
        (None, "the probability that the side contributed more"),
        ("expected", "the expected number"),
        ("assigned", "the number"),
    ],
)
def test_the_page_says_what_credit_is(letor, credit, words):
    knobs = {} if credit is None else {"interleaving_knobs": {"credit": credit}}
    episode = watch("Dueling-LETOR-v0", ["rucb"], rounds=3, file=letor, progress=False, **knobs)
    assert pages.page_data(episode)["credit"].startswith(f"Credit: {words}")
    team_draft = watch("Dueling-PBM-Yandex-v0", ["toprank"], rounds=3, progress=False)
    assert pages.page_data(team_draft)["credit"] == ""


@pytest.mark.parametrize(("query", "seed"), [(3, 0), (3, 1), (8, 0)])
def test_the_round_in_which_topranks_first_block_splits_is_exact(query, seed):
    rounds = 4000
    episode = watch("PBM-Yandex-v0", ["static", "toprank"], rounds=rounds, seed=seed, query=query, progress=False)
    watched = episode.agents[1]
    own = enumerate(replayed("PBM-Yandex-v0", "toprank", rounds, {"query": query}, seed), start=1)
    number = next(number for number, (*_, agent) in own if agent.state.block.max() > 0)
    first = watched.changes[0]
    assert (first.round, first.kind) == (number, STRUCTURE)
    assert first.text.startswith("first block splits: ")
    place = episode.shown.index(number)
    assert len(watched.beliefs[place].blocks) > 1
    assert len(watched.beliefs[place - 1].blocks) == 1
    assert number > FIRST_SHOWN  # it is shown because something happens


def test_every_listed_change_is_shown_and_lists_are_limited():
    episode = watch("Dueling-Arxiv-v0", ["rucb", "rmed1", "dts"], rounds=2000, seed=1, progress=False)
    for watched in episode.agents:
        assert {change.round for change in watched.changes} <= set(episode.shown)
        for low in (1, 10, 100, 1000):
            assert sum(low <= change.round < 10 * low for change in watched.changes) <= 40
    assert any(watched.left_out.get(CHAMPION, 0) > 0 for watched in episode.agents)


def test_rounds_with_new_users():
    name, given = "CM-Yandex-Breakpoint-v0", {"breakpoints": [30, 611]}
    episode = watch(name, ["cascade-ducb", "static"], rounds=800, progress=False, **given)
    assert episode.epochs == [31, 612]
    place = episode.shown.index(612)
    assert [watched.scenes[place].epoch for watched in episode.agents] == [2, 2]
    assert episode.agents[0].scenes[place - 1].epoch == 1


@given(st.integers(1, 10**9))
def test_the_rounds_shown_of_an_episode(rounds):
    shown = shown_rounds(rounds)
    assert shown == sorted(set(shown))
    assert shown[0] == 1
    assert shown[-1] == rounds
    assert len(shown) == rounds if rounds <= ALL_SHOWN else shown[:FIRST_SHOWN] == list(range(1, FIRST_SHOWN + 1))
    assert len(shown) <= max(ALL_SHOWN, FIRST_SHOWN + 50 * 7 + 101)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"query": [0, 3]}, "query = [0, 3] are several; allowed: one"),
        ({"rounds": 0}, "rounds = 0"),
        ({"seed": -1}, "seed = -1"),
        ({"agents": ["rucb"]}, "plays duels"),
        ({"agents": ["toprank", "toprank"]}, "each once"),
        ({"num_position": 3}, "did you mean 'num_positions'"),
        ({"name": "PBM-Yandx-v0"}, "did you mean 'PBM-Yandex-v0'"),
        ({"name": "CartPole-v1"}, "unknown"),
    ],
)
def test_wrong_arguments_are_named(given, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        watch(**{"name": "PBM-Yandex-v0", "agents": ["toprank"], "progress": False, **given})


# -- notes ------------------------------------------------------------------------------------------------------------


def test_agents_that_played_alike_are_named():
    episode = watch("PBM-Yandex-v0", ["batchrank", "cascade-ucb1", "random"], rounds=200, progress=False)
    first, *others = episode.agents
    alike = [other.label for other in others if scenes_alike(other, first)]
    (note,) = episode.notes
    assert alike == ["random"]
    assert note.startswith("batchrank and random showed the same lists to the same users in all 200 rounds, ")
    assert pages.page_data(episode)["notes"] == [note]


def scenes_alike(one, other):
    return all(a.displayed == b.displayed for a, b in zip(one.scenes, other.scenes, strict=True))


def test_one_other_list_parts_agents():
    class Once(Actions):
        def step(self, actions):
            return super().step(actions[:, ::-1] if self.last else actions)

    digests = []
    for cls in (Actions, Actions, Once):
        env = cls(gym.make_vec("rankgym/PBM-Yandex-v0", num_envs=1, horizon=20))
        env.reset(seed=0)
        for number in range(20):
            env.last = number == 19
            env.step(np.array([[3, 1, 4, 0, 5]], np.int32 if cls is Once else np.int64))
        digests.append(env.digest)
        env.close()
    assert digests[0] == digests[1] != digests[2]


def test_duels_of_the_same_arms_are_pairs():
    episode = watch("Dueling-Arxiv-v0", ["rucb", "rucb:alpha=0.51", "rmed1"], rounds=50, progress=False)
    (note,) = episode.notes
    assert note.startswith("rucb and rucb:alpha=0.51 showed the same pairs to the same users in all 50 rounds, ")


@pytest.mark.parametrize(
    ("every", "breakpoints", "expected"),
    [
        (30, [30, 60], ""),
        (30, [30], "restarts in rounds 31 and 61, but users change in round 31"),
        (90, [30, 60], "does not restart in these 90 rounds, but users change in rounds 31 and 61"),
        (1, [1], "restarts in rounds 2, 3, 4, 5, 6, …, but users change in round 2"),
        (45, [], "restarts in round 46, but users do not change"),
    ],
)
def test_restarts_elsewhere_than_at_the_breakpoints_are_named(every, breakpoints, expected):
    label = f"restarting:every={every}"
    name, given = ("CM-Yandex-Breakpoint-v0", {"breakpoints": breakpoints}) if breakpoints else ("CM-Yandex-v0", {})
    episode = watch(name, [label, "static"], rounds=90, progress=False, **given)
    assert episode.notes == ([f"{label} was made with every = {every} and {expected}"] if expected else [])


# -- changes ----------------------------------------------------------------------------------------------------------


def told(before, after, thing="item"):
    return [text for _, text in changes(before, after, thing)]


def test_changes_in_words():
    whole, split = Beliefs(blocks=((0, 1, 2),)), Beliefs(blocks=((0,), (1, 2)))
    assert told(whole, split) == ["first block splits: 0 | 1, 2"]
    assert told(split, whole) == ["all blocks are one again"]
    assert told(split, Beliefs(blocks=((0,), (1,), (2,)))) == ["second block splits: 1 | 2"]
    moved = Beliefs(blocks=((0, 1), (2, 3))), Beliefs(blocks=((0,), (1, 2, 3)))
    assert told(*moved) == ["first block splits: 0 | 1; 1 joins 2, 3 in the second block"]
    assert told(split, Beliefs(blocks=((0,), (1,)), out=(2,)), "arm") == ["arm 2 is given up"]
    assert told(Beliefs(base_list=(4, 5, 6)), Beliefs(base_list=(4, 6, 5))) == [
        "item 6 takes position 2 from item 5 (now at 3)"
    ]
    assert told(Beliefs(champion=1), Beliefs(champion=2), "arm") == ["names arm 2 the best, no longer 1"]
    assert told(None, split) == told(split, None) == []


partitions = st.permutations(range(6)).flatmap(
    lambda items: st.lists(st.integers(1, 5), max_size=4, unique=True).map(
        lambda cuts: tuple(
            tuple(items[low:high]) for low, high in zip([0, *sorted(cuts)], [*sorted(cuts), 6], strict=True)
        )
    )
)


@given(partitions, partitions, st.permutations(range(6)), st.permutations(range(6)))
def test_a_change_is_told_exactly_when_the_structure_differs(one, other, base, later):
    before, after = Beliefs(blocks=one, base_list=tuple(base)), Beliefs(blocks=other, base_list=tuple(later))
    found = list(changes(before, after, "item"))
    assert bool(found) == (before.structure != after.structure)
    assert all(kind == STRUCTURE and text for kind, text in found)


@given(st.lists(st.sampled_from([STRUCTURE, CHAMPION]), max_size=60), st.integers(1, 9))
def test_what_is_not_listed_is_counted(kinds, limit):
    selection = Selection(limit)
    taken = [kind for number, kind in enumerate(kinds, start=1) if selection.take(kind, number)]
    for kind in (STRUCTURE, CHAMPION):
        assert taken.count(kind) + selection.left_out.get(kind, 0) == kinds.count(kind)
        assert kinds[:9].count(kind) <= limit or taken.count(kind) >= limit


# -- beliefs of other people's agents ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ([1, 2], "allowed: rankgym.agent.Beliefs, or None"),
        (Beliefs(blocks=((0, 7),)), "names 7; allowed: 0 .. 4"),
        (Beliefs(champion=-1), "names -1"),
        (Beliefs(base_list=(0, 0, 1)), "base_list names 0 twice; allowed: each item at most once"),
        (Beliefs(blocks=((0, 1), (2, 1))), "blocks names 1 twice; allowed: each item at most once"),
        (Beliefs(champion=0.5), "champion has (0.5,); allowed: items, whole numbers in 0 .. 4"),
        (Beliefs(blocks=3), "blocks = 3; allowed: a tuple of tuples"),
        (Beliefs(blocks=(1, 2)), "blocks has 1; allowed: items"),
        (Beliefs(out="12"), "out has '12'; allowed: items"),
        (Beliefs(scores=(1, 2)), "scores = (1, 2); allowed: a dict"),
        (Beliefs(scores={"mine": (0.5,)}), "scores['mine'] has 1 numbers; allowed: 5"),
        (Beliefs(scores={"mine": 3}), "scores['mine'] = 3; allowed: 5 numbers"),
        (Beliefs(scores={"mine": "abcde"}), "scores['mine'] = 'abcde'; allowed: 5 numbers"),
    ],
)
def test_beliefs_that_cannot_be_shown_are_refused(found, message):
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        checked_beliefs(found, 5)


def test_numpys_numbers_become_pythons():
    given = Beliefs(blocks=(np.array([3, 1]),), base_list=tuple(np.argsort([2, 0, 1])), champion=np.int64(4))
    found = checked_beliefs(given, 5)
    assert (found.blocks, found.base_list, found.champion) == (((3, 1),), (1, 2, 0), 4)
    assert json.dumps([found.blocks, found.base_list, found.champion]) == "[[[3, 1]], [1, 2, 0], 4]"


class Wrong(Agent):
    """An agent whose beliefs cannot be shown."""

    def act(self, observation=None):
        return self.initial_list[:, : self.num_positions].copy()

    def update(self, displayed, clicks):
        pass

    def beliefs(self, row=0):
        return Beliefs(out=(99,))


class Failing(Wrong):
    """An agent that fails when it is asked."""

    def beliefs(self, row=0):
        return Beliefs(champion=self.no_such_attribute)


class NoRow(Wrong):
    """An agent whose method takes too little."""

    def beliefs(self):
        return None


@pytest.mark.parametrize(
    ("agent", "error", "line"),
    [
        (Wrong, "ValueError: beliefs().out names 99", "    def beliefs(self, row=0):"),
        (Failing, "AttributeError: 'Failing' object has no", "        return Beliefs(champion=self.no_such_attribute)"),
        (NoRow, "TypeError: NoRow.beliefs() takes 1 positional", "    def beliefs(self):"),
    ],
)
def test_an_error_of_beliefs_names_the_agent_the_method_and_the_users_line(agent, error, line):
    with pytest.raises(AgentFailed) as failure:
        watch("PBM-Yandex-v0", [agent], rounds=5, progress=False)
    name = agent.__name__
    assert str(failure.value).startswith(f"agent = {name!r}: in {name}.beliefs: {error}")
    number = int(re.search(r"test_watch\.py:(\d+)\)$", str(failure.value))[1])
    assert Path(__file__).read_text("utf-8").splitlines()[number - 1] == line


class Scored(Wrong):
    """An agent with scores in NumPy's arrays."""

    def beliefs(self, row=0):
        return Beliefs(scores={"a": np.arange(10, dtype=np.float32) / 4, "b": np.arange(10)})


def test_scores_may_be_arrays_of_any_dtype():
    data, _ = parts(pages.page(watch("PBM-Yandex-v0", [Scored], rounds=2, progress=False)))
    assert data["agents"][0]["beliefs"][0]["scores"] == {"a": [k / 4 for k in range(10)], "b": list(range(10))}


class OneUser:
    """An agent of one user."""

    def __init__(self, *, num_positions):
        self.shown, self.rounds = list(range(num_positions)), 0

    def act(self):
        return self.shown

    def update(self, displayed, clicks):
        self.rounds += 1

    def beliefs(self):
        return Beliefs(base_list=tuple(self.shown), scores={"rounds": (self.rounds,) * 10})


def test_agents_of_one_user_say_what_they_believe():
    agent = rankgym.per_row(OneUser)(num_items=10, num_positions=3, num_envs=2)
    agent.update(agent.act(), np.zeros((2, 3), np.int8))
    assert agent.beliefs(1) == Beliefs(base_list=(0, 1, 2), scores={"rounds": (1,) * 10})


class Plain:
    """An agent with two methods and no more."""

    def __init__(self, *, num_positions):
        self.displayed = np.arange(num_positions)[None]

    def act(self, observation):
        return self.displayed.copy()

    def update(self, displayed, clicks):
        pass


def test_agents_without_beliefs_are_shown():
    episode = watch("PBM-Yandex-v0", [Plain], rounds=5, progress=False)
    assert episode.agents[0].beliefs == [None] * 5
    assert pages.page_data(episode)["agents"][0]["beliefs"] == [{}] * 5


def test_the_agent_of_the_documentation_shows_what_it_believes():
    text = (Path(__file__).resolve().parents[2] / "docs" / "watching.md").read_text("utf-8")
    code = re.search(r"```python\n(.*?)```", text, flags=re.S)[1]
    found = {"__name__": __name__}
    exec(compile(code, "watching.md", "exec"), found)
    venv = gym.make_vec("rankgym/PBM-Yandex-v0", num_envs=2, horizon=50)
    agent = found["ClickCounter"].for_env(venv, seed=0)
    rankgym.simulate(agent, venv, 50, seed=0, progress=False)
    (share,) = checked_beliefs(agent.beliefs(1), 10).scores.values()
    shown = agent.act()[1]
    assert [share[item] for item in shown] == sorted(share, reverse=True)[:5]


# -- the page ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def played():
    return watch("PBM-Yandex-v0", ["toprank", "cascade-kl-ucb"], rounds=40, progress=False)


def parts(text):
    """The page's scripts: the data, read as JSON, and the program."""
    found = re.findall(r"<script[^>]*>(.*?)</script>", text, flags=re.S)
    assert len(found) == 2
    return json.loads(found[0]), found[1]


def test_the_data_on_the_page_are_those_of_the_episode(played):
    data, _ = parts(pages.page(played))
    agent, scene, beliefs = data["agents"][0], {}, {}
    for place in range(40):
        scene |= agent["scenes"][place]
        beliefs |= agent["beliefs"][place]
        truth = played.agents[0].scenes[place]
        assert [position[0] for position in scene["displayed"]] == [position.item for position in truth.displayed]
        assert scene["regret_so_far"] == pytest.approx(truth.regret_so_far, rel=1e-3)
        assert beliefs["blocks"] == [list(block) for block in played.agents[0].beliefs[place].blocks]
    assert data["shown"] == played.shown
    assert "Infinity" not in json.dumps(data["agents"][0]["scenes"])


def test_curves_can_be_told_apart_without_colours():
    episode = watch("CM-Yandex-v0", ["cascade-kl-ucb", "cascade-swucb", "restarting"], rounds=60, progress=False)
    assert len(episode.notes) > 0  # the first and the last play alike
    first, second, last = pages.page_data(episode)["agents"]
    assert len({agent["marker"] for agent in (first, second, last)}) == 3
    assert [round(length / pages.DASH_UNIT, 1) for length in last["dashes"]] == list(OVER[0][1])  # drawn over the first
    assert first["dashes"] not in (second["dashes"], last["dashes"])


@pytest.mark.parametrize("marker", MARKERS)
def test_markers_are_closed_paths_around_the_point(marker):
    text = pages.marker_path(marker)
    assert re.fullmatch(r"M(-?\d+\.\d -?\d+\.\d)(L-?\d+\.\d -?\d+\.\d){2,}Z", text)
    corners = np.array([[float(x) for x in corner.split()] for corner in text[1:-1].split("L")])
    assert (corners.min(0) < 0).all()
    assert (corners.max(0) > 0).all()
    assert np.abs(corners).max() <= pages.MARKER_SIZE


def test_of_many_arms_the_largest_scores_are_on_the_page():
    episode = watch("Dueling-MSLR-v0", ["sparring"], rounds=300, progress=False)
    found, played = pages.page_data(episode)["agents"][0]["beliefs"][0], episode.agents[0].beliefs[0]
    left = played.scores["played left"]
    assert found["total"] == len(left) == 136
    assert found["scores"]["played left"] == sorted(left, reverse=True)[: pages.MANY]
    assert found["scores"]["played right"] == [played.scores["played right"][arm] for arm in found["scored"]]


def test_infinite_scores_are_text():
    assert pages._plain({"index": (float("inf"), 0.5, float("nan"), -float("inf"))}) == {
        "index": ["Infinity", 0.5, None, "-Infinity"]
    }


def test_the_page_loads_nothing(played):
    text = pages.page(played)
    assert "default-src 'none'" in text
    assert not re.search(r"(?:src|href)\s*=|url\(|@import|fetch\(|XMLHttpRequest|innerHTML|eval\(", text)
    assert [link for link in re.findall(r"https?://[^\"'\s]+", text) if not link.startswith("http://www.w3.org/")] == []


NASTY = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        ["</script><script>alert(1)</script>", "<!--<script>", "{title}{data}", "\u2028'\"&amp;<b>", "]]>"]
    ),
)


@settings(max_examples=60)
@given(NASTY, NASTY, NASTY)
def test_no_text_becomes_markup(played, label, change, value):
    first = played.agents[0]
    agent = first._replace(label=label, changes=[Change(3, STRUCTURE, change)])
    environment = played.environment._replace(env_id=f"rankgym/{value}")
    text = pages.page(played._replace(agents=[agent], environment=environment, arguments={"model": value}))
    data, script = parts(text)
    assert data["agents"][0]["label"] == label
    assert data["agents"][0]["changes"] == [[3, STRUCTURE, change]]
    assert data["arguments"]["model"] == value
    assert script == parts(pages.page(played))[1]
    assert text.count("<script") == text.count("</script") == 2
    assert "<!--" not in text
    title = re.search(r"<title>(.*?)</title>", text, flags=re.S)[1]
    assert "<" not in title
    assert unescape(title) == unescape(escape(data["title"]))


# -- the command ------------------------------------------------------------------------------------------------------


def test_the_command_writes_a_page_and_says_when_the_first_block_splits(run, tmp_path):
    words = ("watch", "PBM-Yandex-v0", "--agents", "toprank,random", "--query", "3", "--rounds", "1500")
    found = run(*words, "--out", "pages/watch.html")
    assert found.exit_code == 0, found.output
    data, _ = parts((tmp_path / "pages" / "watch.html").read_text("utf-8"))
    number = data["agents"][0]["changes"][0][0]
    assert f"toprank: round {number:,}: first block splits: " in found.output
    assert "of 1,500 rounds" in found.output


def test_the_command_refuses_a_folder_before_it_plays(run, tmp_path):
    found = run("watch", "PBM-Yandex-v0", "--agents", "toprank", "--rounds", "10", "--out", str(tmp_path))
    assert found.exit_code != 0
    assert "is a folder" in found.output

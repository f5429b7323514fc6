"""The two shells: what a layer is told, by every kind of environment, and what the shells leave alone."""

import json
import pickle
from copy import deepcopy

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Discrete, MultiBinary
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import TimeLimit

from rankgym import check_vector_env
from rankgym.spaces import Permutation
from rankgym.wrappers import AgainstItself, RecordRanking, RecordRegret, RecordSafety
from rankgym.wrappers.layers import Layer, Setting, SingleLayered, VectorLayered, layers_of
from rankgym.wrappers.observations import ItemStatistics, ItemStatisticsLayer, LastDisplayed, TimeAware

PBM = "rankgym/PBM-Yandex-v0"
BREAKPOINT = "rankgym/CM-Yandex-Breakpoint-v0"
DUELS = "rankgym/Dueling-PBM-Yandex-v0"
MODES = ["NextStep", "SameStep", "Disabled"]
OF_MODES = {"next step", "same step", "autoreset"}  # rules that not every mode can be put to
OF_SYNC = {"options", "bad action"}  # those that Gymnasium's batch of singles breaks


# ---- layers made for these tests ----


class WitnessLayer(Layer):
    """Writes down what it is told, and shows what is below."""

    name = "Witness"

    def __init__(self, setting, observation_space, action_space, *, words=("a", "b"), number=2):
        super().__init__(setting, observation_space, action_space)
        self.words, self.number = words, number
        self.told = []

    def begin(self, rows, initial_list):
        for row in np.flatnonzero(rows):
            self.told.append((int(row), "begin", initial_list[row].tolist()))
        initial_list[:] = -1  # it is the layer's own

    def learn(self, displayed, clicks, rows):
        for row in np.flatnonzero(rows):
            self.told.append((int(row), displayed[row].tolist(), clicks[row].tolist()))


class Witness(SingleLayered):
    layer_class = WitnessLayer

    def __init__(self, env, *, words=("a", "b"), number=2):
        super().__init__(env, words=words, number=number)


class ThriceLayer(Layer):
    """A session takes three numbers: the list is all items, each moved up by their sum."""

    name, steps = "Thrice", 3

    def __init__(self, setting, observation_space, action_space):
        super().__init__(setting, observation_space, action_space)
        self.action_space = Discrete(setting.num_items)
        self.said = []

    def begin(self, rows, initial_list):
        if rows.all():
            self.said = []

    def learn(self, displayed, clicks, rows):
        self.said = []

    def action(self, actions):
        self.said.append(np.array(actions))
        if len(self.said) < self.steps:
            return None
        items = np.arange(self.setting.num_positions) + np.sum(self.said, axis=0)[:, None]
        return items % self.setting.num_items

    def action_masks(self):
        return np.arange(self.setting.num_items) >= np.full((self.setting.num_envs, 1), len(self.said))


class Thrice(SingleLayered):
    layer_class = ThriceLayer


class PlainActsLayer(Layer):
    """Acts, and allows everything."""

    name = "PlainActs"

    def action(self, actions):
        return actions


class PlainActs(SingleLayered):
    layer_class = PlainActsLayer


# ---- environments ----


def stacked(env):
    return TimeAware(LastDisplayed(ItemStatistics(env, discounts=[1.0, 0.9])))


def under_recorders(env):
    return RecordRegret(RecordSafety(RecordRanking(stacked(env))))


def among_recorders(env):
    return LastDisplayed(RecordSafety(RecordRanking(ItemStatistics(RecordRegret(env)))))


FORMS = [ItemStatistics, LastDisplayed, TimeAware, Witness, stacked, under_recorders, among_recorders]


def batch(shell, mode, wrapped, name=PBM, rows=3, **arguments):
    """A batch of rows, wrapped: native, or over or around Gymnasium's batch of singles."""
    arguments = {"horizon": 6, **arguments}
    if shell == "native":
        return wrapped(gym.make_vec(name, num_envs=rows, autoreset_mode=mode, **arguments))
    if shell == "over sync":
        return wrapped(SyncVectorEnv([lambda: gym.make(name, **arguments)] * rows, autoreset_mode=AutoresetMode(mode)))
    return SyncVectorEnv([lambda: wrapped(gym.make(name, **arguments))] * rows, autoreset_mode=AutoresetMode(mode))


def random_lists(rows, steps, seed=0, positions=5):
    rng = np.random.default_rng(seed)
    return rng.permuted(np.tile(np.arange(10), (steps, rows, 1)), axis=2)[:, :, :positions]


def same(one, other):
    """Equal in type, dtype, shape and value, nested."""
    if isinstance(one, dict):
        return type(one) is type(other) and one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if isinstance(one, np.ndarray) and one.dtype == object:
        return one.shape == other.shape and all(same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, (list, tuple)):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, np.ndarray):
        return (
            isinstance(other, np.ndarray)
            and one.dtype == other.dtype
            and one.shape == other.shape
            and one.tobytes() == other.tobytes()
        )
    return type(one) is type(other) and one == other


# ---- the contract of environments ----


@pytest.mark.parametrize("wrapped", FORMS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shell", ["native", "over sync"])
def test_layered_batches_keep_every_rule_of_a_vector_environment(shell, mode, wrapped):
    """Among them: list seeds, reset_mask, row independence, results never used again, refused actions."""
    report = check_vector_env(batch(shell, mode, wrapped), steps=20)
    assert set(report.not_exercised) <= OF_MODES | (OF_SYNC if shell == "over sync" else set())


@pytest.mark.parametrize("name", [PBM, BREAKPOINT])
@pytest.mark.parametrize("horizon", [6, None])
def test_queries_that_change_at_every_reset_and_users_who_change_at_breakpoints(name, horizon):
    scheduled = {"epoch_lengths": [2, 3]} if name == BREAKPOINT else {}
    for mode in MODES:
        env = batch("native", mode, ItemStatistics, name, query=None, horizon=horizon, **scheduled)
        assert set(check_vector_env(env, steps=15).not_exercised) <= OF_MODES


@pytest.mark.parametrize("wrapped", FORMS)
@pytest.mark.parametrize("mode", MODES)
def test_a_batch_of_layered_singles_shows_what_a_layered_batch_shows(mode, wrapped):
    """Bit for bit, final observations too: a single environment is row 0 of its batch."""
    envs = [batch(shell, mode, wrapped) for shell in ("native", "over sync", "within sync")]
    first = [env.reset(seed=[5, 2, 9])[0] for env in envs]
    assert same(first[0], first[1])
    assert same(first[0], first[2])
    ended = np.zeros(3, bool)
    for t, lists in enumerate(random_lists(3, 20)):
        if t % 7 == 4 or (mode == "Disabled" and ended.any()):
            mask = np.array([False, True, True]) if t % 7 == 4 else ended
            mask = mask | ended if mode == "Disabled" else mask
            shown = [env.reset(options={"reset_mask": mask.copy()})[0] for env in envs]
            assert same(shown[0], shown[1])
            assert same(shown[0], shown[2])
        native, over, within = (env.step(lists) for env in envs)
        for other in (over, within):
            assert all(same(mine, theirs) for mine, theirs in zip(native[:4], other[:4], strict=True))
            assert same(native[4].get("final_obs"), other[4].get("final_obs"))
        ended = native[3]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shell", ["native", "over sync"])
def test_info_is_the_environments_own(shell, mode):
    """But ``final_obs``; of a layer that shows what is below, that too."""
    bare, shown, witness = (batch(shell, mode, wrapped) for wrapped in (lambda env: env, stacked, Witness))
    results = [env.reset(seed=1) for env in (bare, shown, witness)]
    assert same(results[0][1], results[1][1])
    assert same(results[0], results[2])
    for lists in random_lists(3, 15):
        observation, *flags, info = bare.step(lists)
        for env in (shown, witness):
            mine, *my_flags, my_info = env.step(lists)
            assert all(map(same, flags, my_flags))
            assert my_info.keys() == info.keys()
            assert all(same(my_info[name], info[name]) for name in info if name != "final_obs")
        assert same(observation, mine)
        assert same(info.get("final_obs"), my_info.get("final_obs"))
        if mode == "Disabled" and flags[2].any():
            for env in (bare, shown, witness):
                env.reset(options={"reset_mask": flags[2].copy()})


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shell", ["native", "over sync"])
def test_recorders_add_up_the_same_around_layers_within_them_and_without(shell, mode):
    def bare(env):
        return RecordRegret(RecordSafety(RecordRanking(env)))

    def totals(env):
        found = {}
        while env is not env.unwrapped:
            found |= getattr(env, "totals", {})
            env = env.env
        return found

    envs = [batch(shell, mode, wrapped) for wrapped in (bare, under_recorders, among_recorders)]
    for env in envs:
        env.reset(seed=1)
    for lists in random_lists(3, 15):
        ended = [env.step(lists)[3] for env in envs]
        first, *others = (totals(env) for env in envs)
        assert set(first) == {"regret", "reward", "violations", "ndcg"}
        for other in others:
            assert first.keys() == other.keys()
            assert all((first[name] == other[name]).all() for name in first)
        if mode == "Disabled" and ended[0].any():
            for env in envs:
                env.reset(options={"reset_mask": ended[0].copy()})


# ---- what a layer is told ----


def with_new_lists(env):
    """The environment with a production list of its own for every query."""
    bare = env.unwrapped
    bare = getattr(bare, "engine", bare)
    queries, items = bare.queries.initial_list.shape
    lists = np.random.default_rng(0).permuted(np.tile(np.arange(items), (queries, 1)), axis=1)
    bare.queries = bare.queries._replace(initial_list=lists)
    return env


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shell", ["native", "over sync"])
def test_a_layer_is_told_of_each_session_and_of_the_production_list_of_each_episode(shell, mode):
    """``query=None`` draws a new query at every reset. Single environments, one a row, say what should be told."""
    arguments = {"query": None, "horizon": 6}
    if shell == "native":
        env = Witness(with_new_lists(gym.make_vec(PBM, num_envs=3, autoreset_mode=mode, **arguments)))
    else:
        singles = [lambda: with_new_lists(gym.make(PBM, **arguments))] * 3
        env = Witness(SyncVectorEnv(singles, autoreset_mode=AutoresetMode(mode)))
    twins = [with_new_lists(gym.make(PBM, **arguments)) for _ in range(3)]
    expected = []
    waiting = np.zeros(3, bool)

    def begin(row, seed=None):
        twins[row].reset(seed=seed)
        expected.append((row, "begin", twins[row].unwrapped.initial_list.tolist()))
        waiting[row] = False

    env.reset(seed=4)
    env.layer.told[:] = env.layer.told[-3:]  # without what it was made with
    for row in range(3):
        begin(row, 4 + row)
    for t, lists in enumerate(random_lists(3, 4 * 6)):
        if t == 4:
            env.reset(seed=[None, 77, None], options={"reset_mask": np.array([False, True, False])})
            begin(1, 77)
        if mode == "Disabled" and waiting.any():
            env.reset(options={"reset_mask": waiting.copy()})
            for row in np.flatnonzero(waiting):
                begin(row)
        env.step(lists)
        for row, twin in enumerate(twins):
            if waiting[row]:
                begin(row)
                continue
            clicks, _, _, waiting[row], _ = twin.step(lists[row])
            expected.append((row, lists[row].tolist(), clicks.tolist()))
            if waiting[row] and mode == "SameStep":
                begin(row)
    assert len({tuple(lists) for _, what, lists in expected if what == "begin"}) > 3
    for row in range(3):
        assert [told for told in env.layer.told if told[0] == row] == [told for told in expected if told[0] == row]


def test_what_a_layer_is_given_is_its_own():
    """The witness overwrites the production lists that it is given; and what is returned is nobody else's."""
    for env in (Witness(gym.make(PBM)), Witness(gym.make_vec(PBM, num_envs=2))):
        observation, _ = env.reset(seed=0)
        observation[:] = 7
        assert (np.asarray(env.unwrapped.initial_list) == np.arange(10)).all()
        assert (env._inner == 0).all()


# ---- several actions make a session ----


def test_between_two_sessions_the_last_observation_is_shown_again_and_nothing_else_happens():
    for mode in ("SameStep", "Disabled"):
        env = Thrice(gym.make_vec(PBM, num_envs=2, query=0, num_positions=3, horizon=2, autoreset_mode=mode))
        twin = gym.make_vec(PBM, num_envs=2, query=0, num_positions=3, horizon=2, autoreset_mode=mode)
        shown = [env.reset(seed=0)[0]]
        assert same(shown[0], twin.reset(seed=0)[0])
        for t in range(2):
            for number in range(2):
                observation, *flags, info = env.step(np.array([1, 2]))
                assert same(observation, shown[-1])
                assert not any(np.may_share_memory(observation, old) for old in shown)
                assert info.keys() == {"action_mask"}
                assert all(same(flag, np.zeros(2, kind)) for flag, kind in zip(flags, (float, bool, bool), strict=True))
                assert env.action_masks().tolist() == [[False] * (number + 1) + [True] * (9 - number)] * 2
                shown.append(observation)
            result, expected = env.step(np.array([1, 2])), twin.step(np.array([[3, 4, 5], [6, 7, 8]]))
            assert (result[4].pop("action_mask") == env.action_masks()).all()
            assert all(same(mine, theirs) for mine, theirs in zip(result, expected, strict=True))
            assert result[3].all() == (t == 1)
            shown.append(result[0])


def test_singles_and_batches_of_several_actions_agree_beneath_other_layers():
    single = stacked(Thrice(gym.make(PBM, query=1, horizon=4)))
    many = stacked(Thrice(gym.make_vec(PBM, num_envs=2, query=1, horizon=4, autoreset_mode="Disabled")))
    assert same(single.reset(seed=0)[0], many.reset(seed=0)[0][0])
    for number in range(12):
        one, two = single.step(3), many.step(np.array([3, 4]))
        assert same(one[0], two[0][0])
        assert one[1:4] == tuple(part[0] for part in two[1:4])
        assert one[3] == (number == 11)
        assert one[0][0, -1] == ((number + 1) // 3) / 4  # time counts sessions
        if not one[3]:
            assert single.action_masks().tolist() == many.action_masks()[0].tolist()
    assert single.layer.played.tolist() == [4]


@pytest.mark.parametrize("mode", MODES)
def test_rows_of_which_some_play_some_wait_and_some_are_reset(mode):
    """Singles of several actions and different horizons in Gymnasium's batch are at different slots of their lists."""

    def singles(wrapped):
        def single(horizon):
            env = Thrice(gym.make(PBM, query=1, horizon=horizon))
            return wrapped(gym.wrappers.TimeLimit(env, 4) if horizon == 4 else env)  # ends in the middle of a list

        envs = [lambda n=n: single(n) for n in (2, 3, 4)]
        return SyncVectorEnv(envs, autoreset_mode=AutoresetMode(mode))

    over, within = LastDisplayed(singles(lambda env: env)), singles(LastDisplayed)
    assert same(over.reset(seed=0)[0], within.reset(seed=0)[0])
    rng = np.random.default_rng(0)
    for t in range(60):
        if t % 25 == 1:
            shown = [env.reset(options={"reset_mask": np.array([True, False, False])})[0] for env in (over, within)]
            assert same(*shown)
        actions = rng.integers(10, size=3)
        mine, theirs = over.step(actions), within.step(actions)
        assert all(same(a, b) for a, b in zip(mine[:4], theirs[:4], strict=True))
        assert same(mine[4].get("final_obs"), theirs[4].get("final_obs"))
        if mode == "Disabled" and mine[3].any():
            shown = [env.reset(options={"reset_mask": mine[3].copy()})[0] for env in (over, within)]
            assert same(*shown)


def test_an_autoreset_in_the_next_step_cannot_be_spread_over_several_actions():
    with pytest.raises(ValueError, match=r'cannot spread over 3 actions; allowed: .*"SameStep"\) or "Disabled"'):
        Thrice(gym.make_vec(PBM, num_envs=2))


@pytest.mark.parametrize("wrapped", [Thrice, ItemStatistics])
def test_no_action_is_taken_where_a_reset_is_needed(wrapped):
    lists = np.zeros((2, 0)) if wrapped is Thrice else random_lists(2, 1)[0]
    for env in (
        wrapped(gym.make_vec(PBM, num_envs=2, horizon=1, autoreset_mode="Disabled")),
        wrapped(gym.make(PBM, horizon=1)),
    ):
        vector = isinstance(env, VectorLayered)
        action = (
            (np.array([0, 0]) if wrapped is Thrice else lists) if vector else (0 if wrapped is Thrice else lists[0])
        )
        with pytest.raises(ResetNeeded, match="before its first step"):
            env.step(action)
        env.reset(seed=0)
        for _ in range(env.layer.steps):
            result = env.step(action)
        assert np.all(result[3])
        with pytest.raises(ResetNeeded, match="over"):
            env.step(action)
        if wrapped is Thrice:
            assert env.layer.said == []
        if vector:
            env.reset(options={"reset_mask": np.array([True, False])})
            with pytest.raises(ResetNeeded, match=r"episodes of rows \[1\] are over"):
                env.step(action)
        env.reset()
        env.step(action)


def test_masks_are_those_of_the_outermost_layer_that_acts():
    batch = gym.make_vec(PBM, num_envs=2, autoreset_mode="Disabled")
    assert ItemStatistics(batch).action_masks() is None
    within = RecordRegret(ItemStatistics(Thrice(batch)))
    assert LastDisplayed(within).action_masks().shape == (2, 10)
    assert PlainActs(within).action_masks() is None
    single = LastDisplayed(Thrice(gym.make(PBM)))
    assert single.action_masks().tolist() == [True] * 10
    assert LastDisplayed(gym.make(PBM)).action_masks() is None


# ---- settings, forms, specs, copies ----


def test_a_setting_is_what_an_agent_may_know():
    arguments = {"num_positions": 3, "horizon": 40, "initial_list": [*range(9, -1, -1)]}
    single, native = gym.make(PBM, **arguments), gym.make_vec(PBM, num_envs=3, **arguments)
    sync = SyncVectorEnv([lambda: ItemStatistics(Thrice(gym.make(PBM, **arguments)))] * 3)
    for env, rows in ((single, 1), (stacked(single), 1), (native, 3), (under_recorders(native), 3), (sync, 3)):
        setting = Setting.of(env)
        assert setting[:4] == (rows, 10, 3, 40)
        assert setting.initial_list.dtype == np.int64
        assert setting.initial_list.tolist() == [[*range(9, -1, -1)]] * rows
        assert not np.may_share_memory(setting.initial_list, native.initial_list)
    assert Setting.of(gym.make(PBM, horizon=None)).horizon is None
    assert Setting.of(gym.make(PBM, horizon=None, max_episode_steps=7)).horizon == 7
    uneven = SyncVectorEnv([lambda n=n: gym.make(PBM, horizon=n) for n in (9, None, 5)])
    assert Setting.of(uneven).horizon == 5


@pytest.mark.parametrize("name", ["CartPole-v1", "rankgym/Dueling-Cyclic-v0", DUELS])
def test_other_environments_are_refused(name):
    for env in (
        gym.make(name),
        gym.make_vec(name, num_envs=2, vectorization_mode="sync"),
        gym.make_vec(name, num_envs=2),
    ):
        with pytest.raises(ValueError, match="is not a ranking environment of rankgym; allowed:"):
            ItemStatistics(env)


def test_rankings_that_duel_with_themselves_are_rankings():
    env = stacked(AgainstItself(gym.make_vec(DUELS, num_envs=3, query="all", horizon=7)))
    twin = AgainstItself(gym.make_vec(DUELS, num_envs=3, query="all", horizon=7))
    env.reset(seed=0)
    twin.reset(seed=0)
    for lists in random_lists(3, 7):
        shown, clicks = env.step(lists)[0], twin.step(lists)[4]["clicks"]
        assert (np.take_along_axis(shown[:, :, -2], lists, axis=1) == clicks).all()


@pytest.mark.parametrize("given", [{}, {"discounts": (1, 0.5)}, {"discounts": np.array([0.5, 1.0])}])
def test_forms_are_the_same_plain_values_in_both_shells(given):
    single, vector = (ItemStatistics(env, **given) for env in (gym.make(PBM), gym.make_vec(PBM, num_envs=2)))
    assert isinstance(single, gym.Wrapper)
    assert isinstance(vector, VectorLayered)
    form = single.form
    assert form == vector.form
    assert form == ("ItemStatistics", {"discounts": np.array(given.get("discounts", [1.0])).tolist()})
    assert form[1].keys() == {"discounts"}
    assert json.loads(json.dumps(form)) == list(form)
    assert [form] == layers_of(single) == layers_of(vector)
    again = ItemStatisticsLayer(Setting.of(single), MultiBinary(5), Permutation(10, 5), **form[1])
    assert again.observation_space == single.observation_space == vector.single_observation_space


def test_a_form_is_what_was_given_whatever_the_layer_does_to_it():
    given = ["x", "y"]
    for make in (gym.make, lambda name: gym.make_vec(name, num_envs=2)):
        env = Witness(make(PBM), words=given)
        env.layer.words.append("z")
        assert given == ["x", "y"]
        assert layers_of(env) == [("Witness", {"words": given, "number": 2})]


def test_layers_of_a_chain_come_innermost_first():
    expected = [
        ("ItemStatistics", {"discounts": [1.0, 0.9]}),
        ("LastDisplayed", {}),
        ("TimeAware", {}),
        ("Witness", {"words": ["x"], "number": 2}),
    ]

    def chain(env):
        return RecordSafety(Witness(RecordRegret(stacked(env)), words=("x",)))

    envs = [
        chain(gym.make(PBM)),
        *(batch(shell, "SameStep", chain) for shell in ("native", "over sync", "within sync")),
    ]
    for env in envs:
        forms = layers_of(env)
        assert forms == expected
        forms[0][1]["discounts"].append(0.1)  # the caller's own
        assert layers_of(env) == expected
    assert layers_of(gym.make(PBM)) == layers_of(RecordRegret(gym.make_vec(PBM, num_envs=2))) == []
    half_within = TimeAware(batch("within sync", "SameStep", ItemStatistics))
    assert [name for name, _ in layers_of(half_within)] == ["ItemStatistics", "TimeAware"]


@pytest.mark.parametrize("make", [lambda: gym.make(PBM), lambda: gym.make_vec(PBM, num_envs=2)])
def test_a_wrong_keyword_is_named(make):
    with pytest.raises(TypeError, match="discount'"):
        ItemStatistics(make(), discount=[1.0])
    with pytest.raises(TypeError, match="discounts'"):
        LastDisplayed(make(), discounts=[1.0])
    with pytest.raises(TypeError, match="positional argument"):
        ItemStatistics(make(), [1.0])


def test_the_error_of_a_wrong_keyword_says_which_there_are():
    with pytest.raises(TypeError, match="ItemStatistics has no argument 'discount'; did you mean 'discounts'"):
        ItemStatistics(gym.make_vec(PBM, num_envs=2), discount=0.5)
    with pytest.raises(TypeError, match="TimeAware has no argument 'horizon'; allowed: none"):
        TimeAware(gym.make_vec(PBM, num_envs=2), horizon=5)


def test_specs_go_through_json():
    env = TimeAware(RecordRegret(LastDisplayed(ItemStatistics(gym.make(PBM, horizon=9), discounts=np.array([0.5])))))
    again = gym.make(EnvSpec.from_json(env.spec.to_json()))
    assert [type(e) for e in wrappers(again) if type(e) is not TimeLimit] == [type(e) for e in wrappers(env)]
    assert layers_of(again) == layers_of(env)
    assert again.observation_space == env.observation_space
    assert same(env.reset(seed=3)[0], again.reset(seed=3)[0])
    for lists in random_lists(1, 9)[:, 0]:
        mine, theirs = env.step(lists), again.step(lists)
        assert all(same(a, b) for a, b in zip(mine, theirs, strict=True))


def wrappers(env):
    while env is not env.unwrapped:
        yield env
        env = env.env


@pytest.mark.parametrize("copied", [deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_copies_in_the_middle_of_an_episode_go_on_alike_and_apart(copied):
    for env, rows in ((stacked(gym.make(PBM, horizon=9)), 1), (batch("native", "SameStep", stacked, horizon=9), 3)):
        lists = random_lists(3, 30) if rows > 1 else random_lists(1, 9)[:, 0]
        env.reset(seed=3)
        for action in lists[:5]:
            env.step(action)
        other, third = copied(env), copied(env)
        for action in lists[5:]:
            third.step(np.roll(action, 1, axis=-1))  # goes its own way, which the others do not notice
            if rows == 1 and third.unwrapped.engine._some_ended:
                third.reset()
            mine, theirs = env.step(action), other.step(action)
            assert all(same(a, b) for a, b in zip(mine, theirs, strict=True))


def test_a_refused_action_leaves_everything_as_it_was():
    bad = [3, 3, 1, 2, 4]
    for env, twin in (
        (stacked(gym.make(PBM)), stacked(gym.make(PBM))),
        (batch("native", "SameStep", stacked), batch("native", "SameStep", stacked)),
    ):
        rows = env.num_envs if isinstance(env, VectorLayered) else None
        env.reset(seed=3)
        twin.reset(seed=3)
        for lists in random_lists(3, 9):
            action, wrong = (lists, np.stack([lists[0], bad, lists[2]])) if rows else (lists[0], np.array(bad))
            with pytest.raises(ValueError, match=r"row 1.* repeats item 3" if rows else "repeats item 3"):
                env.step(wrong)
            assert all(same(a, b) for a, b in zip(env.step(action), twin.step(action), strict=True))


def test_single_environments_get_actions_of_every_kind_as_they_are():
    """An observation wrapper does not touch actions: errors are the environment's own."""
    bare, env = gym.make(PBM).unwrapped, stacked(gym.make(PBM).unwrapped)
    bare.reset(seed=0)
    env.reset(seed=0)
    for action in (None, "abc", [1, 2], [0.5] * 5, [[1], [2, 3]], {"left": 1}, 3, [True] * 5, [0, 1, 2, 3, 10]):
        with pytest.raises(ValueError) as theirs:
            bare.step(action)
        with pytest.raises(ValueError) as mine:
            env.step(action)
        assert str(mine.value) == str(theirs.value)
    assert env.step([0, 1, 2, 3, 4])[1] == bare.step([0, 1, 2, 3, 4])[1]


@pytest.mark.parametrize("wrapper", [ItemStatistics, Witness, RecordRegret, RecordSafety, RecordRanking])
def test_the_vector_form_of_a_wrapper_is_named_and_pickled_by_its_single_form(wrapper):
    env = wrapper(gym.make_vec(PBM, num_envs=2))
    assert type(env) is wrapper.vector
    assert type(env).__name__ == f"Vector{wrapper.__name__}"
    assert pickle.loads(pickle.dumps(type(env))) is wrapper.vector

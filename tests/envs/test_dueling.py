"""Duels by a preference matrix: beside a plain-Python oracle, and the facts that regret and chance must meet."""

import copy
import math
import pickle
import re

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Dict, Discrete, MultiBinary
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from hypothesis import example, given, settings
from hypothesis import strategies as st
from nonsense import complaints
from plain_duels import PlainDuels, key_of

import rankgym
from rankgym.agent import DuelingAgent
from rankgym.data import catalogue, preferences
from rankgym.envs import DuelingVectorEnv, SingleEnv, single_dueling
from rankgym.envs.duels import REGRETS, first_wrong_arm
from rankgym.envs.matrices import WINNERS

MODES = ["NextStep", "SameStep", "Disabled"]
IDS = [f"rankgym/Dueling-{name}-v0" for name in ("MSLR", "Arxiv", "Cyclic", "Arithmetic", "Synthetic")]
KEYS = {"winner", "left", "right", "regret", "round", "problem"}
CIRCLE = [[0.5, 0.9, 0.2], [0.1, 0.5, 0.7], [0.8, 0.3, 0.5]]  # nobody beats all; Borda: .55, .4, .55
STATE = [
    "_key",
    "_problem_key",
    "_session",
    "_round",
    "_episode",
    "_ended",
    "_problem",
    "_arms",
    "_gap",
    "last_observation",
]
RARE = 1e-6  # probability of error of every test of chance


def random_matrices(problems, arms, seed, planted=True):
    """(problems, arms, arms); with ``planted`` another arm of each is the Condorcet winner."""
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((problems, arms, arms)), 1)
    matrices = upper + np.tril(1 - upper.transpose(0, 2, 1), -1) + np.eye(arms) / 2
    if planted:
        for n, matrix in enumerate(matrices):
            winner = n % arms
            matrix[winner] = 0.55 + 0.4 * rng.random(arms)
            matrix[:, winner] = 1 - matrix[winner]
            matrix[winner, winner] = 0.5
    return matrices


def random_duels(env, steps, seed=0):
    rng = np.random.default_rng(seed)
    pairs = rng.integers(0, env.unwrapped.num_arms, (steps, 2, env.unwrapped.num_envs))
    return [{"left": left.copy(), "right": right.copy()} for left, right in pairs]


def given_matrices(matrices, **arguments):
    return {"dataset": "synthetic", "preference": np.asarray(matrices).tolist(), **arguments}


def state(env):
    return [getattr(env, name).tobytes() for name in STATE] + [env._latest_round, env._some_ended]


# -- the whole environment beside the oracle --------------------------------------------------------------------------


@pytest.mark.kernels
@pytest.mark.parametrize("regret", REGRETS)
@pytest.mark.parametrize("winner", WINNERS)
@pytest.mark.parametrize(
    ("problem", "num_arms", "keep_winner"), [(None, None, True), ([2, 0], None, True), (None, 3, True), (1, 4, False)]
)
def test_every_step_is_the_oracles(regret, winner, problem, num_arms, keep_winner):
    """Three episodes of three rows: what resets and steps tell, and the truth, bit for bit."""
    matrices = random_matrices(3, 5, 1, planted=winner == "condorcet")
    matrices = [preferences.check_preference("matrix", matrix) for matrix in matrices]
    shared = {"winner": winner, "regret": regret, "num_arms": num_arms, "keep_winner": keep_winner}
    env = DuelingVectorEnv(
        3, **given_matrices(matrices, problem=problem, horizon=20, **shared), autoreset_mode="Disabled"
    )
    fixed = [problem] * 3 if problem is None else np.resize(problem, 3).tolist()
    rows = [PlainDuels(matrices, 7 + b, problem=fixed[b], **shared) for b in range(3)]
    duels = iter(random_duels(env, 60))
    for episode in range(3):
        observation, info = env.reset(seed=7 if episode == 0 else None)
        assert not observation.any()
        assert [{name: values[b].item() for name, values in info.items()} for b in range(3)] == [
            r.reset() for r in rows
        ]
        assert (env.preference == [row.preference for row in rows]).all()
        assert env.best_arm.tolist() == [row.best for row in rows]
        assert env.condorcet_winner.tolist() == [row.condorcet for row in rows]
        assert env.arms.tolist() == [row.arms for row in rows]
        for t in range(20):
            duel = next(duels)
            observation, reward, terminated, truncated, info = env.step(duel)
            assert set(info) == KEYS
            for b, row in enumerate(rows):
                expected = row.step(int(duel["left"][b]), int(duel["right"][b]))
                found = {name: values[b].item() for name, values in info.items()}
                assert (observation[b].tolist(), reward[b].item(), found) == expected
            assert not terminated.any()
            assert (truncated == (t == 19)).all()


def test_a_row_is_the_single_environment_in_every_mode():
    """Also where the row's problem and arms are drawn anew in each episode."""
    arguments = given_matrices(random_matrices(4, 6, 2), num_arms=4, horizon=5)
    single = gym.make("rankgym/Dueling-Synthetic-v0", **arguments)
    whole = gym.make_vec("rankgym/Dueling-Synthetic-v0", num_envs=300, autoreset_mode="SameStep", **arguments)
    duels = random_duels(whole, 25)
    expected, info = [], single.reset(seed=50 + 217)[1]
    whole.reset(seed=50)
    for name in ("preference", "arms", "condorcet_winner", "best_arm"):
        assert np.array_equal(getattr(single.unwrapped, name), getattr(whole.unwrapped, name)[217])
    for t, duel in enumerate(duels):
        action = {side: int(arms[217]) for side, arms in duel.items()}
        observation, reward, _, truncated, told = single.step(action)
        expected.append((observation.tolist(), reward, told))
        assert truncated == (t % 5 == 4)
        if truncated:
            info = single.reset()[1]
            assert set(info) == {"round", "problem"}
    for mode in MODES:
        env = gym.make_vec("rankgym/Dueling-Synthetic-v0", num_envs=300, autoreset_mode=mode, **arguments)
        env.reset(seed=50)
        steps = iter(duels)
        found, waiting = [], False
        while len(found) < 25:
            duel = duels[0] if waiting and mode == "NextStep" else next(steps)
            observation, reward, _, truncated, info = env.step(duel)
            if not (waiting and mode == "NextStep"):
                final = truncated[217] and mode == "SameStep"
                seen, told = (info["final_obs"][217], info["final_info"]) if final else (observation[217], info)
                found.append((seen.tolist(), reward[217].item(), {key: told[key][217].item() for key in KEYS}))
            waiting = bool(truncated[217])
            if waiting and mode == "Disabled":
                with pytest.raises(ResetNeeded, match="are over"):
                    env.step(duel)
                env.reset(options={"reset_mask": truncated})
        assert found == expected


def test_a_row_that_is_being_reset_tells_zeros_and_masks():
    env = DuelingVectorEnv(2, horizon=3)
    env.reset(seed=0)
    duels = random_duels(env, 9, seed=3)
    env.step(duels[0])
    env.reset(seed=[None, 5], options={"reset_mask": np.array([False, True])})  # now the rows end at different steps
    env.step(duels[1])
    assert env.step(duels[2])[3].tolist() == [True, False]
    nonsense = {"left": np.array([77, 1]), "right": np.array([-1, 2])}  # row 0's is ignored
    observation, reward, terminated, truncated, info = env.step(nonsense)
    assert (observation[0].tolist(), reward[0], terminated[0], truncated[0]) == ([0, 0], 0, False, False)
    assert (reward[1], truncated[1]) == (-info["regret"][1], True)
    assert info["round"].tolist() == [0, 2]
    assert "_round" not in info
    assert "_problem" not in info
    for name in ("winner", "left", "right", "regret"):
        assert info[name][0] == 0
        assert info[f"_{name}"].tolist() == [False, True]


def test_a_first_episodes_problem_and_arms_come_from_the_seed_alone():
    arguments = given_matrices(random_matrices(9, 6, 4), num_arms=3)
    one, other = DuelingVectorEnv(5, **arguments), DuelingVectorEnv(5, **arguments)
    one.reset(seed=1)
    other.reset(seed=9)
    for duel in random_duels(other, 3):
        other.step(duel)
    other.reset(seed=1)
    assert state(one)[:4] == state(other)[:4]
    assert (one.preference == other.preference).all()
    assert int(one._key[0]) == key_of(1, 0)
    assert one.np_random_seed == other.np_random_seed == 1


# -- chance -----------------------------------------------------------------------------------------------------------


def test_the_left_arm_wins_as_often_as_the_matrix_says():
    """All 36 pairs of Arxiv, 30,000 duels each. Hoeffding: all within ``off`` but with probability 1e-6."""
    arms = np.arange(6)
    left, right = np.repeat(arms, 600), np.tile(np.repeat(arms, 100), 6)
    env = DuelingVectorEnv(3600)
    env.reset(seed=11)
    won = sum(env.step({"left": left, "right": right})[0].astype(np.int64) for _ in range(300))
    assert (won.sum(1) == 300).all()
    share = won[:, 0].reshape(36, 100).sum(1) / 30_000
    off = math.sqrt(math.log(2 * 36 / RARE) / (2 * 30_000))
    assert off < 0.02
    assert np.abs(share - preferences.load("arxiv").ravel()).max() < off


def test_sessions_in_a_row_are_independent():
    """Of an arm against itself: each of the four outcomes of two sessions in a row has probability 1/4."""
    env = DuelingVectorEnv(500)
    env.reset(seed=3)
    duel = {"left": np.full(500, 2), "right": np.full(500, 2)}
    won = np.stack([env.step(duel)[4]["winner"] for _ in range(400)])
    pairs = (2 * won[::2] + won[1::2]).ravel()  # they do not overlap: 100,000 independent ones
    off = math.sqrt(math.log(2 * 4 / RARE) / (2 * len(pairs)))
    assert np.abs(np.bincount(pairs, minlength=4) / len(pairs) - 0.25).max() < off


@pytest.mark.kernels
def test_swapped_sides_have_the_same_winner():
    one, mirrored = DuelingVectorEnv(50, dataset="cyclic"), DuelingVectorEnv(50, dataset="cyclic")
    one.reset(seed=5)
    mirrored.reset(seed=5)
    for duel in random_duels(one, 40):
        told = one.step(duel)[4]
        swapped = mirrored.step({"left": duel["right"], "right": duel["left"]})[4]
        different = duel["left"] != duel["right"]
        assert (told["winner"] == 1 - swapped["winner"])[different].all()
        assert (told["winner"] == swapped["winner"])[~different].all()
        assert (told["regret"] == swapped["regret"]).all()


def test_agents_that_duel_the_same_pair_in_the_same_session_see_the_same_winner():
    """Whatever each of them has done before; and a stronger opponent of an arm wins where a weaker one has won."""
    one, other = DuelingVectorEnv(200, dataset="arithmetic"), DuelingVectorEnv(200, dataset="arithmetic")
    one.reset(seed=8)
    other.reset(seed=8)
    for duel, else_ in zip(random_duels(one, 20, 1), random_duels(one, 20, 2), strict=True):
        one.step(duel)
        other.step(else_)
    pair = {"left": np.full(200, 3), "right": np.full(200, 5)}
    assert (one.step(pair)[0] == other.step(pair)[0]).all()
    weaker = one.step({"left": np.full(200, 0), "right": np.full(200, 7)})[4]["winner"]
    stronger = other.step({"left": np.full(200, 0), "right": np.full(200, 2)})[4]["winner"]
    assert (stronger >= weaker).all()
    assert (stronger > weaker).any()  # .85 - .6: not in 200 rows with probability .75^200


def test_a_certain_winner_wins_always():
    env = DuelingVectorEnv(100, **given_matrices([[0.5, 1.0], [0.0, 0.5]]))
    env.reset(seed=0)
    for t in range(50):
        sides = (0, 1) if t % 2 else (1, 0)
        info = env.step(dict(zip(("left", "right"), (np.full(100, arm) for arm in sides), strict=True)))[4]
        assert (info["winner"] == (0 if t % 2 else 1)).all()


# -- regret -----------------------------------------------------------------------------------------------------------


def regret_of(left, right, **arguments):
    env = DuelingVectorEnv(1, **arguments)
    env.reset(seed=0)
    _, reward, *_, info = env.step({"left": np.array([left]), "right": np.array([right])})
    assert reward[0] == -info["regret"][0]
    return info["regret"][0]


@pytest.mark.parametrize(
    ("winner", "gap"),
    [
        ("condorcet", [0, 0.1, 0.1, 0.1]),
        ("copeland", [0, 2 / 3, 2 / 3, 2 / 3]),  # 3 of 3 against 1 of 3
        ("borda", [0, 0.4 / 3, 0.4 / 3, 0.4 / 3]),  # .6 against 1.4 / 3
    ],
)
def test_regret_on_cyclic(winner, gap):
    for left in range(4):
        for right in range(4):
            for regret, expected in (
                ("average", (gap[left] + gap[right]) / 2),
                ("weak", min(gap[left], gap[right])),
                ("strong", max(gap[left], gap[right])),
            ):
                found = regret_of(left, right, dataset="cyclic", winner=winner, regret=regret)
                assert found == pytest.approx(expected, abs=1e-12)


def test_average_regret_is_mergerucbs():
    """Section 2: (p_1i + p_1j) / 2 - 0.5. On Arithmetic that is .025 (i + j)."""
    p = preferences.load("arithmetic")
    for i, j in ((0, 0), (0, 3), (5, 5), (7, 2)):
        assert regret_of(i, j, dataset="arithmetic") == pytest.approx((p[0, i] + p[0, j]) / 2 - 0.5, abs=1e-12)
        assert regret_of(i, j, dataset="arithmetic") == pytest.approx(0.025 * (i + j), abs=1e-12)


def test_sets_of_arms_are_drawn_until_one_has_a_winner():
    """Section 5 of the mergeRUCB paper. In a circle of three, 1 > 2 > 3 > 1, above 4, three of the four sets of three
    have a winner; of 4,000 rows each has some 1,333 +- 30 (error probability below 1e-6 within 150)."""
    circle = [[0.5, 0.8, 0.2, 0.9], [0.2, 0.5, 0.8, 0.9], [0.8, 0.2, 0.5, 0.9], [0.1, 0.1, 0.1, 0.5]]
    env = DuelingVectorEnv(4_000, **given_matrices(circle, num_arms=3, keep_winner=False))
    env.reset(seed=0)
    sets, counts = np.unique(np.sort(env.arms, axis=1), axis=0, return_counts=True)
    assert sets.tolist() == [[0, 1, 3], [0, 2, 3], [1, 2, 3]]
    assert (abs(counts - 4_000 / 3) < 150).all()
    assert (env.best_arm == env.condorcet_winner).all()
    assert (env.best_arm >= 0).all()
    with pytest.raises(ValueError, match=r"^num_arms = 3 with keep_winner = False: of 1000 sets drawn none"):
        DuelingVectorEnv(2, **given_matrices(np.array(circle)[:3, :3], num_arms=3, keep_winner=False))


@pytest.mark.kernels
def test_sets_that_are_drawn_again_are_the_oracles():
    """Of the four sets of three one has no winner: of 60 rows in two episodes some 30 are drawn again, some twice."""
    circle = [[0.5, 0.8, 0.2, 0.9], [0.2, 0.5, 0.8, 0.9], [0.8, 0.2, 0.5, 0.9], [0.1, 0.1, 0.1, 0.5]]
    shared = {"num_arms": 3, "keep_winner": False, "winner": "condorcet", "regret": "average"}
    env = DuelingVectorEnv(60, **given_matrices(circle, **shared))
    rows = [PlainDuels([circle], 5 + b, **shared) for b in range(60)]
    for seed in (5, None):
        env.reset(seed=seed)
        for row in rows:
            row.reset()
        assert env.arms.tolist() == [row.arms for row in rows]
        assert env.best_arm.tolist() == [row.best for row in rows]


def test_without_a_condorcet_winner_there_must_be_another_choice():
    with pytest.raises(
        ValueError, match=r"^winner = 'condorcet', and no arm of preference beats all others; allowed: 'cop"
    ):
        DuelingVectorEnv(1, **given_matrices(CIRCLE))
    two = [preferences.load("cyclic")[:3, :3].tolist(), CIRCLE]
    with pytest.raises(ValueError, match=r"no arm of preference\[1\] beats all others"):
        DuelingVectorEnv(1, **given_matrices(two))
    DuelingVectorEnv(1, **given_matrices(two, winner="borda"))
    tied = [[0.5, 0.5, 0.9], [0.5, 0.5, 0.9], [0.1, 0.1, 0.5]]  # a tie is no win
    with pytest.raises(ValueError, match="no arm of preference beats all others"):
        DuelingVectorEnv(1, **given_matrices(tied))
    with pytest.raises(ValueError, match=r"none of the chosen arms of dataset = 'cyclic' beats all others"):
        DuelingVectorEnv(1, dataset="cyclic", arms=[1, 2, 3])
    env = DuelingVectorEnv(2, **given_matrices(CIRCLE, winner="copeland"))
    assert env.condorcet_winner.tolist() == [-1, -1]
    assert env.best_arm.tolist() == [0, 0]  # all three beat one: the first
    assert regret_of(1, 2, **given_matrices(CIRCLE, winner="copeland")) == 0
    assert DuelingVectorEnv(1, **given_matrices(CIRCLE, winner="borda")).best_arm[0] == 0
    assert regret_of(1, 1, **given_matrices(CIRCLE, winner="borda")) == pytest.approx(0.15, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    arms=st.integers(2, 9),
    winner=st.sampled_from(list(WINNERS)),
    chosen=st.integers(2, 9),
)
@example(seed=286, arms=8, winner="borda", chosen=3)
def test_regret_is_never_negative_and_zero_at_the_best_arm(seed, arms, winner, chosen):
    matrix = random_matrices(1, arms, seed)
    env = DuelingVectorEnv(20, **given_matrices(matrix, winner=winner, num_arms=min(arms, chosen)))
    env.reset(seed=seed)
    if winner != "borda":  # the planted one is among them: it has the largest Copeland score, too
        assert (env.condorcet_winner >= 0).all()
    if winner == "condorcet":
        assert (np.take_along_axis(env.arms, env.best_arm[:, None], 1) == 0).all()
    info = env.step(random_duels(env, 1)[0])[4]
    assert (info["regret"] >= 0).all()
    best = env.step({"left": env.best_arm, "right": env.best_arm})[4]
    assert (best["regret"] == 0).all()


# -- problems and arms ------------------------------------------------------------------------------------------------


def test_drawn_arms_are_a_uniform_set_with_the_winner_in_random_order():
    """Of 136 arms 10, in 20,000 rows: by Hoeffding each share is as expected but with probability 1e-6."""
    rows = 20_000
    env = DuelingVectorEnv(rows, dataset="mslr", num_arms=10)
    whole = preferences.load("mslr")
    champion = preferences.condorcet_winner(whole)
    env.reset(seed=1)
    arms = env.arms
    assert (np.sort(arms, 1)[:, 1:] > np.sort(arms, 1)[:, :-1]).all()  # all different
    assert (np.take_along_axis(arms, env.condorcet_winner[:, None], 1) == champion).all()
    off = math.sqrt(math.log(2 * 146 / RARE) / (2 * rows))
    share = np.bincount(arms.ravel(), minlength=136) / rows
    assert share[champion] == 1
    assert np.abs(np.delete(share, champion) - 9 / 135).max() < off
    assert np.abs(np.bincount(env.condorcet_winner, minlength=10) / rows - 0.1).max() < off
    for row in (0, 77):
        assert (env.preference[row] == whole[np.ix_(arms[row], arms[row])]).all()


def test_arms_are_drawn_anew_at_every_reset_of_the_row_alone():
    env = DuelingVectorEnv(50, dataset="mslr", num_arms=20)
    env.reset(seed=1)
    before = env.arms
    env.reset(options={"reset_mask": np.arange(50) < 25})
    assert (env.arms[25:] == before[25:]).all()
    assert (env.arms[:25] != before[:25]).any(axis=1).all()
    env.reset(seed=1)
    assert (env.arms == before).all()


def test_all_arms_may_be_drawn_and_then_only_their_order_is():
    env = DuelingVectorEnv(30, num_arms=6)
    env.reset(seed=2)
    assert (np.sort(env.arms, axis=1) == np.arange(6)).all()
    assert len({tuple(arms) for arms in env.arms.tolist()}) > 20  # of 720 orders
    assert DuelingVectorEnv(2).arms.tolist() == [[0, 1, 2, 3, 4, 5]] * 2


def test_arms_that_were_chosen():
    env = DuelingVectorEnv(2, dataset="arithmetic", arms=[5, 2, 7])
    whole = preferences.load("arithmetic")
    assert (env.preference == whole[np.ix_([5, 2, 7], [5, 2, 7])]).all()
    assert env.arms.tolist() == [[5, 2, 7]] * 2
    assert env.best_arm.tolist() == [1, 1]
    assert env.single_action_space == Dict(left=Discrete(3), right=Discrete(3))


def test_problems_are_chosen_as_queries_are():
    matrices = random_matrices(6, 4, 3)
    for choice, expected in (
        (3, [3, 3, 3, 3]),
        ([5, 1], [5, 1, 5, 1]),
        ("all", [0, 1, 2, 3]),
        ("train", [0, 1, 2, 3]),
        ("test", [4, 4, 4, 4]),
    ):
        env = DuelingVectorEnv(4, **given_matrices(matrices, problem=choice))
        assert env.reset(seed=0)[1]["problem"].tolist() == expected
        assert (env.preference == [preferences.check_preference("", m) for m in matrices[expected]]).all()
        assert env.best_arm.tolist() == [n % 4 for n in expected]
    env = DuelingVectorEnv(600, **given_matrices(matrices))
    first = env.reset(seed=0)[1]["problem"]
    assert set(first.tolist()) == set(range(6))  # not so with probability 6 (5/6)^600
    assert (env.reset()[1]["problem"] != first).any()


def test_named_matrices():
    for dataset, arms in (("arxiv", 6), ("cyclic", 4), ("arithmetic", 8), ("mslr", 136)):
        env = DuelingVectorEnv(2, dataset=dataset)
        assert env.num_arms == arms
        assert (env.preference[1] == preferences.load(dataset)).all()
        assert env.condorcet_winner[0] == preferences.condorcet_winner(preferences.load(dataset)) >= 0
    other = DuelingVectorEnv(1, dataset="mslr", user_model="navigational", winner="borda")
    assert (other.preference[0] == preferences.load("mslr", user_model="navigational")).all()
    more = DuelingVectorEnv(1, dataset="cyclic", uninformative=2)
    assert (more.preference[0] == preferences.load("cyclic", uninformative=2)).all()
    assert more.num_arms == 6


@pytest.mark.parametrize("family", preferences.FAMILIES)
def test_drawn_matrices_of_every_family(family):
    env = DuelingVectorEnv(
        4, dataset="synthetic", family=family, num_problems=4, num_arms=6, winner="copeland", problem="all"
    )
    again = DuelingVectorEnv(
        4, dataset="synthetic", family=family, num_problems=4, num_arms=6, winner="borda", problem="all"
    )
    assert (env.preference == again.preference).all()
    assert len({matrix.tobytes() for matrix in env.preference}) == 4
    for matrix in env.preference:
        assert (preferences.check_preference(family, matrix) == matrix).all()


def test_the_default_of_synthetic_has_a_winner_and_takes_knobs():
    env = DuelingVectorEnv(100, dataset="synthetic", problem="all")
    assert env.preference.shape == (100, 10, 10)
    assert (env.condorcet_winner >= 0).all()
    far = DuelingVectorEnv(100, dataset="synthetic", problem="all", knobs={"gap": 0.3})
    winning = far.preference[np.arange(100), far.condorcet_winner]
    assert np.sort(winning, axis=1)[:, 1].min() >= 0.8  # the smallest is 1/2, against itself


# -- the doors --------------------------------------------------------------------------------------------------------

BAD = [  # for three rows of four arms
    (None, "action None is a NoneType; allowed: a dict with the keys 'left' and 'right'"),
    (np.zeros((3, 2), int), "is a ndarray; allowed: a dict with the keys"),
    ((np.zeros(3, int), np.zeros(3, int)), "is a tuple; allowed: a dict with the keys"),
    ({"left": np.zeros(3, int)}, "has the keys ['left']; allowed: a dict with the keys 'left' and 'right'"),
    ({"left": np.zeros(3, int), "write": np.zeros(3, int)}, "has the keys ['left', 'write']; allowed"),
    ({side: np.zeros(3, int) for side in ("left", "middle", "right")}, "has the keys ['left', 'middle', 'right']"),
]
BAD_SIDES = [
    (2, "is a int, not an array; allowed: an arm of 0 .. 3 for each of the 3 rows"),
    (np.int64(2), "is a int64, not an array"),
    ("012", "is a str, not an array"),
    (np.zeros(3), "has dtype float64, not an integer one: cast it with .astype(int); allowed: an arm of 0 .. 3"),
    (np.zeros(3, bool), "has dtype bool, not an integer one; allowed"),
    (np.zeros(3, object), "has dtype object, not an integer one; allowed"),
    (np.array("a"), "not an integer one; allowed"),
    (np.zeros((3, 1), int), "has shape (3, 1), not (3,); allowed"),
    (np.zeros(4, int), "has shape (4,), not (3,); allowed"),
    (np.array(1), "has shape (), not (3,); allowed"),
    ([0, 1], "has 2 entries; allowed: an arm of 0 .. 3 for each of the 3 rows"),
    ([0, 1, 4], "[row 2] = 4 is not an arm; allowed: 0 .. 3"),
    ([0, -1, 3], "[row 1] = -1 is not an arm; allowed: 0 .. 3"),
    ([0, True, 3], "[row 1] = True is not a whole number; allowed: 0 .. 3"),
    ([0, 1.0, 3], "[row 1] = 1.0 is not a whole number; allowed: 0 .. 3"),
    ([0, 1, 2**80], "is not an arm; allowed: 0 .. 3"),
    (np.array([0, 4, 9]), "[row 1] = 4 is not an arm; allowed: 0 .. 3"),
    (np.array([0, 1, -1]), "[row 2] = -1 is not an arm; allowed: 0 .. 3"),
    (np.array([0, 1, 4], np.int8), "[row 2] = 4 is not an arm; allowed: 0 .. 3"),
    (np.array([2**63 + 1, 1, 1], np.uint64), "[row 0] = 9223372036854775809 is not an arm; allowed: 0 .. 3"),
    (np.array([-(2**63), 1, 1]), "[row 0] = -9223372036854775808 is not an arm; allowed: 0 .. 3"),
]


def assert_refused(env, action, message):
    before = state(env)
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        env.step(action)
    assert "\n" not in str(error.value)
    assert state(env) == before


@pytest.mark.kernels
def test_bad_actions_are_refused_by_name_and_nothing_has_happened():
    env, twin = DuelingVectorEnv(3, dataset="cyclic"), DuelingVectorEnv(3, dataset="cyclic")
    env.reset(seed=4)
    twin.reset(seed=4)
    duels = random_duels(env, len(BAD) + 2 * len(BAD_SIDES))
    good = np.array([3, 0, 1])
    cases = [*BAD, *(({"left": bad, "right": good}, f"action['left']{said}") for bad, said in sided("left"))]
    cases += [({"left": good, "right": bad}, said) for bad, said in sided("right")]
    for (action, message), duel in zip(cases, duels, strict=True):
        assert_refused(env, action, message.removeprefix("action['left']"))
        for mine, theirs in zip(env.step(duel)[:2], twin.step(duel)[:2], strict=True):
            assert (mine == theirs).all()


def sided(side):
    """The bad values of one side with what is said of them: a row's name follows the side's at once."""
    for bad, said in BAD_SIDES:
        yield bad, f"action[{side!r}]{said}" if said.startswith("[") else said


@settings(max_examples=150, deadline=None)
@given(
    left=st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-2, 6), min_size=3, max_size=3),
    right=st.lists(st.integers(-2, 6), min_size=3, max_size=3),
    dtype=st.sampled_from([np.int64, np.int32, np.int8, np.uint8, list]),
)
def test_any_whole_numbers_are_arms_or_are_refused_with_their_row(left, right, dtype):
    env = DuelingVectorEnv(3, dataset="cyclic")
    env.reset(seed=4)
    if dtype is list:
        action = {"left": left, "right": right}
    else:
        with np.errstate(all="ignore"):
            action = {"left": np.array(left).astype(dtype), "right": np.array(right).astype(dtype)}
    listed = [[int(arm) for arm in action[side]] for side in ("left", "right")]
    if all(0 <= arm < 4 for side in listed for arm in side):
        info = env.step(action)[4]
        assert [info["left"].tolist(), info["right"].tolist()] == listed
        return
    assert_refused(env, action, "is not an arm; allowed: 0 .. 3")
    with pytest.raises(ValueError, match="is not an arm") as error:
        env.step(action)
    side, row, arm = re.match(r"action\['(\w+)'\]\[row (\d)\] = (-?\d+) is not an arm", str(error.value)).groups()
    assert listed[["left", "right"].index(side)][int(row)] == int(arm)


@pytest.mark.kernels
def test_the_first_row_with_a_wrong_arm():
    for left, right, expected in (([0, 1], [2, 0], -1), ([0, 3], [0, 0], 1), ([0, 0], [-1, 3], 0)):
        assert first_wrong_arm(np.array(left), np.array(right), 3) == expected


def test_arrays_of_other_kinds_are_taken_as_they_are():
    envs = [DuelingVectorEnv(3, dataset="cyclic") for _ in range(6)]
    wide = np.array([[3, 9], [0, 9], [1, 9]])
    frozen = np.array([3, 0, 1])
    frozen.flags.writeable = False
    seen = []
    for env, left in zip(envs, ([3, 0, 1], (3, 0, 1), wide[:, 0], frozen, np.array([3, 0, 1], ">i2")), strict=False):
        env.reset(seed=0)
        action = {"right": [np.int8(0), 1, np.array(2)], "left": left}
        seen.append([part.tolist() for part in env.step(action)[4].values()])
    assert all(one == seen[0] for one in seen)


def test_single_actions():
    env = gym.make("rankgym/Dueling-Cyclic-v0")
    env.reset(seed=0)
    twin = gym.make("rankgym/Dueling-Cyclic-v0")
    twin.reset(seed=0)
    for bad, message in (
        (1, "action 1 is a int; allowed: a dict with the keys 'left' and 'right'"),
        ({"left": 1}, "has the keys ['left']"),
        ({"left": 4, "right": 0}, "action['left'] = 4 is not an arm; allowed: 0 .. 3"),
        ({"left": 0, "right": -1}, "action['right'] = -1 is not an arm; allowed: 0 .. 3"),
        ({"left": 0, "right": 1.0}, "action['right'] = 1.0 is not a whole number; allowed: 0 .. 3"),
        ({"left": True, "right": 1}, "action['left'] = True is not a whole number; allowed: 0 .. 3"),
        ({"left": np.array([1]), "right": 1}, "is not a whole number; allowed: 0 .. 3"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            env.unwrapped.step(bad)
        one, other = (e.step({"left": np.int64(1), "right": np.array(3)}) for e in (env, twin))
        assert one[0].tolist() == other[0].tolist()
        assert one[1:] == other[1:]
    with pytest.raises(ResetNeeded):
        gym.make("rankgym/Dueling-Cyclic-v0").unwrapped.step({"left": 0, "right": 1})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_envs": 0}, "num_envs = 0 is out of range"),
        ({"dataset": "nothing"}, "dataset = 'nothing' is not a preference matrix; allowed: "),
        ({"dataset": 3}, "dataset = 3 is not a name; allowed"),
        ({"regret": "mean"}, "regret = 'mean' is unknown; allowed: 'average', 'weak', 'strong'"),
        ({"regret": ["weak"]}, "regret = ['weak'] is unknown; allowed"),
        ({"winner": "best"}, "winner = 'best' is unknown; allowed: 'condorcet', 'copeland', 'borda'"),
        ({"keep_winner": 1}, "keep_winner = 1 is out of range; allowed: True, False"),
        ({"num_arms": 7}, "num_arms = 7 is out of range; allowed: a whole number in 2 .. 6"),
        ({"num_arms": 1}, "num_arms = 1 is out of range; allowed: a whole number in 2 .. 6"),
        ({"num_arms": 3, "arms": [0, 1, 2]}, "arms = [0, 1, 2] and num_arms = 3 are given; allowed: one of them"),
        ({"arms": [0, 6]}, "arms[1] = 6 is out of range; allowed: a whole number in 0 .. 5"),
        ({"arms": [0, 0]}, "arms = [0, 0] has too few arms, or one of them twice; allowed: at least 2"),
        ({"arms": [1]}, "arms = [1] has too few arms"),
        ({"arms": 3}, "arms = 3 is not a list; allowed"),
        ({"problem": 1}, "problem = 1 is out of range; allowed: 0 .. 0, a list of these"),
        ({"problem": "test"}, "problem = 'test' is unknown or empty with 1 problems; allowed"),
        ({"preference": CIRCLE}, "preference is given, but dataset = 'arxiv' has its own; allowed with 'synthetic'"),
        ({"family": "uniform"}, "family = 'uniform' is for drawn matrices; allowed with dataset = 'synthetic'"),
        ({"num_problems": 3}, "num_problems = 3 is for drawn matrices"),
        ({"knobs": {}}, "knobs = {} is for drawn matrices"),
        ({"dataset": "synthetic", "family": "gauss"}, "family = 'gauss' is unknown; allowed: 'bradley-terry'"),
        ({"dataset": "synthetic", "knobs": 3}, "knobs = 3 is not a dict of knobs; allowed"),
        ({"dataset": "synthetic", "knobs": {"gape": 1}}, "gape is not a knob of the family 'uniform'"),
        ({"dataset": "synthetic", "num_problems": 0}, "num_problems = 0 is out of range"),
        ({"dataset": "synthetic", "num_problems": 10**6, "num_arms": 100}, "num_arms = 100 is out of range"),
        ({"dataset": "synthetic", "source": "published"}, "source = 'published' is for named matrices"),
        ({"dataset": "synthetic", "user_model": "perfekt"}, "user_model = 'perfekt' is for named matrices"),
        ({"uninformative": -1}, "uninformative = -1 is"),
        ({"source": "secret"}, "source = 'secret' is unknown"),
        ({"user_model": "informational"}, "user_model = 'informational' belongs to 'mslr'"),
        ({"dataset": "mslrr", "user_model": "informational"}, "dataset = 'mslrr' is not a preference matrix"),
        ({"horizon": 0}, "horizon = 0 is out of range"),
        ({"render_mode": "human"}, "render_mode = 'human' is unknown"),
        ({"autoreset_mode": "never"}, "autoreset_mode = 'never' is unknown"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        DuelingVectorEnv(**{"num_envs": 2, **arguments})
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("preference", "message"),
    [
        ([], "preference has shape (0,)"),
        (3, "preference has shape ()"),
        ([[0.5]], "preference has shape (1, 1)"),
        ([[0.5, 0.6], [0.4]], "preference"),
        ([[0.5, 0.6, 0.5], [0.4, 0.5, 0.5]], "preference has shape (2, 3)"),
        ([[0.5, 1.2], [-0.2, 0.5]], "preference[0, 1] = 1.2 is not a probability; allowed range [0, 1]"),
        ([[0.5, math.nan], [0.4, 0.5]], "preference[0, 1] = nan is not a probability"),
        ([[0.5, 0.6], [0.5, 0.5]], "preference[0, 1] = 0.6 and its opposite [1, 0] = 0.5 add up to 1.1"),
        ([[0.5, 0.6], [0.4, 0.4]], "preference[1, 1] = 0.4 is an arm against itself; allowed: 0.5"),
        ([[[0.5, 0.6], [0.4, 0.5]], [[0.5, 0.6], [0.3, 0.5]]], "preference[1][0, 1] = 0.6 and its opposite"),
        (
            "good.csv",
            "preference = 'good.csv' is not a matrix; allowed: a list of lists of probabilities. Import a file's",
        ),
        ("good.csv", "`rankgym data import NAME FILE` and set dataset = NAME"),
        ([["0.5", "0.6"], ["0.4", "0.5"]], "preference"),
    ],
)
def test_bad_matrices(preference, message):
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        DuelingVectorEnv(2, dataset="synthetic", preference=preference)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("more", [{}, {"dataset": "synthetic"}, given_matrices(CIRCLE, winner="borda")])
def test_nonsense_for_any_keyword_is_taken_or_refused_by_name(more):
    assert complaints(DuelingVectorEnv, **more) == []


@settings(max_examples=80, deadline=None)
@given(st.integers(2, 5), st.data())
def test_a_matrix_is_taken_as_it_is_or_refused(arms, data):
    """Of three digits, as typed; one entry may be spoilt."""
    matrix = [[0.5] * arms for _ in range(arms)]
    for i in range(arms):
        for j in range(i):
            thousandths = data.draw(st.integers(0, 1000))
            matrix[i][j], matrix[j][i] = thousandths / 1000, (1000 - thousandths) / 1000
    env = DuelingVectorEnv(1, **given_matrices(matrix, winner="borda"))
    assert np.abs(env.preference[0] - matrix).max() < 1e-12
    i, j = data.draw(st.integers(0, arms - 1)), data.draw(st.integers(0, arms - 1))
    other = data.draw(st.floats(-0.5, 1.5) | st.sampled_from([math.nan, math.inf, -math.inf]))
    if not abs(other - matrix[i][j]) < 1e-8:
        matrix[i][j] = other
        with pytest.raises(ValueError, match=r"^preference\[\d, \d\] "):
            DuelingVectorEnv(1, dataset="synthetic", winner="borda", preference=matrix)


# -- Gymnasium --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "arguments",
    [
        {"dataset": "mslr", "num_arms": 12},
        {"dataset": "cyclic", "winner": "borda", "regret": "weak", "num_arms": 3, "keep_winner": False},
        {"dataset": "synthetic", "num_problems": 7, "render_mode": "ansi"},
        {"arms": [4, 0, 2], "regret": "strong", "horizon": None, "max_episode_steps": 7},
    ],
)
def test_our_vector_checker_accepts_it(mode, arguments):
    env = DuelingVectorEnv(4, autoreset_mode=mode, **{"horizon": 7, **arguments})
    report = rankgym.check_vector_env(env, steps=24)
    assert set(report.not_exercised) <= {"same step", "next step", "autoreset"}
    assert ("same step" in report.checked) == (mode == "SameStep")
    assert ("next step" in report.checked) == (mode == "NextStep")


@pytest.mark.parametrize("name", IDS)
def test_ids(name):
    assert name in rankgym.ENVS
    check_env(gym.make(name).unwrapped)
    env = gym.make_vec(name, num_envs=3)
    assert isinstance(env.unwrapped, DuelingVectorEnv)
    assert env.single_observation_space == MultiBinary(2)
    assert env.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    observation, info = env.reset(seed=0)
    assert observation.dtype == np.int8
    assert set(info) == {"round", "problem"}
    env.action_space.seed(0)
    observation, reward, *_, info = env.step(env.action_space.sample())
    assert set(info) == KEYS
    assert (observation.argmax(1) == info["winner"]).all()
    assert (observation.sum(1) == 1).all()
    assert (reward == -info["regret"]).all()
    assert all(type(values) is np.ndarray and values.shape == (3,) for values in info.values())


def test_a_spec_with_a_matrix_survives_json():
    arguments = given_matrices(random_matrices(2, 4, 0), num_arms=3, problem=[1, 0], regret="weak", horizon=4)
    spec = gym.make("rankgym/Dueling-Synthetic-v0", **arguments).spec
    again = gym.make(gym.envs.registration.EnvSpec.from_json(spec.to_json())).unwrapped.engine
    assert (again._preference == DuelingVectorEnv(1, **arguments)._preference).all()
    vector = gym.make_vec("rankgym/Dueling-Synthetic-v0", num_envs=2, **arguments)
    vector.reset(seed=3)
    copies = [pickle.loads(pickle.dumps(vector)), copy.deepcopy(vector)]
    for t, duel in enumerate(random_duels(vector, 9)):
        expected = vector.step(duel)
        assert expected[3].all() == (t in (3, 8))
        for twin in copies:
            for mine, theirs in zip(expected[:4], twin.step(duel)[:4], strict=True):
                assert (mine == theirs).all()


def test_the_single_form():
    env = single_dueling(dataset="arithmetic", render_mode="ansi")
    assert isinstance(env, SingleEnv)
    assert env.num_arms == 8
    assert (env.preference == preferences.load("arithmetic")).all()
    assert (env.condorcet_winner, env.best_arm, env.arms.tolist()) == (0, 0, list(range(8)))
    assert type(env.best_arm) is int
    assert env.changes == 0
    assert env.common_breakpoints(10) == []
    assert {"num_arms", "preference"} <= set(dir(env))
    for name in ("num_items", "initial_misordered", "attraction", "_round"):
        assert not hasattr(env, name)
    observation, info = env.reset(seed=0)
    assert (observation.tolist(), info) == ([0, 0], {"round": 0, "problem": 0})
    assert env.render() == "problem 0: nothing compared yet"
    twin = copy.deepcopy(env)
    observation, reward, terminated, truncated, info = env.step({"left": 2, "right": 0})
    assert env.render() in [f"problem 0, round 0: arm {i} beats arm {j}" for i, j in ((2, 0), (0, 2))]
    assert ("arm 2 beats" in env.render()) == (observation.tolist() == [1, 0])
    assert {name: type(value) for name, value in info.items()} == {
        name: float if name == "regret" else int for name in KEYS
    }
    assert type(reward) is float
    assert (terminated, truncated) == (False, False)
    assert info == twin.step({"left": 2, "right": 0})[4]
    assert not hasattr(gym.make("rankgym/PBM-Yandex-v0").unwrapped, "preference")
    assert (gym.make("rankgym/PBM-Yandex-v0").unwrapped.initial_list == np.arange(10)).all()


def test_what_is_rendered_is_the_environments_own():
    env = DuelingVectorEnv(2, render_mode="ansi")
    env.reset(seed=0)
    info = env.step({"left": np.array([1, 2]), "right": np.array([3, 4])})[4]
    before = env.render()
    for values in info.values():
        values.fill(0)
    assert env.render() == before
    assert "round 0" in before[0]


def test_agents_are_told_how_many_arms_there_are_and_no_more():
    class Told(DuelingAgent):
        def __init__(self, **told):
            super().__init__(**told)
            self.told = set(told)

        candidate = act = update = None

    for env in (gym.make_vec("rankgym/Dueling-MSLR-v0", num_envs=4, num_arms=20), gym.make("rankgym/Dueling-Arxiv-v0")):
        agent = Told.for_env(env, seed=0)
        assert agent.told == {"num_arms", "num_envs", "horizon", "seed"}
        assert (agent.num_arms, agent.horizon) == (env.unwrapped.num_arms, 1_000_000)


def test_a_matrix_of_ones_own_and_the_id_that_takes_it(tmp_path, monkeypatch):
    """The user model that rankgym/Dueling-MSLR-v0 sets is nobody's mistake: the message says where it comes from."""
    monkeypatch.setenv("RANKGYM_DATA_HOME", str(tmp_path / "home"))
    np.save(tmp_path / "mine.npy", [[0.5, 0.6], [0.4, 0.5]])
    np.save(tmp_path / "circle.npy", CIRCLE)
    for name in ("mine", "circle"):
        catalogue.import_matrix(name, tmp_path / f"{name}.npy")
    for dataset in ("mine", "arxiv", "synthetic"):
        with pytest.raises(
            ValueError, match=r"^user_model = 'navigational' .*Dueling-MSLR-v0 sets one; .*: 'perfect'$"
        ):
            gym.make_vec("rankgym/Dueling-MSLR-v0", num_envs=2, dataset=dataset)
    env = gym.make_vec("rankgym/Dueling-Synthetic-v0", num_envs=2, dataset="mine")
    assert env.preference[1].tolist() == [[0.5, 0.6], [0.4, 0.5]]
    with pytest.raises(ValueError, match=r"no arm of dataset = 'circle' beats all others; allowed: 'copeland'"):
        gym.make_vec("rankgym/Dueling-Synthetic-v0", num_envs=2, dataset="circle")

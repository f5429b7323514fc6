"""Environments written down, some of their rows taken up again, and sessions that are repeated instead of played."""

import re

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from hypothesis import given, settings
from hypothesis import strategies as st

from rankgym.arguments import ActionKind, action_kind
from rankgym.envs import DuelingVectorEnv, InterleavedRankersVectorEnv, RankingVectorEnv
from rankgym.interleaving import INTERLEAVINGS
from rankgym.kernels import bits, session_seed, uniform
from rankgym.models import users

MODES = ["NextStep", "SameStep", "Disabled"]
LETOR = "rankgym/Dueling-LETOR-v0"
CHANGING = {  # scenarios and schedules
    "drawn breakpoints": ("rankgym/CM-Yandex-Breakpoint-v0", {"num_breakpoints": 5}),
    "common breakpoints": ("rankgym/DCM-Yandex-Breakpoint-v0", {"breakpoints": [1, 2, 9, 21, 22]}),
    "shuffle": ("rankgym/PBM-Yandex-Breakpoint-v0", {"scenario": "shuffle", "epoch_lengths": [4, 2, 7]}),
    "drift": ("rankgym/PBM-Yandex-Breakpoint-v0", {"scenario": "drift", "epoch_lengths": 3}),
    "two levels": ("rankgym/CM-TwoLevel-Breakpoint-v0", {}),
}
ENVIRONMENTS = {
    "PBM": ("rankgym/PBM-Yandex-v0", {}),
    "abandonment": ("rankgym/DCM-Yandex-Rerank-v0", {}),
    **CHANGING,
    "one matrix": ("rankgym/Dueling-Cyclic-v0", {}),
    "many matrices": ("rankgym/Dueling-Synthetic-v0", {"num_problems": 7, "num_arms": 5}),
    "drawn arms": ("rankgym/Dueling-MSLR-v0", {"num_arms": 4}),
    "any drawn arms": ("rankgym/Dueling-MSLR-v0", {"num_arms": 4, "keep_winner": False}),
    "chosen arms": ("rankgym/Dueling-MSLR-v0", {"arms": [5, 3, 9], "render_mode": "ansi"}),
    "lists": ("rankgym/Dueling-PBM-Yandex-v0", {}),
    "lists mixed up": ("rankgym/Dueling-CM-Yandex-v0", {"interleaving": "probabilistic", "render_mode": "ansi"}),
    "rankers": (LETOR, {}),
    "rankers in team draft": (LETOR, {"interleaving": "team-draft", "query": [0, 2, 3]}),
}
ROWS, HORIZON = 7, 30


@pytest.fixture(scope="module")
def letor_file(tmp_path_factory):
    """Four queries, of which one is short and one has one document."""
    folder = tmp_path_factory.mktemp("letor")
    rng = np.random.default_rng(0)
    lines = [
        f"{label} qid:{query} " + " ".join(f"{f + 1}:{rng.integers(0, 4) / 4}" for f in range(4)) + " # doc"
        for query, labels in enumerate([[0, 1, 2, 3, 4, 0, 0, 1], [2, 0, 0], [4], [3, 0, 2, 0, 0, 1, 0, 0, 0, 4]])
        for label in labels
    ]
    (folder / "small.txt").write_text("\n".join(lines) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RANKGYM_DATA_HOME", str(folder))
        yield str(folder / "small.txt")


@pytest.fixture
def made(letor_file):
    def make(what, rows, played=None, **arguments):
        name, given = ENVIRONMENTS[what]
        given = {"horizon": HORIZON, **given, **arguments} | ({"file": letor_file} if name == LETOR else {})
        choice = "problem" if re.search("Cyclic|Synthetic|MSLR", name) else "query"
        if name != LETOR:
            drawn = given.get("query", "") is None
            given = {**given, choice: None if drawn else played}
        return gym.make_vec(name, num_envs=rows, **given)

    return make


def many(what):
    """How many problems of an environment tests choose from."""
    return 1 if what in ("one matrix", "drawn arms", "any drawn arms", "chosen arms", "two levels") else 4


def actions(env, rng):
    """Random actions of all rows."""
    rows, space = env.num_envs, env.single_action_space
    kind = action_kind(env)
    if kind is ActionKind.DUEL_OF_ARMS:
        return {side: rng.integers(0, space["left"].n, rows) for side in ("left", "right")}
    lists = space if kind is ActionKind.RANKING else space["left"]
    drawn = [
        rng.permuted(np.tile(np.arange(lists.n), (rows, 1)), axis=1)[:, : lists.k].copy() for _ in ("left", "right")
    ]
    return drawn[0] if kind is ActionKind.RANKING else dict(zip(("left", "right"), drawn, strict=True))


def of_rows(action, rows):
    return {side: arm[rows] for side, arm in action.items()} if isinstance(action, dict) else action[rows]


def step(env, action):
    """A step, after a reset of rows whose episodes are over where nobody else does it."""
    if env.autoreset_mode.value == "Disabled" and env._ended.any():
        env.reset(options={"reset_mask": env._ended.copy()})
    return env.step(action)


def agree(one, other, rows):
    """What a step of ``one`` returned is, in ``rows``, what that of ``other``, which has only them, returned."""
    for mine, its in zip(one[:4], other[:4], strict=True):
        assert np.array_equal(mine[rows], its)
    for name, values in other[4].items():
        if name == "final_info":
            for inner, value in values.items():
                assert np.array_equal(one[4][name][inner][rows], value, equal_nan=value.dtype.kind == "f"), inner
        elif name == "final_obs":
            assert all(np.array_equal(a, b) for a, b in zip(one[4][name][rows], values, strict=True))
        elif not name.startswith("_"):
            # where rows of the smaller batch agree there may be no mask, and the larger one has zeros in others' rows
            assert np.array_equal(one[4][name][rows], values, equal_nan=values.dtype.kind == "f"), name


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("what", ENVIRONMENTS)
def test_some_rows_go_on_alone_bit_for_bit(made, what, mode):
    rng = np.random.default_rng(len(what))
    played = rng.integers(0, many(what), ROWS)
    whole = made(what, ROWS, played, autoreset_mode=mode)
    whole.reset(seed=rng.integers(0, 2**40, ROWS).tolist())
    for before in (0, 1, 8, HORIZON - 9, 1, 5):  # in the end in the second episode
        for _ in range(before):
            step(whole, actions(whole, rng))
        if before == 8:
            whole.reset(options={"reset_mask": np.arange(ROWS) < 2})  # rows need not be of the same age
        rows = rng.permutation(ROWS)[: rng.integers(1, ROWS + 1)]
        written = whole.snapshot()
        assert all(len(values) == ROWS for values in written.values())
        part = made(what, len(rows), played[rows], autoreset_mode=mode)
        part.restore({name: values[rows] for name, values in written.items()})
        assert all(np.array_equal(values[rows], part.snapshot()[name]) for name, values in written.items())
        if whole.render_mode is not None:
            assert part.render() == tuple(whole.render()[row] for row in rows)
        go_on = made(what, ROWS, played, autoreset_mode=mode)
        go_on.restore(written)
        for _ in range(HORIZON + 4):
            action = actions(go_on, rng)
            one, other = step(go_on, action), step(part, of_rows(action, rows))
            agree(one, other, rows)
            for name in whole.row_attributes:
                mine, its = getattr(go_on, name), getattr(part, name)
                for a, b in zip(mine, its, strict=True) if isinstance(mine, tuple) else [(mine, its)]:
                    assert np.array_equal(a[rows], b, equal_nan=True), name


@pytest.mark.parametrize("what", ["PBM", "common breakpoints", "many matrices", "drawn arms", "lists"])
def test_problems_that_resets_draw_go_with_their_rows(made, what):
    rng = np.random.default_rng(1)
    name = "problem" if what in ("many matrices", "drawn arms") else "query"
    whole, rows = made(what, ROWS, **{name: None}), np.array([5, 1, 2])
    whole.reset(seed=3)
    for _ in range(4):
        step(whole, actions(whole, rng))
    part = made(what, 3, **{name: None})
    part.restore({name: values[rows] for name, values in whole.snapshot().items()})
    for _ in range(3 * HORIZON):
        action = actions(whole, rng)
        agree(step(whole, action), step(part, of_rows(action, rows)), rows)


@pytest.mark.parametrize("what", ENVIRONMENTS)
def test_a_snapshot_is_what_comes_whatever_was_before(made, what):
    """Written down and restored after every session, it is as if nobody had looked; also the truth that others read."""
    rng = np.random.default_rng(2)
    played = rng.integers(0, many(what), 3)
    one, other = made(what, 3, played), made(what, 3, played)
    one.reset(seed=1)
    other.reset(seed=1)
    for t in range(2 * HORIZON):
        if t % 2 == 0:  # else it is shown again
            action = actions(one, rng)
        agree(step(one, action), step(other, action), np.arange(3))
        if t % 3 == 0:
            assert one.changes >= 0  # asking begins epochs that are due
        written = one.snapshot()
        one = made(what, 3, played)
        one.restore(written)


@pytest.mark.parametrize("what", ENVIRONMENTS)
def test_repeated_sessions_are_alike_and_what_comes_later_is_the_same(made, what):
    rng = np.random.default_rng(3)
    played = rng.integers(0, many(what), ROWS)
    one, other = made(what, ROWS, played), made(what, ROWS, played)
    one.reset(seed=7)
    other.reset(seed=7)
    assert one.alike() == 0
    skipped = 0
    for _ in range(2 * HORIZON):
        action = actions(one, rng)
        last = step(one, action)
        agree(last, step(other, action), np.arange(ROWS))
        times = int(rng.integers(0, one.alike() + 1)) if rng.random() < 0.7 else one.alike()
        one.repeat(times)
        skipped += times
        for _ in range(times):
            again = step(other, action)
            assert not again[3].any()
            for name in ("regret", "misordered", "expected_reward", "optimal_reward", "epoch", "left"):
                if name in again[4]:
                    assert np.array_equal(again[4][name], last[4][name], equal_nan=True), name
        assert np.array_equal(one._round, other._round)
    assert skipped > HORIZON / 3


def test_alike_ends_before_breakpoints_and_episodes():
    env = gym.make_vec("rankgym/CM-Yandex-Breakpoint-v0", num_envs=2, query=[1, 2], horizon=20, breakpoints=[1, 6, 50])
    lists = np.tile(np.arange(3), (2, 1))
    assert env.alike() == 0
    env.reset(seed=0)
    assert env.alike() == 0  # there is no last session
    env.step(lists)
    assert env.alike() == 0  # round 1 is of a new epoch
    env.step(lists)
    assert env.alike() == 4  # rounds 2 to 5
    assert env.changes == 1
    env.repeat(3)
    assert env.alike() == 1
    env.step(lists)
    assert (env.alike(), env.changes) == (0, 2)  # the truth of round 6 was asked for
    env.step(lists)
    assert env.alike() == 12  # rounds 7 to 18: round 19 ends the episode
    env.repeat(12)
    assert env.alike() == 0
    assert env.step(lists)[3].all()
    assert env.alike() == 0
    env.step(lists)  # resets
    assert env.alike() == 0
    forever = gym.make_vec("rankgym/PBM-Yandex-v0", num_envs=1, horizon=None)
    forever.reset(seed=0)
    forever.step(np.arange(5)[None])
    assert forever.alike() > 10**15


@given(st.integers(-(2**70), 2**70))
def test_no_more_sessions_are_repeated_than_are_alike(times):
    env = gym.make_vec("rankgym/PBM-Yandex-v0", num_envs=2, query=0, horizon=20)
    env.reset(seed=0)
    env.step(np.tile(np.arange(5), (2, 1)))
    before = env.snapshot()
    if not 0 <= times <= 18:
        with pytest.raises(ValueError, match=r"times = -?\d+ is out of range; allowed: a whole number in 0 \.\. 18"):
            env.repeat(times)
        times = 0
    else:
        env.repeat(times)
    after = env.snapshot()
    for name, values in before.items():
        assert np.array_equal(after[name], values + times if name in ("round", "session") else values)


def test_what_cannot_be_written_down_or_restored():
    env = gym.make_vec("rankgym/PBM-Yandex-v0", num_envs=2, query=[0, 1])
    with pytest.raises(ResetNeeded):
        env.snapshot()
    env.reset(seed=0)
    written = env.snapshot()
    env.step(np.tile(np.arange(5), (2, 1)))
    now = env.snapshot()
    for wrong in (
        {name: values for name, values in written.items() if name != "round"},
        written | {"more": written["round"]},
        written | {"round": written["round"][:1]},
        written | {"round": written["round"].astype(np.int32)},
        gym.make_vec("rankgym/PBM-Yandex-v0", num_envs=3),
        {},
    ):
        if isinstance(wrong, gym.vector.VectorEnv):
            wrong.reset(seed=0)
            wrong = wrong.snapshot()
        with pytest.raises(ValueError, match=r"^snapshot.*allowed"):
            env.restore(wrong)
        assert all(np.array_equal(values, now[name]) for name, values in env.snapshot().items())

    class Drifting(RankingVectorEnv):
        """It may remember more than its base knows of."""

    own = Drifting(1, query=0)
    own.reset(seed=0)
    assert own.snapshot() is None
    with pytest.raises(ValueError, match="Drifting defines no _written of its own"):
        own.restore(written)

    class Known(DuelingVectorEnv):
        def _written(self):
            return super()._written()

    known = Known(1)
    known.reset(seed=0)
    assert known.snapshot() is not None


# -- expected rewards --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", [what for what in ENVIRONMENTS if "rankers" not in what])
def test_expected_rewards_are_those_of_what_is_displayed(made, what):
    rng = np.random.default_rng(4)
    env = made(what, ROWS, rng.integers(0, many(what), ROWS))
    env.reset(seed=0)
    for _ in range(HORIZON):
        action = actions(env, rng)
        _, reward, _, _, info = env.step(action)
        expected = env.expected_rewards()
        kind = action_kind(env)
        if kind is ActionKind.RANKING:
            assert np.array_equal(expected, info["expected_reward"])
        elif kind is ActionKind.DUEL_OF_ARMS:
            assert np.array_equal(expected, reward)
        else:
            assert np.isnan(expected).all()  # of different lists interleaved
    if kind is ActionKind.DUEL_OF_ARMS:
        env.restore(env.snapshot())
        assert np.isnan(env.expected_rewards()).all()  # the snapshot may be another environment's
    if kind is ActionKind.DUEL_OF_RANKINGS:
        env.reset(seed=1)
        _, _, _, _, info = env.step({"left": action["left"], "right": action["left"].copy()})
        assert np.array_equal(np.isnan(env.expected_rewards()), np.full(ROWS, "mixed" in what))
        if "mixed" not in what:
            assert np.array_equal(env.expected_rewards(), info["expected_reward"][:, 0])


@pytest.mark.kernels
@pytest.mark.parametrize("interleaving", sorted(set(INTERLEAVINGS) - {"optimized"}))
@pytest.mark.parametrize("user_model", ["perfect", "navigational", "informational"])
def test_expected_clicks_of_a_ranker_against_itself(letor_file, interleaving, user_model):
    """Against the sum over all click vectors (``users.click_vectors``) of what is displayed, by query."""
    env = InterleavedRankersVectorEnv(
        4, file=letor_file, interleaving=interleaving, num_documents=6, user_model=user_model, query=[0, 3, 1]
    )
    env.reset(seed=0)
    assert np.isnan(env.expected_rewards()).all() or interleaving != "probabilistic"
    by_query = {}
    arms = {"left": np.array([0, 1, 2, 1]), "right": np.array([0, 1, 2, 3])}
    for _ in range(60):
        _, _, _, _, info = env.step(arms)
        for row in range(3):
            shown, query = info["displayed"][row], info["query"][row]
            grades = np.where(shown >= 0, env._labels[env._start[query] + np.maximum(shown, 0)], -1)
            law = users.click_vectors(users.user(user_model, 5), grades[None])[0]
            by_query[row, query] = sum(chance * vector.bit_count() for vector, chance in enumerate(law))
    assert len(by_query) == 9
    expected = env.expected_rewards()
    if interleaving == "probabilistic":
        assert np.isnan(expected).all()
        return
    assert np.isnan(expected[3])
    for row in range(3):
        mean = np.mean([value for (mine, _), value in by_query.items() if mine == row])
        assert expected[row] == pytest.approx(mean, rel=1e-12)


def test_the_random_numbers_of_a_session_are_addressed_by_its_number():
    """What repeating rests on: the coin of session n is the same, whatever was drawn before."""
    env = gym.make_vec("rankgym/Dueling-Cyclic-v0", num_envs=1, horizon=None)
    env.reset(seed=0)
    duel = {"left": np.array([0]), "right": np.array([0])}
    env.step(duel)
    env.repeat(10**12)
    coin = uniform(bits(session_seed(env._key[0], 10**12 + 1), 0))
    assert env.step(duel)[4]["winner"][0] == (0 if coin < 0.5 else 1)
    assert env.snapshot()["round"][0] == 10**12 + 1


@settings(max_examples=25)
@given(st.data())
def test_drawn_breakpoints_of_any_rows_at_any_time(data):
    horizon = data.draw(st.integers(2, 40))
    count = data.draw(st.integers(0, horizon - 1))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    arguments = {
        "horizon": horizon,
        "num_breakpoints": count,
        "scenario": data.draw(st.sampled_from(["jump", "drift"])),
    }
    played = rng.integers(0, 3, ROWS)
    make = lambda of: gym.make_vec("rankgym/CM-Yandex-Breakpoint-v0", num_envs=len(of), query=of.tolist(), **arguments)  # noqa: E731
    whole = make(played)
    whole.reset(seed=data.draw(st.integers(0, 1000)))
    for _ in range(data.draw(st.integers(0, 2 * horizon))):
        whole.step(actions(whole, rng))
    if data.draw(st.booleans()):
        assert whole.attraction.shape == (ROWS, 10)
    rows = np.array(data.draw(st.lists(st.integers(0, ROWS - 1), min_size=1, max_size=ROWS, unique=True)))
    part = make(played[rows])
    part.restore({name: values[rows] for name, values in whole.snapshot().items()})
    for _ in range(horizon + 2):
        action = actions(whole, rng)
        agree(whole.step(action), part.step(action[rows]), rows)
        assert np.array_equal(whole.attraction[rows], part.attraction)

"""Duels by interleaving: rankers of a LETOR file, and rankings of a query's items."""

import gzip
import inspect
import json
import pickle
import re
import warnings
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st
from nonsense import complaints

import rankgym
from rankgym.data import letor
from rankgym.envs import (
    InterleavedRankersVectorEnv,
    InterleavedRankingsVectorEnv,
    RankingVectorEnv,
    SingleEnv,
    UnknownRegret,
)
from rankgym.envs.interleaved_rankers import letor_rankings
from rankgym.interleaving import INTERLEAVINGS, Lists, decide, make
from rankgym.kernels import ENVIRONMENT, QUERY, bits, row_keys, uniform_below
from rankgym.models import MODELS, users
from rankgym.registry import ENVS

MODES = ["NextStep", "SameStep", "Disabled"]
LETOR = "rankgym/Dueling-LETOR-v0"
RANKINGS = [name for name in ENVS if re.fullmatch(r"rankgym/Dueling-[A-Z]+-Yandex-v0", name)]
NP2004 = Path(__file__).resolve().parents[3] / "shared" / "data" / "np2004_vali.txt.gz"
QUICK = sorted(set(INTERLEAVINGS) - {"optimized"})
KEYS = {"winner", "credit", "left", "right", "displayed", "clicks", "regret", "round", "query"}


def write(path, labels_of, features=4, seed=0):
    """A file in the format of LETOR: ``labels_of`` has a list of labels for each query; few values, many ties."""
    rng = np.random.default_rng(seed)
    lines = []
    for query, labels in enumerate(labels_of):
        for label in labels:
            values = " ".join(f"{f + 1}:{rng.integers(0, 4) / 4}" for f in range(features))
            lines.append(f"{label} qid:{10 + query} {values} # doc")
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RANKGYM_DATA_HOME", str(folder))
        yield folder


@pytest.fixture(scope="module")
def file(home):
    """Six queries: five grades; one query is short, one has one document, one nothing relevant."""
    labels = [[0, 1, 2, 3, 4, 0, 0, 1], [2, 0, 0], [4], [0] * 7, [3, 0, 2, 0, 0, 1, 0, 0, 0, 4], [1, 0, 0, 2, 0, 0]]
    return write(home / "small.txt", labels)


@pytest.fixture(scope="module")
def matrix(home):
    """Arm 2 beats all: a matrix of the four features."""
    p = np.array([[0.5, 0.6, 0.3, 0.5], [0.4, 0.5, 0.2, 0.9], [0.7, 0.8, 0.5, 0.6], [0.5, 0.1, 0.4, 0.5]])
    np.save(home / "matrix.npy", p)
    np.savetxt(home / "matrix.txt", p)
    return p


@pytest.fixture(scope="module")
def np2004(home):
    if not NP2004.exists():
        pytest.skip("NP2004's validation fold is not beside the checkout, in shared/data")
    return str(NP2004)


def duels(env, steps, seed=0):
    env.action_space.seed(seed)
    return [env.action_space.sample() for _ in range(steps)]


# -- contract ----------------------------------------------------------------------------------------------------------


def test_every_click_model_has_its_id():
    assert [name.split("-")[1] for name in RANKINGS] == list(MODELS)


def test_gymnasium_accepts_the_single_env(file, matrix, home):
    """Those without a file are checked with all others, in ``test_ranking.py``."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gym.make(LETOR, file=file, preferences=str(home / "matrix.npy")).unwrapped)


@pytest.mark.parametrize("mode", MODES)
def test_our_checker_accepts_the_vector_env(mode, file):
    """That is: seeds, row independence, resets by mask, autoreset, bad actions."""
    rankgym.check_vector_env(gym.make_vec(LETOR, num_envs=3, horizon=7, autoreset_mode=mode, file=file), steps=24)


@pytest.mark.parametrize("interleaving", QUICK)
def test_our_checker_accepts_every_interleaving(interleaving, file):
    for name, more in ((LETOR, {"file": file}), ("rankgym/Dueling-UBM-Yandex-v0", {})):
        rankgym.check_vector_env(gym.make_vec(name, num_envs=3, horizon=7, interleaving=interleaving, **more), steps=24)


@pytest.mark.parametrize("name", [LETOR, "rankgym/Dueling-DCM-Yandex-v0"])
def test_specs_survive_json_and_pickle(name, file):
    given = {"file": file} if name == LETOR else {}
    spec = gym.make(name, horizon=50, interleaving_knobs={"tau": 2}, interleaving="probabilistic", **given).spec
    again = gym.make(gym.envs.registration.EnvSpec.from_json(spec.to_json())).unwrapped
    assert again.horizon == 50
    assert isinstance(again, SingleEnv)
    assert repr(again.interleaving) == "Probabilistic(tau=2.0, credit='marginalized')"
    json.dumps(ENVS[name][1])
    env = gym.make_vec(name, num_envs=2, **given)
    env.reset(seed=1)
    actions = duels(env, 4)
    env.step(actions[0])
    twin = pickle.loads(pickle.dumps(env))
    for action in actions[1:]:
        for mine, theirs in zip(env.step(action)[:2], twin.step(action)[:2], strict=True):
            assert (mine == theirs).all()


@pytest.mark.kernels
@pytest.mark.parametrize("name", [LETOR, *RANKINGS])
def test_info_has_its_keys_and_the_single_is_row_0(name, file):
    given = {"file": file} if name == LETOR else {"query": 3}
    env, single = gym.make_vec(name, num_envs=3, **given), gym.make(name, **given)
    more = set() if name == LETOR else {"expected_reward", "optimal_reward"}
    for made in (env.reset(seed=5)[1], single.reset(seed=5)[1]):
        assert set(made) == ({"round"} if name == LETOR else {"round", "query", "optimal_reward"})
    for t, action in enumerate(duels(env, 30)):
        observation, reward, terminated, truncated, info = env.step(action)
        assert set(info) == KEYS | more
        assert all(len(values) == 3 for values in info.values())
        assert (info["clicks"] == observation).all()
        assert (info["left"] == action["left"]).all()
        assert (info["right"] == action["right"]).all()
        assert (info["round"] == t).all()
        assert set(info["winner"]) <= {0, 1}
        decided = np.abs(info["credit"][:, 0] - info["credit"][:, 1]) > 1e-9
        assert (info["winner"][decided] == info["credit"][decided].argmax(axis=1)).all()
        assert (reward == observation.sum(axis=1)).all()
        assert not (terminated | truncated).any()
        one = {side: arm[0] for side, arm in action.items()}
        seen, paid, _, _, told = single.step(one)
        assert seen.tolist() == observation[0].tolist()
        assert paid == reward[0]
        for key, values in info.items():
            assert np.array_equal(told[key], values[0], equal_nan=True), key


# -- rankers of a file -------------------------------------------------------------------------------------------------


def test_rankings_are_those_of_the_reader(file):
    data = letor.load(file)
    documents = np.diff(data.start)
    for rankers, ties in ((range(4), 0), ([2, 0], 7)):
        lists, expected = letor_rankings(data, rankers, ties), letor.feature_rankings(data, 10, rankers, ties=ties)
        for query in range(6):
            for n in range(len(rankers)):
                number = query * len(rankers) + n
                start, size = lists.start[number], lists.size[number]
                assert size == documents[query]
                order = lists.order[start : start + size]
                assert order.tolist() == expected[query, n, :size].tolist()
                assert (lists.rank[start + order] == np.arange(size)).all()


def test_arms_are_the_chosen_rankers(file):
    """Arms 0 and 1 of [3, 1] are arms 3 and 1 of all."""
    some, every = (InterleavedRankersVectorEnv(30, file=file, rankers=rankers) for rankers in ([3, 1], None))
    some.reset(seed=4)
    every.reset(seed=4)
    for duel in duels(some, 5):
        told = some.step(duel)[-1]
        expected = every.step({side: np.array([3, 1])[arms] for side, arms in duel.items()})[-1]
        for name in ("displayed", "clicks", "credit", "winner", "query"):
            assert (told[name] == expected[name]).all(), name


def test_a_query_may_have_more_documents_than_16_bits_count():
    """Small numbers up to 32,767 documents, and larger ones beyond, even if another query has them."""
    for documents, dtype in ((32_767, np.int16), (32_768, np.int32), (40_000, np.int32)):
        values = np.random.default_rng(0).permutation(documents).astype(np.float32)
        features = np.concatenate([[1.0, 2.0], values])[:, None].astype(np.float32)
        start = np.array([0, 2, documents + 2])
        data = letor.LetorData(features, np.zeros(documents + 2, np.int8), start, np.array(["few", "many"]))
        lists = letor_rankings(data, [0])
        assert lists.order.dtype == lists.rank.dtype == dtype
        assert lists.order[:2].tolist() == [1, 0]
        assert (lists.order[2:] == np.argsort(-values)).all()
        assert (lists.rank[2:][lists.order[2:]] == np.arange(documents)).all()


def test_only_the_chosen_queries_are_ranked(file):
    data = letor.load(file)
    whole, some = letor_rankings(data, range(4)), letor_rankings(data, range(4), queries=[4, 1, 4])
    for number in range(24):
        here, there = (slice(lists.start[number], lists.start[number] + lists.size[number]) for lists in (whole, some))
        if number // 4 in (1, 4):
            assert some.order[there].tolist() == whole.order[here].tolist()
            assert some.rank[there].tolist() == whole.rank[here].tolist()
        else:
            assert some.size[number] == 0
    assert len(some.order) == len(some.rank) == 4 * sum(np.diff(data.start)[[1, 4]])
    assert InterleavedRankersVectorEnv(1, file=file, query=[4, 1])._lists.size.tolist() == some.size.tolist()


@pytest.mark.kernels
@pytest.mark.parametrize("interleaving", QUICK)
@pytest.mark.parametrize("query", [None, [1, 4], 0, "train"])
def test_a_session_is_a_query_a_list_and_a_user(interleaving, query, file):
    """Every part by itself, from the tested pieces: the drawn query, the list, the clicks, credit and winner."""
    pool = {"train": [0, 1, 2, 3, 5], None: range(6), 0: [0]}.get(query if not isinstance(query, list) else "", query)
    data, rows, length = letor.load(file), 4, 5
    env = InterleavedRankersVectorEnv(
        rows, file=file, query=query, interleaving=interleaving, user_model="informational", num_documents=length
    )
    env.reset(seed=20)
    key, query_key = row_keys(range(20, 24), ENVIRONMENT), row_keys(range(20, 24), QUERY)
    rankings, method = letor.feature_rankings(data, 10), make(interleaving)
    for t, duel in enumerate(duels(env, 25)):
        observation, _, _, _, info = env.step(duel)
        for row in range(rows):
            mine = list(pool)[int(uniform_below(np.uint64(bits(query_key[row], t)), len(pool)))]
            assert info["query"][row] == mine
            size = data.start[mine + 1] - data.start[mine]
            pair = np.array([rankings[mine, duel[side][row], :size] for side in ("left", "right")], np.int64)
            lists, zero, one = Lists.of(pair, size), np.array([0]), np.array([1])
            seed, session = key[row : row + 1], np.array([t])
            displayed, share = np.empty((1, length), np.int64), np.empty((1, length))
            method.interleave(lists, zero, one, seed, session, displayed, share)
            assert info["displayed"][row].tolist() == displayed[0].tolist()
            clicks, reward = np.empty((1, length), np.int8), np.empty(1)
            first = data.start[mine : mine + 1]
            user = users.user("informational", 5)
            users.click(*user, data.labels, first, seed, session, displayed, clicks, reward)
            assert observation[row].tolist() == clicks[0].tolist()
            credit, winner = np.empty((1, 2)), np.empty(1, np.int64)
            method.credit(lists, zero, one, displayed, share, clicks, credit)
            decide(credit, seed, session, winner)
            assert info["credit"][row] == pytest.approx(credit[0], abs=1e-12)
            assert info["winner"][row] == winner[0]


def test_short_queries_have_short_lists_and_nobody_clicks_behind_them(file):
    env = InterleavedRankersVectorEnv(8, file=file, query=[1, 2], num_documents=6, user_model="informational")
    env.reset(seed=0)
    seen = set()
    for duel in duels(env, 50):
        observation, _, _, _, info = env.step(duel)
        for row in range(8):
            size = {1: 3, 2: 1}[int(info["query"][row])]
            seen.add(size)
            assert sorted(info["displayed"][row, :size]) == list(range(size))
            assert (info["displayed"][row, size:] == -1).all()
            assert (observation[row, size:] == 0).all()
    assert seen == {1, 3}


def test_without_relevant_documents_a_perfect_user_clicks_nothing_and_a_coin_decides(file):
    """20,000 duels, within 5 standard errors of one half (6e-7)."""
    env = InterleavedRankersVectorEnv(200, file=file, query=3, user_model="perfect")
    env.reset(seed=0)
    won = []
    for duel in duels(env, 100):
        observation, reward, _, _, info = env.step(duel)
        assert not observation.any()
        assert not reward.any()
        won.append(info["winner"].mean())
    assert np.mean(won) == pytest.approx(0.5, abs=5 * 0.5 / np.sqrt(20_000))


def test_two_agents_on_the_same_seed_meet_the_same_queries_and_duels(file):
    """What a session holds depends on (seed, session): the history before it does not matter."""
    one, two = (InterleavedRankersVectorEnv(5, file=file) for _ in range(2))
    one.reset(seed=3)
    two.reset(seed=3)
    for mine, theirs in zip(duels(one, 40, 1), duels(two, 40, 2), strict=True):
        told = one.step(mine)[4]["query"], two.step(theirs)[4]["query"]
        assert (told[0] == told[1]).all()
    last = {"left": np.array([0, 1, 2, 3, 0]), "right": np.array([1, 2, 3, 0, 0])}
    for mine, theirs in zip(one.step(last)[:2], two.step(last)[:2], strict=True):
        assert (mine == theirs).all()


@pytest.mark.parametrize("suffix", ["npy", "txt"])
def test_regret_is_measured_with_a_matrix(suffix, file, matrix, home):
    path = str(home / f"matrix.{suffix}")
    duel = {"left": np.array([0, 1, 2, 3]), "right": np.array([3, 2, 2, 1])}
    gap = matrix[2] - 0.5
    both = np.array([gap[duel["left"]], gap[duel["right"]]])
    for kind, expected in (("average", both.mean(0)), ("weak", both.min(0)), ("strong", both.max(0))):
        env = InterleavedRankersVectorEnv(4, file=file, preferences=path, regret=kind)
        env.reset(seed=0)
        assert env.step(duel)[4]["regret"] == pytest.approx(expected)
        assert env.best_arm.tolist() == env.condorcet_winner.tolist() == [2] * 4
        assert (env.preference == env.preference[0]).all()
        assert env.preference.shape == (4, 4, 4)
    some = InterleavedRankersVectorEnv(1, file=file, preferences=path, rankers=[3, 2])  # of the matrix of all features
    assert some.best_arm == [1]
    assert some.preference[0] == pytest.approx(matrix[np.ix_([3, 2], [3, 2])])


def test_without_a_matrix_regret_is_unknown(file, home):
    said = (
        f"^regret is unknown .NaN. without .*`rankgym data preferences {re.escape(file)} --out NAME.npy` estimates one"
    )
    with pytest.warns(UnknownRegret, match=said):
        env = gym.make_vec(LETOR, num_envs=2, file=file)
    env.reset(seed=0)
    assert np.isnan(env.step(duels(env, 1)[0])[4]["regret"]).all()
    assert (env.unwrapped.best_arm == -1).all()
    assert np.isnan(env.unwrapped.preference).all()
    np.save(home / "circle.npy", [[0.5, 0.6, 0.4], [0.4, 0.5, 0.6], [0.6, 0.4, 0.5]])  # nobody beats all others
    with pytest.warns(UnknownRegret, match=r"circle\.npy' no ranker beats all others; winner='copeland' or 'borda'"):
        env = InterleavedRankersVectorEnv(2, file=file, rankers=[0, 1, 2], preferences=str(home / "circle.npy"))
    env.reset(seed=0)
    assert np.isnan(env.step(duels(env, 1)[0])[4]["regret"]).all()
    assert (env.condorcet_winner == -1).all()
    for winner, best, gaps in (("copeland", 0, [0, 0, 0]), ("borda", 0, [0, 0, 0])):
        env = InterleavedRankersVectorEnv(
            3, file=file, rankers=[0, 1, 2], preferences=str(home / "circle.npy"), winner=winner
        )
        env.reset(seed=0)
        same = {"left": np.arange(3), "right": np.arange(3)}
        assert env.step(same)[4]["regret"] == pytest.approx(gaps, abs=1e-12)
        assert (env.best_arm == best).all()
        assert (env.condorcet_winner == -1).all()
    single = gym.make(LETOR, file=file).unwrapped
    assert (single.best_arm, single.num_arms, single.rankers) == (-1, 4, [0, 1, 2, 3])


def test_the_best_ranker_may_be_copelands_or_bordas(file, matrix, home):
    """Gaps of normalised scores: the share of the others that a ranker beats, and the mean chance to beat one."""
    path = str(home / "matrix.npy")
    np.save(path, matrix)
    others = ~np.eye(4, dtype=bool)
    scores = {
        "copeland": ((matrix > 0.5) & others).sum(1) / 3,
        "borda": np.where(others, matrix, 0).sum(1) / 3,
    }
    for winner, score in scores.items():
        env = InterleavedRankersVectorEnv(4, file=file, preferences=path, winner=winner)
        env.reset(seed=0)
        same = {"left": np.arange(4), "right": np.arange(4)}
        assert env.step(same)[4]["regret"] == pytest.approx(score.max() - score)
        assert (env.best_arm == score.argmax()).all()
        assert env.condorcet_winner.tolist() == [2] * 4
    for arguments, message in (
        (
            {"winner": "best", "preferences": path},
            "winner = 'best' is unknown; allowed: 'condorcet', 'copeland', 'borda'",
        ),
        ({"winner": "borda"}, "winner = 'borda' needs preferences"),
        ({"rankers": [3]}, "rankers = [3] has too few features, or one of them twice; allowed: at least 2 different"),
    ):
        with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
            InterleavedRankersVectorEnv(1, file=file, **arguments)


def test_equal_rankers_tie(home):
    """Features 1 and 2 are the same: 20,000 duels, within 5 standard errors of one half."""
    path = home / "twins.txt"
    path.write_text("".join(f"{d % 3 == 0:d} qid:1 1:{d % 4} 2:{d % 4}\n" for d in range(12)))
    for interleaving in QUICK:
        env = InterleavedRankersVectorEnv(200, file=str(path), interleaving=interleaving)
        env.reset(seed=0)
        duel = {"left": np.zeros(200, int), "right": np.ones(200, int)}
        won = np.mean([env.step(duel)[4]["winner"].mean() for _ in range(100)])
        assert won == pytest.approx(0.5, abs=5 * 0.5 / np.sqrt(20_000))


def test_a_ranker_that_knows_what_is_relevant_beats_one_that_knows_the_opposite(home):
    """Every method, a perfect user: 2,000 duels, far more than half of them."""
    path = home / "known.txt"
    path.write_text("".join(f"{d >= 9:d} qid:1 1:{d} 2:{12 - d}\n" for d in range(12)))
    for interleaving in INTERLEAVINGS:
        if interleaving == "optimized":
            pytest.importorskip("scipy", reason="optimized interleaving needs SciPy; install the dev extra")
        env = InterleavedRankersVectorEnv(
            50, file=str(path), interleaving=interleaving, user_model="perfect", num_documents=6
        )
        env.reset(seed=0)
        duel = {"left": np.zeros(50, int), "right": np.ones(50, int)}
        won = np.mean([env.step(duel)[4]["winner"].mean() for _ in range(40)])
        assert won < 0.45, interleaving


def test_np2004(np2004):
    """15 queries of 1,000 documents, 64 features, binary: lists of 10 different documents."""
    env = gym.make_vec(LETOR, num_envs=20, file=np2004)
    env.reset(seed=0)
    assert env.unwrapped.num_arms == 64
    queries = set()
    for duel in duels(env, 30):
        info = env.step(duel)[4]
        assert all(len(set(row)) == 10 for row in info["displayed"].tolist())
        assert (info["displayed"] >= 0).all()
        queries |= set(info["query"].tolist())
    assert queries == set(range(15))
    env = gym.make_vec(LETOR, num_envs=2, file=np2004, rankers=[3, 60])
    assert env.single_action_space["left"].n == 2


# -- rankings ----------------------------------------------------------------------------------------------------------


@pytest.mark.kernels
@pytest.mark.parametrize("interleaving", sorted(set(QUICK) - {"probabilistic"}))
@pytest.mark.parametrize("model", MODELS)
def test_a_ranking_against_itself_is_the_ranking_environment(model, interleaving):
    """Bit for bit: the same list, clicks, reward, query and regret on the same seed, across episodes."""
    given = {"model": model, "horizon": 15, "autoreset_mode": "SameStep"}
    plain, env = RankingVectorEnv(6, **given), InterleavedRankingsVectorEnv(6, interleaving=interleaving, **given)
    assert plain.reset(seed=9)[1]["query"].tolist() == env.reset(seed=9)[1]["query"].tolist()
    plain.action_space.seed(1)
    for _ in range(40):
        lists = plain.action_space.sample()
        one, two = plain.step(lists), env.step({"left": lists, "right": lists.copy()})
        for mine, theirs in zip(one[:4], two[:4], strict=True):
            assert mine.tobytes() == theirs.tobytes()
        one, two = (told.get("final_info", told) for told in (one[4], two[4]))
        for key in ("displayed", "clicks", "optimal_reward", "regret", "round", "query"):
            assert one[key].tobytes() == two[key].tobytes(), key
        assert (two["expected_reward"] == one["expected_reward"][:, None]).all()
        if interleaving != "team-draft":
            assert (two["credit"][:, 0] == two["credit"][:, 1]).all()


@pytest.mark.parametrize("name", ["DCM", "PBM"])
@pytest.mark.parametrize("kind", ["average", "weak", "strong"])
def test_the_truth_of_a_duel(name, kind):
    """Expected rewards are the model's; regret joins both gaps; the displayed list holds items of the two alone."""
    env = InterleavedRankingsVectorEnv(5, model=name, query="all", regret=kind, num_items=8, num_positions=4, cutoff=3)
    env.reset(seed=2)
    for duel in duels(env, 20):
        info = env.step(duel)[4]
        values = [env.model.values(env.parameters, duel[side], 3, "clicks") for side in ("left", "right")]
        assert info["expected_reward"] == pytest.approx(np.array(values).T)
        gaps = info["optimal_reward"] - np.array(values)
        assert (gaps >= -1e-12).all()
        joined = {"average": gaps.mean(0), "weak": gaps.min(0), "strong": gaps.max(0)}[kind]
        assert info["regret"] == pytest.approx(joined)
        for row in range(5):
            shown = info["displayed"][row].tolist()
            assert len(set(shown)) == 4
            assert set(shown) <= {*duel["left"][row], *duel["right"][row]}


def test_abandonment_and_sorted_reference_are_as_in_the_ranking_environment():
    given = {"model": "DCM", "reward": "abandonment", "reference": "sorted", "num_positions": 10, "cutoff": 5}
    plain, env = RankingVectorEnv(4, **given), InterleavedRankingsVectorEnv(4, **given)
    plain.reset(seed=1)
    env.reset(seed=1)
    plain.action_space.seed(0)
    for _ in range(20):
        lists = plain.action_space.sample()
        one, two = plain.step(lists), env.step({"left": lists, "right": lists})
        assert (one[1] == two[1]).all()
        assert (one[4]["regret"] == two[4]["regret"]).all()
    assert (env.attraction == plain.attraction).all()
    assert (env.initial_list == plain.initial_list).all()


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_rows_that_were_just_reset_tell_their_new_query(mode):
    env = InterleavedRankingsVectorEnv(20, horizon=3, autoreset_mode=mode)
    env.reset(seed=4)
    for duel in duels(env, 12):
        info = env.step(duel)[4]
        assert (info["query"] == env._problem).all()
        assert (info["optimal_reward"] == env._optimal_of[info["query"]]).all()
        assert len(set(info["query"].tolist())) > 1


def test_episodes_of_one_session_have_values_and_coins_of_their_own(file):
    """The same list for another query has another value; ties are not all decided alike (2^-39 in each row)."""
    env = InterleavedRankingsVectorEnv(4, horizon=1, autoreset_mode="SameStep")
    env.reset(seed=4)
    lists = np.tile(np.arange(5), (4, 1))
    for _ in range(5):
        expected = env.model.values(env.parameters, lists, 5, "clicks")
        found = env.step({"left": lists, "right": lists})[4]["final_info"]["expected_reward"]
        assert found == pytest.approx(np.column_stack([expected, expected]))
    env = InterleavedRankersVectorEnv(4, file=file, query=3, user_model="perfect", horizon=1, autoreset_mode="SameStep")
    env.reset(seed=4)
    duel = {"left": np.zeros(4, int), "right": np.ones(4, int)}
    won = np.array([env.step(duel)[4]["final_info"]["winner"] for _ in range(40)])
    assert (won.min(axis=0) < won.max(axis=0)).all()


def test_the_best_list_wins_more_often_than_it_loses():
    """Against the reversed list, team draft: 6,000 duels, one half is more than 20 standard errors away."""
    env = InterleavedRankingsVectorEnv(60, model="PBM", query="all")
    env.reset(seed=0)
    best = np.argsort(-env.attraction, axis=1)[:, :5]
    won = [env.step({"left": best, "right": np.argsort(env.attraction, axis=1)[:, :5]}) for _ in range(100)]
    assert np.mean([step[4]["winner"].mean() for step in won]) < 0.35
    assert np.allclose(won[0][4]["expected_reward"][:, 0], won[0][4]["optimal_reward"])


def test_optimized_interleaving_of_rankings():
    pytest.importorskip("scipy", reason="optimized interleaving needs SciPy; install the dev extra")
    env = InterleavedRankingsVectorEnv(3, interleaving="optimized", num_positions=3, num_items=4)
    rankgym.check_vector_env(env, steps=10)
    with pytest.raises(ValueError, match=r"num_positions = 11 is out of range .* 'optimized'; allowed: 1 \.\. 10"):
        InterleavedRankingsVectorEnv(1, interleaving="optimized", dataset="synthetic", num_items=12, num_positions=11)


# -- bad actions and arguments -----------------------------------------------------------------------------------------


def frozen(env):
    """All that changes in an engine, as bytes."""
    arrays = (env._session, env._round, env._episode, *env._written().values())
    return [a.tobytes() for a in (*arrays, env.last_observation, env._problem)]


BAD_DUELS = st.one_of(
    st.fixed_dictionaries(
        {
            side: st.one_of(
                st.lists(st.integers(-2, 6), max_size=3), st.integers(), st.floats(), st.text(max_size=2), st.none()
            )
            for side in ("left", "right")
        }
    ),
    st.dictionaries(st.sampled_from(["left", "right", "x"]), st.just([0, 0]), max_size=3),
    st.lists(st.integers(0, 3), max_size=2),
    st.none(),
)


@settings(deadline=None, max_examples=60)
@given(BAD_DUELS)
def test_a_bad_duel_is_refused_before_anything_happens(bad):
    for env in ENGINES:
        env.reset(seed=0)
        env.step(duels(env, 1)[0])
        before = frozen(env)
        try:
            env.step(bad)
        except ValueError as error:
            assert_refusal(error)
            assert frozen(env) == before
        else:
            assert {*bad} == {"left", "right"}
            assert all(len(bad[side]) == env.num_envs for side in bad)
        env.step(duels(env, 1)[0])


def assert_refusal(error):
    text = str(error)
    if "action" not in text or "\n" in text:
        raise error


ENGINES = []


@pytest.fixture(autouse=True, scope="module")
def engines(file):
    ENGINES[:] = [InterleavedRankersVectorEnv(2, file=file), InterleavedRankingsVectorEnv(2)]


def test_messages_of_bad_duels(file):
    arms, lists = InterleavedRankersVectorEnv(2, file=file), InterleavedRankingsVectorEnv(2)
    with pytest.raises(ResetNeeded):
        arms.step({"left": [0, 0], "right": [0, 0]})
    arms.reset(seed=0)
    lists.reset(seed=0)
    with pytest.raises(ValueError, match=r"action\['right'\]\[row 1\] = 4 is not an arm; allowed: 0 \.\. 3"):
        arms.step({"left": np.array([0, 0]), "right": np.array([0, 4])})
    good = [[0, 1, 2, 3, 4]] * 2
    with pytest.raises(ValueError, match=r"action\['right'\]\[row 1\] = .*repeats item 3"):
        lists.step({"left": good, "right": [good[0], [3, 1, 3, 2, 0]]})
    single = gym.make("rankgym/Dueling-PBM-Yandex-v0").unwrapped
    single.reset(seed=0)
    with pytest.raises(ValueError, match=r"action\['left'\] .*repeats item 0"):
        single.step({"left": [0, 0, 1, 2, 3], "right": good[0]})
    single = gym.make(LETOR, file=file).unwrapped
    single.reset(seed=0)
    with pytest.raises(ValueError, match=r"action\['left'\] = -1 is not an arm"):
        single.step({"left": -1, "right": 0})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"file": None},
            r"file = None is not a path; allowed: the path of a file in the format of LETOR, as in gym\.make",
        ),
        ({"file": None}, "or --set file=Fold1/vali.txt$"),
        ({"file": "nowhere.txt"}, "file = 'nowhere.txt' does not exist"),
        ({"rankers": []}, r"rankers = \[\] has too few features"),
        ({"rankers": [4]}, r"rankers\[0\] = 4 is out of range"),
        ({"rankers": [1, 1]}, "has too few features, or one of them twice"),
        ({"rankers": "all"}, "rankers = 'all' is not a list"),
        ({"query": 6}, "query = 6 is out of range"),
        ({"num_documents": 0}, "num_documents = 0 is out of range"),
        ({"interleaving": "none"}, "interleaving = 'none' is unknown; allowed: 'balanced'"),
        ({"interleaving_knobs": {"tau": -1}}, "tau = -1 is out of range"),
        ({"interleaving_knobs": {"beta": 1}}, "does not have a keyword 'beta'; allowed: 'tau', 'credit'"),
        ({"user_model": "me"}, "user_model = 'me' is unknown"),
        ({"user_model": ["me"]}, r"user_model = \['me'\] is unknown"),
        ({"grades": 4}, "grades = 4 has no user; allowed: 2 "),
        ({"grades": 3}, r"has a label 3, in query 10, document 3 .*; allowed: 0 \.\. 2"),
        ({"grades": 2}, r"has a label 2, in query 10, document 2 .*; allowed: 0 \.\. 1"),
        ({"regret": "none"}, "regret = 'none' is unknown; allowed: 'average', 'weak', 'strong'"),
        ({"ties": -1}, "ties = -1 is out of range"),
        ({"preferences": 3}, "preferences = 3 is neither a path"),
        ({"preferences": "nothing"}, "preferences = 'nothing' is not a file, and as a name: "),
        ({"preferences": "arxiv"}, r"preferences = 'arxiv' has shape \(6, 6\); allowed: \(4, 4\)$"),
        ({"preferences": "arxiv", "rankers": [3, 1]}, r"has shape \(6, 6\); allowed: \(2, 2\) or \(4, 4\)$"),
        ({"horizon": 0}, "horizon = 0"),
        ({"render_mode": "human"}, "render_mode = 'human'"),
    ],
)
def test_arguments_are_checked(given, message, file):
    with pytest.raises(ValueError, match=message):
        InterleavedRankersVectorEnv(1, **{"file": file, **given})


def test_nonsense_for_any_keyword_is_taken_or_refused_by_name(file):
    assert complaints(InterleavedRankersVectorEnv, file=file) == []
    assert complaints(InterleavedRankingsVectorEnv, num_positions=1) == []
    with pytest.raises(ValueError, match="num_documents = 65537 is out of range"):
        InterleavedRankersVectorEnv(1, file=file, num_documents=65_537)


def test_files_that_are_no_matrix(file, home):
    (home / "broken.txt").write_text("0.5 x\n0.5 0.5\n")
    (home / "broken.npy").write_bytes(b"\x93NUMPY no array")
    np.save(home / "uneven.npy", [[0.5, 0.9], [0.9, 0.5]])
    for name, message in (("broken.txt", "line 1"), ("broken.npy", "broken .npy"), ("uneven.npy", "add up to")):
        with pytest.raises(ValueError, match=message):
            InterleavedRankersVectorEnv(1, file=file, rankers=[0, 1], preferences=str(home / name))


def test_labels_above_four_have_no_user(home):
    path = write(home / "many.txt", [[0, 7]])
    with pytest.raises(ValueError, match=r"many\.txt has a label 7, in query .*; allowed: 0 \.\. 4"):
        InterleavedRankersVectorEnv(1, file=path)
    binary = write(home / "binary.txt", [[0, 1, 0]])
    assert len(InterleavedRankersVectorEnv(1, file=binary).user.clicking) == 2
    assert len(InterleavedRankersVectorEnv(1, file=binary, grades=5).user.clicking) == 5


def test_the_environment_says_who_plays(home):
    """By default the user of the grades that the labels have; ``grades=5`` plays the five-grade user all the same."""
    path = write(home / "three.txt", [[0, 1, 2, 0], [1, 0, 2]])
    for user_model in users.USERS:
        for more, grades in (({}, 3), ({"grades": 3}, 3), ({"grades": 5}, 5)):
            made = {"file": path, "user_model": user_model, **more}
            for env in (gym.make_vec(LETOR, num_envs=2, **made).unwrapped, gym.make(LETOR, **made).unwrapped):
                assert (env.user_model, env.grades) == (user_model, grades)
                assert all((a == b).all() for a, b in zip(env.user, users.user(user_model, grades), strict=True))
            assert repr(gym.make_vec(LETOR, num_envs=2, **made)).endswith(
                f"num_envs=2, user_model={user_model!r}, grades={grades})"
            )


@pytest.mark.kernels
def test_a_session_with_three_grades_is_played_by_their_user(home):
    """Each click by the coins of the session and the published probabilities of three grades."""
    path = write(home / "three.txt", [[0, 1, 2, 0, 2, 1], [1, 0, 2, 2]])
    labels, start, _ = letor.load(path)[1:]
    for user_model in users.USERS:
        env = InterleavedRankersVectorEnv(40, file=path, user_model=user_model, num_documents=4)
        env.reset(seed=3)
        key, session = row_keys(range(3, 43), ENVIRONMENT), np.zeros(40, np.int64)
        for t, duel in enumerate(duels(env, 5)):
            observation, _, _, _, info = env.step(duel)
            clicks, reward = np.empty((40, 4), np.int8), np.empty(40)
            reader, displayed = users.user(user_model, 3), np.ascontiguousarray(info["displayed"])
            users.click(*reader, labels, start[info["query"]], key, session + t, displayed, clicks, reward)
            assert (clicks == observation).all()


def test_a_side_file_with_the_sizes_makes_the_same_environment(home):
    """LightGBM's form of a file: the same lists, clicks and winners."""
    named = Path(write(home / "named.txt", [[0, 1, 2, 0], [2], [1, 0]]))
    grouped = home / "grouped.txt"
    grouped.write_text(re.sub(r" qid:\d+", "", named.read_text()))
    (home / "grouped.txt.query").write_text("4\n1\n2\n")
    one, two = (InterleavedRankersVectorEnv(20, file=str(path)) for path in (named, grouped))
    one.reset(seed=1)
    two.reset(seed=1)
    for duel in duels(one, 10):
        mine, theirs = one.step(duel)[-1], two.step(duel)[-1]
        assert all(np.array_equal(mine[name], theirs[name], equal_nan=True) for name in KEYS)


def test_a_compressed_file_is_the_same(file, home):
    packed = home / "small.txt.gz"
    packed.write_bytes(gzip.compress(Path(file).read_bytes()))
    one, two = InterleavedRankersVectorEnv(2, file=file), InterleavedRankersVectorEnv(2, file=str(packed))
    assert all((a == b).all() for a, b in zip(one._lists, two._lists, strict=True))


@settings(deadline=None, max_examples=60)
@given(
    st.dictionaries(
        st.sampled_from(["interleaving", "interleaving_knobs", "regret", "cutoff", "reward", "num_positions"]),
        st.one_of(st.integers(-1, 12), st.text(max_size=3), st.none(), st.just("probabilistic"), st.just({"tau": 1})),
        max_size=3,
    )
)
def test_rankings_with_any_arguments_are_made_or_refused(given):
    try:
        env = InterleavedRankingsVectorEnv(1, **given)
    except ValueError as error:
        if "allowed" not in str(error):
            raise
        return
    env.reset(seed=0)
    env.step(duels(env, 1)[0])


def test_rendering(file):
    env = gym.make(LETOR, file=file, render_mode="ansi", query=2)
    env.reset(seed=0)
    assert env.render() == "nothing displayed yet"
    env.step({"left": 1, "right": 3})
    assert re.fullmatch(
        r"query 2, round 0: left 1, right 3; (left|right) won, [\d.]+ to [\d.]+\n  1\. document 0( +click)?",
        env.render(),
    )
    env = gym.make("rankgym/Dueling-PBM-Yandex-v0", render_mode="ansi", query=2)
    env.reset(seed=0)
    env.step({"left": [0, 1, 2, 3, 4], "right": [4, 3, 2, 1, 0]})
    assert "left [0, 1, 2, 3, 4], right [4, 3, 2, 1, 0]" in env.render()
    assert env.render().count("item") == 5


def test_signatures_show_the_arguments_that_the_base_classes_take():
    class Own(InterleavedRankingsVectorEnv):
        def __init__(self, num_envs=1, *, mine=None, **arguments):
            super().__init__(num_envs, **arguments)

    ranking = set(inspect.signature(RankingVectorEnv).parameters)
    assert {"num_envs", "model", "query", "horizon", "render_mode"} <= ranking
    assert not ranking & {"self", "arguments"}
    duels = ranking | {"interleaving", "interleaving_knobs", "regret"}
    assert set(inspect.signature(InterleavedRankingsVectorEnv).parameters) == duels
    assert set(inspect.signature(Own).parameters) == duels | {"mine"}

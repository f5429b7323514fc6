"""The loop with dueling agents: what they are told, when they are asked for their candidate, and who may play."""

import pickle

import gymnasium as gym
import numpy as np
import pytest

import rankgym
from rankgym.play.history import DUELING_MEASURES
from rankgym.play.recording import DuelingRecords
from rankgym.wrappers import AgainstItself
from rankgym_agents import DUELERS, RUCB, BubbleRank, MergeRUCB, RandomDuels, TopRank

ARXIV = "rankgym/Dueling-Arxiv-v0"
LISTS = "rankgym/Dueling-PBM-Yandex-v0"
MODES = ["NextStep", "SameStep", "Disabled"]


class Plain:
    """A dueling agent in plain Python: each arm in turn against arm 2; notes all that it is told."""

    def __init__(self, rows=3):
        self.rows, self.told, self.asked = rows, [], 0

    def act(self, observation):
        arm = len(self.told) % 4
        return {"left": np.full(self.rows, arm), "right": np.full(self.rows, 2)}

    def update(self, duel, won):
        self.told.append((duel["left"].copy(), duel["right"].copy(), won.copy()))


class Names(Plain):
    """And has a candidate: arm 0 until it was told often enough, then arm 1."""

    def __init__(self, rows=3, until=50):
        super().__init__(rows)
        self.until = until

    @property
    def candidate(self):
        self.asked += 1
        return np.full(self.rows, int(len(self.told) >= self.until))


def played(agent, rounds=100, name="rankgym/Dueling-Cyclic-v0", **arguments):
    venv = gym.make_vec(name, num_envs=3, **arguments)
    return rankgym.simulate(agent, venv, rounds, seed=4, progress=False)


def test_records_are_running_sums_and_the_candidate_after_its_round():
    agent = Names()
    history = played(agent, 300)
    assert history._fields == ("rounds", *DUELING_MEASURES)
    assert {1, 10, 100, 300} <= set(history.rounds.tolist())
    venv = gym.make_vec("rankgym/Dueling-Cyclic-v0", num_envs=3)
    venv.reset(seed=4)
    regret, reward = [], []
    for left, right, won in agent.told:
        observation, rewards, _, _, info = venv.step({"left": left, "right": right})
        assert (won == observation).all()
        regret.append(info["regret"])
        reward.append(rewards)
    assert history.regret == pytest.approx(np.cumsum(regret, axis=0)[history.rounds - 1])
    assert history.reward == pytest.approx(np.cumsum(reward, axis=0)[history.rounds - 1])
    assert (history.accuracy == (history.rounds < 50)[:, None]).all()  # arm 0 is the winner
    assert agent.asked == len(history.rounds)  # and not in every round


def test_rounds_to_record_are_recorded_for_the_candidate_too():
    agent = Names(until=124)
    venv = gym.make_vec("rankgym/Dueling-Cyclic-v0", num_envs=3, horizon=None)
    history = rankgym.simulate(agent, venv, 200, seed=4, record_at=[123, 124], progress=False)
    assert history.at(123)["accuracy"].tolist() == [1, 1, 1]
    assert history.at(124)["accuracy"].tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match=r"round = 125 was not recorded; ask for it with record_at=\[125\]"):
        history.at(125)


def test_an_agent_without_a_candidate_has_no_accuracy():
    history = played(Plain())
    assert history.accuracy.shape == history.regret.shape
    assert np.isnan(history.accuracy).all()


CIRCLE = [[0.5, 0.9, 0.1, 0.6], [0.1, 0.5, 0.9, 0.6], [0.9, 0.1, 0.5, 0.6], [0.4, 0.4, 0.4, 0.5]]


@pytest.mark.parametrize("mode", [None, "sync"])
@pytest.mark.parametrize("winner", ["copeland", "borda"])
def test_each_of_several_best_arms_is_right(winner, mode):
    """Arms 0 to 2 beat each other in a circle, and arm 3."""
    venv = gym.make_vec(
        "rankgym/Dueling-Synthetic-v0", num_envs=6, preference=CIRCLE, winner=winner, vectorization_mode=mode
    )
    agent = Plain(6)
    agent.candidate = np.array([0, 1, 2, 3, 77, -1])
    history = rankgym.simulate(agent, venv, 5, seed=0, progress=False)
    assert history.accuracy[-1].tolist() == [1, 1, 1, 0, 0, 0]


@pytest.mark.parametrize("candidate", [np.zeros(2, int), np.zeros(3), np.zeros((3, 1), int), 0, "0"])
def test_a_candidate_that_is_no_arm_a_row_is_refused(candidate):
    agent = Plain()
    agent.candidate = candidate
    with pytest.raises(
        ValueError, match=r"^the agent's candidate has shape .*; allowed: one arm for each row, whole numbers"
    ):
        played(agent)


@pytest.mark.parametrize("mode", MODES)
def test_a_history_at_the_horizon_is_whole_in_every_autoreset_mode(mode):
    def run(mode, horizon):
        venv = gym.make_vec(ARXIV, num_envs=3, horizon=horizon, num_arms=4, autoreset_mode=mode)
        agent = RUCB.for_env(venv, seed=0)
        return rankgym.simulate(agent, venv, 60, seed=0, progress=False), agent

    (one, learned), (other, knows) = run(mode, 60), run("NextStep", None)
    shared = [other.rounds.tolist().index(round) for round in one.rounds]
    assert all((a == b[shared]).all() for a, b in zip(one, other, strict=True))
    assert all((a == b).all() for a, b in zip(learned.state, knows.state, strict=True))  # the last duel, too


def test_the_best_arm_is_that_of_the_episode_that_was_played():
    """Autoreset in the same step draws other arms after the last duel, before it is recorded."""

    def accuracies(mode):
        venv = gym.make_vec(ARXIV, num_envs=200, horizon=10, num_arms=4, autoreset_mode=mode)
        agent = Names(200, until=0)
        return rankgym.simulate(agent, venv, 10, seed=1, progress=False).accuracy

    assert (accuracies("SameStep") == accuracies("Disabled")).all()
    assert 0 < accuracies("SameStep").mean() < 1


def test_a_batch_of_singles_is_simulated_like_the_native_batch():
    def run(**keywords):
        venv = gym.make_vec(ARXIV, num_envs=3, horizon=150, **keywords)
        return rankgym.simulate(MergeRUCB.for_env(venv, seed=0), venv, 150, seed=0, progress=False)

    one, other = run(), run(vectorization_mode="sync")
    assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("name", DUELERS)
def test_the_same_seed_gives_the_same_history_row_by_row(name):
    def run(rows, seed):
        venv = gym.make_vec(ARXIV, num_envs=rows, horizon=300)
        return rankgym.simulate(DUELERS[name].for_env(venv, seed=seed), venv, 300, seed=seed, progress=False)

    whole, alone = run(5, 20), run(1, 23)
    assert all((a[:, 3] == b[:, 0]).all() for a, b in zip(whole[1:], alone[1:], strict=True))


def test_a_history_is_shown_in_one_line_and_is_a_tuple():
    history = played(Names())
    mean = history.regret[-1].mean()
    assert (
        repr(history)
        == str(history)
        == (
            f"DuelingHistory(rounds=100, records={len(history.rounds)}, rows=3, mean_final_regret={mean:.6g}, "
            "mean_final_accuracy=0)"
        )
    )
    assert repr(history._replace(accuracy=history.accuracy * np.nan)).endswith(f"mean_final_regret={mean:.6g})")
    empty = history._replace(rounds=history.rounds[:0], regret=history.regret[:0], accuracy=history.accuracy[:0])
    assert repr(empty) == "DuelingHistory(records=0, rows=3)"
    assert repr(history._replace(regret=history.regret[-1])).startswith("(array(")  # somebody's own
    back = pickle.loads(pickle.dumps(history))
    assert type(back) is type(history)
    assert all(np.array_equal(a, b) for a, b in zip(back, history, strict=True))


def test_progress_is_told_and_adds_up():
    told = []
    venv = gym.make_vec(ARXIV, num_envs=3)
    rankgym.simulate(Names(), venv, 777, seed=0, progress=told.append)
    assert sum(told) == 777


# -- who may play -----------------------------------------------------------------------------------------------------


def test_an_agent_of_the_other_kind_is_refused_and_told_who_may_play():
    duels, rankings = gym.make_vec(ARXIV, num_envs=2), gym.make_vec("rankgym/PBM-Yandex-v0", num_envs=2)
    ranker, dueler = TopRank.for_env(rankings, horizon=9), RandomDuels.for_env(duels)
    words = r"ranks items, but the environment has duels of arms; allowed: a dueling agent, .* rankgym_agents\.DUELERS$"
    with pytest.raises(ValueError, match=rf"^agent = TopRank\(.*\) {words}"):
        rankgym.simulate(ranker, duels, 5)
    words = r"plays duels, but the environment has rankings; allowed: a ranking agent, .* rankgym_agents\.RANKERS$"
    with pytest.raises(ValueError, match=rf"^agent = RandomDuels\(.*\) {words}"):
        rankgym.simulate(dueler, rankings, 5)
    with pytest.raises(
        ValueError, match=r"the environment has duels of lists; allowed: a ranking agent, .* against itself$"
    ):
        rankgym.simulate(dueler, gym.make_vec(LISTS, num_envs=2), 5)


@pytest.mark.parametrize("agent", [TopRank, BubbleRank])
def test_a_list_against_itself_is_the_ranking_environment(agent):
    """The same lists, clicks and regret, bit for bit; what is not of duels is not recorded."""
    rankings = gym.make_vec("rankgym/PBM-Yandex-v0", num_envs=4, query="all", horizon=500)
    wanted = rankgym.simulate(agent.for_env(rankings, seed=3), rankings, 500, seed=3, progress=False)
    venv = gym.make_vec(LISTS, num_envs=4, query="all", horizon=500)
    for env in (venv, AgainstItself(venv)):
        found = rankgym.simulate(agent.for_env(AgainstItself(venv), seed=3), env, 500, seed=3, progress=False)
        assert type(found) is rankgym.DuelingHistory
        assert (found.rounds == wanted.rounds).all()
        assert (found.reward == wanted.reward).all()
        assert found.regret == pytest.approx(wanted.regret, rel=1e-12)
        assert np.isnan(found.accuracy).all()


def test_lists_that_duel_are_told_who_won():
    class TwoLists:
        won = None

        def act(self, observation):
            lists = np.tile(np.arange(5), (2, 1))
            return {"left": lists, "right": lists[:, ::-1]}

        def update(self, duel, won):
            self.won = won

    agent, seen = TwoLists(), []
    venv = gym.make_vec(LISTS, num_envs=2, query=[0, 1], horizon=30, autoreset_mode="SameStep")
    plain, venv.step = venv.step, lambda action: seen.append(plain(action)) or seen[-1]
    rankgym.simulate(agent, venv, 30, seed=0, progress=False)
    assert agent.won.tolist() == [[1 - w, w] for w in seen[-1][4]["final_info"]["winner"]]


def test_probabilistic_interleaving_mixes_up_a_list_against_itself():
    venv = gym.make_vec(LISTS, num_envs=2, interleaving="probabilistic")
    with pytest.raises(ValueError, match=r"^interleaving = 'probabilistic' displays another list .*; allowed for a"):
        AgainstItself(venv)
    with pytest.raises(ValueError, match=r"allowed: a Dict of the lists left and right$"):
        AgainstItself(gym.make_vec(ARXIV, num_envs=2))


def test_what_does_not_fit_is_refused_before_anything_is_played():
    venv = gym.make_vec(ARXIV, num_envs=3, horizon=10)
    with pytest.raises(ValueError, match="rounds = 11 exceeds the environment's horizon; make it with horizon=11"):
        rankgym.simulate(Names(), venv, 11)
    agent = RUCB(num_arms=6, num_envs=2)
    with pytest.raises(ValueError, match=r"the agent has 2 rows and env 3; make it with RUCB\.for_env"):
        rankgym.simulate(agent, venv, 5)
    for arms in (5, 7):  # fewer would go unnoticed, of more some duel would be refused in the middle
        agent = RUCB(num_arms=arms, num_envs=3)
        with pytest.raises(ValueError, match=rf"the agent has {arms} arms and env 6; make it with RUCB\.for_env"):
            rankgym.simulate(agent, venv, 5)
    assert venv.unwrapped.unseeded


def test_recorders_of_rankings_refuse_duels():
    for recorder, series in ((rankgym.RecordSafety, "violations"), (rankgym.RecordRanking, "ndcg")):
        for env in (gym.make_vec(ARXIV, num_envs=2), gym.make(ARXIV), gym.make_vec(LISTS, num_envs=2)):
            with pytest.raises(
                ValueError, match=rf"is an environment of duels, which have no {series}; allowed: .*Rec"
            ):
                recorder(env)


@pytest.mark.parametrize("mode", MODES)
def test_regret_of_duels_is_recorded_in_both_shells(mode):
    """The totals at an episode's end are those of a single environment played alone."""
    duels = np.random.default_rng(0).integers(0, 6, (24, 2, 3))
    totals = []
    for row in range(3):
        single = rankgym.RecordRegret(gym.make(ARXIV, horizon=6))
        single.reset(seed=row)
        for t, (left, right) in enumerate(duels[:, :, row].tolist()):
            info = single.step({"left": left, "right": right})[4]
            if t % 6 == 5:
                totals.append(info["episode_regret"])
                assert info["episode_reward"] == -info["episode_regret"]
                single.reset()
    env = rankgym.RecordRegret(gym.make_vec(ARXIV, num_envs=3, horizon=6, autoreset_mode=mode))
    env.reset(seed=0)
    seen = []
    for left, right in duels:
        _, _, _, truncated, info = env.step({"left": left, "right": right})
        if truncated.any():
            seen.append(info["episode_regret"])
            if mode == "Disabled":
                env.reset()
            elif mode == "NextStep":
                env.step({"left": left, "right": right})  # ignored
    assert np.array(seen) == pytest.approx(np.array(totals).reshape(3, 4).T)


def test_unknown_regret_is_recorded_as_unknown():
    """As of a LETOR file without a preference matrix: regret is NaN, and rounds go on all the same."""

    class Unknown(gym.vector.VectorWrapper):
        def step(self, actions):
            *step, info = self.env.step(actions)
            return *step, {**info, "regret": np.full(self.num_envs, np.nan)}

    history = rankgym.simulate(Names(), Unknown(gym.make_vec(ARXIV, num_envs=3)), 50, seed=0, progress=False)
    assert history.rounds[-1] == 50
    assert np.isnan(history.regret).all()
    assert not np.isnan(history.reward).any()
    assert repr(history).startswith("DuelingHistory(rounds=50, ")


def test_an_environment_without_a_best_arm_has_no_accuracy():
    venv = gym.make_vec(ARXIV, num_envs=3)
    loop = DuelingRecords(venv, [5], Names())
    venv.reset(seed=0)
    best = venv.unwrapped.best_arm
    for unknown in (None, -1, np.array([best[0], -1, best[2]])):
        loop.begin()
        arm = np.broadcast_to(-1 if unknown is None else unknown, 3)
        loop.best = np.arange(venv.unwrapped.preference.shape[1]) == arm[:, None]
        loop.accuracy.clear()
        loop.look(5)
        known = [isinstance(unknown, np.ndarray) and unknown[row] >= 0 for row in range(3)]
        assert (~np.isnan(loop.accuracy[0])).tolist() == known

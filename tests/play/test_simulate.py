"""The loop: shapes, pairing, and what it refuses."""

import pickle

import gymnasium as gym
import numpy as np
import pytest

import rankgym
import rankgym_agents

PBM = "rankgym/PBM-Yandex-v0"


class Plain:
    """An agent in plain Python: no base class, no numba. Shows the most clicked items first, after some shuffling."""

    def __init__(self, env, seed=0):
        self.rng = np.random.default_rng(seed)
        self.clicks = np.zeros((env.num_envs, env.single_action_space.n))
        self.positions = env.single_action_space.k

    def act(self, observation):
        return np.argsort(-self.clicks - self.rng.random(self.clicks.shape), axis=1)[:, : self.positions]

    def update(self, displayed, clicks):
        np.put_along_axis(self.clicks, displayed, np.take_along_axis(self.clicks, displayed, 1) + clicks, axis=1)


def test_a_plain_python_agent_is_simulated():
    venv = gym.make_vec(PBM, num_envs=20, query="all", horizon=2000)
    history = rankgym.simulate(Plain(venv), venv, rounds=2000, seed=0, record_at=[123], progress=False)
    assert history.rounds[-1] == 2000
    assert 123 in history.rounds
    for name in ("regret", "violations", "ndcg", "reward"):
        assert getattr(history, name).shape == (len(history.rounds), 20)
    assert (np.diff(history.regret, axis=0) >= -1e-9).all()
    assert (history.ndcg > 0).all()
    assert (history.ndcg <= 1 + 1e-12).all()
    assert (history.at(123)["regret"] == history.regret[history.rounds == 123][0]).all()
    with pytest.raises(ValueError, match=r"round = 122 was not recorded; ask for it with record_at=\[122\]"):
        history.at(122)


def test_regret_by_epoch_is_no_record():
    venv = gym.make_vec(PBM, num_envs=3)
    history = rankgym.simulate(Plain(venv), venv, rounds=20, seed=0, progress=False)
    assert history.epoch_regret.shape == (0, 3)
    assert list(history.at(20)) == ["regret", "violations", "ndcg", "reward"]
    venv = gym.make_vec("rankgym/PBM-Yandex-Breakpoint-v0", num_envs=3, breakpoints=[5, 12, 50])
    history = rankgym.simulate(Plain(venv), venv, rounds=20, seed=0, record_at=[5, 12], progress=False)
    assert list(history.at(20)) == ["regret", "violations", "ndcg", "reward"]
    corners = [np.zeros(3), *(history.at(round)["regret"] for round in (5, 12, 20))]
    assert np.allclose(history.epoch_regret, np.diff(corners, axis=0), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_regret_by_epoch_is_whole_at_the_horizon_in_every_autoreset_mode(mode):
    arguments = {"num_envs": 3, "query": 1, "horizon": 30, "num_breakpoints": 4, "autoreset_mode": mode}
    venv = gym.make_vec("rankgym/CM-Yandex-Breakpoint-v0", **arguments)
    history = rankgym.simulate(Plain(venv), venv, rounds=30, seed=0, progress=False)
    assert history.epoch_regret.shape == (5, 3)
    assert np.allclose(history.epoch_regret.sum(axis=0), history.regret[-1], rtol=1e-12, atol=1e-12)


def test_a_history_is_shown_in_one_line_and_is_a_tuple_as_ever():
    venv = gym.make_vec("rankgym/CM-Yandex-Breakpoint-v0", num_envs=3, query=1, breakpoints=[40, 60])
    history = rankgym.simulate(Plain(venv), venv, rounds=100, seed=0, progress=False)
    mean = history.regret[-1].mean()
    assert repr(history) == (
        f"History(rounds=100, records={len(history.rounds)}, rows=3, mean_final_regret={mean:.6g}, epochs=3)"
    )
    still = history._replace(epoch_regret=np.empty((0, 3)))
    assert repr(still) == repr(history).replace(", epochs=3", "")
    assert str(history) == repr(history)
    assert history._fields == ("rounds", "regret", "violations", "ndcg", "reward", "epoch_regret")
    rounds, *measures, epochs = history
    assert rounds is history.rounds
    assert len(measures) == 4
    assert epochs is history.epoch_regret
    back = pickle.loads(pickle.dumps(history))
    assert type(back) is type(history)
    assert all(np.array_equal(a, b) for a, b in zip(back, history, strict=True))
    assert repr(history._replace(rounds=history.rounds[:0], regret=history.regret[:0])) == (
        "History(records=0, rows=3, epochs=3)"
    )
    assert repr(history._replace(regret=history.regret[-1])).startswith("(array(")  # somebody's own


def test_the_same_seed_gives_the_same_history():
    def run(seed):
        venv = gym.make_vec(PBM, num_envs=4, query="all")
        return rankgym.simulate(Plain(venv), venv, rounds=300, seed=seed, progress=False)

    one, two, other = run(5), run(5), run(6)
    assert all((a == b).all() for a, b in zip(one, two, strict=True))
    assert not (one.reward == other.reward).all()


def test_progress_is_told_to_a_function_and_adds_up():
    venv = gym.make_vec(PBM, num_envs=2)
    told = []
    rankgym.simulate(Plain(venv), venv, rounds=777, seed=0, progress=told.append)
    assert sum(told) == 777


def test_a_bar_is_shown_only_on_long_work(capsys, monkeypatch):
    from rankgym import progress

    venv = gym.make_vec(PBM, num_envs=2)
    rankgym.simulate(Plain(venv), venv, rounds=50, seed=0)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    rankgym.simulate(Plain(venv), venv, rounds=500, seed=0)
    assert "500/500" in capsys.readouterr().err


def test_a_history_at_the_horizon_is_whole_in_every_autoreset_mode():
    histories, clicks = [], []
    for mode in ("NextStep", "SameStep", "Disabled"):
        venv = gym.make_vec(PBM, num_envs=3, query=1, horizon=50, autoreset_mode=mode)
        agent = Plain(venv)
        histories.append(rankgym.simulate(agent, venv, rounds=50, seed=0, progress=False))
        clicks.append(agent.clicks)
    assert all((a == b).all() for other in histories[1:] for a, b in zip(histories[0], other, strict=True))
    assert histories[0].rounds[-1] == 50
    assert all((c == clicks[0]).all() for c in clicks)  # the agent has learned from the last session, too
    assert clicks[0].sum() == histories[0].reward[-1].sum()


def test_what_does_not_fit_is_refused_before_anything_is_played():
    venv = gym.make_vec(PBM, num_envs=2, horizon=10)
    agent = Plain(venv)
    with pytest.raises(ValueError, match="rounds = 11 exceeds the environment's horizon; make it with horizon=11"):
        rankgym.simulate(agent, venv, rounds=11)
    for endless in (None, 2**64):
        long = gym.make_vec(PBM, num_envs=2, horizon=endless)
        with pytest.raises(ValueError, match=rf"rounds = {2**63 - 1} is out of range; allowed: .* 1 \.\. {2**62}$"):
            rankgym.simulate(agent, long, 2**63 - 1, progress=False)
    with pytest.raises(ValueError, match=rf"rounds = {2**53} is out of range; allowed: .* 1 \.\. {10**15}$"):
        rankgym.simulate(agent, gym.make_vec(PBM, num_envs=2, horizon=None), 2**53, progress=False)
    with pytest.raises(ValueError, match="rounds = 0 is out of range"):
        rankgym.simulate(agent, venv, rounds=0)
    with pytest.raises(ValueError, match=r"make one with gym\.make_vec"):
        rankgym.simulate(agent, gym.make(PBM), rounds=5)
    agent.num_envs = 3
    with pytest.raises(ValueError, match=r"the agent has 3 rows and env 2; make it with Plain\.for_env"):
        rankgym.simulate(agent, venv, rounds=5)
    del agent.num_envs
    with pytest.raises(ValueError, match=r"record_at = 11 .* 1 \.\. 5"):
        rankgym.simulate(agent, venv, rounds=5, record_at=[11])


@pytest.mark.parametrize("horizon", [200, None])
def test_a_batch_of_singles_is_simulated_like_the_native_batch(horizon):
    def run(**keywords):
        venv = gym.make_vec(PBM, num_envs=3, query=[3, 1, 4], horizon=horizon, **keywords)
        return rankgym.simulate(rankgym_agents.TopRank.for_env(venv, horizon=200, seed=0), venv, 200, seed=0)

    # singles of a batch cannot be told apart by "query", so each plays the list's first one
    sync = run(vectorization_mode="sync")
    assert (sync.at(200)["regret"] > 0).all()
    assert (sync.regret[:, 0] == run().regret[:, 0]).all()


def test_a_time_limit_is_a_horizon():
    singles = gym.make_vec(PBM, num_envs=2, query=3, vectorization_mode="sync", max_episode_steps=50)
    assert rankgym_agents.TopRank.for_env(singles).horizon == 50
    assert rankgym_agents.TopRank.for_env(gym.wrappers.TimeLimit(gym.make(PBM), 60)).horizon == 60
    with pytest.raises(ValueError, match="rounds = 100 exceeds the environment's horizon"):
        rankgym.simulate(rankgym_agents.TopRank.for_env(singles), singles, 100)


def test_an_episode_that_ends_early_is_noticed():
    class Hurry(gym.vector.VectorWrapper):
        def step(self, actions):
            observation, reward, terminated, truncated, info = self.env.step(actions)
            self.env.unwrapped._ended[:] = True  # as if a wrapper had cut the episode
            self.env.unwrapped._some_ended = True
            return observation, reward, terminated, truncated | True, info

    env = Hurry(gym.make_vec(PBM, num_envs=2))
    with pytest.raises(RuntimeError, match="ended before round 20"):
        rankgym.simulate(Plain(env), env, 20)


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        (
            rankgym_agents.TopRank,
            r"TopRank.*is not an agent; allowed: an object with act and update, such as TopRank\.for_env",
        ),
        ("toprank", "agent = 'toprank' is not an agent"),
    ],
)
def test_what_is_no_agent_is_refused(agent, words):
    with pytest.raises(ValueError, match=words):
        rankgym.simulate(agent, gym.make_vec(PBM, num_envs=2), 10)


def test_rounds_to_record_are_a_list():
    env = gym.make_vec(PBM, num_envs=2)
    with pytest.raises(ValueError, match=r"record_at = 50 is not a list; allowed: round numbers such as \[100, 1000\]"):
        rankgym.simulate(Plain(env), env, 100, record_at=50)


def test_other_environments_are_refused():
    env = gym.make_vec("CartPole-v1", num_envs=2)
    with pytest.raises(ValueError, match="is not a ranking"):
        rankgym.simulate(rankgym_agents.TopRank(num_items=3, num_positions=2, num_envs=2, horizon=9), env, 5)
    with pytest.raises(ValueError, match="is not a ranking"):
        rankgym.RecordRegret(gym.make("CartPole-v1"))
    with pytest.raises(ValueError, match=r"is not an environment; allowed: the result of gym\.make"):
        rankgym_agents.TopRank.for_env(PBM)


def test_odd_seeds_and_bars_are_refused_by_name():
    venv = gym.make_vec(PBM, num_envs=2)
    for odd, said in [
        ({"seed": [[0, 1], [1]]}, r"seed\[0\] = \[0, 1\]"),
        ({"progress": np.array([1, 2])}, "progress = "),
    ]:
        with pytest.raises(ValueError, match=said + ".* is out of range; allowed: "):
            rankgym.simulate(Plain(venv), venv, 5, **odd)

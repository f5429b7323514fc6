"""PPO in one file, in CleanRL's manner: plain torch, no library of algorithms, one vector environment.

The policy draws a ranking item by item, in proportion to exp(score) of the items left (Plackett-Luce). A network scores
every item by the same weights from what a bandit would count. It learns on the training queries, and plays on others,
beside the production list and Thompson sampling, with the same users. The regret of a list is known in training only;
--reward clicks learns from clicks alone, which are far noisier.

python examples/cleanrl_ppo.py                       # four minutes on one core
"""

import argparse
import sys

import gymnasium as gym
import numpy as np

import rankgym
from rankgym.wrappers import ItemStatistics, RecordRegret
from rankgym_agents import StaticRanker, ThompsonCascade

try:
    import torch
    from torch import nn
except ModuleNotFoundError:
    sys.exit('There is no torch here; this example needs pip install "rankgym[sb3]".')

STEPS_A_ROLLOUT, EPOCHS, MINIBATCHES = 16, 4, 4
GAMMA, LAMBDA, CLIP, ENTROPY, VALUE, MAX_NORM, RATE = 0.99, 0.9, 0.2, 0.01, 0.5, 0.5, 1e-3


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=1_000, help="user sessions of an episode (default: 1000)")
    parser.add_argument("--steps", type=int, default=2_000_000, help="sessions of all rows to learn from")
    parser.add_argument("--rows", type=int, default=256, help="users played in parallel, a query each (default: 256)")
    parser.add_argument("--reward", choices=("regret", "clicks"), default="regret", help="(default: regret)")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


class Policy(nn.Module):
    """Scores of all items, and the value of the state. Each item is also shown the mean of the others."""

    def __init__(self, features, width=64):
        super().__init__()
        self.item = nn.Sequential(nn.Linear(features, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.score = nn.Sequential(nn.Linear(2 * width, width), nn.ReLU(), nn.Linear(width, 1))
        self.value = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, table):
        """``table`` (rows, items, features) -> scores (rows, items), values (rows,)."""
        items = self.item(table)
        mean = items.mean(dim=1)
        beside = mean[:, None].expand(-1, items.shape[1], -1)
        return self.score(torch.cat([items, beside], dim=-1)).squeeze(-1), self.value(mean).squeeze(-1)


def draw(scores, positions):
    """Rankings (rows, positions), Plackett-Luce: the largest of score + Gumbel noise."""
    noise = -torch.log(torch.empty_like(scores).exponential_())
    return (scores + noise).topk(positions, dim=1).indices


def log_prob(scores, rankings):
    """The logarithm of each ranking's probability, and the entropy of its draws: sums over positions, (rows,)."""
    total, entropy, left = 0.0, 0.0, scores
    for item in rankings.T[:, :, None]:
        log_probs = torch.log_softmax(left, dim=1)
        total = total + log_probs.gather(1, item).squeeze(1)
        entropy = entropy - (log_probs.exp() * log_probs).sum(dim=1)
        left = left.scatter(1, item, -1e9)  # displayed: its probability is 0 from now on
    return total, entropy


def to_tensor(array):
    return torch.as_tensor(array, dtype=torch.float32)


def learn(given):
    # The environment does not reset itself: so the observation after an episode's last session is the true one.
    env = gym.make_vec(
        "rankgym/PBM-Yandex-v0", given.rows, query="train", horizon=given.rounds, autoreset_mode="Disabled"
    )
    env = RecordRegret(ItemStatistics(env))
    positions = env.unwrapped.num_positions
    policy = Policy(env.single_observation_space.shape[-1])
    optimizer = torch.optim.Adam(policy.parameters(), lr=RATE, eps=1e-5)
    observation, _ = env.reset(seed=given.seed)
    updates = max(given.steps // (given.rows * STEPS_A_ROLLOUT), 1)
    # First episodes end early, at random, so that every rollout has early and late sessions.
    first_end = np.random.default_rng(given.seed).integers(given.rounds, size=given.rows)
    for update in range(updates):
        optimizer.param_groups[0]["lr"] = RATE * (1 - update / updates)
        rollout, regret = [], 0.0
        for _ in range(STEPS_A_ROLLOUT):
            table = to_tensor(observation)
            with torch.no_grad():
                scores, value = policy(table)
                rankings = draw(scores, positions)
                chosen, _ = log_prob(scores, rankings)
            observation, clicks, _, truncated, info = env.step(rankings.numpy())
            truncated |= info["round"] == first_end
            first_end[truncated] = -1
            reward = to_tensor(clicks if given.reward == "clicks" else -info["regret"])
            with torch.no_grad():  # an episode's end is not an end for the policy: the value goes on
                following = policy(to_tensor(observation))[1]
            rollout.append((table, rankings, chosen, value, reward, following, to_tensor(truncated)))
            regret += info["regret"].mean() / STEPS_A_ROLLOUT
            if truncated.any():
                observation, _ = env.reset(options={"reset_mask": truncated})
        improve(policy, optimizer, [torch.stack(parts) for parts in zip(*rollout, strict=True)])
        if update % max(updates // 10, 1) == 0 or update == updates - 1:
            done = (update + 1) * given.rows * STEPS_A_ROLLOUT
            print(f"{done:>9,} sessions: regret {regret:.3f} a session", flush=True)
    return policy


def improve(policy, optimizer, rollout):
    """One PPO update on a rollout of arrays (steps, rows, ...)."""
    table, rankings, chosen, value, reward, following, truncated = rollout
    advantage, tail = torch.zeros_like(reward), torch.zeros_like(reward[0])
    for step in reversed(range(len(reward))):
        surprise = reward[step] + GAMMA * following[step] - value[step]
        advantage[step] = tail = surprise + GAMMA * LAMBDA * (1 - truncated[step]) * tail
    target = advantage + value
    table, rankings, chosen, advantage, target = (
        part.flatten(0, 1) for part in (table, rankings, chosen, advantage, target)
    )
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(table)).chunk(MINIBATCHES):
            scores, values = policy(table[rows])
            now, entropy = log_prob(scores, rankings[rows])
            ratio, gain = torch.exp(now - chosen[rows]), advantage[rows]
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
            pushed = -torch.min(ratio * gain, ratio.clamp(1 - CLIP, 1 + CLIP) * gain).mean()
            loss = pushed + VALUE * ((values - target[rows]) ** 2).mean() - ENTROPY * entropy.mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), MAX_NORM)
            optimizer.step()


def test_environment(rounds):
    return gym.make_vec("rankgym/PBM-Yandex-v0", num_envs=100, query="test", horizon=rounds)


def evaluate(policy, rounds, seed):
    """Regret (rows,) of the policy on the test queries, which it has not learned from."""
    env = RecordRegret(ItemStatistics(test_environment(rounds)))
    observation, _ = env.reset(seed=seed)
    for _ in range(rounds):
        with torch.no_grad():
            rankings = draw(policy(to_tensor(observation))[0], env.unwrapped.num_positions)
        observation, *_ = env.step(rankings.numpy())
    return env.totals["regret"]


def main():
    given = arguments()
    torch.manual_seed(given.seed)
    torch.set_num_threads(1)
    policy = learn(given)
    results = {"PPO": evaluate(policy, given.rounds, seed=1_000)}
    for agent_class, knobs in ((StaticRanker, {}), (ThompsonCascade, {"feedback": "all"})):
        env = test_environment(given.rounds)
        agent = agent_class.for_env(env, seed=0, **knobs)
        results[agent_class.__name__] = rankgym.simulate(agent, env, given.rounds, seed=1_000).regret[-1]
    for name, regret in results.items():
        error = regret.std(ddof=1) / np.sqrt(len(regret))
        print(f"{name:15s} regret after {given.rounds:,} sessions: {regret.mean():7.1f} ± {error:.1f}")


if __name__ == "__main__":
    main()

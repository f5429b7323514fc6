"""TorchRL's PPO on a native vector environment: scores of all items as the action, the best ones are displayed.

TorchRL resets rows itself: autoreset_mode="Disabled" ("SameStep" works, too; Gymnasium's default "NextStep" does not).
The policy learns on the training queries, and plays on others, beside the production list and Thompson sampling, with
the same users.

pip install "rankgym[torchrl]"
python examples/torchrl_ppo.py                       # three minutes on one core
"""

import argparse
import sys
import warnings

import gymnasium as gym
import numpy as np

import rankgym
from rankgym.wrappers import ItemStatistics, RecordRegret, ScoresToRanking
from rankgym_agents import StaticRanker, ThompsonCascade

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of TorchRL about itself and other libraries
        import torch
        from tensordict.nn import NormalParamExtractor, TensorDictModule
        from torch import nn
        from torchrl.envs import ExplorationType, set_exploration_type
        from torchrl.envs.libs.gym import GymWrapper
        from torchrl.modules import ProbabilisticActor, TanhNormal, ValueOperator
        from torchrl.objectives import ClipPPOLoss
        from torchrl.objectives.value import GAE
except ModuleNotFoundError as error:
    sys.exit(f'There is no {error.name} here; this example needs pip install "rankgym[torchrl]".')

STEPS_A_ROLLOUT, EPOCHS, MINIBATCHES, RATE = 16, 4, 4, 1e-3


class RegretAsReward(gym.vector.VectorWrapper):
    """Pays minus the expected regret of the list instead of clicks: less noisy, and known in training only."""

    def step(self, actions):
        observation, _, terminated, truncated, info = self.env.step(actions)
        return observation, -info["regret"], terminated, truncated, info


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=1_000, help="user sessions of an episode (default: 1000)")
    parser.add_argument("--steps", type=int, default=1_000_000, help="sessions of all rows to learn from")
    parser.add_argument("--rows", type=int, default=256, help="users played in parallel, a query each (default: 256)")
    return parser.parse_args()


def bare_environment(num_envs, query, rounds, **keywords):
    return gym.make_vec("rankgym/PBM-Yandex-v0", num_envs=num_envs, query=query, horizon=rounds, **keywords)


class ItemNetwork(nn.Module):
    """The same small network for every item: a table (..., items, features) -> (..., items, outputs)."""

    def __init__(self, features, outputs, width=64):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(features, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.last = nn.Linear(2 * width, outputs)

    def forward(self, table):
        items = self.layers(table)
        beside = items.mean(dim=-2, keepdim=True).expand_as(items)  # what the others look like
        return self.last(torch.cat([items, beside], dim=-1))


class Scores(ItemNetwork):
    """Mean and spread of every item's score: (..., 2 * items), as NormalParamExtractor takes them."""

    def forward(self, table):
        return super().forward(table).transpose(-1, -2).flatten(-2)


class Value(ItemNetwork):
    """The value of the state, (..., 1)."""

    def forward(self, table):
        return super().forward(table).mean(dim=-2)


def networks(env):
    features = env.observation_spec["observation"].shape[-1]
    scores = nn.Sequential(Scores(features, 2), NormalParamExtractor(scale_lb=0.05))
    actor = ProbabilisticActor(
        TensorDictModule(scores, in_keys=["observation"], out_keys=["loc", "scale"]),
        in_keys=["loc", "scale"],
        distribution_class=TanhNormal,
        distribution_kwargs={"low": -1.0, "high": 1.0},
        return_log_prob=True,
    )
    return actor, ValueOperator(Value(features, 1), in_keys=["observation"])


def learn(given):
    env = bare_environment(given.rows, "train", given.rounds, autoreset_mode="Disabled")
    env = GymWrapper(RegretAsReward(ScoresToRanking(ItemStatistics(env))))
    env.set_seed(0)
    actor, value = networks(env)
    advantage = GAE(gamma=0.99, lmbda=0.9, value_network=value)
    loss = ClipPPOLoss(actor, value, entropy_coeff=0.001, normalize_advantage=True)
    optimizer = torch.optim.Adam(loss.parameters(), lr=RATE)
    updates, state = max(given.steps // (given.rows * STEPS_A_ROLLOUT), 1), env.reset()
    for update in range(updates):
        optimizer.param_groups[0]["lr"] = RATE * (1 - update / updates)
        with torch.no_grad(), set_exploration_type(ExplorationType.RANDOM):
            rollout = env.rollout(STEPS_A_ROLLOUT, actor, auto_reset=False, tensordict=state, break_when_any_done=False)
            state = env.step_mdp(rollout[:, -1].clone()) if not rollout["next", "done"][:, -1].any() else env.reset()
            advantage(rollout)  # an episode is truncated, not terminated: its last value counts
        flat = rollout.reshape(-1)
        for _ in range(EPOCHS):
            for rows in torch.randperm(len(flat)).chunk(MINIBATCHES):
                losses = loss(flat[rows])
                optimizer.zero_grad()
                (losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]).backward()
                nn.utils.clip_grad_norm_(loss.parameters(), 0.5)
                optimizer.step()
        if update % max(updates // 10, 1) == 0 or update == updates - 1:
            done, regret = (update + 1) * len(flat), -rollout["next", "reward"].mean().item()
            print(f"{done:>9,} sessions: regret {regret:.3f} a session", flush=True)
    return actor


def evaluate(actor, rounds):
    """Regret (rows,) of the policy on the test queries, which it has not learned from."""
    env = RecordRegret(ScoresToRanking(ItemStatistics(bare_environment(100, "test", rounds))))
    observation, _ = env.reset(seed=1_000)
    with torch.no_grad(), set_exploration_type(ExplorationType.RANDOM):
        for _ in range(rounds):
            *_, action, _ = actor(torch.as_tensor(observation))
            observation, *_ = env.step(action.numpy())
    return env.totals["regret"]


def main():
    given = arguments()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    results = {"TorchRL's PPO": evaluate(learn(given), given.rounds)}
    for agent_class, knobs in ((StaticRanker, {}), (ThompsonCascade, {"feedback": "all"})):
        env = bare_environment(100, "test", given.rounds)
        agent = agent_class.for_env(env, seed=0, **knobs)
        results[agent_class.__name__] = rankgym.simulate(agent, env, given.rounds, seed=1_000).regret[-1]
    for name, regret in results.items():
        error = regret.std(ddof=1) / np.sqrt(len(regret))
        print(f"{name:15s} regret after {given.rounds:,} sessions: {regret.mean():7.1f} ± {error:.1f}")


if __name__ == "__main__":
    main()

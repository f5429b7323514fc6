# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # First steps: the learning loop of a single environment
#
# A search engine shows a list, a user clicks, and the next list should be better. This tutorial writes that loop
# down, line by line: an environment, a learner of your own in plain Python, a curve that shows whether it learns, and
# a hundred such runs with a standard error.
#
# It needs `pip install "rankgym[experiments]"`, and runs in less than a minute.

# %%
import random

import gymnasium as gym
import matplotlib.pyplot as plt
import numpy as np

import rankgym
from rankgym.style import RC_PARAMS, looks

plt.rcParams.update(RC_PARAMS | {"figure.dpi": 130, "figure.constrained_layout.use": True})

# %% [markdown]
# ## One environment, one user
#
# `query=3` is one of 100 queries. Each query has ten items of its own and its own users; we display five of the
# items.

# %%
env = gym.make("rankgym/PBM-Yandex-v0", query=3)
observation, info = env.reset(seed=3)

print("actions:     ", env.action_space)
print("observations:", env.observation_space)
print("observation: ", observation)

# %% [markdown]
# An **action** is a ranking: five different items out of ten, best first. An **observation** is five clicks, 0 or 1.
# Nobody has clicked yet.
#
# One step is one user session: we display a list, one user looks at it, and clicks.

# %%
ranking = [0, 1, 2, 3, 4]
observation, reward, terminated, truncated, info = env.step(ranking)

print("displayed:", ranking)
print("clicks:   ", observation)
print("reward:   ", reward)

# %% [markdown]
# The reward is the number of clicks. `terminated` and `truncated` are both `False`: there is always another user,
# unless you ask for an end with `horizon=`.

# %%
print("terminated:", terminated, "  truncated:", truncated)

# %% [markdown]
# ## What `info` is for
#
# A simulation knows more than a search engine does: how many clicks the list earns *on average*, and how many the
# best list would earn. The difference is the **regret** of this list.

# %%
for name, value in info.items():
    print(f"{name:16} {value}")

# %% [markdown]
# `info` is for **evaluation only**. An agent that reads it looks up the answer instead of learning it. Only the
# displayed list and the clicks may go into a learner.
#
# ## What a bad action looks like
#
# A list that is not a ranking is refused, and nothing happens: no user comes.

# %%
for bad in ([0, 1, 2, 3, 3], [0, 1, 2, 3, 10], [0, 1, 2, 3]):
    try:
        env.step(bad)
    except ValueError as error:
        print(error)

# %% [markdown]
# ## A learner of your own
#
# Count how often each item was displayed and how often it was clicked, and display the items with the most clicks per
# display. That alone would be too hasty: an item that nobody clicked at its first display would never come back. So
# in one session of ten the learner shuffles the items, to find out more. This is called *exploration*.


# %%
class ClicksPerDisplay:
    """Rank items by their clicks per display; explore in one session of ten."""

    def __init__(self, num_items, num_positions, seed, epsilon=0.1):
        self.num_items, self.num_positions, self.epsilon = num_items, num_positions, epsilon
        self.random = random.Random(seed)
        self.clicks = [0] * num_items
        self.displays = [0] * num_items

    def act(self):
        items = list(range(self.num_items))
        if self.random.random() < self.epsilon:
            self.random.shuffle(items)
        else:  # an item that was never displayed counts as clicked: it is tried early
            items.sort(key=lambda item: -(self.clicks[item] + 1) / (self.displays[item] + 1))
        return items[: self.num_positions]

    def update(self, displayed, clicks):
        for item, click in zip(displayed, clicks, strict=True):
            self.displays[item] += 1
            self.clicks[item] += click


# %% [markdown]
# And one that never learns, for comparison:


# %%
class RandomLists:
    """Display random lists."""

    def __init__(self, num_items, num_positions, seed):
        self.num_items, self.num_positions = num_items, num_positions
        self.random = random.Random(seed)

    def act(self):
        return self.random.sample(range(self.num_items), self.num_positions)

    def update(self, displayed, clicks):
        pass


# %% [markdown]
# ## The learning loop
#
# Reset, then in every round: **act, step, update**. We also write down the regret of each round, behind the learner's
# back.

# %% tags=["parameters"]
ROUNDS = 2_000


# %%
def play(env, agent, rounds, seed):
    """Return the regret of each round, and the clicks of all of them."""
    regret, earned = [], 0
    env.reset(seed=seed)
    for _ in range(rounds):
        ranking = agent.act()
        clicks, reward, terminated, truncated, info = env.step(ranking)
        agent.update(ranking, clicks.tolist())
        regret.append(info["regret"])  # for us; the agent does not see it
        earned += reward
        if terminated or truncated:
            break
    return regret, earned


learner = ClicksPerDisplay(10, 5, seed=3)
print(f"after {ROUNDS:,} rounds")
regrets = {}
for name, agent in {"your learner": learner, "random": RandomLists(10, 5, seed=3)}.items():
    regrets[name], earned = play(env, agent, ROUNDS, seed=3)
    print(f"{name:13} {earned:,.0f} clicks, regret {sum(regrets[name]):.1f}")

# %% [markdown]
# Regret added up over rounds is the usual picture. A straight line has not learned anything: it loses as much today
# as it did at the beginning. A curve that bends has.

# %%
figure, axes = plt.subplots(figsize=(5.8, 3.4))
for name, look in looks(regrets).items():
    axes.plot(np.cumsum(regrets[name]), color=look.color, linestyle=look.dashes, linewidth=2, label=name)
axes.set(xlabel="rounds", ylabel="cumulative regret", title="Query 3, one run each")
axes.legend(frameon=False)
plt.show()

# %% [markdown]
# What has the learner found? Its estimates are the clicks per display; the truth is the items' *attraction*, the
# probability that a user who looks at the item clicks it.

# %%
truth = env.unwrapped.attraction
print("      attraction   clicks per display")
for item in np.argsort(-truth, kind="stable"):
    rate = learner.clicks[item] / learner.displays[item]
    print(f"item {item} {truth[item]:7.2f} {rate:12.2f} in {learner.displays[item]:5,}")

# %% [markdown]
# An item that stands at the top has the right rate. Items further down have *too few* clicks per display, because not
# every user looks there. This is called *position bias*. The learner does not know about it, and pays for it: an item
# that once stands low looks worse than it is.
#
# ## The same seed gives the same users
#
# All of a user's whims come from the seed. Play again with the same seeds, and every number is the same:

# %%
again, _ = play(env, ClicksPerDisplay(10, 5, seed=3), ROUNDS, seed=3)
other, _ = play(env, ClicksPerDisplay(10, 5, seed=3), ROUNDS, seed=4)
print("seed 3 again:", again == regrets["your learner"])
print("seed 4:      ", other == regrets["your learner"])

# %% [markdown]
# More than that: two *different* agents with the same seed meet the same users. Below, 1,000 users see the list 0, 1,
# 2, 3, 4, and the same 1,000 users see 0, 1, 2, 4, 3. Where both lists have the same item at the same position, each
# of them clicks the same.


# %%
def clicks_on(ranking, users=1_000):
    env.reset(seed=3)
    return np.array([env.step(ranking)[0] for _ in range(users)])


same = clicks_on([0, 1, 2, 3, 4]) == clicks_on([0, 1, 2, 4, 3])
for position in range(5):
    print(f"position {position}: {same[:, position].sum():5,} of 1,000 the same")

# %% [markdown]
# So a comparison of two agents is a comparison on the same users, and their difference is known much better than each
# alone.
#
# ## A hundred runs at once
#
# One run on one query proves little. `rankgym.per_row` makes a batch agent of your class: one learner for each row of
# a vector environment. `rankgym.simulate` is the loop from above, for all rows. Row b plays query b, with its own
# users.

# %%
histories = {}
for name, agent_class in {"your learner": ClicksPerDisplay, "random": RandomLists}.items():
    venv = gym.make_vec("rankgym/PBM-Yandex-v0", num_envs=100, query="all", horizon=ROUNDS)
    agent = rankgym.per_row(agent_class).for_env(venv, seed=0)
    histories[name] = rankgym.simulate(agent, venv, ROUNDS, seed=0, progress=False)

print(f"regret after {ROUNDS:,} rounds")
for name, history in histories.items():
    regret = history.regret[-1]  # of each row, at the end
    error = regret.std(ddof=1) / np.sqrt(len(regret))
    print(f"{name:13} {regret.mean():6.1f} ± {error:.1f}")

# %% [markdown]
# The number behind ± is the **standard error** of the mean over the 100 rows. The two agents met the same users, so
# we may subtract row by row:

# %%
difference = histories["your learner"].regret[-1] - histories["random"].regret[-1]
error = difference.std(ddof=1) / np.sqrt(len(difference))
print(f"learner minus random: {difference.mean():.1f} ± {error:.1f}")
print(f"ahead in {(difference < 0).sum()} of {len(difference)} rows")

# %% [markdown]
# Is the batch really the loop from above? Row 3 has query 3, the users of seed 3 and a learner of seed 3:

# %%
print(f"row 3 of the batch: {histories['your learner'].regret[-1][3]:.6f}")
print(f"the loop by hand:   {sum(regrets['your learner']):.6f}")

# %%
figure, axes = plt.subplots(figsize=(5.8, 3.4))
for name, look in looks(histories).items():
    history = histories[name]
    mean = history.regret.mean(axis=1)
    error = history.regret.std(axis=1, ddof=1) / np.sqrt(history.regret.shape[1])
    axes.plot(history.rounds, mean, color=look.color, linestyle=look.dashes, linewidth=2, label=name)
    axes.fill_between(history.rounds, mean - error, mean + error, color=look.color, alpha=0.2, linewidth=0)
axes.set(xlabel="rounds", ylabel="cumulative regret", title="All 100 queries: mean ± standard error")
axes.legend(frameon=False)
plt.show()

# %% [markdown]
# ## To try
#
# 1. Try `epsilon=0` and `epsilon=0.5`. Which is better after 100 rounds, which at the end?
#    (`per_row(...).for_env(venv, seed=0, epsilon=0.5)` passes it on.)
# 2. Repair the position bias: let `update` add to `displays` the probability that a user looks at the position,
#    instead of 1. `env.unwrapped.parameters.examination` has these probabilities. May a learner know them? Where
#    would it get them from?
# 3. Add an agent of the papers: `from rankgym_agents import TopRank`, then `TopRank.for_env(venv, seed=0)` in place
#    of `per_row(...)`.
#
# Next: [what the click models are](02_click_models.ipynb), and [a learning agent against the
# bandits](03_learning_against_bandits.ipynb).

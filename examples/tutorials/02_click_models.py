# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # What the click models are
#
# A *click model* is a rule for how a user goes through a ranked list. It decides which clicks come, and so which list
# is best. This tutorial shows the seven models of `rankgym.models.MODELS`, each with a picture, and then asks of
# each: is it best to sort the items by how attractive they are? Often it is not.
#
# It needs `pip install "rankgym[experiments]"`, and runs in less than a minute.

# %%
import itertools
import random

import gymnasium as gym
import matplotlib.pyplot as plt
import numpy as np

import rankgym  # noqa: F401 (registers the environments)
from rankgym.models import MODELS
from rankgym.style import BLUE, RC_PARAMS, SKY, VERMILION

plt.rcParams.update(RC_PARAMS | {"figure.dpi": 120, "figure.constrained_layout.use": True})

# %% [markdown]
# ## What they share
#
# Item $i$ has an **attraction** $\alpha(i)$: a user who looks at it clicks it with this probability. The models
# differ in *who looks where*. The **examination** $\chi(R, k)$ is the probability that the user looks at position $k$
# of the list $R$. So the item $R(k)$ at this position is clicked with probability
#
# $$\chi(R, k) \cdot \alpha(R(k)).$$
#
# The examples below have the same five items in all models, and display all five.

# %%
ATTRACTION = [0.7, 0.5, 0.4, 0.3, 0.2]  # of the items 0, 1, 2, 3, 4
BEST_FIRST = [0, 1, 2, 3, 4]
WORST_FIRST = [4, 3, 2, 1, 0]


def users_of(model, **parameters):
    """Return an environment with 10,000 rows of users of one kind."""
    parameters = {"attraction": ATTRACTION, **parameters}
    return gym.make_vec(f"rankgym/{model}-Synthetic-v0", num_envs=10_000, num_positions=5, parameters=parameters)


def examination(model, users, ranking):
    """Return chi(R, k) for each position of the ranking, by the model's formula."""
    parameters = users.unwrapped.parameters  # arrays with a row for each row of the environment
    return MODELS[model].examination(parameters, np.tile(ranking, (users.num_envs, 1)))[0]


# %% [markdown]
# The next cell only draws; its code is of no interest here. Each picture has two parts.
#
# * **Left:** a user's way through the list.
# * **Right:** how many users look at each position (light bars) and click there (dark bars), by the formulas, if the
#   best item is at the top. Dots: how many of 10,000 simulated users click. Orange lines: how many look if the
#   *worst* item is at the top. Where they differ from the light bars, it matters which items stand above.

# %% jupyter={"source_hidden": true}
BOX = {"boxstyle": "round,pad=0.4", "facecolor": "white", "edgecolor": "#555555"}
PLAIN = {"facecolor": "white", "linewidth": 0, "pad": 1.5}


def arrow(axes, start, end, text, at):
    arrowprops = {"arrowstyle": "-|>", "color": "#555555", "mutation_scale": 14}
    axes.annotate("", end, start, arrowprops=arrowprops)
    axes.text(*at, text, ha="center", va="center", fontsize=10, bbox=PLAIN)


def one_by_one(no_click, click, leave):
    """Return a drawing of users who go from one position to the next; the arguments label the arrows."""

    def draw(axes):
        arrow(axes, (0.42, 0.86), (0.70, 0.86), r"$\alpha$", (0.53, 0.93))
        arrow(axes, (0.22, 0.76), (0.22, 0.19), no_click, (0.19, 0.55))
        if click:
            arrow(axes, (0.77, 0.78), (0.40, 0.18), click, (0.56, 0.40))
        arrow(axes, (0.85, 0.78), (0.85, 0.19), leave, (0.86, 0.58))
        axes.text(0.22, 0.86, "looks at\nposition k", ha="center", va="center", bbox=BOX, fontsize=10.5)
        axes.text(0.85, 0.86, "clicks", ha="center", va="center", bbox=BOX, fontsize=10.5)
        axes.text(0.22, 0.08, "looks at\nposition k + 1", ha="center", va="center", bbox=BOX, fontsize=10.5)
        axes.text(0.85, 0.08, "leaves", ha="center", va="center", bbox=BOX, fontsize=10.5)

    return draw


def each_alone(chances):
    """Return a drawing of users who look at each position with a chance of its own."""

    def draw(axes):
        for k, chance in enumerate(chances):
            y = 0.94 - 0.22 * k
            axes.text(0.18, y, f"position {k + 1}", ha="center", va="center", bbox=BOX, fontsize=10)
            axes.text(0.42, y, f"looks: {chance:.2f},", va="center", fontsize=10)
            axes.text(0.83, y, r"clicks: $\alpha$", va="center", fontsize=10)

    return draw


def table(chances):
    """Return a drawing of the UBM's table: a row for each position, a column for where the previous click was."""

    def draw(axes):
        columns = [4, 0, 1, 2, 3]
        for k, row in enumerate(chances):
            for place, column in enumerate(columns[: k + 1]):
                y, x = 0.74 - 0.17 * k, 0.26 + 0.16 * place
                shade = {**PLAIN, "facecolor": SKY, "alpha": 0.15 + 0.6 * row[column], "pad": 6}
                axes.text(x, y, f"{row[column]:.2f}", ha="center", va="center", fontsize=9.5, bbox=shade)
            axes.text(0.12, 0.74 - 0.17 * k, f"{k + 1}", ha="right", va="center")
        for place, name in enumerate(("none", *"1234")):
            axes.text(0.26 + 0.16 * place, 0.87, name, ha="center", va="center")
        axes.text(0.58, 0.97, "previous click at", ha="center", va="center")
        axes.text(0.0, 0.40, "looks at position", ha="center", va="center", rotation=90)

    return draw


def picture(title, way, model, users):
    """Draw ``way`` beside the examination and the clicks by position, and print how far simulated clicks are off."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(6.4, 3.5), width_ratios=(1.05, 1))
    left.set(xlim=(-0.05, 1.05), ylim=(-0.02, 1.02))
    left.axis("off")
    way(left)
    positions, looks = np.arange(1, 6), examination(model, users, BEST_FIRST)
    users.reset(seed=0)
    clicks = users.step(np.tile(BEST_FIRST, (users.num_envs, 1)))[0].mean(axis=0)
    right.bar(positions, looks, color=SKY, alpha=0.45, width=0.8, label="looks")
    right.bar(positions, looks * ATTRACTION, color=BLUE, width=0.5, label="clicks")
    right.plot(positions, clicks, "o", color="black", markersize=4, label="simulated clicks")
    ends = positions - 0.4, positions + 0.4
    right.hlines(
        examination(model, users, WORST_FIRST), *ends, color=VERMILION, linewidth=2.2, label="looks, worst on top"
    )
    right.set(xlabel="position", ylim=(0, 1.08), xticks=positions)
    right.grid(visible=False, axis="x")
    figure.suptitle(title, x=0.01, ha="left", fontweight="bold", fontsize=12)
    handles, labels = right.get_legend_handles_labels()
    order = [labels.index(label) for label in ("looks", "clicks", "looks, worst on top", "simulated clicks")]
    lines, names = [handles[place] for place in order], [labels[place] for place in order]
    figure.legend(lines, names, loc="outside lower center", ncols=2, frameon=False, fontsize=10)
    plt.show()
    print(f"simulation: at most {abs(clicks - looks * ATTRACTION).max():.3f} from the formula")


# %% [markdown]
# ## CM: the cascade model
#
# The user looks at the items from the top, clicks the first attractive one, and leaves. So there is at most one
# click, and a good item at the top hides everything below it:
#
# $$\chi(R, k) = \prod_{j < k} \bigl(1 - \alpha(R(j))\bigr).$$

# %%
users = {"CM": users_of("CM")}
picture("Cascade model", one_by_one("no click:\ngoes on", "", "always"), "CM", users["CM"])

# %% [markdown]
# Position 2 is examined by those whom item 0 did not attract, 1 - 0.7 of all. With the worst item at the top, most
# users come further.
#
# ## PBM: the position-based model
#
# The user looks at position $k$ with probability $\chi(k)$, whatever happens elsewhere.

# %%
chances = [1.0, 0.8, 0.6, 0.45, 0.35]
users["PBM"] = users_of("PBM", examination=chances)
picture("Position-based model", each_alone(chances), "PBM", users["PBM"])

# %% [markdown]
# The orange lines end the light bars: who looks where does not depend on the items.
#
# ## DCM: the dependent click model
#
# A cascade with several clicks. After a click at position $k$ the user leaves with probability `termination` $v(k)$,
# and goes on otherwise.

# %%
users["DCM"] = users_of("DCM", termination=[0.6, 0.5, 0.4, 0.4, 0.4])
picture("Dependent click model", one_by_one("no click:\ngoes on", "$1 - v(k)$", "$v(k)$"), "DCM", users["DCM"])

# %% [markdown]
# ## DBN: the dynamic Bayesian network model
#
# A click is one thing, being satisfied another. A user who has clicked item $i$ is satisfied with probability
# `satisfaction` $s(i)$, and leaves. Everyone else goes on with probability $\gamma = 1 -$ `abandonment`, or gives up.

# %%
users["DBN"] = users_of("DBN", satisfaction=[0.9, 0.5, 0.3, 0.1, 0.1], abandonment=0.1)
way = one_by_one("no click:\n$\\gamma$", r"$(1 - s)\,\gamma$", "else")
picture("Dynamic Bayesian network model", way, "DBN", users["DBN"])

# %% [markdown]
# Item 0 satisfies nearly everyone who clicks it, so few users look below it. With the worst item on top, most go on.
# (The picture has no arrow for those who give up without a click, one in ten at each position.)
#
# ## UBM: the user browsing model
#
# As in the PBM, each position has its own chance; but the chance also depends on where the user clicked last. A click
# draws attention to what follows it.

# %%
chances = [  # of each position: previous click at position 1, 2, 3, 4; last column: no click yet
    [0.00, 0.00, 0.00, 0.00, 1.00],
    [0.95, 0.00, 0.00, 0.00, 0.75],
    [0.60, 0.95, 0.00, 0.00, 0.50],
    [0.40, 0.70, 0.95, 0.00, 0.35],
    [0.30, 0.50, 0.75, 0.95, 0.25],
]
users["UBM"] = users_of("UBM", examination=chances)
picture("User browsing model", table(chances), "UBM", users["UBM"])

# %% [markdown]
# Here the best item at the top makes *more* users look below it, the opposite of the cascade.
#
# ## CCM: the click chain model
#
# After a click the document turns out to be relevant or not (it is relevant with probability $\alpha$, by a coin of
# its own). The user goes on with one probability without a click, with another after an irrelevant document, and with
# a third after a relevant one.

# %%
going_on = {"continue_noclick": 0.95, "continue_click_irrelevant": 0.8, "continue_click_relevant": 0.1}
users["CCM"] = users_of("CCM", **going_on)
way = one_by_one("no click:\n0.95", "irrelevant: 0.80\nrelevant: 0.10", "else")
picture("Click chain model", way, "CCM", users["CCM"])

# %% [markdown]
# ## DBM: the document-based model
#
# The user looks at everything. Only the items matter, not their order.

# %%
users["DBM"] = users_of("DBM")
picture("Document-based model", each_alone([1.0] * 5), "DBM", users["DBM"])

# %% [markdown]
# ## Which list is best?
#
# The expected number of clicks of a list is the sum of its click probabilities. With five items there are 120 orders:
# we compute all of them, in all models.


# %%
def expected_clicks(model, users, rankings):
    """Return the expected number of clicks of each ranking."""
    first_user = type(users.parameters)(*(np.repeat(values[:1], len(rankings), axis=0) for values in users.parameters))
    return MODELS[model].values(first_user, np.array(rankings), 5, "clicks")


orders = [list(order) for order in itertools.permutations(range(5))]
print("    sorted   best  best list  how many")
for model, venv in users.items():
    values = expected_clicks(model, venv.unwrapped, orders)
    best = np.flatnonzero(values > values.max() - 1e-12)
    best_list = " ".join(map(str, orders[best[0]]))
    print(f"{model:4}{values[0]:6.3f} {values.max():6.3f}  {best_list}  {len(best):3}")

# %% [markdown]
# * **CM** and **DBM**: every order is best, if the same items are displayed. In the CM somebody clicks, or nobody
#   does.
# * **PBM**: sorted by attraction is best, and nothing else. The most attractive items belong where most users look.
# * **DCM, DBN, CCM**: another list earns *more* clicks than the sorted one.
# * **UBM**: it depends on the numbers. Here the sorted list is best; below, on other queries, it often is not.
#
# ### Why the sorted list can be worse
#
# Two items and the DBN are enough. Item 0 attracts nearly everyone and satisfies all who click it; item 1 attracts
# half, and satisfies nobody:
#
# * item 0 on top: 0.9 clicks, and the 0.1 who go on click with 0.5. That is 0.9 + 0.1 · 0.5 = 0.95.
# * item 1 on top: 0.5 clicks, and *everyone* goes on. That is 0.5 + 0.9 = 1.40.

# %%
two_items = {"attraction": [0.9, 0.5], "satisfaction": [1.0, 0.0], "abandonment": 0.0}
env = gym.make("rankgym/DBN-Synthetic-v0", num_positions=2, parameters=two_items)
env.reset(seed=0)
for ranking in ([0, 1], [1, 0]):
    info = env.step(ranking)[-1]
    print(f"{ranking}: {info['expected_reward']:.2f} clicks, regret {info['regret']:.2f}")

# %% [markdown]
# Who earns more clicks is not who serves the user better: the second list makes users go past what they do not want.
# That is why the environments offer both kinds of regret: against the best list, or with `reference="sorted"` against
# the sorted one.
#
# ### On a hundred queries
#
# The Yandex environments have 100 queries. How many clicks a session does the sorted list lose there, five of ten
# items displayed?

# %%
lost = {}
print("     best list  sorted loses  in queries")
for model in MODELS:
    queries = gym.make_vec(f"rankgym/{model}-Yandex-v0", num_envs=100, query="all")
    best = queries.reset(seed=0)[1]["optimal_reward"]
    by_attraction = np.argsort(-queries.unwrapped.attraction, axis=1, kind="stable")[:, :5]
    info = queries.step(by_attraction)[-1]
    lost[model] = info["regret"]
    worse = (lost[model] > 1e-9).sum()
    print(f"{model:4} {best.mean():9.3f} {lost[model].mean():13.3f} {worse:11}")

# %%
figure, axes = plt.subplots(figsize=(5.8, 3.2))
for place, losses in enumerate(lost.values()):
    spread = np.linspace(-0.25, 0.25, len(losses))  # side by side, so that all points are seen
    axes.plot(place + spread, np.sort(losses), ".", color=SKY, markersize=5, label=None if place else "one query")
    axes.hlines(losses.mean(), place - 0.32, place + 0.32, color=BLUE, linewidth=2.5, label=None if place else "mean")
axes.set(ylabel="clicks lost a session", title="What sorting by attraction loses")
axes.set_xticks(range(len(lost)), lost)
axes.grid(visible=False, axis="x")
axes.legend(frameon=False, loc="upper left")
plt.show()

# %% [markdown]
# ## Exercise: who are these users?
#
# Three kinds of users, A, B and C, see the list 0, 1, 2, 3, 4 of the items above, and then the same list upside down.
# One kind is of the CM, one of the PBM, one of the DCM. The table has the share of 10,000 users who click at each
# position, and the share who click twice or more. Who is who? Decide before you open the answer.

# %%
hidden = dict(zip("ABC", random.Random(7).sample([users["CM"], users["PBM"], users["DCM"]], 3), strict=True))
print("   list   click at 1, 2, 3, 4, 5     twice")
for name, venv in hidden.items():
    for ranking in (BEST_FIRST, WORST_FIRST):
        clicks = venv.step(np.tile(ranking, (venv.num_envs, 1)))[0]
        rates = " ".join(f"{rate:.2f}" for rate in clicks.mean(axis=0))
        print(f"{name}  {''.join(map(str, ranking))}  {rates}  {(clicks.sum(axis=1) > 1).mean():.2f}")

# %% [markdown]
# <details><summary>Answer</summary>
#
# Users of the CM never click more than once: B. In the PBM, examination does not depend on the items: divide the rate
# at a position by the attraction of the item there, and both lists give the same. At position 2 of A, 0.41 / 0.5 and
# 0.24 / 0.3 are both close to 0.8; of C, 0.30 / 0.5 is 0.6 and 0.26 / 0.3 is nearly 0.9. So A is of the PBM, and C of
# the DCM.
#
# </details>
#
# Before: [first steps](01_first_steps.ipynb). Next: [a learning agent against the
# bandits](03_learning_against_bandits.ipynb). To write two of these models yourself: exercise 1, `rankgym exercise
# start 1`.

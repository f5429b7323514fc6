# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Exercise 1: simulate the cascade model and the position-based model
#
# A *click model* says how a user goes through a ranked list. You will write two of them, and compute what they say
# about clicks. All later exercises build on them.
#
# ![Two users go through the same list: one leaves after the first click, the other looks at each position with its own
# probability](pictures/01_click_models.svg)
#
# ## Background
#
# * There are $L$ items. A *ranking* is a list of $K$ different items, best first; position $k$ of the ranking $R$ has
#   item $R(k)$. Items and positions are counted from 0, in formulas as in code: the top of the list is $R(0)$.
# * Item $i$ has an *attraction* $\alpha(i)$: the probability that a user who looks at it clicks it.
# * **Cascade model** (CM; Craswell et al., 2008): the user looks at the items from the top, clicks the first attractive
#   one, and leaves. Position $k$ is examined with probability
#   $$\chi(R, k) = \prod_{j < k} \bigl(1 - \alpha(R(j))\bigr).$$
# * **Position-based model** (PBM; Richardson et al., 2007): the user looks at position $k$ with probability $\chi(k)$,
#   whatever happens elsewhere, and clicks if the item there attracts them.
# * In both, position $k$ is clicked with probability $\chi(R, k)\,\alpha(R(k))$; in the PBM $\chi(R, k)$ is $\chi(k)$.
#
# ## Coins
#
# A simulation needs random numbers. Here they are *arguments*, so that the same numbers give the same user:
#
# * `item_coins[i]` is uniform in [0, 1) and belongs to **item** i: the user is attracted by item i if
#   `item_coins[i] < attraction[i]`;
# * `position_coins[k]` belongs to **position** k: the user looks at position k if
#   `position_coins[k] < examination[k]`.
#
# Each item and each position has a coin of its own: with one coin for two items a user who likes one would always like
# the more attractive one, too.
#
# ## What to do
#
# Fill in the five functions. Leave their arguments as they are: change copies, such as `list(ranking)`. Import
# nothing but the standard library and NumPy. Check your work at any time, in a terminal or with an exclamation mark
# in a notebook:
#
# ```sh
# rankgym exercise check 01_click_models.py
# rankgym exercise hint 1
# ```

# %%
import random

# %% [markdown]
# ### 1.1 A user of the cascade model (2 points)


# %%
def cascade_clicks(attraction, ranking, item_coins):
    """Return the clicks of one user of the cascade model: a list with 0 or 1 for each position of the ranking.

    attraction: for each of the L items, a probability
    ranking: K different items, best first
    item_coins: for each of the L items, a number in [0, 1)
    """
    raise NotImplementedError("1.1")


# %% [markdown]
# ### 1.2 A user of the position-based model (2 points)


# %%
def pbm_clicks(attraction, examination, ranking, item_coins, position_coins):
    """Return the clicks of one user of the PBM: a list with 0 or 1 for each position of the ranking.

    examination: for each of the K positions, a probability
    position_coins: for each of the K positions, a number in [0, 1)
    The other arguments are those of cascade_clicks.
    """
    raise NotImplementedError("1.2")


# %% [markdown]
# ### 1.3 How probable it is that a position is examined (2 points)


# %%
def cascade_examination(attraction, ranking):
    """Return chi(R, k) of the cascade model for each position of the ranking, a list of probabilities."""
    raise NotImplementedError("1.3")


# %% [markdown]
# ### 1.4 How probable clicks are (2 points)


# %%
def click_probabilities(attraction, examination, ranking):
    """Return the probability of a click at each position, a list.

    examination: for each position of the ranking, the probability that it is examined
    """
    raise NotImplementedError("1.4")


# %% [markdown]
# ### 1.5 Many users (2 points)
#
# Show one ranking to many users, and count. The users' coins come as two lists with an entry for each user.


# %%
def click_rates(attraction, examination, ranking, all_item_coins, all_position_coins):
    """Return the share of users who click at each position, a list: the users are those of the PBM.

    all_item_coins: for each user, the item_coins of pbm_clicks
    all_position_coins: for each user, the position_coins of pbm_clicks
    """
    raise NotImplementedError("1.5")


# %% [markdown]
# ## Try it
#
# Show one ranking to 1,000 users of each model. The rates should be close to the probabilities. How close? And for
# 100,000 users?

# %%
if __name__ == "__main__":
    attraction, examination, ranking = [0.1, 0.7, 0.4, 0.2], [1.0, 0.6, 0.3], [1, 2, 0]
    users = range(1_000)
    item_coins = [[random.random() for _ in attraction] for _ in users]
    position_coins = [[random.random() for _ in examination] for _ in users]

    def show(name, numbers):
        print(name, [round(number, 3) for number in numbers])

    try:
        sessions = [cascade_clicks(attraction, ranking, coins) for coins in item_coins]
        show("CM:  rates        ", [sum(clicks) / len(users) for clicks in zip(*sessions, strict=True)])
        chi = cascade_examination(attraction, ranking)
        show("     probabilities", click_probabilities(attraction, chi, ranking))
        show("PBM: rates        ", click_rates(attraction, examination, ranking, item_coins, position_coins))
        show("     probabilities", click_probabilities(attraction, examination, ranking))
    except NotImplementedError as error:
        print(f"This demonstration needs {error}: fill in the functions, then run this file again.")

# %% [markdown]
# ## To think about
#
# 1. In the CM, can an item at the last position be clicked more often if the items above it are better?
# 2. Exchange the first two items. Which positions' click probabilities change in the CM? In the PBM?
# 3. The click-through rate of an item (clicks divided by displays) mixes its attraction with the positions at which it
#    was displayed. Exercise 4 is about what follows from that.

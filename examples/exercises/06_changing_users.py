# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Exercise 6: users who change
#
# What users like today they may not like tomorrow. A learner that trusts everything it ever saw is misled then. Two
# remedies: forget what is old, or find out that users have changed and start again.
#
# ![Clicks on one item, whose attraction falls from 0.8 to 0.15: the mean of all clicks falls slowly, the mean of the
# last 16 is down after some 14 observations; 6 observations after the change the halves of the last 16 differ by more
# than b = 5, and the test detects it](pictures/06_changing_users.svg)
#
# ## Background
#
# * There are $L$ items and $K \le L$ positions. Items, positions, rounds and observations are counted from 0, in
#   formulas as in code.
# * Users follow the cascade model: they go through the list from the top, click the first item that attracts them, and
#   leave. So a click says: this item was seen and clicked, those above it were seen and not clicked, and **nothing is
#   known about those below it**. Without a click all displayed items were seen.
# * $\alpha_t(i)$, the probability that user $t$ is attracted by item $i$, is the same for a while and then changes, at
#   rounds that nobody announces.
# * An optimistic learner displays the $K$ items with the largest *indices*, the largest first. An index is an estimate
#   of $\alpha_t(i)$ plus a bonus for what was rarely observed. Of two equal indices, the item with the **smaller
#   number** comes first. An item without observations has the index $\infty$.
# * Keep clicks and observations as whole numbers, and divide once, in the index: then items with equal counts have
#   exactly equal indices. Means that are updated step by step are rounded in each step, differ in the last digit, and
#   break the ties.
#
# **A sliding window** (CascadeSWUCB; Li and de Rijke, 2019). Let $N_t(i)$ be the number of observations of item $i$ in
# the last $\tau$ **rounds** before round $t$, and $X_t(i)$ the number of clicks among them. In round
# $t = 0, 1, \ldots$ the index is
# $$U_t(i) = \frac{X_t(i)}{N_t(i)} + \sqrt{\frac{\epsilon \ln(\min(t + 1, \tau))}{N_t(i)}}$$
# (equations 7 and 8 of the paper, which counts rounds from 1). An item that was not observed in the window is new
# again: its index is $\infty$.
#
# **Discounts** (CascadeDUCB, the same paper). Instead of forgetting at once, multiply $N(i)$ and $X(i)$ of **all**
# items by $\gamma < 1$ in each round, and then add the new observations. You will write these counts in 6.3; no agent
# of this exercise uses them.
#
# ## What to do
#
# Fill in the functions and classes. Functions leave their arguments as they are: change copies, such as `list(x)`.
# Nothing is random. Import nothing but the standard library and NumPy. Check your work at any time, in a terminal
# or with an exclamation mark in a notebook:
#
# ```sh
# rankgym exercise check 06_changing_users.py
# rankgym exercise hint 6
# ```

# %%
import math
import random

# %% [markdown]
# ### 6.1 What a user has seen (1 point)


# %%
def observed_items(displayed, clicks):
    """Return the displayed items down to the first click, in their order; all of them if there is no click.

    displayed: a list of different items, best first
    clicks: 0 or 1 for each of them; what comes after the first click does not count
    """
    raise NotImplementedError("6.1")


# %% [markdown]
# ### 6.2 Counts in a window (1 point)


# %%
def window_counts(history, num_items, window):
    """Return [N, X] of the last `window` rounds: two lists with a whole number for each item.

    history: a pair (displayed, clicks) for each round played so far, the oldest first; it may be empty, or shorter
        than the window
    window: a number of rounds, at least 1
    """
    raise NotImplementedError("6.2")


# %% [markdown]
# ### 6.3 Counts that fade (1 point)
#
# Start with zeros. In each round, the oldest first, multiply the counts of all items by gamma; then add 1 to N of each
# observed item, and its click to X. So the last round counts in full.


# %%
def discounted_counts(history, num_items, gamma):
    """Return [N, X] after all rounds of the history: two lists with a number for each item.

    history: as in window_counts
    """
    raise NotImplementedError("6.3")


# %% [markdown]
# ### 6.4 The index (1 point)
#
# After `played` rounds the next one is round `played`: this is $t$ in the formula.


# %%
def window_index(observed, clicked, played, window, epsilon):
    """Return U of one item for the next round, a float; math.inf if it was not observed.

    observed, clicked: its N and X
    played: the number of rounds played so far, those that have left the window included
    """
    raise NotImplementedError("6.4")


# %% [markdown]
# ### 6.5 The agent with a window (2 points)
#
# `act` and `update` are called in turns. There are no special first rounds: items without observations come first by
# themselves.


# %%
class SlidingWindowUCB:
    def __init__(self, num_items, num_positions, window, epsilon):
        raise NotImplementedError("6.5")

    def act(self):
        """Return the list to display: num_positions different items."""
        raise NotImplementedError("6.5")

    def update(self, displayed, clicks):
        """Learn from one user: displayed is a list of items, clicks has 0 or 1 for each of them."""
        raise NotImplementedError("6.5")


# %% [markdown]
# ## Background: detecting changes
#
# **The test** of M-UCB (Cao, Wen, Kveton and Xie, 2019) looks at the last $w$ observations $Y_0, \ldots, Y_{w - 1}$ of
# one item, each of them 0 or 1, the oldest first. ($w$ is even. These are observations of this item, in as many rounds
# as it takes.) A change is detected if the sums of the two halves differ by **more** than a threshold $b$:
# $$\Bigl|\sum_{l = w/2}^{w - 1} Y_l - \sum_{l = 0}^{w/2 - 1} Y_l\Bigr| > b.$$
# With fewer than $w$ observations nothing is detected.
#
# **The agent.** Let $s$ be the number of rounds played since the last restart: 0 in the very first round and in the
# round after a restart. In each round:
#
# 1. An item with $n > 0$ observations since the last restart, and with the mean $\bar Y$ of these, has the index
#    $\bar Y + \sqrt{1.5 \ln(s) / n}$, as in CascadeUCB1 of exercise 3. An item without observations has the index
#    $\infty$. The list has the items of the largest indices.
# 2. *Forced exploration.* An item that is never displayed cannot be found to have changed. So let $a = s \bmod
#    \text{period}$. If $a < L$, **item $a$ is first**, and the others follow by their indices; the list is cut to $K$
#    items after that.
# 3. After the clicks, the observations of this round (the items down to the first click) are appended to those of their
#    items. If the test now detects a change for any item observed in this round, the agent restarts: it forgets **all**
#    observations of **all** items, those of this round included, and $s$ is 0 again.
#
# ### 6.6 The test (1 point)


# %%
def change_detected(observations, window, threshold):
    """Return whether the two halves of the last `window` observations differ by more than `threshold`, a bool.

    observations: of one item, a list of 0 and 1, the oldest first; it may be longer than the window, or shorter
    window: an even number
    """
    raise NotImplementedError("6.6")


# %% [markdown]
# ### 6.7 The agent that restarts (3 points)


# %%
class RestartingUCB:
    def __init__(self, num_items, num_positions, period, window, threshold):
        """period: at least num_items. window and threshold are those of the test."""
        raise NotImplementedError("6.7")

    def act(self):
        """Return the list to display: num_positions different items."""
        raise NotImplementedError("6.7")

    def update(self, displayed, clicks):
        """Learn from one user: displayed is a list of items, clicks has 0 or 1 for each of them."""
        raise NotImplementedError("6.7")


# %% [markdown]
# ## Try it
#
# In round 1,500 the two best items become the worst ones. How many users click, in each 500 rounds?

# %%
if __name__ == "__main__":
    try:
        before, after = [0.7, 0.6, 0.3, 0.2, 0.1], [0.05, 0.08, 0.3, 0.2, 0.1]
        agents = (
            SlidingWindowUCB(5, 2, window=300, epsilon=0.5),
            SlidingWindowUCB(5, 2, window=3_000, epsilon=0.5),  # forgets nothing
            RestartingUCB(5, 2, period=50, window=40, threshold=9),
        )
        for agent in agents:
            happy = [0] * 6
            for t in range(3_000):
                attraction = before if t < 1_500 else after
                displayed = agent.act()
                clicks = [0] * len(displayed)
                for k, item in enumerate(displayed):
                    if random.random() < attraction[item]:
                        clicks[k] = 1
                        break
                agent.update(displayed, clicks)
                happy[t // 500] += sum(clicks)
            print(f"{type(agent).__name__:17} {happy}")
    except NotImplementedError as error:
        print(f"This demonstration needs {error}: fill in the functions, then run this file again.")

# %% [markdown]
# ## To think about
#
# 1. A window that is too long, and one that is too short: what does each of them cost? Which one would you choose if
#    users changed every 1,000 rounds?
# 2. Without forced exploration, which changes would the restarting agent notice at once, and which ones perhaps never?
# 3. If an item's attraction does not change, the difference of the two sums has mean 0. Use Hoeffding's inequality to
#    choose $b$ such that a false alarm in one test has probability at most $\delta$. (M-UCB has
#    $b = \sqrt{(w / 2) \ln(2 L T^2)}$ for $T$ rounds.)
# 4. The window forgets by rounds, the test looks at observations of one item. What if the test looked at rounds?

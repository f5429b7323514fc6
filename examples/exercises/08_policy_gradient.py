# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Exercise 8: a Plackett-Luce policy gradient
#
# The algorithms of the other exercises keep statistics of each item and compute an index from them. A *policy gradient*
# does something else: it draws its lists from a distribution with parameters, the *policy*, and changes the parameters
# so that lists which earned much become more probable. Neural rankers are trained in the same way. Here the parameters
# are one score for each item.
#
# ![A round in three steps: draw a list from the scores, item by item; show it and count clicks; move the scores along
# the gradient, here up for both drawn items, as the reward was above the baseline](pictures/08_policy_gradient.svg)
#
# ## The policy
#
# Items, positions and rounds are counted from 0, in formulas as in code.
#
# Item $i$ has a *score* $s(i)$, any real number. A **Plackett-Luce** policy (Luce, 1959; Plackett, 1975) draws a list
# from the top. Let $A_k$ be the set of items that *remain* when position $k$ is filled: all $L$ items but those at
# positions above $k$. Item $i$ of $A_k$ is drawn with probability
# $$p_k(i) = \frac{e^{s(i)}}{\sum_{j \in A_k} e^{s(j)}}.$$
# So the denominator shrinks from position to position. The list $R$ has the probability
# $$P(R) = \prod_{k=0}^{K-1} p_k(R(k)), \qquad
#   \log P(R) = \sum_{k=0}^{K-1} \Bigl( s(R(k)) - \log \sum_{j \in A_k} e^{s(j)} \Bigr).$$
#
# **Large scores.** `math.exp(1000)` is an error, and `math.exp(-1000)` is 0. But the probabilities stay the same when
# the same number is subtracted from all scores: subtract the largest score *of the remaining items* before you take the
# exponential. In $\log P(R)$ likewise:
# $\log \sum_j e^{s(j)} = m + \log \sum_j e^{s(j) - m}$, where $m$ is the largest score of the remaining items. The
# checks of 8.1 and 8.3 use scores between -1001 and 1001; the other checks only small ones.
#
# ## The gradient
#
# Position $k$ adds to $\partial \log P(R) / \partial s(i)$
#
# * $1 - p_k(i)$ if item $i$ is drawn there,
# * $-p_k(i)$ if it remains but is not drawn,
# * 0 if it was drawn above.
#
# The whole derivative is the sum over all positions. It is negative for an item that is not drawn, and may be negative
# for one that is drawn late: it was passed over at the positions above its own.
#
# We want to increase the *expected reward* $J = \sum_R P(R)\, r(R)$, where the sum is over all lists and the reward of
# a round is its **number of clicks**. Since $\nabla P(R) = P(R)\, \nabla \log P(R)$,
# $$\nabla J = \sum_R P(R)\, r(R)\, \nabla \log P(R).$$
# This is an expectation over lists that the policy draws. So one displayed list $R$ with one observed reward $r$
# estimates it: **REINFORCE** (Williams, 1992) is
# $$g = (r - b)\, \nabla \log P(R).$$
# The *baseline* $b$ may be any number that does not depend on the list: it changes nothing in expectation, because
# $\sum_R P(R) \nabla \log P(R) = \nabla 1 = 0$. But it makes the estimate less noisy: without it *every* clicked list
# becomes more probable, good or bad; with it only those that earned more than usual. The difference $r - b$ is called
# the *advantage*.
#
# ## What to do
#
# Fill in the five functions and the class. Functions leave their arguments as they are: change copies, such as
# `list(x)`. Import nothing but the standard library and NumPy. Check your work at any time:
#
# ```sh
# rankgym exercise check 08_policy_gradient.py
# rankgym exercise hint 8
# ```

# %%
import itertools
import math
import random

# %% [markdown]
# ### 8.1 The probabilities of a choice (1 point)


# %%
def choice_probabilities(scores, remaining):
    """Return the probability of each remaining item to be drawn next, a list with one entry for each of remaining.

    scores: for each of the L items, a number
    remaining: the items that remain, at least one, in the order of their numbers
    """
    raise NotImplementedError("8.1")


# %% [markdown]
# ### 8.2 Draw a list (2 points)
#
# Random numbers are arguments, as in exercise 1: `coins[k]` is uniform in [0, 1) and belongs to position k. Position k
# is filled like this: go through the remaining items **in the order of their numbers** and add up their probabilities.
# Draw the first item at which the sum **exceeds** the coin, `total > coins[k]`. (If rounding errors keep the sum below
# the coin to the end, draw the last remaining item.)
#
# For instance, with the scores [0, 1, -0.5] the items have the probabilities 0.23, 0.63, 0.14 at position 0.
# With the coins [0.5, 0.7] item 1 is drawn there, as 0.23 does not exceed 0.5, but 0.86 does. Items 0 and 2 remain,
# with probabilities 0.62 and 0.38, and position 1 gets item 2.


# %%
def sample_list(scores, coins):
    """Return a list drawn from the policy: K different items, K = len(coins).

    coins: for each of the K positions, a number in [0, 1)
    """
    raise NotImplementedError("8.2")


# %% [markdown]
# ### 8.3 How probable a list is (1 point)


# %%
def log_probability(scores, ranking):
    """Return log P(R), the natural logarithm of the probability that the policy draws this list, a float.

    ranking: K different items, best first
    """
    raise NotImplementedError("8.3")


# %% [markdown]
# ### 8.4 The gradient of the log-probability (2 points)
#
# Write the formula. Differences of $\log P$ are a good test of it (see below), but they do not count as an answer: only
# their first digits are right, and 8.4 and 8.5 are checked to $10^{-11}$.


# %%
def log_probability_gradient(scores, ranking):
    """Return the derivatives of log P(R) with respect to the scores: a list with an entry for each of the L items."""
    raise NotImplementedError("8.4")


# %% [markdown]
# ### 8.5 The estimate of the gradient (1 point)


# %%
def reinforce_gradient(scores, ranking, reward, baseline):
    """Return REINFORCE's estimate (r - b) grad log P(R), a list with an entry for each of the L items.

    ranking: the displayed list
    reward: its number of clicks
    baseline: a number
    """
    raise NotImplementedError("8.5")


# %% [markdown]
# ### 8.6 The agent (2 points for its lists, 1 point if it learns)
#
# In round t
#
# 1. `act` draws a list with the current scores and the coins `coins[t]`;
# 2. `update` gets the list and its clicks. The **reward** is the number of clicks. The **baseline** is the mean reward
#    of the earlier rounds 0, ..., t - 1, without this one; in round 0 it is 0;
# 3. all scores change at once, by `step_size` times the estimate, computed at the scores with which the list was drawn:
#    $s(i) \leftarrow s(i) + \eta\, g(i)$;
# 4. then the reward is counted for the baselines of later rounds.
#
# All scores are 0 in the beginning.


# %%
class PolicyGradient:
    """An agent that learns the scores of a Plackett-Luce policy, for one user at a time.

    num_items, num_positions: L and K
    step_size: the factor eta of a step, a positive number
    coins: for each round, K numbers in [0, 1); there are as many rounds as entries
    """

    def __init__(self, num_items, num_positions, step_size, coins):
        raise NotImplementedError("8.6")

    def act(self):
        """Return the list of K different items to display in this round, best first."""
        raise NotImplementedError("8.6")

    def update(self, displayed, clicks):
        """Learn from one round.

        displayed: the list that act returned
        clicks: 0 or 1 for each of its positions
        """
        raise NotImplementedError("8.6")


# %% [markdown]
# ## Try it
#
# First the gradient: compare it with differences of $\log P$, and add up the probabilities of all lists.

# %%
if __name__ == "__main__":
    try:
        scores, ranking, tiny = [0.0, 1.0, -0.5], [2, 0], 1e-6
        total = sum(math.exp(log_probability(scores, list(some))) for some in itertools.permutations(range(3), 2))
        print(f"the probabilities of all lists add up to {total:.9f}")
        slopes = log_probability_gradient(scores, ranking)
        for item, slope in enumerate(slopes):
            moved = [score + tiny * (i == item) for i, score in enumerate(scores)]
            difference = (log_probability(moved, ranking) - log_probability(scores, ranking)) / tiny
            print(f"item {item}: gradient {slope:.5f}, difference {difference:.5f}")
    except NotImplementedError as error:
        print(f"This demonstration needs {error}: fill in the functions, then run this file again.")

# %% [markdown]
# Then the agent, with users of the position-based model. Change the step size, and see what happens.

# %%
if __name__ == "__main__":
    try:
        attraction, examination, rounds = [0.1, 0.6, 0.3, 0.8, 0.2], [1.0, 0.7, 0.4], 5_000
        for step_size in (0.02, 0.2, 2.0):
            coins = [[random.random() for _ in examination] for _ in range(rounds)]
            agent, clicked = PolicyGradient(5, 3, step_size, coins), 0
            for _ in range(rounds):
                displayed = agent.act()
                clicks = [
                    int(random.random() < chi * attraction[item])
                    for chi, item in zip(examination, displayed, strict=True)
                ]
                agent.update(displayed, clicks)
                clicked += sum(clicks)
            print(f"step size {step_size}: {clicked / rounds:.3f} clicks a round, last list {displayed}")
        best = sum(chi * alpha for chi, alpha in zip(examination, [0.8, 0.6, 0.3], strict=True))
        print(f"the best list has {best:.3f} expected clicks")
    except NotImplementedError as error:
        print(f"This demonstration needs {error}: fill in the functions, then run this file again.")

# %% [markdown]
# ## To think about
#
# 1. The sum of the gradient's entries is always 0. Why? What does it say about the sum of the scores during learning?
#    With the scores [0, 1, -0.5] the list [0, 1] is drawn and earns more than the baseline. Which scores rise?
# 2. Without a baseline the agent still goes uphill in expectation. In which rounds do its scores change, and in which
#    direction, if every list is clicked at least once?
# 3. With a large step size the agent sometimes settles on a list that is not the best one, and stays there for a very
#    long time. Why does it hardly ever leave such a list?
# 4. The agent does not know the click model. In which click model would you prefer it to CascadeUCB1? In which not?
# 5. The estimate gives all drawn items the same advantage, also those that were not clicked. Could you do better in the
#    position-based model, where each item has its own click?

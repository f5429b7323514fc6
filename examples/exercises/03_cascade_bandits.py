# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Exercise 3: learn from clicks with CascadeUCB1 and CascadeKL-UCB
#
# You will write two algorithms that learn which items users like while they serve these users (Kveton, Szepesvari, Wen
# and Ashkan, ICML 2015). Both display the items with the largest *upper confidence bounds*; they differ in how they
# compute the bounds.
#
# ![Left: a click on the third of five items says that the first two were seen and not liked, and nothing about the last
# two. Right: the KL-UCB index is the point where T kl(mean, q) reaches f(t); the UCB1 index is further right, above
# 1](pictures/03_cascade_bandits.svg)
#
# ## Background
#
# * There are $L$ items. In each round $t = 1, 2, \dots$ one user comes, the algorithm displays a list of $K \le L$
#   different items, and the user clicks as in the *cascade model*: they look at the items from the top, click the first
#   attractive one and leave. The *attraction* of an item is the probability that it attracts a user.
# * **Observed items.** After a click at position $k$ the user has looked at the items down to position $k$, the
#   clicked one included. Nothing is known about the items below. Without a click the user has looked at all displayed
#   items.
# * $T(i)$ is the number of rounds before $t$ in which item $i$ was observed, and $\hat w(i)$ the share of these in
#   which it was clicked: its *mean*.
# * **UCB1.** With high probability, the attraction of item $i$ is below
#   $$U(i) = \hat w(i) + \sqrt{\frac{1.5 \log t}{T(i)}}.$$
# * **KL-UCB** computes a tighter bound. The *Bernoulli divergence* says how badly probability $q$ explains observations
#   whose mean is $p$:
#   $$\mathrm{kl}(p, q) = p \log \frac{p}{q} + (1 - p) \log \frac{1 - p}{1 - q}.$$
#   The bound is the largest $q$ that is still plausible:
#   $$U(i) = \max\bigl\{q \in [\hat w(i), 1] : T(i)\,\mathrm{kl}(\hat w(i), q) \le f(t)\bigr\}, \qquad
#   f(t) = \log t + 3 \log \log t.$$
# * An item that was rarely observed has a large bound, so it is displayed and observed. This is called *optimism in the
#   face of uncertainty*.
#
# ## Conventions
#
# These rules are the handout's. The paper has another $t$ and another beginning, and leaves ties open.
#
# * Items and positions are counted from 0, rounds from 1: $t = 1$ when the first list is chosen, and $t$ grows by one
#   with each round, whatever was observed. All items share the same $t$. All logarithms are natural.
# * An item that was never observed has the bound `math.inf`, so it is displayed before all others. There is no other
#   initialization.
# * The list has the items with the largest bounds, in decreasing order. Of items with equal bounds the one with the
#   smaller number comes first.
# * Keep clicks and observations as whole numbers, and divide once, in the index: then items with equal statistics have
#   exactly equal bounds. Means that are updated step by step are rounded in each step, differ in the last digit, and
#   break the ties.
# * The algorithms use no random numbers.
#
# ## What to do
#
# Fill in the functions and classes. Functions leave their arguments as they are: change copies, such as `list(x)`.
# Import nothing but the standard library and NumPy. Check your work at any time, in a terminal or with an
# exclamation mark in a notebook:
#
# ```sh
# rankgym exercise check 03_cascade_bandits.py
# rankgym exercise hint 3
# ```

# %%
import math
import random

# %% [markdown]
# ### 3.1 What was observed (1 point)


# %%
def observed_items(displayed, clicks):
    """Return the observed items, a list in the order of display: down to the first click, or all without a click.

    displayed: K different items, best first
    clicks: for each of the K positions 0 or 1; if there are several clicks, the first one counts
    """
    raise NotImplementedError("3.1")


# %% [markdown]
# ### 3.2 The best items (1 point)
#
# `sorted` and `list.sort` keep the order of equal elements. `numpy.argsort` does so only with `kind="stable"`.


# %%
def best_items(indices, num_positions):
    """Return the num_positions items with the largest indices, a list in decreasing order of their indices.

    indices: for each of the L items a number, which may be math.inf
    Of items with equal indices the one with the smaller number comes first.
    """
    raise NotImplementedError("3.2")


# %% [markdown]
# ### 3.3 The index of UCB1 (1 point)


# %%
def ucb1_index(clicked, observed, t):
    """Return U(i) of UCB1, a float: not cut at 1; math.inf if the item was never observed.

    clicked: in how many rounds the item was clicked
    observed: in how many rounds it was observed, T(i)
    t: the round, 1 or more
    """
    raise NotImplementedError("3.3")


# %% [markdown]
# ### 3.4 The divergence of two Bernoulli distributions (1 point)
#
# Two conventions complete the formula: $0 \log 0 = 0$, whatever it is divided by, and $x \log \frac{x}{0} = \infty$ for
# $x > 0$. So kl(0, q) is $-\log(1 - q)$, and kl(p, 1) is infinite unless $p = 1$.


# %%
def kl(p, q):
    """Return kl(p, q) for p and q in [0, 1]: a float, which may be math.inf."""
    raise NotImplementedError("3.4")


# %% [markdown]
# ### 3.5 The index of KL-UCB (2 points)
#
# From $q = \hat w(i)$ to $q = 1$ the divergence only grows. So *bisection* finds the largest $q$: keep two ends, `low`
# (plausible) and `high`; look at the middle, and move one end there. Each halving adds a binary digit: after 40 of them
# the answer is exact to 12 decimal digits. The check wants 9. With only a few digits the lists of 3.7 can be wrong,
# too: the bounds of two items may be close to each other.
#
# Where $f(t)$ is negative ($t = 2$) or not defined ($t = 1$), take $f(t) = 0$; then $U(i) = \hat w(i)$. If
# $\hat w(i) = 1$, then $U(i) = 1$ exactly.


# %%
def klucb_index(clicked, observed, t):
    """Return U(i) of KL-UCB, a float; math.inf if the item was never observed.

    The arguments are those of ucb1_index.
    """
    raise NotImplementedError("3.5")


# %% [markdown]
# ### 3.6 CascadeUCB1 (2 points)
#
# Each round calls `act` once and then `update` once, with the list that was displayed and the user's clicks.


# %%
class CascadeUCB1:
    """Displays the items with the largest UCB1 indices."""

    def __init__(self, num_items, num_positions):
        raise NotImplementedError("3.6")

    def act(self):
        """Return the round's list: num_positions different items out of 0 .. num_items - 1, best first."""
        raise NotImplementedError("3.6")

    def update(self, displayed, clicks):
        """Learn from the round: displayed is a list of items, clicks one of 0 and 1 for each position."""
        raise NotImplementedError("3.6")


# %% [markdown]
# ### 3.7 CascadeKL-UCB (2 points)
#
# The same with the other index. The check plays 2,000 rounds, so an index must not take long.


# %%
class CascadeKLUCB:
    """Displays the items with the largest KL-UCB indices."""

    def __init__(self, num_items, num_positions):
        raise NotImplementedError("3.7")

    def act(self):
        """Return the round's list: num_positions different items out of 0 .. num_items - 1, best first."""
        raise NotImplementedError("3.7")

    def update(self, displayed, clicks):
        """Learn from the round: displayed is a list of items, clicks one of 0 and 1 for each position."""
        raise NotImplementedError("3.7")


# %% [markdown]
# ## Try it
#
# The *regret* of a round is what was lost by not displaying the best list: the best list's probability of a click less
# that of the displayed one. Which of the two algorithms has less, and how fast does it grow?

# %%
if __name__ == "__main__":
    try:
        attraction, positions = [0.1, 0.2, 0.15, 0.5, 0.3, 0.1], 3

        def click_probability(displayed):
            return 1 - math.prod(1 - attraction[item] for item in displayed)

        optimal = click_probability([3, 4, 1])
        for name, algorithm in ("CascadeUCB1   ", CascadeUCB1), ("CascadeKL-UCB ", CascadeKLUCB):
            random.seed(1)  # both meet the same users
            agent, regret = algorithm(len(attraction), positions), 0.0
            for t in range(1, 2_001):
                displayed = agent.act()
                regret += optimal - click_probability(displayed)
                likes = [random.random() < probability for probability in attraction]
                clicks = [int(likes[item]) for item in displayed]
                if 1 in clicks:  # the user leaves after the first click
                    first = clicks.index(1)
                    clicks = [int(k == first) for k in range(positions)]
                agent.update(displayed, clicks)
                if t in (100, 500, 2_000):
                    print(f"{name} regret after {t:5,} rounds: {regret:6.1f}, last list {displayed}")
    except NotImplementedError as error:
        print(f"This demonstration needs {error}: fill in the functions, then run this file again.")

# %% [markdown]
# ## To think about
#
# 1. Does the order of the displayed items change the probability of a click in the cascade model? Does it change what
#    is observed? Would another order teach the algorithm more?
# 2. Pinsker's inequality says $\mathrm{kl}(p, q) \ge 2 (p - q)^2$. Which upper bound on the KL-UCB index follows? When
#    is the index much smaller than that?
# 3. If only clicks were recorded, and displays without a click were not, what would be the mean of each item?
# 4. Let an algorithm display the items with the largest means, without any bonus. Find two items and a few first users
#    with whom it displays the wrong item for ever, with positive probability.

# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Exercise 4: position bias, and how PBM-UCB corrects it
#
# Items further up in a list get more clicks because more users look there. An algorithm that ranks by clicks per
# display therefore confirms its own lists, right or wrong. You will see how, and write an algorithm that is not fooled:
# PBM-UCB (Lagree, Vernade and Cappe, NIPS 2016).
#
# ![Left: item 1 at position 0 has 40 clicks of 100 displays; item 0 at position 1, where half of the users look, has
# 30. Right: by clicks per display item 1 looks better, by clicks per look item 0 does](pictures/04_position_bias.svg)
#
# ## Background
#
# * There are $L$ items. In each round $t = 1, 2, \dots$ one user comes and sees a list of $K \le L$ different items.
#   Items and positions are counted from 0, in formulas as in code; rounds are counted from 1.
# * The user is that of the *position-based model* (PBM): they look at position $k$ with probability $\chi(k)$, its
#   *examination*, and an item $i$ that they look at is clicked with probability $\alpha(i)$, its *attraction*. Item $i$
#   at position $k$ is clicked with probability $\chi(k)\,\alpha(i)$, whatever happens at other positions. There may be
#   several clicks.
# * Examination falls: $1 \ge \chi(0) > \chi(1) > \dots > \chi(K - 1) > 0$. It is known. Attraction is not.
# * $N(i)$ is the number of rounds in which item $i$ was displayed, and $S(i)$ the number of its clicks. Its
#   *click-through rate* is $S(i) / N(i)$.
# * A user who does not look teaches nothing. $\tilde N(i)$ is the expected number of looks at item $i$: the sum of
#   $\chi(k)$ over the positions $k$ at which it was displayed, one term for each display. The *corrected estimate* of
#   the attraction is $S(i) / \tilde N(i)$.
# * **PBM-UCB** displays the items with the largest upper confidence bounds
#   $$U(i) = \frac{S(i)}{\tilde N(i)} + \sqrt{\frac{N(i)}{\tilde N(i)}} \sqrt{\frac{\log t}{2 \tilde N(i)}}.$$
#
# ## Conventions
#
# * $t = 1$ when the first list is chosen, and $t$ grows by one with each round. All items share the same $t$. All
#   logarithms are natural.
# * An item that was never displayed has no click-through rate and no estimate: `None`. Its upper confidence bound is
#   `math.inf`, so it is displayed before all others. There is no other initialization.
# * A list has the items with the largest bounds, in decreasing order. Of items with equal bounds the one with the
#   smaller number comes first.
# * Keep clicks and displays as whole numbers, add up the looks, and divide once, in the index: then items with equal
#   statistics have exactly equal bounds. Estimates that are updated step by step are rounded in each step, differ in
#   the last digit, and break the ties. (The check's examination has few binary digits: sums of it are exact.)
# * The algorithms use no random numbers.
#
# ## What to do
#
# Fill in the functions and classes. Functions leave their arguments as they are: change copies, such as `list(x)`.
# Import nothing but the standard library and NumPy. Check your work at any time, in a terminal or with an
# exclamation mark in a notebook:
#
# ```sh
# rankgym exercise check 04_position_bias.py
# rankgym exercise hint 4
# ```

# %%
import itertools
import math
import random

# %% [markdown]
# ### 4.1 Click-through rates (1 point)
#
# A log has a list and its clicks for each round.


# %%
def click_through_rates(rankings, clicks, num_items):
    """Return clicks divided by displays for each item, a list; None for an item that was never displayed.

    rankings: for each round the displayed items, best first
    clicks: for each round a list of 0 and 1, one for each position
    """
    raise NotImplementedError("4.1")


# %% [markdown]
# ### 4.2 What click-through rates estimate (2 points)
#
# The lists of a log were chosen beforehand. Which click-through rate is to be expected of each item? Compute it
# exactly, from the probability of a click in each display: no random numbers are needed.


# %%
def expected_click_through_rates(attraction, examination, rankings):
    """Return the expectation of S(i) / N(i) for each item, a list; None for an item that was never displayed.

    attraction: for each of the L items, a probability
    examination: for each of the K positions, a probability
    rankings: for each round the displayed items, best first
    """
    raise NotImplementedError("4.2")


# %% [markdown]
# ### 4.3 Corrected estimates (1 point)
#
# All clicks of the item divided by all its expected looks. The estimate may be larger than 1: do not cut it.


# %%
def corrected_estimates(rankings, clicks, examination, num_items):
    """Return S(i) divided by the expected number of looks, for each item, a list; None if it was never displayed.

    The arguments are those of the functions above.
    """
    raise NotImplementedError("4.3")


# %% [markdown]
# ### 4.4 Lists that confirm themselves (1 point)
#
# Display one list for ever. Its items' click-through rates approach their expectations. Then sort the list by these: is
# it the same list? If so, a ranker that goes by click-through rates will never change it, even if it is wrong.


# %%
def confirms_itself(attraction, examination, ranking):
    """Return whether the ranking's items are in decreasing order of the click-through rates that it gives them: a bool.

    attraction: for each of the L items, a probability
    examination: for each of the K positions, a probability
    ranking: K different items, best first
    The check has no equal rates.
    """
    raise NotImplementedError("4.4")


# %% [markdown]
# ### 4.5 The index of PBM-UCB (1 point)


# %%
def pbm_ucb_index(clicks, displays, looks, t):
    """Return U(i), a float: not cut at 1; math.inf if the item was never displayed.

    clicks: S(i), the number of clicks
    displays: N(i), the number of displays
    looks: the sum of the examination over the displays, a float
    t: the round, 1 or more
    """
    raise NotImplementedError("4.5")


# %% [markdown]
# ### 4.6 An algorithm that is fooled (2 points)
#
# It believes that users look at all positions: with $\chi(k) = 1$ for all $k$ the expected looks are the displays, and
# the index is $S(i) / N(i) + \sqrt{\log t / (2 N(i))}$, a click-through rate with a bonus.
#
# Each round calls `act` once and then `update` once, with the list that was displayed and the user's clicks. All
# displayed items count as displayed, clicked or not: this is not the cascade model.


# %%
class ClickThroughRate:
    """Displays the items with the largest upper confidence bounds on the click-through rate."""

    def __init__(self, num_items, num_positions):
        raise NotImplementedError("4.6")

    def act(self):
        """Return the round's list: num_positions different items out of 0 .. num_items - 1, best first."""
        raise NotImplementedError("4.6")

    def update(self, displayed, clicks):
        """Learn from the round: displayed is a list of items, clicks one of 0 and 1 for each position."""
        raise NotImplementedError("4.6")


# %% [markdown]
# ### 4.7 PBM-UCB (2 points)


# %%
class PBMUCB:
    """Displays the items with the largest upper confidence bounds on the attraction."""

    def __init__(self, num_items, num_positions, examination):
        """examination: for each of the K positions a probability, in decreasing order."""
        raise NotImplementedError("4.7")

    def act(self):
        """Return the round's list: num_positions different items out of 0 .. num_items - 1, best first."""
        raise NotImplementedError("4.7")

    def update(self, displayed, clicks):
        """Learn from the round: displayed is a list of items, clicks one of 0 and 1 for each position."""
        raise NotImplementedError("4.7")


# %% [markdown]
# ## Try it
#
# Item 3 is the best one, but with equal bounds item 0 comes first, and so the first list is upside down. How many of
# the 24 lists confirm themselves? Which one does each algorithm display in the end?

# %%
if __name__ == "__main__":
    attraction, examination = [0.3, 0.4, 0.5, 0.6], [1.0, 0.6, 0.3, 0.15]

    try:
        rankings = [list(ranking) for ranking in itertools.permutations(range(4))]
        stuck = [ranking for ranking in rankings if confirms_itself(attraction, examination, ranking)]
        print(len(stuck), "lists confirm themselves:", stuck)
    except NotImplementedError as error:
        print(f"This demonstration needs {error}: fill in the functions, then run this file again.")

    try:
        for name, make in (
            ("click-through rate", lambda: ClickThroughRate(4, 4)),
            ("PBM-UCB           ", lambda: PBMUCB(4, 4, examination)),
        ):
            agent = make()
            for _ in range(5_000):
                displayed = agent.act()
                clicks = [
                    int(random.random() < examination[k] and random.random() < attraction[item])
                    for k, item in enumerate(displayed)
                ]
                agent.update(displayed, clicks)
            print(name, "displays", agent.act())
    except NotImplementedError as error:
        print(f"This demonstration needs {error}: fill in the functions, then run this file again.")

# %% [markdown]
# ## To think about
#
# 1. Two items, two positions, and the worse item on top. In each round it gets a click that the other does not with
#    probability $u$, and the other way round with probability $d < u$. By the gambler's ruin the other item gets ahead
#    at some time with probability $d / u$. Let $\alpha = (0.5, 0.6)$ and $\chi = (1, 0.2)$; item 0 is the first on
#    top. How probable is it that `ClickThroughRate` never displays item 1 on top, in infinitely many rounds?
# 2. For which logs are the *expected* click-through rates in the order of attraction, whatever the attractions are?
#    Think of random lists. What do such lists cost?
# 3. Show that $S(i) / \tilde N(i)$ is *unbiased* if the lists were chosen beforehand: its expectation is $\alpha(i)$.
#    Another estimate is the mean of clicks / $\chi$ over the item's displays (inverse propensity weighting). Is it
#    unbiased, too? Which of the two varies less?
# 4. What happens if PBM-UCB believes in a wrong $\chi$? First let it be wrong by a common factor at all positions.

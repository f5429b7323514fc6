# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Exercise 5: sort items by comparing them, and stay safe
#
# TopRank and BubbleRank learn from *pairs* of items: which of the two is clicked when the other one is not? That works
# in many click models at once. TopRank starts from nothing; BubbleRank starts from a list that is in use already, and
# hardly ever shows users a much worse one.
#
# ![TopRank divides items into blocks and shuffles each of them; BubbleRank exchanges neighbours of a list, in one round
# those at odd positions, in the next one those at even positions](pictures/05_safe_ranking.svg)
#
# ## Background: TopRank
#
# * There are $L$ items and $K \le L$ positions. Items, positions and rounds are counted from 0, in formulas as in code.
#   User $t$ clicks item $i$ ($C_{ti} = 1$) or not ($C_{ti} = 0$). **An item that is not displayed counts as not
#   clicked.**
# * TopRank (Lattimore et al., 2018) keeps a relation $G$ of pairs: $(j, i) \in G$ says that item $j$ was found *worse*
#   than item $i$. In each round it divides the items into *blocks*: the first one has the items that are not worse than
#   any other; the next one has the items that are not worse than any of **those that remain**; and so on.
# * It displays block after block, each in random order, and cuts the list after $K$ items.
# * Two items are compared only while they are in the same block:
#   $$U_{tij} = \begin{cases} C_{ti} - C_{tj} & \text{if } i \text{ and } j \text{ are in one block} \\
#   0 & \text{otherwise} \end{cases} \qquad
#   S_{ij} = \sum_t U_{tij} \qquad N_{ij} = \sum_t |U_{tij}|$$
# * The pair $(j, i)$ joins $G$, for ever, once $N_{ij} > 0$ and
#   $$S_{ij} \ge \sqrt{2 N_{ij} \log\Bigl(\frac{c}{\delta} \sqrt{N_{ij}}\Bigr)},
#   \qquad c = \frac{4 \sqrt{2 / \pi}}{\operatorname{erf}(\sqrt 2)},$$
#   where $\log$ is the natural logarithm (Algorithm 1 of the paper, lines 10 to 12).
# * Where $G$ has a cycle ($i$ worse than $j$ worse than ... worse than $i$), no item may be left that is not worse than
#   another. Then all items that remain form one block.
#
# ## Coins
#
# Both algorithms draw lots. The random numbers are *arguments*, so that the same numbers give the same lists.
# `coins[t]` belongs to round $t$ and has $L$ numbers in [0, 1). No two of a round are equal, and there are coins for
# more rounds than are played.
#
# * In TopRank coin `i` belongs to **item** i: a block is displayed in the order of its items' coins, the smallest
#   first.
# * In BubbleRank coin `k` belongs to **position** k: it decides whether the items at the positions k and k + 1 are
#   exchanged. They are if `coins[t][k] < 0.5`. There are K - 1 pairs of neighbours, so the last number of `coins[t]` is
#   not used.
#
# ## What to do
#
# Fill in the functions and classes. Functions leave their arguments as they are: change copies, such as `list(x)`.
# Import nothing but the standard library and NumPy. Check your work at any time, in a terminal or with an
# exclamation mark in a notebook:
#
# ```sh
# rankgym exercise check 05_safe_ranking.py
# rankgym exercise hint 5
# ```

# %%
import math
import random

# %% [markdown]
# ### 5.1 What one user says about pairs (1 point)


# %%
def block_differences(blocks, displayed, clicks):
    """Return U of one user: a list of L lists of L numbers; U[i][j] is -1, 0 or 1.

    blocks: lists of items; each of the L items is in exactly one of them
    displayed: the K displayed items, best first
    clicks: 0 or 1 for each displayed item
    """
    raise NotImplementedError("5.1")


# %% [markdown]
# ### 5.2 How large a lead must be (1 point)


# %%
def toprank_radius(compared, delta):
    """Return what S must reach for a pair to join the relation, a float.

    compared: N, a whole number; where it is 0 the pair is never decided: return math.inf
    delta: a number in (0, 1)
    """
    raise NotImplementedError("5.2")


# %% [markdown]
# ### 5.3 From the relation to blocks (2 points)


# %%
def partition(num_items, worse):
    """Return the blocks, the best one first: a list of lists of items. Within a block items rise by their number.

    worse: the relation, a list of pairs [j, i]: item j is worse than item i
    """
    raise NotImplementedError("5.3")


# %% [markdown]
# ### 5.4 TopRank (2 points)
#
# `act` and `update` are called in turns. `update` first counts the round's differences, with the blocks with which
# the list was made; then pairs may join the relation, and the next round has its blocks.


# %%
class TopRank:
    def __init__(self, num_items, num_positions, delta, coins):
        """Coins: for each round a list with a number for each item."""
        raise NotImplementedError("5.4")

    def act(self):
        """Return the list to display: num_positions different items."""
        raise NotImplementedError("5.4")

    def update(self, displayed, clicks):
        """Learn from one user: displayed is a list of items, clicks has 0 or 1 for each of them."""
        raise NotImplementedError("5.4")


# %% [markdown]
# ## Background: BubbleRank
#
# * BubbleRank (Li et al., 2019) displays all items, $K = L$. It starts from the *production list* $R_0$ and keeps a
#   *base list*, which is $R_0$ at first.
# * In each round it looks at some pairs of neighbouring positions: in rounds 0, 2, 4, ... at the pairs (1, 2), (3, 4),
#   ...; in rounds 1, 3, 5, ... at (0, 1), (2, 3), ... (The paper counts rounds and positions from 1.)
# * Each of these pairs is exchanged in the *displayed* list, by a fair coin, unless it is settled. The pair is
#   *settled* if its upper item $i$ was found better than its lower item $j$: $s(i, j) > 2 \sqrt{n(i, j) \log(1 /
#   \delta)}$.
# * After the clicks, for each of the round's pairs (not for other neighbours, but also for settled pairs), with $i$ at
#   the upper and $j$ at the lower position of the **displayed** list: if exactly one of the two was clicked, $n(i, j)$
#   and $n(j, i)$ grow by 1, and $s(i, j)$ grows by 1 if it was $i$ and falls by 1 if it was $j$; $s(j, i) = -s(i, j)$.
# * Then the base list improves, in **one pass from the top** over all neighbours: if the lower item $j$ was found
#   better than the upper item $i$, $s(j, i) > 2 \sqrt{n(j, i) \log(1 / \delta)}$, they are exchanged, and the pass goes
#   on in the list that this makes.
#
# **Safety.** $|V(R)|$ is the number of misordered pairs: a less attractive item is above a more attractive one. A list
# *violates* the safety constraint if $|V(R_t)| > |V(R_0)| + K / 2$. The probability that BubbleRank displays no such
# list in $T$ rounds is at least $1 - \sqrt{\delta} K^2 T$ (Lemma 2 of the paper). With $\delta = T^{-4}$ that is
# $1 - K^2 / T$; with a larger $\delta$, as in the demonstration below, it may say nothing. This function counts the
# pairs; it is for you, and complete:


# %%
def misordered(ranking, attraction):
    """Return |V(R)|, the number of misordered pairs of a list."""
    pairs = [(upper, lower) for k, upper in enumerate(ranking) for lower in ranking[k + 1 :]]
    return sum(attraction[upper] < attraction[lower] for upper, lower in pairs)


# %% [markdown]
# ### 5.5 Which neighbours are exchanged (1 point)


# %%
def exchanged(base, settled, coins, played):
    """Return the displayed list of BubbleRank's round `played`. Leave `base` as it is.

    base: the base list
    settled: for each pair of neighbouring positions k, k + 1 of the base list, whether it is settled (K - 1 bools)
    coins: this round's coins; that of position k decides about positions k and k + 1
    """
    raise NotImplementedError("5.5")


# %% [markdown]
# ### 5.6 How the base list improves (1 point)


# %%
def bubbled_up(base, lead, compared, delta):
    """Return the base list after one pass from the top. Leave `base` as it is.

    lead: s, a list of L lists: lead[i][j] is s(i, j)
    compared: n, likewise
    """
    raise NotImplementedError("5.6")


# %% [markdown]
# ### 5.7 BubbleRank (2 points)


# %%
class BubbleRank:
    def __init__(self, initial_list, delta, coins):
        """initial_list: R_0, a list of all items. Coins: for each round a list with a number for each position."""
        raise NotImplementedError("5.7")

    def act(self):
        """Return the list to display: all items."""
        raise NotImplementedError("5.7")

    def update(self, displayed, clicks):
        """Learn from one user: displayed is a list of items, clicks has 0 or 1 for each of them."""
        raise NotImplementedError("5.7")


# %% [markdown]
# ## Try it
#
# Users of the position-based model, who look at each position with its own probability. The production list has
# exchanged neighbours. Who sorts the items first? Who displays bad lists on the way?

# %%
if __name__ == "__main__":
    try:
        attraction, examination = [0.9, 0.7, 0.5, 0.3, 0.1], [1.0, 0.9, 0.8, 0.7, 0.6]
        initial_list, rounds = [1, 0, 3, 2, 4], 5_000
        coins = [[random.random() for _ in attraction] for _ in range(rounds)]
        allowed = misordered(initial_list, attraction) + len(initial_list) / 2
        for agent in (TopRank(5, 5, 1 / rounds, coins), BubbleRank(initial_list, 1 / rounds, coins)):
            violations = 0
            for _ in range(rounds):
                displayed = agent.act()
                violations += misordered(displayed, attraction) > allowed
                chances = [attraction[item] * chi for item, chi in zip(displayed, examination, strict=True)]
                agent.update(displayed, [int(random.random() < chance) for chance in chances])
            print(f"{type(agent).__name__:10} {violations:5} violations, the last list is {displayed}")
    except NotImplementedError as error:
        print(f"This demonstration needs {error}: fill in the functions, then run this file again.")

# %% [markdown]
# ## To think about
#
# 1. In TopRank, count only pairs of which both items are displayed. What happens to an item that nobody likes and that
#    fills a block's only displayed position now and then? (Let K = 1.)
# 2. Why can the *displayed* list of BubbleRank have at most K / 2 misordered pairs more than its base list?
# 3. Let $T = 10{,}000$ be the number of rounds. How many comparisons $n(i, j)$ does BubbleRank need at least until a
#    pair is settled, with $\delta = T^{-4}$? How many, $N_{ij}$, does TopRank need at least until a pair joins the
#    relation, with $\delta = 1 / T$?
# 4. TopRank never takes a pair out of its relation, BubbleRank looks at its statistics anew in each round. Which of the
#    two forgives a wrong decision?

# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Exercise 7: interleaving, and the dueling bandit RUCB
#
# Which of two rankers is better? Show users one list that is made of both rankers' lists, and count whose items they
# click: a *duel*. Which of many rankers is the best? Choose the duels well: a *dueling bandit*. You will write both.
#
# ![Team draft: two captains choose their teams; clicks are credited to the team of the clicked item. RUCB: arms that
# may still beat all others, and the arm that may beat one of them](pictures/07_duels.svg)
#
# ## Team-draft interleaving
#
# (Radlinski, Kurup and Joachims, 2008.) Items, positions and rounds of the draft are counted from 0. Two rankers,
# *left* and *right*, rank the same items. They choose the interleaved list like two captains who choose their teams, in
# rounds. In each round a coin says who picks first, then the other one picks. Whoever picks takes the best item of the
# own ranking that **nobody has taken yet**, and puts it at the end of the list. The ranker whose team has more clicked
# items wins the duel; a fair coin decides a tie.
#
# A user who clicks without looking at the items prefers neither ranker: each position is as probably left's as right's.
# That is not so for every method. *Balanced interleaving* (Joachims, 2002) seems as fair, and below you see it fail.
#
# ## Preferences
#
# The *arms* are $K$ rankers, numbered from 0. $P(i, j)$ is the probability that arm $i$ beats arm $j$;
# $P(i, j) + P(j, i) = 1$ and $P(i, i) = 1/2$. Arm $i$ *beats* arm $j$ if $P(i, j) > 1/2$; a tie at 1/2 is not a win.
# Preferences need not be an order: rock beats scissors, scissors beat paper, paper beats rock. So "the best arm" has
# several meanings:
#
# * The **Condorcet winner** beats every other arm. There may be none.
# * The **Copeland winner** beats most other arms.
# * The **Borda winner** has the largest mean $\frac{1}{K - 1} \sum_{j \ne i} P(i, j)$: it most probably beats an
#   opponent who is drawn at random.
#
# With a Condorcet winner $b$, the *gap* of arm $k$ is $P(b, k) - 1/2$, never negative. The **regret** of a duel is the
# mean of both arms' gaps (*average*), the smaller gap (*weak*) or the larger gap (*strong*).
#
# ## RUCB
#
# (Zoghi, Whiteson, Munos and de Rijke, 2014.) Let $w_{ij}$ be the number of duels that $i$ won against $j$. In round
# $t = 1, 2, \dots$ the upper confidence bound of $P(i, j)$ is
# $$u_{ij} = \frac{w_{ij}}{w_{ij} + w_{ji}} + \sqrt{\frac{\alpha \ln t}{w_{ij} + w_{ji}}} \quad (i \ne j),
# \qquad u_{ii} = \frac{1}{2}.$$
# It is infinite if $i$ and $j$ have not met. The left arm $c$ is one that may still beat all others: one of
# $C = \{c : u_{cj} \ge 1/2 \text{ for all } j\}$. The right arm is the one that has the best chance to beat $c$.
#
# ## What to do
#
# Fill in the six functions and the class. Functions leave their arguments as they are: change copies, such as
# `list(x)`. Import nothing but the standard library and NumPy. Check your work at any time:
#
# ```sh
# rankgym exercise check 07_duels.py
# rankgym exercise hint 7
# ```

# %%
import itertools
import math
import random

# %% [markdown]
# ### 7.1 Team draft (2 points)
#
# `coins[r]` belongs to round r of the draft: **left picks first in that round if `coins[r] < 0.5`**,
# else right. One coin a round, not one for each position. The draft ends as soon as the list has `length` items, also
# in the middle of a round.


# %%
def team_draft(left, right, length, coins):
    """Return (displayed, teams): the interleaved list, and for each position 0 (left's team) or 1 (right's team).

    left, right: two rankings of the same items, best first
    length: number of displayed items, at most the number of items
    coins: for each round of the draft, a number in [0, 1)
    """
    raise NotImplementedError("7.1")


# %% [markdown]
# ### 7.2 Who wins (1 point)


# %%
def winner(teams, clicks, coin):
    """Return 0 if left wins the duel, 1 if right does: the one with more clicks on its team's items.

    teams: for each position, 0 (left) or 1 (right)
    clicks: for each position, 0 or 1
    coin: a number in [0, 1); of equally many clicks, left wins if coin < 0.5
    """
    raise NotImplementedError("7.2")


# %% [markdown]
# ### 7.3 The best arm, in three meanings (2 points)
#
# Of several arms that are equally good, the one with the smallest number wins.


# %%
def winners(preference):
    """Return three arms: the Condorcet winner (None if there is none), the Copeland winner, the Borda winner.

    preference: K lists of K probabilities, P(i, j) at preference[i][j]
    """
    raise NotImplementedError("7.3")


# %% [markdown]
# ### 7.4 Regret (1 point)


# %%
def duel_regret(preference, best, left, right, kind):
    """Return the regret of the duel of arms left and right, a number.

    preference: as in winners
    best: the best arm, the Condorcet winner
    kind: "average", "weak" or "strong"
    """
    raise NotImplementedError("7.4")


# %% [markdown]
# ### 7.5 Upper bounds (1 point)


# %%
def upper_bounds(wins, t, alpha):
    """Return the matrix of u: K lists of K numbers; math.inf where two different arms have not met.

    wins: K lists of K counts, w_ij at wins[i][j]
    t: the number of the round, from 1
    alpha: the width of the bounds, above 0
    """
    raise NotImplementedError("7.5")


# %% [markdown]
# ### 7.6 Arms that may be the best (1 point)


# %%
def contenders(bounds):
    """Return the set C of RUCB, a list of arms in ascending order.

    bounds: the matrix of upper_bounds
    """
    raise NotImplementedError("7.6")


# %% [markdown]
# ### 7.7 RUCB (2 points)
#
# Choices at random use `pick`, which is given. Round $t$ (the first has $t = 1$) has the three coins `coins[t - 1]`:
#
# 1. Compute $u$ and $C$.
# 2. If the *favourite* is not in $C$, forget it. (In the first round there is none. The paper calls it $B$.)
# 3. The left arm $c$:
#    * $C$ is empty: $c$ is picked out of all arms with the second coin.
#    * $C$ has one arm: this arm is $c$, and it becomes the favourite.
#    * $C$ has several arms: if there is a favourite and the **first** coin is below 0.5, $c$ is the favourite;
#      otherwise $c$ is picked with the **second** coin out of the arms of $C$ that are not the favourite.
# 4. The right arm is the arm $j$ with the largest $u_{jc}$ (its bound against $c$). All arms are allowed, also $c$
#    itself with $u_{cc} = 1/2$. If several have the largest, it is picked out of them with the **third** coin.
#
# The duel of an arm with itself takes a round, but says nothing: it is not counted in $w$.


# %%
def pick(arms, coin):
    """Return one of the arms, a list in ascending order: each equally probable if the coin is uniform in [0, 1)."""
    return arms[int(coin * len(arms))]


class RUCB:
    """Relative upper confidence bound: chooses which two arms duel."""

    def __init__(self, num_arms, alpha, coins):
        """num_arms: K; alpha: width of the bounds; coins: for each round, three numbers in [0, 1)."""
        raise NotImplementedError("7.7")

    def act(self):
        """Return the two arms of the round's duel, (left, right)."""
        raise NotImplementedError("7.7")

    def update(self, left, right, left_won):
        """Learn from the duel that act() chose; left_won: whether the left arm won."""
        raise NotImplementedError("7.7")


# %% [markdown]
# ## Try it
#
# **Is it fair?** The two functions below are balanced interleaving, ready to use. The rankers take turns, a coin says
# who begins, and a ranker whose next item is displayed already loses the turn. To compare them, look down both rankings
# until one of them has the clicked item, and see which rankings have it by then. Take a user who looks at nothing, and
# clicks one of the positions, each equally probable. Left and right should win equally often.


# %%
def balanced(left, right, left_first):
    """Return the list of balanced interleaving, all items."""
    displayed, i, j = [], 0, 0
    while len(displayed) < len(left):
        if i < j or (i == j and left_first):
            item, i = left[i], i + 1
        else:
            item, j = right[j], j + 1
        if item not in displayed:
            displayed.append(item)
    return displayed


def balanced_winner(left, right, clicked):
    """Return who wins with a single click, on the item ``clicked``: 0, 1, or None if nobody does."""
    places = left.index(clicked), right.index(clicked)
    return None if places[0] == places[1] else int(places[1] < places[0])


if __name__ == "__main__":
    try:
        left, right = [0, 1, 2], [1, 2, 0]
        duels = [balanced_winner(left, right, item) for first in (True, False) for item in balanced(left, right, first)]
        print(
            "balanced:   left wins",
            duels.count(0),
            "and right wins",
            duels.count(1),
            "of",
            len(duels),
            "equally likely",
        )
        duels = []
        for coins in itertools.product((0.0, 0.9), repeat=2):
            displayed, teams = team_draft(left, right, 3, coins)
            for clicked in range(3):
                clicks = [int(k == clicked) for k in range(3)]
                duels.append(winner(teams, clicks, 0.0))
        print(
            "team draft: left wins",
            duels.count(0),
            "and right wins",
            duels.count(1),
            "of",
            len(duels),
            "equally likely",
        )
    except NotImplementedError as error:
        print(f"This demonstration needs {error}: fill in the functions, then run this file again.")

# %% [markdown]
# **The best arm.** In the first matrix arm 0 beats both others, but arm 1 wins more duels against random opponents. The
# second one is rock, paper and scissors.

# %%
if __name__ == "__main__":
    try:
        for preference in (
            [[0.5, 0.6, 0.6], [0.4, 0.5, 1.0], [0.4, 0.0, 0.5]],
            [[0.5, 0.9, 0.1], [0.1, 0.5, 0.9], [0.9, 0.1, 0.5]],
        ):
            condorcet, copeland, borda = winners(preference)
            print(f"Condorcet winner {condorcet}, Copeland winner {copeland}, Borda winner {borda}")
    except NotImplementedError as error:
        print(f"This demonstration needs {error}: fill in the functions, then run this file again.")

# %% [markdown]
# **RUCB** meets rock, paper and scissors, and arm 0, which beats them all by a little. Compare its regret with that of
# duels at random, 0.075 a round.

# %%
if __name__ == "__main__":
    try:
        preference = [[0.5, 0.6, 0.6, 0.6], [0.4, 0.5, 0.9, 0.1], [0.4, 0.1, 0.5, 0.9], [0.4, 0.9, 0.1, 0.5]]
        rounds = 3_000
        agent = RUCB(4, 0.51, [[random.random() for _ in range(3)] for _ in range(rounds)])
        regret = 0.0
        for t in range(1, rounds + 1):
            left, right = agent.act()
            agent.update(left, right, random.random() < preference[left][right])
            regret += duel_regret(preference, 0, left, right, "average")
            if t % 500 == 0:
                print(f"round {t}: cumulative regret {regret:.1f}")
    except NotImplementedError as error:
        print(f"This demonstration needs {error}: fill in the functions, then run this file again.")

# %% [markdown]
# ## To think about
#
# 1. Team draft has a blind spot. Only item 2 is good, and the rankings are [0, 1, 2, 3] and [1, 2, 3, 0]. Which ranker
#    is better? Who wins the duels of a user who clicks item 2 wherever it is?
# 2. Can an arm be the Condorcet winner, but not the Borda winner? (Three arms are enough.) Can it be the Condorcet
#    winner, but not the Copeland winner?
# 3. When does RUCB let an arm duel with itself? What would it lose if it never did?
# 4. How many pairs do 100 arms make? An arm leaves $C$ when its bound against some other arm falls below 1/2. Let
#    $\alpha = 0.51$ and $t = 10{,}000$: how often must two arms have met at least, even if the same one won every time?
#    How many duels are that if all pairs meet so often, and how many if arms meet in batches of 4 only, as in the
#    beginning of MergeRUCB (Zoghi, Whiteson and de Rijke, 2015)?

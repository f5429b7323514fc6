# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Exercise 2: best lists and regret
#
# How good is a ranking, and how much does a ranker lose that does not know the best one? You will compute the
# *expected reward* of a list under three click models, find the *best list*, and measure the *regret* of a ranker.
# All later exercises compare algorithms by their regret.
#
# ![Four panels: matching items to positions in the position-based model, a list sorted by attraction that is not best,
# the regret of a round, and the misordered pairs of a list](pictures/02_best_lists.svg)
#
# ## Background
#
# As in exercise 1 there are $L$ items with attractions $\alpha(i)$, and a ranking $R$ is a list of $K$ different items,
# with $R(0)$ at the top. Items, positions and rounds are counted from 0, in formulas as in code.
#
# **Expected reward** $r(R)$: the expected number of clicks on the list. It belongs to the list and not to one user.
#
# * **Cascade model** (CM): the user clicks at most once, so it is the probability of a click,
#   $$r(R) = 1 - \prod_{k=0}^{K-1} \bigl(1 - \alpha(R(k))\bigr).$$
# * **Position-based model** (PBM): every examined position may be clicked,
#   $$r(R) = \sum_{k=0}^{K-1} \chi(k)\,\alpha(R(k)).$$
# * **Dependent click model** (DCM; Guo et al., 2009): the user goes down the list as in the cascade model, but after a
#   click at position $k$ they leave only with the *termination* probability $v(k)$, and go on otherwise. Without a
#   click they always go on. Position $k$ is examined by users who have not left above it:
#   $$\chi(R, k) = \prod_{j < k} \bigl(1 - v(j)\,\alpha(R(j))\bigr), \qquad
#     r(R) = \sum_{k=0}^{K-1} \chi(R, k)\,\alpha(R(k)).$$
#
# **Best list** $R^*$: the one with the largest expected reward among all lists of $K$ items. There are
# $L (L - 1) \cdots (L - K + 1)$ lists. You can try all of them if that is a small number. Sometimes sorting is enough:
#
# * in the CM the $K$ most attractive items are best, in any order;
# * in the PBM the most attractive item belongs at the position that is examined most, the second one at the position
#   that is examined second most, and so on;
# * in the DCM sorting by attraction may fail: a good item at the top ends the session of a user who would have clicked
#   more.
#
# **Regret**: what was lost by not displaying the best list. After $n$ rounds with the lists $R_0, \dots, R_{n-1}$ it is
# $$\sum_{t=0}^{n-1} \bigl(r(R^*) - r(R_t)\bigr).$$
# It compares *expected* rewards. Clicks do not occur in it: a ranker that is lucky with its users has not lost less.
# (The expected reward of a list that was chosen by chance is still that of the list: this is also called
# pseudo-regret.) Only whoever knows $\alpha$ can compute the regret: a simulator can, a ranker cannot.
#
# **Misordered pair**: two items, the less attractive one above the more attractive one. Items that are not displayed
# (*hidden* items) count as below all displayed ones. Two hidden items are no misordered pair, and neither are two
# items of equal attraction. The number of misordered pairs, $|V(R)|$, says how far a list is from the right order,
# whatever the click model (Li et al., 2019).
#
# ## What to do
#
# Fill in the seven functions; none of them needs random numbers. Leave their arguments as they are: change copies,
# such as `list(ranking)`. Import nothing but the standard library and NumPy. Check your work at any time:
#
# ```sh
# rankgym exercise check 02_best_lists.py
# rankgym exercise hint 2
# ```

# %%
import itertools
import random

# %% [markdown]
# ### 2.1 The cascade model's reward (1 point)


# %%
def cascade_reward(attraction, ranking):
    """Return the probability that a user of the cascade model clicks any item of the ranking, a float.

    attraction: for each of the L items, a probability
    ranking: K different items, best first
    """
    raise NotImplementedError("2.1")


# %% [markdown]
# ### 2.2 The position-based model's reward (1 point)


# %%
def pbm_reward(attraction, examination, ranking):
    """Return the expected number of clicks of a user of the PBM, a float.

    examination: for each of the K positions, a probability
    """
    raise NotImplementedError("2.2")


# %% [markdown]
# ### 2.3 The position-based model's best list (2 points)
#
# Sort; do not try all lists: the check has 300 items and 30 positions. Examination need not fall from position to
# position: users of a page with two columns may look at position 2 more often than at position 1.


# %%
def pbm_best_list(attraction, examination):
    """Return the best list of the PBM: a list of K different items, K = len(examination).

    Ties: of equally attractive items the one with the smaller number counts as better, and of equally examined
    positions the upper one gets the better item.
    """
    raise NotImplementedError("2.3")


# %% [markdown]
# ### 2.4 The dependent click model's reward (1 point)


# %%
def dcm_reward(attraction, termination, ranking):
    """Return the expected number of clicks of a user of the DCM, a float.

    termination: for each of the K positions, the probability v(k) that the user leaves after a click there
    """
    raise NotImplementedError("2.4")


# %% [markdown]
# ### 2.5 The dependent click model's best list (2 points)
#
# Try all lists. `itertools.permutations` yields them. Several lists may be best; return any of them.


# %%
def dcm_best_list(attraction, termination):
    """Return a best list of the DCM: a list of K different items, K = len(termination)."""
    raise NotImplementedError("2.5")


# %% [markdown]
# ### 2.6 Regret (2 points)
#
# Here is the log of a ranker: its lists, and the clicks on them. The users are those of the **cascade model**, and the
# simulator tells you their attractions.


# %%
def cumulative_regret(attraction, rankings, all_clicks):
    """Return for each round of a log the regret of all rounds up to it, its own included: a list of T floats.

    attraction: for each of the L items, a probability
    rankings: for each of the T rounds, the displayed list of K items; K is the same in all rounds
    all_clicks: for each of the T rounds, 0 or 1 for each position; think about what you need it for
    """
    raise NotImplementedError("2.6")


# %% [markdown]
# ### 2.7 Misordered pairs (1 point)


# %%
def misordered_pairs(attraction, ranking):
    """Return |V(R)|, the number of misordered pairs, an int.

    attraction: for each of the L items, displayed or hidden, a probability
    ranking: the K displayed items, best first
    """
    raise NotImplementedError("2.7")


# %% [markdown]
# ## Try it
#
# First the DCM of the picture, in which the sorted list is not best. Then three rankers in the cascade model: one
# always displays the same list, one displays random lists, and one displays the best list. What do their clicks say
# about them, and what does their regret say?

# %%
if __name__ == "__main__":
    try:
        attraction, termination = [0.9, 0.6, 0.5], [0.9, 0.3, 0.1]
        best = dcm_best_list(attraction, termination)
        print("all lists of three items, with their expected clicks in the DCM and their misordered pairs:")
        for ranking in itertools.permutations(range(3)):
            clicks, pairs = dcm_reward(attraction, termination, ranking), misordered_pairs(attraction, list(ranking))
            print(f"  {list(ranking)}  {clicks:.4f} clicks, {pairs} misordered pairs")
        print("best:", best)
    except NotImplementedError as error:
        print(f"This demonstration needs {error}: fill in the functions, then run this file again.")

# %%
if __name__ == "__main__":
    try:
        attraction, rounds = [0.1, 0.5, 0.3, 0.4, 0.2], 1_000
        rankers = {
            "always [2, 3]": lambda: [2, 3],
            "random lists": lambda: random.sample(range(5), 2),
            "the best list": lambda: [1, 3],
        }
        for name, choose in rankers.items():
            rankings, all_clicks = [choose() for _ in range(rounds)], []
            for ranking in rankings:
                attracted = [random.random() < attraction[item] for item in ranking]
                all_clicks.append([int(liked and not any(attracted[:k])) for k, liked in enumerate(attracted)])
            regret = cumulative_regret(attraction, rankings, all_clicks)
            print(f"{name}: {sum(map(sum, all_clicks))} clicks, regret {regret[-1]:.1f} after {rounds} rounds")
    except NotImplementedError as error:
        print(f"This demonstration needs {error}: fill in the functions, then run this file again.")

# %% [markdown]
# ## To think about
#
# 1. Run the last demonstration several times. The best list's regret is 0 each time, but its clicks change. Someone
#    measures the regret of 1,000 rounds by clicks: as $1000\, r(R^*)$ minus the number of clicks. For the best list,
#    how far from 0 is this number, typically? Can it be negative?
# 2. Exchange two neighbouring items of a DCM's list. When does the list get better? What follows for lists when $v(k)$
#    rises from position to position, and when it falls? Why does the order of the last two items never matter?
# 3. Show that with two positions a list sorted by attraction is always best in the DCM. Then find a DCM with three
#    positions in which the *least* attractive of four items belongs at the top.
# 4. In the CM every order of the best items has regret 0, but not every order has $|V(R)| = 0$. Which of them would you
#    rather show to users whose click model you do not know?
# 5. NDCG is another measure of order: $\sum_k \alpha(R(k)) / \log_2(k + 2)$, divided by its largest value. For which
#    click model is it the expected reward, up to a factor?

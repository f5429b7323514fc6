# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Exercise 9: evaluate a ranking policy from the logs of another one
#
# How many clicks would a new ranking policy get? You may not show it to users before you know. But you have a *log*:
# lists that another policy displayed, and the clicks on them. If the old policy left some choices to chance, the log
# can be weighted so that it answers for the new policy. You will write three such estimators, and see when each is
# right.
#
# ![For a click at position 1 of the positions 0, 1 and 2: SIPS multiplies the ratios of all three positions, RIPS those
# of the positions 0 and 1, IIPS takes one ratio, that of the item at this position](pictures/09_off_policy.svg)
#
# ## Policies
#
# Items, positions and sessions are counted from 0, in formulas as in code.
#
# A *policy* $\pi$ draws a list of $K$ out of $L$ items: $\pi(R)$ is the probability of the list $R$. Here it is a
# Plackett-Luce policy: item $i$ has a score $s(i)$, and the list is drawn from the top, each item with probability
# proportional to $e^{s(i)}$ among those that are left. Given the items above, position $k$ has its item with the *step
# probability*
# $$p(k) = \frac{e^{s(R(k))}}{\sum_{i \notin \{R(0), \dots, R(k - 1)\}} e^{s(i)}}, \qquad
#   \pi(R) = p(0) \cdots p(K - 1).$$
# The *marginal* $\pi(i, k)$ is the probability that the policy's list has item $i$ at position $k$, whatever is
# elsewhere.
#
# ## Estimators
#
# The log has $n$ sessions. Session $t$ has the list $R_t$, drawn by the *logging policy* $\pi_0$, and the clicks
# $c_t(k)$, 0 or 1. We want the *value* of the *target policy* $\pi$: its expected number of clicks in a session. All
# three estimators weight the clicks,
# $$\hat V = \frac{1}{n} \sum_{t = 0}^{n - 1} \sum_{k = 0}^{K - 1} w_t(k)\, c_t(k),$$
# and differ in the weights. With the ratios $\rho_t(k) = p(k) / p_0(k)$ of the two policies' step probabilities:
#
# | estimator | weight $w_t(k)$ | unbiased if a click at position $k$ depends on |
# |---|---|---|
# | SIPS, "list" | $\rho_t(0) \cdots \rho_t(K - 1) = \pi(R_t) / \pi_0(R_t)$ | anything in the list |
# | RIPS, "cascade" | $\rho_t(0) \cdots \rho_t(k)$ | the items at positions $0, \dots, k$ |
# | IIPS, "item-position" | $\pi(R_t(k), k) / \pi_0(R_t(k), k)$ | $k$ and the item there |
#
# The names are short for standard, reward-interaction (McInerney et al., KDD 2020) and independent (Li et al., KDD
# 2018) inverse propensity scoring; *propensity* is another word for the logging policy's probability.
#
# As a rule, fewer factors mean less variance, and a stronger assumption means a greater danger of a bias. The
# user of the cascade model (exercise 1) looks from the top: RIPS and SIPS are unbiased, IIPS is not. The user of the
# position-based model fits all three.
#
# Each of them needs *support*: what the target policy may do, the logging policy must do with a positive probability.
# And what is in the log has been displayed, so its logging probability cannot be 0.
#
# ## Against large weights
#
# * **Clipping** replaces weights above a limit by the limit: less variance, and a bias downwards.
# * **Self-normalisation** divides by the sum of the weights, not by $n$, for each position: the estimate of a
#   position is a weighted mean of its clicks, and cannot be above 1.
# * The **effective sample size** of a position, $(\sum_t w_t(k))^2 / \sum_t w_t(k)^2$, says how many sessions of equal
#   weights would be worth as much.
#
# ## What to do
#
# Fill in the seven functions. Functions leave their arguments as they are: change copies, such as `list(x)`. Import
# nothing but the standard library and NumPy. Check your work at any time:
#
# ```sh
# rankgym exercise check 09_off_policy.py
# rankgym exercise hint 9
# ```

# %%
import itertools
import math
import random

# %% [markdown]
# ### 9.1 Step probabilities (1 point)
#
# All scores are between -2 and 2, so that `math.exp` needs no care. (Exercise 8 shows what large scores need.)


# %%
def step_probabilities(scores, ranking):
    """Return the policy's step probability of each position of the ranking, a list of K numbers.

    scores: for each of the L items, a number
    ranking: K different items, best first
    """
    raise NotImplementedError("9.1")


# %% [markdown]
# ### 9.2 Marginals (1 point)
#
# Go through all lists of `num_positions` items (`itertools.permutations`): there are few.


# %%
def marginals(scores, num_positions):
    """Return the marginals of the policy: L lists of K numbers, the probability of item i at position k at [i][k]."""
    raise NotImplementedError("9.2")


# %% [markdown]
# ### 9.3 Weights of RIPS, and of SIPS (1 point)
#
# The last of these weights is the weight of the whole list, which SIPS gives to all positions. Multiply ratios; do not
# divide products: with long lists both products may be too small for a float, and 0 / 0 is no weight.


# %%
def cascade_weights(target, logging):
    """Return the weights of RIPS for one session, a list of K numbers.

    target: the target policy's step probabilities of the session's list
    logging: the logging policy's

    Raises ValueError if a logging probability is 0: the list cannot have been displayed.
    """
    raise NotImplementedError("9.3")


# %% [markdown]
# ### 9.4 Weights of IIPS (1 point)
#
# A logging marginal of 0 is refused in two cases: if the list has its item there, as in 9.3, and if the target marginal
# is above 0, whether the list has the item there or elsewhere or not at all. Only 0 in both tables, at a place that the
# list does not have, is fine.


# %%
def item_position_weights(ranking, target, logging):
    """Return the weights of IIPS for one session, a list of K numbers.

    ranking: the session's list
    target: the target policy's marginals, L lists of K numbers
    logging: the logging policy's

    Raises ValueError if a logging marginal is 0 where the list has its item, or where the target marginal is above 0.
    """
    raise NotImplementedError("9.4")


# %% [markdown]
# ### 9.5 The estimate (2 points)
#
# First clip. Then average, or normalise: without normalisation divide the sum by n; with it, for each position divide
# the sum of its weighted clicks by the sum of its (clipped) weights, and add up the positions. A position whose weights
# are all 0 adds 0.


# %%
def estimate(weights, clicks, largest=math.inf, normalise=False):
    """Return the estimated value, a number.

    weights: for each of n sessions, K weights
    clicks: for each of n sessions, K clicks, 0 or 1
    largest: weights above it are replaced by it
    normalise: whether to divide by the sum of the weights
    """
    raise NotImplementedError("9.5")


# %% [markdown]
# ### 9.6 How far to trust it (2 points)
#
# Session t adds $x_t = \sum_k w_t(k) c_t(k)$ to the estimate. With their mean $\bar x$ and standard deviation $s$,
# $s^2 = \frac{1}{n - 1} \sum_t (x_t - \bar x)^2$, the interval is $\bar x \pm z\, s / \sqrt{n}$: for large $n$ it
# contains the value with probability 0.95 if $z = 1.96$. If few sessions have most of the weight, do not believe it:
# therefore we also want the effective sample size, that of the position where it is smallest. It is 0 if all weights of
# a position are 0.


# %%
def precision(weights, clicks, z):
    """Return [low, high, size]: the two ends of the confidence interval, and the smallest effective sample size.

    weights, clicks: as in estimate, of at least 2 sessions; neither clipped nor normalised
    z: half the width of the interval in standard errors
    """
    raise NotImplementedError("9.6")


# %% [markdown]
# ### 9.7 All together (2 points)
#
# The check computes the expectation of your estimates over all lists and all clicks, and compares it with the true
# value, under users for whom the estimator is unbiased.


# %%
def evaluate(log, target_scores, logging_scores, kind):
    """Return the estimated value of the target policy: neither clipped nor normalised.

    log: for each session, [ranking, clicks]; all rankings have the same length
    target_scores, logging_scores: the scores of the two policies
    kind: "list" (SIPS), "cascade" (RIPS) or "item-position" (IIPS)
    """
    raise NotImplementedError("9.7")


# %% [markdown]
# ## Try it
#
# **Bias and variance, exactly.** Three items, two positions, three kinds of users. For each user and estimator you see
# its expectation and the standard deviation of one session, over all lists and clicks.


# %%
def independent(probabilities, clicks):
    """Return the probability of the clicks if each position is clicked with its own probability."""
    return math.prod(p if click else 1 - p for p, click in zip(probabilities, clicks, strict=True))


def position_based(ranking, clicks):
    """Return the probability that a user of the position-based model clicks like this."""
    return independent([chi * ATTRACTION[item] for chi, item in zip((0.9, 0.5), ranking, strict=True)], clicks)


def cascade(ranking, clicks):
    """Return the probability that a user of the cascade model clicks like this."""
    first, second = (ATTRACTION[item] for item in ranking)
    return {(1, 0): first, (0, 1): (1 - first) * second, (0, 0): (1 - first) * (1 - second), (1, 1): 0.0}[clicks]


def comparing(ranking, clicks):
    """Return the probability that a user clicks like this who compares the items, and seldom clicks the worse one."""
    first, second = (ATTRACTION[item] for item in ranking)
    return independent([first * (1 - second), second * (1 - first)], clicks)


ATTRACTION = [0.2, 0.5, 0.8]

if __name__ == "__main__":
    try:
        target, logging = [-1.0, 0.0, 1.0], [1.0, 0.0, -0.5]
        sessions = list(itertools.product(itertools.permutations(range(3), 2), itertools.product((0, 1), repeat=2)))
        for user in (position_based, cascade, comparing):
            value = sum(math.prod(step_probabilities(target, r)) * user(r, c) * sum(c) for r, c in sessions)
            chances = [math.prod(step_probabilities(logging, r)) * user(r, c) for r, c in sessions]
            print(f"{user.__name__} users: the value is {value:.3f}")
            for kind in ("list", "cascade", "item-position"):
                estimates = [evaluate([[ranking, clicks]], target, logging, kind) for ranking, clicks in sessions]
                mean = sum(p * x for p, x in zip(chances, estimates, strict=True))
                variance = sum(p * (x - mean) ** 2 for p, x in zip(chances, estimates, strict=True))
                print(f"    {kind:13}  expectation {mean:.3f}  standard deviation {math.sqrt(variance):.3f}")
    except NotImplementedError as error:
        print(f"This demonstration needs {error}: fill in the functions, then run this file again.")

# %% [markdown]
# **A log.** 2,000 sessions of users of the cascade model, drawn by the logging policy.

# %%
if __name__ == "__main__":
    try:
        log = []
        for _ in range(2_000):
            ranking, left = [], [0, 1, 2]
            while len(ranking) < 2:
                ranking += random.choices(left, [math.exp(logging[item]) for item in left])
                left.remove(ranking[-1])
            clicks = [int(random.random() < ATTRACTION[item]) for item in ranking]
            log.append([ranking, [clicks[0], int(clicks[1] and not clicks[0])]])
        steps = [(step_probabilities(target, ranking), step_probabilities(logging, ranking)) for ranking, _ in log]
        weights, clicks = [cascade_weights(*both) for both in steps], [clicks for _, clicks in log]
        print("RIPS", estimate(weights, clicks), "clipped at 5", estimate(weights, clicks, largest=5.0))
        print("self-normalised", estimate(weights, clicks, normalise=True))
        low, high, size = precision(weights, clicks, 1.96)
        print(f"95 % interval {low:.3f} .. {high:.3f}, effective sample size {size:.0f} of {len(log)}")
    except NotImplementedError as error:
        print(f"This demonstration needs {error}: fill in the functions, then run this file again.")

# %% [markdown]
# ## To think about
#
# 1. For which of the three estimators is the expectation of each weight 1? Why does self-normalisation work, then?
# 2. The logging policy always displays the same list. What can be learned from its log?
# 3. Is a user of the dependent click model (several clicks, looks from the top) fit for RIPS? For IIPS?
# 4. Let $\hat q(k)$ be any guess, from the items at positions $0, \dots, k$, of the clicks at positions $k$ *and below*
#    if the target policy fills those below. Let $\bar q(k)$ be its mean if the item at position $k$ is drawn anew by
#    the target policy. Show that with the weights of RIPS and $w(-1) = 1$
#    $$\sum_k \bigl(w(k) (c(k) - \hat q(k)) + w(k - 1)\, \bar q(k)\bigr)$$
#    has the same expectation as RIPS, however bad the guess. With a good guess its variance can be much smaller: this
#    is *cascade doubly robust* (Kiyohara et al., WSDM 2022).

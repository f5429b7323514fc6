"""The exercises by their number."""

from rankgym.exercises.exercise import Exercise
from rankgym.exercises.topics import (
    best_lists,
    cascade_bandits,
    changing_users,
    click_models,
    duels,
    off_policy,
    policy_gradient,
    position_bias,
    safe_ranking,
)

EXERCISES: dict[int, Exercise] = {
    1: click_models.EXERCISE,
    2: best_lists.EXERCISE,
    3: cascade_bandits.EXERCISE,
    4: position_bias.EXERCISE,
    5: safe_ranking.EXERCISE,
    6: changing_users.EXERCISE,
    7: duels.EXERCISE,
    8: policy_gradient.EXERCISE,
    9: off_policy.EXERCISE,
}

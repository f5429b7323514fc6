"""The exercises by their number."""

from rankgym.exercises.exercise import Exercise
from rankgym.exercises.topics import changing_users, click_models, safe_ranking

EXERCISES: dict[int, Exercise] = {
    1: click_models.EXERCISE,
    5: safe_ranking.EXERCISE,
    6: changing_users.EXERCISE,
}

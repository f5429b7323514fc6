"""The exercises by their number."""

from rankgym.exercises.exercise import Exercise
from rankgym.exercises.topics import click_models

EXERCISES: dict[int, Exercise] = {
    1: click_models.EXERCISE,
}

"""The preference matrix of a LETOR file's rankers, exactly or by simulated comparisons.

``estimate.py`` is its face, ``problem.py`` evaluates a pair of rankers, ``part_jobs.py`` hands parts to the engine. May
import run and plan of experiments, and everything below experiments.
"""

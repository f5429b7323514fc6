"""The preference matrix of a LETOR file's rankers, exactly or by simulated comparisons.

May import run and plan of experiments, and everything below experiments.
"""

"""Cascading non-stationary bandits: Li and de Rijke (IJCAI 2019), figures 1 and 2."""

from rankgym.experiments.papers.figure import figures_of
from rankgym.experiments.papers.nonstationary import figure_1, figure_2, setup

FIGURES = figures_of("nonstationary", setup, figure_1, figure_2)

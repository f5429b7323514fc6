"""Cascading non-stationary bandits: Li and de Rijke (IJCAI 2019), figures 1 and 2."""

from rankgym.experiments.papers.nonstationary import figure_1, figure_2

__all__ = ["FIGURES"]

FIGURES = (figure_1.FIGURE, figure_2.FIGURE)

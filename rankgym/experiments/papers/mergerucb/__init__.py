"""MergeRUCB: Zoghi, Whiteson and de Rijke (WSDM 2015), figures 1 to 7: duels among many rankers."""

from rankgym.experiments.papers.figure import figures_of
from rankgym.experiments.papers.mergerucb import (
    figure_1,
    figure_2,
    figure_3,
    figure_4,
    figure_5,
    figure_6,
    figure_7,
    setup,
)

FIGURES = figures_of("mergerucb", setup, figure_1, figure_2, figure_3, figure_4, figure_5, figure_6, figure_7)

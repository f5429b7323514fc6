"""TopRank: Lattimore, Kveton, Li and Szepesvari (NeurIPS 2018), figures 3 and 4."""

from rankgym.experiments.papers.figure import figures_of
from rankgym.experiments.papers.toprank import figure_3, figure_4, setup

FIGURES = figures_of("toprank", setup, figure_3, figure_4)

"""TopRank: Lattimore, Kveton, Li and Szepesvari (NeurIPS 2018), figures 3 and 4."""

from rankgym.experiments.papers.toprank import figure_3, figure_4

__all__ = ["FIGURES"]

FIGURES = (figure_3.FIGURE, figure_4.FIGURE)

"""BubbleRank: Li, Kveton, Lattimore, Markov, de Rijke, Szepesvari and Zoghi (UAI 2019), figures 1 to 4."""

from rankgym.experiments.papers.bubblerank import figure_1, figure_2, figure_3, figure_4

__all__ = ["FIGURES"]

FIGURES = (figure_1.FIGURE, figure_2.FIGURE, figure_3.FIGURE, figure_4.FIGURE)

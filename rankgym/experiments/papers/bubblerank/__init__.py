"""BubbleRank: Li, Kveton, Lattimore, Markov, de Rijke, Szepesvari and Zoghi (UAI 2019), figures 1 to 4."""

from rankgym.experiments.papers.bubblerank import figure_1, figure_2, figure_3, figure_4, setup
from rankgym.experiments.papers.figure import figures_of

FIGURES = figures_of("bubblerank", setup, figure_1, figure_2, figure_3, figure_4)

"""The papers' figures: what is played for each, how it is drawn, and every claim that it supports.

A folder a paper, a file a figure, each with ``SWEEP``, ``CLAIMS`` and ``draw``. May import show, judge, run and plan.
"""

from rankgym.experiments.papers import bubblerank, mergerucb, nonstationary, toprank
from rankgym.experiments.papers.figure import PaperFigure

PAPERS: dict[str, tuple[PaperFigure, ...]] = {
    "bubblerank": bubblerank.FIGURES,
    "toprank": toprank.FIGURES,
    "nonstationary": nonstationary.FIGURES,
    "mergerucb": mergerucb.FIGURES,
}
FIGURES: dict[str, PaperFigure] = {figure.name: figure for figures in PAPERS.values() for figure in figures}

"""Check the assumptions of BubbleRank's and TopRank's theorems in a click model: a report with counterexamples.

A ranking algorithm runs on any click model, but its theorems hold only in those that satisfy its paper's assumptions:
A1 .. A5 of BubbleRank (Li et al., UAI 2019, Assumption 1 in section 4.1), here ``A1`` .. ``A5``; Assumptions 1 .. 4 of
TopRank (Lattimore et al., NeurIPS 2018, section 3), here ``T1`` .. ``T4``. (BatchRank's are A1 .. A5, in a slightly
stronger form: BubbleRank's footnote 1.) ``check_assumptions`` searches for lists that violate them.

Our reading of the papers
-------------------------
* A list R has K distinct items out of L; chi(R, k) is ``ClickModel.examine``, and TopRank's v(a, k) is
  chi(a, k) alpha(a(k)), alpha the model's attraction. (TopRank only asks that some alpha exists; we check the model's.)
* R* is the list sorted by attraction, items of equal attraction in the order of their numbers; TopRank's optimal
  actions a* are all lists sorted by attraction.
* A1 and T2 are about the reward whose regret is measured: ``reward`` and ``cutoff``.
* A4 is printed as an equivalence: alpha(R(k)) <= alpha(R(l)) <=> chi(R, l) >= chi(R', l). That would fail
  in every PBM, where an exchange changes no examination, while the paper says that A4 holds there. Its proofs only use
  =>, so => is checked.
* T3 is multiplied out by alpha(j): where that is 0, both sides are 0.
* T1, no click on hidden items, holds in every click model here by definition.

Which lists are compared
------------------------
A2, A4 and T3 compare lists. Pairs that differ in one exchange, of two displayed items or of a displayed and a hidden
one, suffice: A4 and T3 are about such pairs, and two lists with the same items above k are connected by a chain of
exchanges that keep those items. So A2 holds exactly if no single exchange violates it. (Its gap is therefore the
largest one of a single exchange.)
"""

from rankgym.models.assumptions.checking import check_assumptions
from rankgym.models.assumptions.report import ASSUMPTIONS, PAPERS, Report, Verdict, Witness

__all__ = ["ASSUMPTIONS", "PAPERS", "Report", "Verdict", "Witness", "check_assumptions"]

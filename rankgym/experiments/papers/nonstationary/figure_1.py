"""Non-stationary bandits, figure 1: regret, and regret of each epoch."""

import math

import numpy as np

from rankgym.experiments.judge import claim_measures as measures
from rankgym.experiments.judge import intervals
from rankgym.experiments.judge.claim_measures import NORMAL_99, SAME, last_round, units_of
from rankgym.experiments.judge.claims import ABOVE_0, Claim, Finding
from rankgym.experiments.judge.units import Units, counted_units, each_row, epochs
from rankgym.experiments.papers.figure import Drawing
from rankgym.experiments.papers.nonstationary import setup
from rankgym.experiments.papers.nonstationary.setup import AGENTS, CM, EPOCHS, FORGETTING, LINEAR
from rankgym.experiments.run.results import Results

TITLE = "Regret of agents that forget, and of baselines that do not, where three items jump every other 10,000 rounds"
SETTING = f"As in section 5: 10 items, 3 positions, 10 epochs of 10,000 rounds. {setup.DATA}"
SWEEP = setup.changing_users
SMALL_GAP = 0.25  # a gap between two agents is called small up to this share of the larger regret


def growth(results: Results, agent: str) -> Finding:
    """Estimate the growth exponent of the regret from the end of the second epoch to that of the last one.

    Each end follows equally many epochs of both kinds.
    """
    played = results[CM, agent]
    end = last_round(played)
    words = {"agent": agent, "start": f"{end // 5:,}", "end": f"{end:,}"}
    return Finding(intervals.growth(played, stop=end, start=end // 5), words)


def lead_of_forgetting(results: Results, agent: str) -> intervals.Estimate:
    """Estimate the agent's regret minus the larger one of the agents that forget."""
    units = (units_of(results[CM, name]) for name in (agent, *FORGETTING))
    return intervals.of_means(lambda baseline, *forgetting: baseline - np.maximum(*forgetting), *units)


def lead_after_breakpoints(results: Results, agent: str) -> intervals.Estimate:
    """Estimate the same difference, of the regret in an epoch after the first breakpoint."""
    after = range(1, EPOCHS)
    units = (epochs(results[CM, name], after) for name in (agent, *FORGETTING))
    return intervals.of_means(lambda baseline, *forget: (baseline - np.maximum(*forget)) / len(after), *units)


def harm_in_default_epochs(results: Results, agent: str) -> intervals.Estimate:
    """Estimate the mean regret in epochs 2, 4, 6, 8 minus that in epoch 0."""
    played, even = results[CM, agent], range(2, EPOCHS, 2)
    return intervals.of_means(lambda later, first: later / len(even) - first, epochs(played, even), epochs(played, [0]))


def in_epoch(results: Results, agent: str, epoch: int, published: float, error: float) -> Finding:
    """Estimate the regret in an epoch, claimed to be near a published mean.

    One of the published standard errors is a third of its mean: there the error decides what is near.
    """
    near = max(SAME * published, NORMAL_99 * error)
    found = intervals.mean(epochs(results[CM, agent], [epoch]))
    words = {"theirs": f"{published:.2f} ± {error:.2f}"}
    return Finding(found, words, (published - near, published + near))


def fall_within_epochs(results: Results, agent: str) -> intervals.Estimate:
    """Estimate regret in the last fifth of the epochs after a breakpoint, as a share of that in their first fifth."""
    played = results[CM, agent]
    epoch = last_round(played) // EPOCHS
    fifth = epoch // 5

    def in_fifth(offset: int) -> Units:
        starts = range(epoch + offset, last_round(played), epoch)
        added = [played.at("regret", start + fifth) - played.at("regret", start) for start in starts]
        return each_row(played, np.sum(added, axis=0))

    return intervals.ratio(in_fifth(epoch - fifth), in_fifth(0))


def gap(results: Results, larger: str, smaller: str) -> intervals.Estimate:
    """Estimate the difference of two regrets as a share of the larger one."""
    units = (units_of(results[CM, agent]) for agent in (larger, smaller))
    return intervals.of_means(lambda one, other: (one - other) / one, *units)


def ratio_of_bounds(results: Results, one: str, other: str) -> Finding:
    """Estimate the ratio of two regrets, claimed to be between 1 and the ratio of the bounds."""
    factor = math.sqrt(math.log(last_round(results[CM, one])))
    return Finding(measures.ratio(results, CM, one, other), {"factor": f"{factor:.2f}"}, (1.0, factor))


GROWTH = "growth exponent of {agent}'s regret from round {start} to {end} (1: linear)"
BORDER = f"called linear from {LINEAR} on, sub-linear below"
CLAIMS = {
    "{baseline}-linear": Claim(
        "section 5, paragraph 4, sentence 2; section 1, paragraph 3, sentence 1; figure 1",
        "The regret of every baseline is linear in time; here {baseline}'s.",
        GROWTH,
        (growth, "{baseline}"),
        (LINEAR, math.inf),
        BORDER,
    ),
    "{baseline}-inferior": Claim(
        "section 5, paragraph 3, sentence 7; figure 1",
        "Where users change, the two that forget are better than the baselines; here than {baseline}.",
        "{baseline}'s regret less the larger one of CascadeDUCB and CascadeSWUCB",
        (lead_of_forgetting, "{baseline}"),
        ABOVE_0,
    ),
    "{baseline}-misses-breakpoints": Claim(
        "section 5, paragraph 4, sentence 3; figure 1",
        "The baselines do not notice the breakpoints; here {baseline}.",
        "{baseline}'s regret in an epoch after a breakpoint, less the larger one of CascadeDUCB and CascadeSWUCB",
        (lead_after_breakpoints, "{baseline}"),
        ABOVE_0,
        "the sentence is read as: they lose more in the epochs after breakpoints than those that forget",
    ),
    "{baseline}-worse-in-default-epochs": Claim(
        "section 5, paragraph 4, sentence 4; figure 1",
        "Changes harm the baselines even in epochs in which users are as they were at first; here {baseline}.",
        "{baseline}'s regret in epochs 2, 4, 6, 8 (mean) less that in epoch 0; the users are the same in all five",
        (harm_in_default_epochs, "{baseline}"),
        ABOVE_0,
    ),
    "kl-ucb-{epoch}-epoch": Claim(
        "section 5, paragraph 4, sentence 5; figure 1",
        "CascadeKL-UCB has a regret of {words}.",
        "CascadeKL-UCB's regret in epoch {number} (published: {theirs})",
        (in_epoch, "cascade-kl-ucb", "{number}", "{mean}", "{error}"),
        (-SAME, SAME),
        f"reproduced means within {SAME:.0%} of the published number, or within {NORMAL_99} of its standard errors if "
        "that is more; the paper's queries are others",
        cases=[
            {"epoch": epoch, "number": number, "mean": mean, "error": error, "words": words}
            for epoch, number, mean, error, words in (
                ("first", 0, 111.50, 1.12, "111.50 (standard error 1.12) in the first 10,000 rounds"),
                ("ninth", 8, 447.82, 137.16, "447.82 (standard error 137.16) from round 80,000 to 90,000"),
            )
        ],
    ),
    "{forgetting}-converges": Claim(
        "section 5, paragraph 4, sentence 8; figure 1",
        "Those that forget notice the breakpoints and converge; here {forgetting}.",
        "{forgetting}'s regret in the last fifth of an epoch, as a share of that in its first fifth, epochs 1 to 9",
        (fall_within_epochs, "{forgetting}"),
        (0.0, 1.0),
        "the sentence is read as: after a breakpoint the regret of a round falls",
    ),
    "{forgetting}-sub-linear": Claim(
        "section 7, paragraph 1, sentences 4 and 5; figure 1",
        "The experiments confirm the theory, that the regret of both is sub-linear; here {forgetting}'s.",
        GROWTH,
        (growth, "{forgetting}"),
        (-math.inf, LINEAR),
        f"{BORDER}; the theory speaks of agents tuned to ever longer horizons, the figure has one",
    ),
    "swucb-better-than-ducb": Claim(
        "section 5, paragraph 4, sentence 9; section 4.3, paragraph 1, sentence 4; figure 1",
        "CascadeSWUCB has less regret than CascadeDUCB.",
        "CascadeDUCB's regret less CascadeSWUCB's",
        (measures.difference, CM, *FORGETTING),
        ABOVE_0,
    ),
    "swucb-better-by-little": Claim(
        "section 5, paragraph 4, sentence 9; figure 1",
        "The gap between CascadeSWUCB and CascadeDUCB is small.",
        "the gap between them as a share of CascadeDUCB's regret",
        (gap, *FORGETTING),
        (0.0, SMALL_GAP),
        f"called small up to {SMALL_GAP:.0%}",
    ),
    "swucb-better-as-in-theory": Claim(
        "section 5, paragraph 4, sentence 10; figure 1",
        "This agrees with the bounds, of which CascadeSWUCB's is better by a factor of sqrt(ln n).",
        "CascadeDUCB's regret as a multiple of CascadeSWUCB's",
        (ratio_of_bounds, *FORGETTING),
        (1.0, math.inf),
        "the bounds differ by sqrt(ln n) = {factor} at most: consistent is what lies between 1 and that",
    ),
}


def draw(results: Results) -> Drawing:
    from rankgym.experiments.show import figures

    played = [results[CM, agent] for agent in AGENTS]
    regret, by_epoch = map(figures.curve, played), map(figures.per_epoch, played)
    panels = [
        figures.Panel("Regret", list(regret), breakpoints=setup.breakpoints(results), bottom=0.0),
        figures.Panel("Regret of each epoch", list(by_epoch), "epoch (odd: three items jump to 0.9)", bottom=0.0),
    ]
    queries = len(np.unique(played[0].query))
    runs = counted_units(len(played[0].row) // queries, "runs")
    error = "bands and bars: one standard error over all of them"
    return figures.panels(panels, caption=f"Cascade model, {queries} queries, {runs} of each; {error}")

"""The result of a comparison of agents: histories, the settings that decided their numbers, the table, the caption."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rankgym.envs import vector_breakpoint
from rankgym.estimates import known, mean_and_error, with_error
from rankgym.experiments.judge.agreements import equal_groups
from rankgym.experiments.judge.table_columns import EARLY, Column, counted, table_columns
from rankgym.experiments.judge.units import counted_units
from rankgym.experiments.plan.agents import AgentSpec, slug
from rankgym.experiments.plan.digests import code_digest
from rankgym.experiments.plan.environments import decades, env_arguments, env_creator
from rankgym.histories import SHOWN, title
from rankgym.outputs import versions
from rankgym.play.history import DuelingHistory, History

# Arguments that a caption shows: numbers, words and names of files; lists are too long.
CAPTIONED = ("dataset", "user_model", "family", "num_arms", "uninformative", "winner", "file", "interleaving", "regret")
SOURCED = {"yandex": "click models", "mslr": "preferences"}  # data sets with two sources, and what they consist of


@dataclass(frozen=True, repr=False)
class Comparison:
    """The history of each agent, and the settings that decided the numbers.

    ``comparison.histories["toprank"]`` is a ``rankgym.History``: ``.to_pandas()``, ``.save()``, ``.plot()``.

    See ``rankgym.experiments.compare``, which returns it.
    """

    env_id: str
    env_kwargs: dict[str, Any]  # of gym.make_vec, without num_envs and ``choice``
    agents: tuple[AgentSpec, ...]
    rounds: int
    runs: int
    seed: int
    queries: tuple[int, ...] = field(repr=False)
    cutoff: int | None  # positions that count for the reward and the NDCG; None: duels, or no positions
    breakpoints: tuple[int, ...] | None  # rounds at which all rows begin a new epoch; None: each row has its own
    histories: dict[str, History | DuelingHistory] = field(repr=False)  # by the agents' labels; (records, rows)
    seconds: dict[str, float]  # of each agent's rows, in one process
    notes: list[str] = field(default_factory=list)  # for the user: rows kept from an earlier run, ...
    first_breakpoint: int | None = None  # of users who do not change within ``rounds``; None: unknown, or they change
    kind: str = "rankings"  # or "duels": a key of environments.KINDS
    choice: str | None = "query"  # the environment's argument that takes ``queries``; or "problem"; None: it has none
    retire: bool = False  # rows that settled left the batch: later rewards are expected ones

    @property
    def rows(self) -> int:
        return len(self.queries) * self.runs

    def __repr__(self) -> str:
        """What was played, and a line for each agent."""
        lines = [f"Comparison of {counted_units(len(self.agents), 'agents')} in {caption(self)}"]
        for spec in self.agents:
            history = self.histories[spec.label]
            measure = "regret" if self.regret_known else "reward"
            mean, error = mean_and_error(known(getattr(history, measure)[-1]))
            lines.append(f"  {spec.label}: {measure} {with_error(float(mean), float(error))}")
        return "\n".join(lines)

    def plot(self, measure: str = "regret", *, ax: Any = None) -> Any:
        """Draw a measure of all agents over rounds, and return the axes. Further histories may be drawn into them.

        Each agent's curve is ``History.plot``'s: the mean over rows, and a band of one standard error to either side.
        ``other.plot(measure, ax=ax, label="mine")`` puts another history beside them. Needs matplotlib.

        Args:
            measure: of rankings "regret", "violations", "ndcg" or "reward"; of duels "regret", "accuracy" or "reward".
            ax: matplotlib's axes to draw into; default: a new figure.
        """
        entitled = ax is not None  # by whoever made the axes
        for spec in self.agents:
            ax = self.histories[spec.label].plot(measure, ax=ax, label=spec.label)
        if not entitled:
            from rankgym import style  # needs matplotlib, as the plot does

            style.set_title(ax, f"{self.env_id.removeprefix('rankgym/')}: {title(measure)}, {SHOWN}")
        return ax

    @property
    def source(self) -> str | None:
        """The source of the environment's data set, "calibrated" or "published"; None if it does not have both."""
        return self._source[0]

    @property
    def _source(self) -> tuple[str | None, str]:
        """``source``, and in words what the data set consists of."""
        arguments = {**(env_arguments(self.env_id) or {}), **self.env_kwargs}
        words = SOURCED.get(arguments.get("dataset"))  # type: ignore[arg-type]
        return (str(arguments["source"]), words) if words and "source" in arguments else (None, "")

    @property
    def regret_known(self) -> bool:
        """Whether any agent's regret is known in any row; of interleaved rankers the best may be unknown."""
        return self._known("regret")

    @property
    def accuracy_known(self) -> bool:
        """Whether any agent's accuracy is known in any row."""
        return self._known("accuracy")

    def _known(self, measure: str) -> bool:
        return any(np.isfinite(getattr(history, measure, np.nan)).any() for history in self.histories.values())

    @property
    def choices(self) -> str:
        """The name of ``queries``: "queries" or "problems"."""
        return "queries" if self.choice == "query" else "problems"

    @property
    def epochs(self) -> int:
        """The number of epochs with a regret of their own; 0 if nothing changes within ``rounds``."""
        if self.breakpoints == ():
            return 0
        return max(len(getattr(history, "epoch_regret", ())) for history in self.histories.values())

    @property
    def changing(self) -> bool:
        """Whether the environment has breakpoints at all, within ``rounds`` or later."""
        return env_creator(self.env_id) is vector_breakpoint

    @property
    def milestones(self) -> list[int]:
        """The rounds whose regret is in tables: 100, 1,000, ... and the last."""
        return [r for r in decades(self.rounds) if r >= EARLY and r != self.rounds] + [self.rounds]

    @property
    def columns(self) -> list[Column]:
        """The table's columns after the agent's name and before those of epochs."""
        return table_columns(self)

    def table(self) -> list[dict[str, Any]]:
        """Return one dict an agent, in the given order: means over rows and their standard errors (``..._se``).

        The keys are ``agent``; ``regret_<round>`` for each milestone, and ``regret`` after the last round; the kind's
        measures; ``sessions_per_second`` in one process; and ``regret_epoch_<n>`` for each epoch, from 0: over the rows
        that have reached it (epoch 999 holds all later ones). Standard errors are over the rows of all queries and
        runs; NaN for one row.

        The measures of rankings are ``violations_early`` (in the first 100 rounds) and ``violations``; ``ndcg``, the
        mean of all rounds; ``reward_per_round``. Those of duels are ``accuracy_<round>`` for each milestone, and
        ``accuracy`` after the last round, over the rows in which it is known; and
        ``reward_per_round``.
        """
        columns = self.columns
        return [self._line(spec.label, columns) for spec in self.agents]

    def _line(self, label: str, columns: list[Column]) -> dict[str, Any]:
        history = self.histories[label]
        line: dict[str, Any] = {"agent": label}
        for column in columns:
            if column.values is None:
                line[column.key] = float(self.rows * self.rounds / self.seconds[label])
            else:
                line |= _cells(column.key, known(column.values(history)))
        for epoch, values in enumerate(getattr(history, "epoch_regret", ())[: self.epochs]):
            line |= _cells(f"regret_epoch_{epoch}", known(values))
        return line

    @property
    def agreements(self) -> list[list[str]]:
        """Groups of agents, two or more each, whose measures are equal in every row and record, to the last bit."""
        return equal_groups({spec.label: self.histories[spec.label] for spec in self.agents})

    def epoch_groups(self, size: int) -> list[dict[str, Any]]:
        """Return one dict an agent with the regret in groups of ``size`` consecutive epochs; the last may be smaller.

        The keys are ``regret_epochs_<first>_<last>``, with ``..._se`` as in ``table``. All rows must have reached all
        epochs: they share their breakpoints.
        """
        lines = []
        for spec in self.agents:
            line: dict[str, Any] = {}
            regrets = getattr(self.histories[spec.label], "epoch_regret", np.empty((0, self.rows)))
            for first in range(0, self.epochs, size):
                last = min(first + size, self.epochs) - 1
                line |= _cells(f"regret_epochs_{first}_{last}", regrets[first : last + 1].sum(axis=0))
            lines.append(line)
        return lines

    def settings(self) -> dict[str, Any]:
        """Return everything that decided the numbers, as plain JSON values.

        If users change within ``rounds``, ``breakpoints`` are the rounds at which all rows begin a new epoch, or None
        if each row's seed draws its own.
        """
        return {
            "environment": self.env_id,
            "arguments": self.env_kwargs,
            "source": self.source,
            "agents": [
                {
                    "name": s.label,
                    "class": s.where,
                    "knobs": s.knobs,
                    "file": f"{slug(s.label)}.npz",
                    "code": s.digest(),
                }
                for s in self.agents
            ],
            "rounds": self.rounds,
            "runs": self.runs,
            "seed": self.seed,
            "seeds": f"row b: {self.seed} + b, for environment and agent",
            **({self.choices: list(self.queries)} if self.choice else {}),
            "rows": self.rows,
            **({"cutoff": self.cutoff} if self.cutoff is not None else {}),
            **({"breakpoints": self.breakpoints and list(self.breakpoints)} if self.epochs else {}),
            "recorded_rounds": self.histories[self.agents[0].label].rounds.tolist(),
            **({"retire": True} if self.retire else {}),
            "versions": versions(),
            "code": code_digest(),
        }


def _cells(name: str, values: NDArray[np.float64]) -> dict[str, float]:
    """Return the mean of ``values`` (rows,) and its standard error under the keys of a table."""
    mean, error = mean_and_error(values)
    return {name: float(mean), f"{name}_se": float(error)}


def _given(comparison: Comparison) -> list[str]:
    """Return the arguments of duels that a caption shows: those that are not the environment's defaults."""
    if comparison.kind != "duels":
        return []
    defaults = env_arguments(comparison.env_id) or {}
    given = {key: value for key, value in comparison.env_kwargs.items() if value != defaults.get(key)}
    return [f"{key}={Path(str(given[key])).name}" for key in CAPTIONED if key in given]


def caption(comparison: Comparison, errors: Literal["all", "some", "none"] = "all") -> str:
    """Say what the shown numbers are means of; ``errors``: which of them are shown with a standard error."""
    queries, runs = len(comparison.queries), comparison.runs
    over = counted_units(runs, "runs") + (" each" if queries > 1 else "")
    if comparison.choice is not None:
        over = f"{counted_units(queries, comparison.choices)}, {over}"
    source, words = comparison._source
    where = ", ".join([comparison.env_id, *_given(comparison), *([f"{source} {words}"] if source else [])])
    rounds = "round" if comparison.rounds == 1 else "rounds"
    number = {"all": "mean ± standard error", "some": "mean, partly ± standard error,", "none": "mean"}[errors]
    rest = "" if errors == "all" else "; standard errors in table.csv"
    if comparison.rows == 1:
        number, rest = "mean", ""
    when = "; breakpoints drawn for each row" if comparison.breakpoints is None else ""
    if comparison.changing and comparison.breakpoints == ():
        first = comparison.first_breakpoint
        when = f"; no breakpoint within {counted(comparison.rounds)} {rounds}"
        when += f" (the first is at {counted(first)})" if first is not None else ""
    played = f"{counted(comparison.rounds)} {rounds}, seed {comparison.seed}"
    return f"{where}: {number} over {over}; {played}{when}{rest}"

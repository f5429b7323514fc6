"""The suites of the benchmark: tables of tasks. A published suite never changes: changed tasks are a new suite.

A task is an environment's id with plain JSON arguments, seeds, rounds, rows, and one measure: the less, the better.
"""

from typing import Any, NamedTuple

from rankgym.arguments import near
from rankgym.experiments.plan.digests import key_of
from rankgym.experiments.plan.environments import decades

RANKERS, DUELERS = "rankers", "duelers"  # the kinds of agents that a task asks for
REFERENCE = {RANKERS: "random", DUELERS: "random-duels"}  # the agent whose score is 0
EARLIEST = 100  # the first round that records keep
HUNDRED = list(range(100))


class Task(NamedTuple):
    """A question to an agent: what is played, and what is measured."""

    question: str  # what the task asks, for readers
    kind: str  # RANKERS or DUELERS: who is asked
    env_id: str
    arguments: dict[str, Any]  # of the environment, plain JSON values, without horizon, queries and rows
    rounds: int  # and the horizon of environment and agent
    query: str | list[int] = "all"  # the queries or problems that rows play, as in ``compare``; row b number b mod Q
    runs: int = 1  # rows of each query
    seed: int = 0  # of row 0; row b has seed + b, for users and agent alike
    measure: str = "regret"  # or "violations": after the last round, the less the better

    @property
    def recorded(self) -> list[int]:
        """The rounds after which records keep the measure."""
        return sorted({*(number for number in decades(self.rounds) if number >= EARLIEST), self.rounds})

    @property
    def digest(self) -> str:
        """The digest of all that decides the numbers, and so not of the question."""
        return key_of(self._replace(question="")._asdict())


class Suite(NamedTuple):
    """Tasks under a name with a version."""

    name: str
    tasks: dict[str, Task]

    @property
    def digest(self) -> str:
        """The digest of all tasks and their names."""
        return key_of({name: task.digest for name, task in self.tasks.items()})

    def asks(self, kind: str) -> dict[str, Task]:
        """Return the tasks for agents of a kind."""
        return {name: task for name, task in self.tasks.items() if task.kind == kind}


PBM, SYNTHETIC, BREAKPOINT = "rankgym/PBM-Yandex-v0", "rankgym/PBM-Synthetic-v0", "rankgym/CM-Yandex-Breakpoint-v0"
# 20 queries of which each item is better than the one before, on the production list: so are its number and its place.
WORST_FIRST = [
    [round(least + (most - least) * (item / 9) ** 2, 3) for item in range(10)]
    for least in (0.02, 0.05, 0.1, 0.2)
    for most in (0.4, 0.5, 0.6, 0.7, 0.8)
]
STEEP = [1.0, 0.4, 0.16, 0.064, 0.0256]  # examination: each position is seen by 40 % of those who saw the one above
SELDOM = [0.1, 0.05, 0.033, 0.025, 0.02]  # examination: nine of ten users look at nothing

LTR_1 = Suite(
    "ltr-1",
    {
        "short-horizon": Task(
            "Does it do well if only 100 users come, and it knows?", RANKERS, PBM, {}, rounds=100, runs=2
        ),
        "learns-fast": Task(
            "How much is lost before it has learned, in 1,000 sessions?", RANKERS, PBM, {}, rounds=1_000
        ),
        "misleading-list": Task(
            "Does it recover from a production list with the worst items first?",
            RANKERS,
            SYNTHETIC,
            {"parameters": {"attraction": WORST_FIRST}},
            rounds=1_000,
            runs=5,
        ),
        "uninformative-list": Task(
            "Does it learn if the production list says nothing?",
            RANKERS,
            SYNTHETIC,
            {},
            rounds=1_000,
            query=HUNDRED,
        ),
        "learns-for-long": Task("Does it still improve after 10,000 sessions?", RANKERS, PBM, {}, rounds=20_000),
        "rare-clicks": Task(
            "Does it learn from users of whom nine in ten look at nothing?",
            RANKERS,
            SYNTHETIC,
            {"parameters": {"examination": SELDOM}},
            rounds=5_000,
            query=HUNDRED,
        ),
        "position-bias": Task(
            "Can it tell a good item from a good position?",
            RANKERS,
            SYNTHETIC,
            {"parameters": {"examination": STEEP}},
            rounds=5_000,
            query=HUNDRED,
        ),
        "order-matters-dcm": Task(
            "Does it order the items of a list, if the satisfied leave (DCM)?",
            RANKERS,
            "rankgym/DCM-Yandex-v0",
            {"reward": "abandonment"},
            rounds=5_000,
        ),
        "order-matters-dbn": Task(
            "Does it order the items of a list, if the tired leave, too (DBN)?",
            RANKERS,
            "rankgym/DBN-Yandex-v0",
            {},
            rounds=5_000,
        ),
        "known-breakpoints": Task(
            "Does it follow users who change every 1,000 sessions?",
            RANKERS,
            BREAKPOINT,
            {"epoch_lengths": 1_000},
            rounds=5_000,
        ),
        "unknown-breakpoints": Task(
            "Does it follow users who change four times, nobody knows when?",
            RANKERS,
            BREAKPOINT,
            {"num_breakpoints": 4},
            rounds=5_000,
        ),
        "safety": Task(
            "How often does it show a list far worse than the production list?",
            RANKERS,
            "rankgym/PBM-Yandex-Rerank-v0",
            {},
            rounds=3_000,
            measure="violations",
        ),
        "fifty-items": Task(
            "Does it find five good items among fifty?",
            RANKERS,
            SYNTHETIC,
            {"num_items": 50},
            rounds=5_000,
            query=HUNDRED,
        ),
        "few-arms": Task(
            "Does it find the best of 6 rankers by duels?", DUELERS, "rankgym/Dueling-Arxiv-v0", {}, 20_000, runs=100
        ),
        "many-arms": Task(
            "Does it find the best of 64 rankers by duels?",
            DUELERS,
            "rankgym/Dueling-MSLR-v0",
            {"num_arms": 64},
            rounds=40_000,
            runs=50,
        ),
        "cyclic": Task(
            "Does it find the best of 4 rankers if the others beat each other in a circle?",
            DUELERS,
            "rankgym/Dueling-Cyclic-v0",
            {},
            rounds=10_000,
            runs=100,
        ),
    },
)

SUITES = {LTR_1.name: LTR_1}
# Of published suites. If a digest differs, do not change it here: the changed tasks are a new suite, such as "ltr-2".
PUBLISHED = {"ltr-1": "bfedf60896f4abc64d32"}
LATEST = LTR_1.name


def find_suite(name: str) -> Suite:
    """Return the suite of this name; a ValueError if there is none."""
    if name not in SUITES:
        raise ValueError(f"suite = {name!r} is unknown{near(name, SUITES) or ';'} allowed: {', '.join(SUITES)}")
    return SUITES[name]

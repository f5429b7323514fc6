"""Doors where a name or a file could run code: names of agents and click models, archives, pickles, model files."""

import fuzzing

from rankgym.experiments.plan.agents import literal, parse_agent

NAMES = (
    "toprank",
    "mergerucb",
    "restarting",
    "x.zip",
    "ppo-pbm",
    fuzzing.TRAP,
    f"{fuzzing.TRAP}:Agent",
    "subprocess:Popen",
)
KNOBS = ("delta", "agent", "every", "args", "model", "noise", "")


def agent_name(rng):
    """A name with knobs: both from lists of likely ones, or odd texts."""
    parts = [rng.choice((*NAMES, fuzzing.odd_text(rng)))]
    for _ in range(rng.randrange(4)):
        value = rng.choice(("0.1", "1e5", "[1,2]", "[" * rng.choice((3, 3000)), fuzzing.odd_text(rng), *NAMES))
        parts.append(rng.choice((f"{rng.choice(KNOBS)}={value}", value)))
    return ":".join(parts)


DOORS = {
    "agent's name": fuzzing.Door(agent_name, parse_agent),
    "knob's value": fuzzing.Door(lambda rng: fuzzing.odd_text(rng) + "[" * rng.choice((0, 2, 5000)), literal),
}

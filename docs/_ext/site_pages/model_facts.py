"""What the package's files say of learned agents, for the model cards in docs/models, which include these tables."""

import hashlib
import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rankgym.experiments.plan.agents import shipped_file, shipped_models
from rankgym.registry import ENVS
from rankgym.source import source_digest
from rankgym_agents import query_classes as known
from site_pages.docstrings import in_cell


def make(docs: Path) -> dict[str, str | bytes]:
    """Return the tables of all trained policies and of the adaptive index."""
    made: dict[str, str | bytes] = {f"facts/{name}.md": of_policy(name) for name in shipped_models()}
    return made | {"facts/adaptive-index.md": of_adaptive_index()}


def of_policy(name: str) -> str:
    """Return the facts in the file of a trained policy, and the command of its training."""
    from rankgym.sb3.model_files import read_model  # here: it needs the extra sb3

    card, weights = read_model(name)
    content, training = Path(shipped_file(name)).read_bytes(), card["training"]
    words = shlex.split(training["command"])
    asked = {key: value for key, value in zip(words, [*words[1:], ""], strict=True) if key.startswith("--")}
    short = [env.removeprefix("rankgym/") for env in card["envs"]]
    queries = f"`{asked['--query']}` in training, `{asked['--eval-query']}` in evaluations"
    facts = {
        "environments of the training": ", ".join(f"[{env}](../environments/{env}.md)" for env in short),
        "users": "; ".join(ENVS[env][2] for env in card["envs"]),
        "queries": f"calibrated: {queries}",
        "lists": f"{card['num_positions']} of {card['num_items']} items",
        "horizon in training": f"{card['horizon']:,} sessions, {asked['--rows']} rows at once",
        "sees": ", ".join(_layer(*layer) for layer in card["layers"]),
        "reward in training": f"`{asked['--reward']}`" + ("; the critic saw the truth" if card["truth"] else ""),
        "algorithm and policy": f"{card['algo']}, `{card['policy'].partition(':')[2]}` {_given(card['policy_kwargs'])}",
        "plays": "its best list" if card["deterministic"] else "lists that it draws",
        "seed": asked["--seed"],
        "steps when it was chosen": f"{training['steps']:,}",
        "regret in the evaluation that chose it": f"{training['regret']:.1f}",
        "time": f"{training['seconds'] / 60:.0f} minutes, {asked['--threads']} thread",
        "versions": ", ".join(f"{key} {value}" for key, value in training["versions"].items()),
        "weights": f"{sum(one.numel() for one in weights.values()):,} numbers in {len(weights)} tensors",
        "file": f"`rankgym/sb3/weights/{name}.safetensors`, {len(content):,} bytes",
    }
    digests = {"weights": card["weights"], "file": hashlib.sha256(content).hexdigest()}
    return f"{_table(facts)}\n\n{_sha256(digests)}\n\nThe whole command:\n\n```sh\n{_wrapped(words)}\n```\n"


def of_adaptive_index() -> str:
    """Return what is stored of the adaptive index."""
    log_chance, _ = known.query_classes(len(known.CLASSES[0]))
    kinds, ranks = known.kinds_of_users(len(known.EXAMINATION)), len(known.CLASSES[0])
    facts = {
        "classes of queries": f"{len(known.CLASSES)}, with a Beta distribution at each of {ranks} ranks",
        "shares of the classes": ", ".join(map(str, known.SHARES)),
        "hypotheses on attraction": f"{len(log_chance)}",
        "lists in order, in no order, uniform attraction": f"{known.IN_ORDER}, {known.IN_NO_ORDER}, {known.ANYTHING}",
        "kinds of users": f"{len(kinds.log_chance)}",
        "examination of PBM users as in training": ", ".join(map(str, known.EXAMINATION)),
        "termination of DCM users as in training": ", ".join(map(str, known.TERMINATION)),
        "file": "`rankgym_agents/query_classes.py`, numbers in the code",
    }
    return f"{_table(facts)}\n\n{_sha256({'statements': source_digest(known.__file__)})}\n"


def _table(facts: Mapping[str, str]) -> str:
    rows = "\n".join(f"| {key} | {in_cell(value)} |" for key, value in facts.items())
    return f"| fact | in the file |\n|---|---|\n{rows}"


def _sha256(digests: Mapping[str, str]) -> str:
    """Return digests in a block of their own: in a table they would make it too wide for small screens."""
    lines = "\n".join(f"{key:<12}{digest}" for key, digest in digests.items())
    return f"sha256:\n\n```text\n{lines}\n```"


def _layer(name: str, keywords: Mapping[str, Any]) -> str:
    return f"`{name}` {_given(keywords)}".strip()


def _given(keywords: Mapping[str, Any]) -> str:
    given = ", ".join(f"`{key}={json.dumps(value)}`" for key, value in keywords.items())
    return f"with {given}" if given else ""


def _wrapped(words: list[str]) -> str:
    """Return a command with each option on a line."""
    lines: list[list[str]] = [[]]
    for word in words:
        if word.startswith("--"):
            lines.append(["   "])
        lines[-1].append(shlex.quote(word))
    return " \\\n".join(map(" ".join, lines))

"""The examples run, with a small horizon, and say what they promise."""

import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).resolve().parents[1] / "examples").glob("*.py"))
PROMISED = {
    "cleanrl_ppo.py": ["sessions: regret", "PPO             regret after 60 sessions"],
    "maskable_ppo.py": ["MaskablePPO     regret after 60 sessions", "ThompsonCascade regret after 60 sessions"],
    "torchrl_ppo.py": ["sessions: regret", "TorchRL's PPO   regret after 60 sessions"],
    "click_log.py": [
        "<PBM fitted to",
        "of the true values are in their 95 % intervals",
        "fitted users  regret after 60 rounds",
    ],
    "dueling.py": ["RandomDuels  regret after 60 rounds", "MergeRUCB    regret after 60 rounds", "of the rows"],
    "dueling_scaling.py": ["arms             mergerucb", "130   "],
    "film.py": ["a film of 60 sessions: films; the last session: last_session.png"],
    "first_steps.py": ["query 3: the best list earns", "60 random lists: regret"],
    "off_policy.py": ["cascade users: plackett-luce:temperature=0.5 has the value", "(biased)", "cascade-dr"],
    "own_kernel_agent.py": ["epsilon 0.10: regret after 60 rounds"],
    "rl_against_bandits.py": ["PBM: regret on 20 calibrated queries, 2 runs of each", "ppo-pbm minus"],
    "own_click_model.py": ["own_click_model:MODEL keeps the contract.", "CascadeKLUCB regret after 60 rounds"],
    "own_agent.py": ["EpsilonGreedy keeps the contract.", "TopRank        regret after 60 rounds"],
}
NEEDED = {  # and skipped without
    "cleanrl_ppo.py": ["torch"],
    "film.py": ["PIL", "moviepy"],
    "maskable_ppo.py": ["sb3_contrib"],
    "rl_against_bandits.py": ["stable_baselines3"],
    "torchrl_ppo.py": ["torchrl"],
}
SMALL = {
    "click_log.py": ["--sessions", "3000"],
    "dueling_scaling.py": ["--runs", "2"],
    "cleanrl_ppo.py": ["--steps", "3072", "--rows", "96"],
    "maskable_ppo.py": ["--steps", "1024", "--rows", "16"],
    "off_policy.py": ["--logs", "3"],
    "torchrl_ppo.py": ["--steps", "3072", "--rows", "96"],
}


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.name)
def test_an_example_runs(script, monkeypatch, tmp_path, capsys):
    for library in NEEDED.get(script.name, []):
        pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(script), "--rounds", "60", *SMALL.get(script.name, [])])
    runpy.run_path(str(script), run_name="__main__")
    output = capsys.readouterr().out
    for words in PROMISED[script.name]:
        assert words in output

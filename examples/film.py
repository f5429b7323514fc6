"""See an agent learn: a film of its sessions, four a second, and a picture of the last one.

python examples/film.py
python examples/film.py --env Dueling-MSLR-v0 --agent rucb --rounds 200
python examples/film.py --env Dueling-PBM-Yandex-v0 --agent toprank

Needs Pillow and moviepy: pip install "rankgym[render]" moviepy
"""

import argparse

import gymnasium as gym
import numpy as np
from gymnasium.wrappers.vector import RecordVideo
from PIL import Image

from rankgym.wrappers import AgainstItself
from rankgym_agents import AGENTS, RANKERS

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--env", default="PBM-Yandex-v0", help="of the agent's kind (default: %(default)s)")
parser.add_argument("--agent", default="toprank", choices=AGENTS, metavar="NAME", help="default: %(default)s")
parser.add_argument("--rounds", type=int, default=100, help="user sessions (default: %(default)s)")
parser.add_argument("--films", default="films", help="folder of the film (default: %(default)s)")
parser.add_argument("--picture", default="last_session.png", help="a PNG file (default: %(default)s)")
options = parser.parse_args()

venv = gym.make_vec(f"rankgym/{options.env}", num_envs=1, horizon=options.rounds, render_mode="rgb_array")
if options.agent in RANKERS and isinstance(venv.single_action_space, gym.spaces.Dict):
    venv = AgainstItself(venv)  # two lists duel: the agent's is on both sides
agent = AGENTS[options.agent].for_env(venv, horizon=options.rounds, seed=0)
film = RecordVideo(venv, options.films, episode_trigger=lambda episode: episode == 0)

observation, info = film.reset(seed=0)
for _ in range(options.rounds):
    action = agent.act(observation)
    observation, *_, info = film.step(action)
    agent.update(action, observation if options.agent in RANKERS else np.eye(2, dtype=np.int8)[info["winner"]])
film.close()

(frame,) = venv.render()
Image.fromarray(frame).save(options.picture)
print(f"a film of {options.rounds:,} sessions: {options.films}; the last session: {options.picture}")

"""An agent for sweeps that are to be disturbed: it takes as long on every machine."""

import time

from rankgym_agents import CascadeSWUCB

PAUSE = 2e-4  # seconds a round


class Slow(CascadeSWUCB):
    """CascadeSWUCB, and a rest after each round."""

    def act(self, observation=None):
        time.sleep(PAUSE)
        return super().act(observation)

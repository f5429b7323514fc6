"""An agent plays an environment: the loop (``game.py``), its recorders, and histories. Its face: ``rankgym.simulate``.

``loops.py`` has compiled loops over rounds, and ``stretches.py`` says when they play instead of steps.
May import envs, wrappers, agent and everything below them; never experiments, commands or a paper's agent.
"""

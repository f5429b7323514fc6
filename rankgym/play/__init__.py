"""An agent plays an environment: the loop with its recorders, and histories. ``rankgym.simulate`` is its public face.

May import envs, wrappers, agent and everything below them; never experiments, commands or a paper's agent.
"""

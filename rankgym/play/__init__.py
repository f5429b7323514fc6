"""An agent meets an environment: the loop, its recorders, and histories. ``rankgym.simulate`` is its public face.

May import envs, wrappers, agent and everything below them; never experiments, commands or a paper's agent.
"""

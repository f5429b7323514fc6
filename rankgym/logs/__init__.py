"""From a raw click log to an environment and back: read sessions, fit click models, simulate logs, evaluate policies.

May import the environments, ``play``, ``rankgym_agents`` and the rooms above them; never experiments or commands.
"""

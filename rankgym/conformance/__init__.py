"""Named rules that agents and vector environments must keep: ``check_agent`` and ``check_vector_env``.

May import agent, spaces, kernels and arguments: it looks at what it checks from outside, as a stranger would.
"""

"""Named rules that agents (``agents.py``) and vector environments (``vector_envs.py``) must keep.

``check_agent`` and ``check_vector_env`` report all that are broken; ``parametrize_with_checks`` makes pytest tests.
May import agent, spaces, kernels and arguments: it sees agents and environments from outside, as a stranger does.
"""

from rankgym.conformance.agents import AgentError, check_agent
from rankgym.conformance.parametrize import parametrize_with_checks
from rankgym.conformance.rulebook import ConformanceError
from rankgym.conformance.vector_envs import VectorEnvError, VectorEnvReport, check_vector_env

__all__ = [
    "AgentError",
    "ConformanceError",
    "VectorEnvError",
    "VectorEnvReport",
    "check_agent",
    "check_vector_env",
    "parametrize_with_checks",
]

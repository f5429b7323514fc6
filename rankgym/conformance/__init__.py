"""Named rules that agents (``agents.py``), vector environments (``vector_envs.py``) and click models must keep.

``check_agent``, ``check_vector_env`` and ``check_model`` report all that are broken; ``parametrize_with_checks`` makes
pytest tests. May import agent, spaces, models, kernels and arguments: it sees agents and environments from outside, as
a stranger does.
"""

from rankgym.conformance.agents import AgentError, check_agent
from rankgym.conformance.models import ModelError, check_model
from rankgym.conformance.parametrize import parametrize_with_checks
from rankgym.conformance.rulebook import ConformanceError
from rankgym.conformance.vector_envs import VectorEnvError, VectorEnvReport, check_vector_env

__all__ = [
    "AgentError",
    "ConformanceError",
    "ModelError",
    "VectorEnvError",
    "VectorEnvReport",
    "check_agent",
    "check_model",
    "check_vector_env",
    "parametrize_with_checks",
]

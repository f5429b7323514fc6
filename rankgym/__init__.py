"""rankgym: online learning to rank, and dueling rankers, as Gymnasium environments.

Importing the package registers every id of ``rankgym.registry.ENVS`` with Gymnasium. The papers' algorithms are in the
package ``rankgym_agents``.

The front door: it imports the rooms up to play and conformance, and has the names that most programs need.
"""

from rankgym.agent import Agent, DuelingAgent, KernelAgent
from rankgym.conformance.agents import check_agent
from rankgym.conformance.vector_envs import check_vector_env
from rankgym.play.history import DuelingHistory, History
from rankgym.play.simulate import simulate
from rankgym.registry import ENVS, register_all
from rankgym.spaces import Permutation
from rankgym.version import __version__
from rankgym.wrappers import RecordRanking, RecordRegret, RecordSafety

__all__ = [
    "ENVS",
    "Agent",
    "DuelingAgent",
    "DuelingHistory",
    "History",
    "KernelAgent",
    "Permutation",
    "RecordRanking",
    "RecordRegret",
    "RecordSafety",
    "__version__",
    "check_agent",
    "check_vector_env",
    "simulate",
]

register_all()

"""Somebody else's Python file, played in a process of its own: it is sent calls and answers with plain values.

``answering.py`` is the script of that process, ``isolation.py`` takes its rights away, ``process.py`` is the side that
asks. ``remote_agents.py`` makes agents of classes that live there, ``agents_inside.py`` answers it, and
``values.py`` has what they send. May import one_user, conformance, agent, extras and arguments.
"""

from rankgym.submissions.process import DEFAULT_LIMITS, Handle, Limits, NoAnswer, Submission

__all__ = ["DEFAULT_LIMITS", "Handle", "Limits", "NoAnswer", "Submission"]

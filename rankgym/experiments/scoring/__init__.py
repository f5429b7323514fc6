"""The benchmark: ``rankgym score`` plays a fixed suite of tasks and places an agent among those of the package.

``suite.py`` has the tasks, ``records.py`` the records of the package's agents, which come with it; ``playing.py``
plays, ``placing.py`` compares, ``profile.py`` and ``page.py`` show. May import plan, run, judge, show and conformance.
"""

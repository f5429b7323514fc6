"""What results say: columns of tables, estimates with intervals, rankings of agents, claims and verdicts.

A new measure in tables is a column in ``table_columns.py``; what papers' claims measure is in ``claim_measures.py``.
May import run and plan; it plays and draws nothing.
"""

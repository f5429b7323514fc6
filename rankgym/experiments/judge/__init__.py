"""What results say: columns of tables, estimates with intervals, rankings of agents, claims and verdicts.

Add a measure to tables in ``table_columns.py``; measures of papers' claims are in ``claim_measures.py``. May import run
and plan; plays and draws nothing.
"""

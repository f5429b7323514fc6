"""What results say: estimates with intervals, rank tables, claims and verdicts.

May import run and plan; it plays and draws nothing.
"""

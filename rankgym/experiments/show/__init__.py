"""Results for the eye: figures in one look, tables, reports.

May import judge, run and plan; it decides nothing and plays nothing.
"""

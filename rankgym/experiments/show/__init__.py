"""Results as figures in one look (``style.py``: colours, dashes, markers), as tables, as files and as reports.

May import judge, run and plan; it plays nothing and judges nothing.
"""

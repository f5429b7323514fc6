"""Results as figures in one look (``rankgym.style``: colours, dashes, markers), as tables, as files and as reports.

``figures.py`` has the kinds of panels that figures and reports share, ``comparison_figure.py`` the figure of `compare`,
``report.py`` says what stands in a sweep's report. May import judge, run and plan; it plays nothing and judges nothing.
"""

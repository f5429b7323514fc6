"""The checks of the nine exercises, one file each, and the table of them.

May import everything below the room ``exercises``, and ``exercise.py``, ``handouts.py`` and ``pictures.py`` of it.
"""

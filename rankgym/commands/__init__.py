"""The commands, one file each; shared options, errors and tables have files of their own.

To add a command, write a file (``envs.py`` is a short one) and list it in ``cli.py``, which assembles them. A command
parses, calls, and prints. It imports the rooms it calls when it is called; it may import every room below.
"""

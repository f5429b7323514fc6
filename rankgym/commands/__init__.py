"""The commands, one file each, assembled by ``cli.py``; shared options, errors and tables have files of their own.

A command parses, calls, and prints. It imports the rooms it calls when it is called; it may import every room below.
"""

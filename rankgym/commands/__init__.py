"""The commands, one file each, assembled by ``cli.py``; shared options, errors and tables have files of their own.

A command parses, calls, and prints. It imports what it calls when it is called, so that help is quick; the room may
import every room below it.
"""

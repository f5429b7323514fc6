"""The commands, one file each; options, errors and tables that several of them share have files of their own.

A command parses, calls, and prints. It imports what it calls when it is called, so that help is quick; the room may
import every room below it.
"""

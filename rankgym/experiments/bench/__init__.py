"""``rankgym bench``: every claim of speed, as a ratio measured in one run.

May import play, sb3 and everything below them; of experiments nothing.
"""

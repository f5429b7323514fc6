"""Watch agents play: an episode as one HTML page, to go through round by round.

May import the rooms of experiments up to ``show``, and everything below them.
"""

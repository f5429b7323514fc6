"""Watch agents play: an episode as one HTML page, to go through round by round.

May import the rooms of experiments up to ``show``, and everything below them.
"""

from rankgym.experiments.watch.episode import Episode, watch
from rankgym.experiments.watch.page import write_page

__all__ = ["Episode", "watch", "write_page"]

"""Makes the helper modules of the environments' tests importable here."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "envs"))

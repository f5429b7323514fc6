"""Pictures of scenes, drawn by Pillow: what ``render_mode="rgb_array"`` shows. Of the extra ``render``.

``draw(scene)`` returns a frame. Frames of scenes of equal sizes (positions, items, arms) have equal sizes, so that they
make a film. May import scenes and extras.
"""

from rankgym.pictures.drawing import draw

__all__ = ["draw"]

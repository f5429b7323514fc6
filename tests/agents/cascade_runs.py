"""What the tests of the cascade agents share: shapes, and how far down a user is seen to look."""

SHAPES = [(10, 5), (5, 5), (7, 3), (10, 10)]


def down_to(clicks, feedback):
    """How many places, from the top, count as observed."""
    places = [k + 1 for k, click in enumerate(clicks) if click]
    if not places or feedback == "all":
        return len(clicks)
    return {"first": min, "last": max}[feedback](places)

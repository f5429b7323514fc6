"""The version of the package, in a file of its own: every room may import it."""

__version__ = "0.1.0"

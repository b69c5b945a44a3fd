"""The one way lowering fails on a file that parses."""

from __future__ import annotations


class LoweringError(RecursionError):
    """A file parses but is nested too deeply to be analysed."""

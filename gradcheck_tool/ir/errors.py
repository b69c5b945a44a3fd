"""The one way lowering fails on a file that parses."""

from __future__ import annotations


class LoweringError(Exception):
    """A file parses but cannot be analysed, for example because it is nested too deeply."""

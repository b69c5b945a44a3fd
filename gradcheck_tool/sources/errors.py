"""The error of a file that cannot be checked."""

from __future__ import annotations


class SourceError(Exception):
    """A file cannot be checked: it is missing, unreadable, in no known encoding, or not Python."""

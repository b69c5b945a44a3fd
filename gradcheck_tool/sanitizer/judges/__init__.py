"""Judges: one file for each kind of mistake."""

OFTEN_ENOUGH = 2
"""What happens less often than this in a run may belong to a warm-up, and is no mistake."""

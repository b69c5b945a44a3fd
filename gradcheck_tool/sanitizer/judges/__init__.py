"""Judges: one file for each kind of mistake."""

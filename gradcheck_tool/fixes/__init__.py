"""Fixes: edits are put into files all together or not at all."""

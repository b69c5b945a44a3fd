"""Runs a Python command of the user with something of ours in it. Imports no torch itself."""

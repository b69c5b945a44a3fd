"""Real calls of Functions: recorded while the user's own tests or script run, and replayed.

`site/sitecustomize.py` starts the recorder in every Python process that the command starts; what it
stores lies in the cache folder, one file for a call.
"""

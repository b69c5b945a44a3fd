"""Real calls of Functions: recorded while the user's own tests or script run, and replayed.

`gradcheck_tool/startup` starts the recorder in every Python process that the command starts; what it
stores lies in the cache folder, one file for a call.
"""

"""Models of Python's built-in functions and standard library."""

"""Which functions of a file are worth executing, judged by its text."""

"""The rounds of looking at a file, executing it and judging what happened."""

"""What a watched run showed, as a file that outlives it, and what it says of the findings of `check`."""

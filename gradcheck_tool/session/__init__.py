"""Files of a run: configuration, checking, fixing, worker processes."""

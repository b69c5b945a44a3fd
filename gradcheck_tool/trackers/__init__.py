"""What is watched over a run, from which events for rules are derived."""

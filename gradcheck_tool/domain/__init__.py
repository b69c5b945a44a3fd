"""The abstract domain: values, heap records, states, and when two states are the same."""

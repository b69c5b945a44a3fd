"""From Python source text to the intermediate representation that the interpreter runs."""

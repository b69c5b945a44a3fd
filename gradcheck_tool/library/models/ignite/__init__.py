"""PyTorch-Ignite: an engine calls a function of the program with one batch after the other."""

"""Kinds of mistakes in gradients, one module each."""

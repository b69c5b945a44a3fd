"""Abstract execution of the IR over the model of autograd."""

from gradcheck_tool.interp.entries import analyze

__all__ = ["analyze"]

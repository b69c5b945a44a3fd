"""Abstract execution of the IR over the model of autograd."""

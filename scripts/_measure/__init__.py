"""Parts of `measure_ops.py`: what the installed PyTorch's autograd does, op by op."""

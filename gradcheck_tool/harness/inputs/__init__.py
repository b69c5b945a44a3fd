"""Inputs of a Function: declared by the user, recorded from real calls, or synthesised.

`finding.cases` runs in a worker process, after the module of the Function has been imported there. Only what
runs in a worker may import torch.
"""

"""Parametrizations that come with PyTorch: the module is trained as before."""


def weight_norm(module, name="weight", dim=0):
    return module


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    return module


def orthogonal(module, name="weight", orthogonal_map=None, *, use_trivialization=True):
    return module

"""Apex: NVIDIA's mixed precision, fused optimizers and wrappers."""

"""einops as layers."""

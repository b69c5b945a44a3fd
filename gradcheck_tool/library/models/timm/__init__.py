"""timm: image models, and the pieces of its training script."""

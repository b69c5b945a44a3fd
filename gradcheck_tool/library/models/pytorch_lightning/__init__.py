"""PyTorch Lightning under the name that it has as a package of its own."""

from lightning.pytorch import LightningModule, Trainer

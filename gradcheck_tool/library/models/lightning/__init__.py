"""Lightning: the package that holds PyTorch Lightning and Fabric."""

from lightning.fabric import Fabric
from lightning.pytorch import LightningModule, Trainer

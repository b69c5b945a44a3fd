"""Lightning Fabric under the name that it has as a package of its own."""

from lightning.fabric import Fabric

"""A Function as its source tells of it, before anything is imported."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Rows:
    """Rows of a file, 1-based, both ends included, and the column in which the first begins."""

    first: int
    last: int
    column: int = 1


@dataclass(frozen=True, slots=True, order=True)
class FunctionRef:
    """One subclass of `torch.autograd.Function`, found without importing it.

    Attributes:
        filename: absolute path of the file that defines it.
        qualname: as `__qualname__` will be: `Outer.Inner`, `make.<locals>.Inner`.
        module: dotted name that the file is imported by, such as `package.ops`.
        root: absolute path of the folder that `module` is found from.
        rows: of the class statement, from its first decorator on.
        forward: rows of the method that it defines itself, else None.
        backward: the same for `backward`, or for `vjp` where that name is used.
    """

    filename: str
    rows: Rows
    qualname: str
    module: str
    root: str
    forward: Rows | None = None
    backward: Rows | None = None

    @property
    def name(self) -> str:
        """The name that reports use: module and qualified name."""
        return f"{self.module}.{self.qualname}"

"""What sees operations below autograd."""

from __future__ import annotations

from torch.utils._python_dispatch import TorchDispatchMode


class Below(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """A dispatch mode that leaves compiled regions alone and lets operations of higher order through.

    Attributes:
        changes_nothing: what the recorder of inputs goes by: tensors are what they are without the mode.
    """

    changes_nothing = True
    supports_higher_order_operators = True

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Compiled regions are left alone."""
        return True

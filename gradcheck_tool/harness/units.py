"""What is checked one after the other: a Function on a device in a dtype."""

from __future__ import annotations

import ast
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from gradcheck_tool.harness.functions import FunctionRef, Rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gradcheck_tool.harness.settings import Settings


@dataclass(frozen=True, slots=True)
class Unit:
    """One Function on one device; a `dtype` of None leaves the type to the inputs."""

    ref: FunctionRef
    device: str
    dtype: str | None

    @property
    def name(self) -> str:
        """`package.ops.Cube[cpu-float32]`."""
        return (
            f"{self.ref.name}[{self.device}-{self.dtype}]"
            if self.dtype
            else f"{self.ref.name}[{self.device}]"
        )

    def packed(self) -> dict[str, Any]:
        """Plain data, for a worker."""
        return asdict(self)


def unpack_unit(data: dict[str, Any]) -> Unit:
    """The unit of plain data made by `Unit.packed`."""
    rows = {key: Rows(**value) if value else None for key, value in data["ref"].items() if key in _ROWS}
    return Unit(FunctionRef(**{**data["ref"], **rows}), data["device"], data["dtype"])


_ROWS = ("rows", "forward", "backward")


def make_units(refs: Iterable[FunctionRef], settings: Settings) -> list[Unit]:
    """Every Function on every device in every dtype, in order of file and row."""
    dtypes: Sequence[str | None] = settings.dtypes or (None,)
    return [Unit(ref, device, dtype) for ref in refs for device in settings.devices for dtype in dtypes]


def shard(units: Sequence[Unit], text: str) -> list[Unit]:
    """The part `i/n` of the units: each is in one of the n parts, which differ in size by one at most.

    Raises:
        ValueError: `text` is not `i/n` with 1 <= i <= n.
    """
    index, slash, count = text.partition("/")
    if not (slash and index.isdigit() and count.isdigit() and 1 <= int(index) <= int(count)):
        raise ValueError(f"{text!r} is no shard such as 1/4")
    return list(units[int(index) - 1 :: int(count)])


def matching(units: Iterable[Unit], expression: str) -> list[Unit]:
    """The units whose name matches an expression as `pytest -k` takes it: `softmax and not triton`.

    Raises:
        ValueError: the expression cannot be understood.
    """
    try:
        tree = ast.parse(expression.strip(), mode="eval").body
    except SyntaxError as error:
        raise ValueError(f"{expression!r} is no expression of words, and, or, not") from error
    return [unit for unit in units if _holds(tree, unit.name.lower())]


def _holds(node: ast.expr, name: str) -> bool:
    if isinstance(node, ast.BoolOp):
        parts = [_holds(part, name) for part in node.values]
        return all(parts) if isinstance(node.op, ast.And) else any(parts)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return not _holds(node.operand, name)
    if isinstance(node, (ast.Name, ast.Attribute)):
        return ast.unparse(node).lower() in name
    raise ValueError(f"{ast.unparse(node)!r}: only words, and, or, not and parentheses have a meaning")

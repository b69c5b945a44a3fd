"""What has no name yet gets that of the place where it is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Instance
from gradcheck_tool.domain.values import Ref, Tup

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.domain.values import Value


def name_after(s: State, value: Value, name: str) -> None:
    """Name an object, a tensor, or the tensors of a tuple; the text of a call is no name."""
    if isinstance(value, Tup):
        for number, item in enumerate(value.items):
            if not isinstance(item, Ref) or isinstance(s[item], Tensor):
                name_after(s, item, f"{name}[{number}]")
    elif isinstance(value, Ref):
        record = s[value]
        if isinstance(record, (Instance, Tensor)) and not (isinstance(record.name, str) and record.name):
            s.edit(value).name = name

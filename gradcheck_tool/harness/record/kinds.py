"""When two calls are of one kind: they differ in sizes and numbers only."""

from __future__ import annotations

from typing import Any

from torch import Tensor

_DEEP = 3


def kind_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Dtypes, ranks, layouts, devices, what requires grad, flags and words; numbers by their class."""
    named = [f"{name}={_kind(value, _DEEP)}" for name, value in kwargs.items()]
    return " ".join([*(_kind(value, _DEEP) for value in args), *named])


def outline_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Equal for calls that need not be told apart; much quicker than `kind_of`, and finer."""
    outline: list[Any] = [*kwargs]
    for value in (*args, *kwargs.values()) if kwargs else args:
        if isinstance(value, Tensor):
            outline += (value.dtype, value.shape, value.requires_grad, value.is_contiguous(), value.is_cuda)
        else:
            simple = value is None or isinstance(value, (bool, str))
            outline.append(value if simple else getattr(value, "__qualname__", type(value)))
    return tuple(outline)


def sizes_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """What tells two calls of one kind apart: the shapes of the tensors on the top level."""
    return tuple(tuple(v.shape) for v in (*args, *kwargs.values()) if isinstance(v, Tensor))


def _kind(value: Any, deep: int) -> str:
    if isinstance(value, Tensor):
        return _kind_of_tensor(value)
    if value is None or isinstance(value, (bool, str)):
        return repr(value)[:40]
    if isinstance(value, (tuple, list)) and deep:
        return "(" + ",".join(_kind(item, deep - 1) for item in value[:8]) + ")"
    # Of functions and classes the name tells more than that they are some.
    return str(getattr(value, "__qualname__", type(value).__qualname__))


def _kind_of_tensor(value: Tensor) -> str:
    """`float32[:,:]`, with whatever is not as usual: `float32[:,:](grad,strided,cuda)`."""
    words = [
        "grad" if value.requires_grad else "",
        _layout(value),
        value.device.type if value.device.type != "cpu" else "",
    ]
    told = ",".join(filter(None, words))
    dtype = str(value.dtype).removeprefix("torch.")
    return f"{dtype}[{','.join(':' * value.dim())}]" + (f"({told})" if told else "")


def _layout(value: Tensor) -> str:
    """Empty for plain memory; expanded, or strided in some other way, or of another class."""
    if type(value).__module__.split(".")[0] != "torch" or str(value.layout) != "torch.strided":
        return f"{type(value).__name__}:{str(value.layout).removeprefix('torch.')}"
    if value.is_contiguous():
        return ""
    expanded = any(s == 0 and n > 1 for s, n in zip(value.stride(), value.shape, strict=True))
    return "expanded" if expanded else "strided"

"""What a run of the harness is asked to do: `[tool.gradlint.gradcheck]` and the command line."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from gradcheck_tool.config import ConfigError
from gradcheck_tool.spelling import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

DEVICES = ("cpu", "cuda", "mps", "xpu", "hpu", "mtia", "xla")
DTYPES = ("float64", "float32", "float16", "bfloat16", "complex128", "complex64")
MODES = ("saved_hooks", "checkpoint", "autocast", "compile", "stream")

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@dataclass(frozen=True, slots=True)
class Settings:
    """The same for every Function of a run.

    Attributes:
        devices: as `torch.device` takes them.
        dtypes: names of types; empty for the types that the Functions are made for.
        seed: of every draw.
        timeout: seconds that one Function may take on one device in one dtype, its import included.
        memory: bytes of resident memory that a worker may take, PyTorch included; None: what is there.
        cases: the largest number of inputs of one Function.
        modes: further modes to check under, as in `check_function`.
        surrogates: qualified name to reason, for deviations on purpose.
        plots: folder for heat maps as PNG.
        pass_env: environment variables that workers see besides the usual ones. A configuration cannot ask
            for any: it comes with the code that is checked.
    """

    devices: tuple[str, ...] = ("cpu",)
    dtypes: tuple[str, ...] = ()
    seed: int = 0
    timeout: float = 120.0
    memory: int | None = None
    cases: int = 8
    modes: tuple[str, ...] = ()
    surrogates: Mapping[str, str] = field(default_factory=dict)
    plots: str | None = None
    pass_env: tuple[str, ...] = ()

    def with_choices(self, **choices: Any) -> Settings:
        """The settings with those choices of the command line that are not None."""
        return replace(self, **{key: value for key, value in choices.items() if value is not None})


def parse_size(text: str) -> int:
    """Bytes of `512M`, `4GB`, `1.5 GiB`; K is 1024 everywhere.

    Raises:
        ValueError: the text is no size.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is no size such as 512M or 4G")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def check_devices(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names as they are. Whether there is such a device is known to workers only.

    Raises:
        ValueError: one of them is no kind of device, with or without a number.
    """
    for name in names:
        kind, colon, number = name.partition(":")
        if kind not in DEVICES or (colon and not number.isdigit()):
            close = nearest(kind, DEVICES)
            hint = f"did you mean {close!r}?" if close and close != kind else ", ".join(DEVICES)
            raise ValueError(f"no device {name!r}; {hint}")
    return names


def check_dtypes(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names as they are.

    Raises:
        ValueError: one of them is no type that gradients can be checked in.
    """
    for name in names:
        if name not in DTYPES:
            close = nearest(name, DTYPES)
            raise ValueError(
                f"no dtype {name!r}; {f'did you mean {close!r}?' if close else ', '.join(DTYPES)}"
            )
    return names


def read_settings(table: Mapping[str, Any], source: str) -> Settings:
    """The settings of a configuration.

    Args:
        table: `[tool.gradlint.gradcheck]`.
        source: the file it is from, for messages.

    Raises:
        ConfigError: an unknown key or a value of the wrong kind.
    """
    values = {}
    for key, value in table.items():
        reader = _READERS.get(key)
        if reader is None:
            close = nearest(key, tuple(_READERS))
            hint = f"did you mean `{close}`?" if close else f"there are {', '.join(_READERS)}"
            raise ConfigError(f"{source}: unknown key `gradcheck.{key}`; {hint}")
        try:
            values[key] = reader(value)
        except ValueError as error:
            raise ConfigError(f"{source}: `gradcheck.{key}`: {error}") from error
    return Settings(**values)


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(f"must be {what}")


def _texts(value: Any) -> tuple[str, ...]:
    _require(isinstance(value, list) and all(isinstance(item, str) for item in value), "a list of strings")
    return tuple(value)


def _modes(value: Any) -> tuple[str, ...]:
    for name in _texts(value):
        _require(name in MODES, f"some of {', '.join(MODES)}")
    return tuple(value)


def _whole(value: Any) -> int:
    _require(isinstance(value, int) and not isinstance(value, bool) and value >= 0, "a whole number")
    return int(value)


def _seconds(value: Any) -> float:
    _require(
        isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0, "a number of seconds"
    )
    return float(value)


def _size(value: Any) -> int:
    _require(isinstance(value, str), 'a size such as "4G"')
    return parse_size(value)


def _reasons(value: Any) -> dict[str, str]:
    _require(
        isinstance(value, dict) and all(isinstance(reason, str) for reason in value.values()),
        "a table of qualified names and reasons",
    )
    return dict(value)


def _folder(value: Any) -> str:
    _require(isinstance(value, str), "a folder")
    return str(value)


_READERS: dict[str, Callable[[Any], Any]] = {
    "devices": lambda value: check_devices(_texts(value)),
    "dtypes": lambda value: check_dtypes(_texts(value)),
    "seed": _whole,
    "timeout": _seconds,
    "memory": _size,
    "cases": _whole,
    "modes": _modes,
    "surrogates": _reasons,
    "plots": _folder,
}
assert set(_READERS) == {item.name for item in fields(Settings)} - {"pass_env"}

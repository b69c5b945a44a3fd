"""What a program is set up with: numbers and names, which no gradient goes through.

What is read of settings, or computed from them, is a constant where it meets a tensor.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gradcheck_tool.domain.values import Const, Symbol, Value

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter


# What holds the settings of a program, and what single ones are called.
_SETTINGS = re.compile(
    r"(?:^|_)(?:args|opts?|options|cfg|conf|configs?|configuration|hparams?|hps?|hyper_?params?|flags|settings)$",
    re.IGNORECASE,
)
_NUMBERS = re.compile(
    r"^_?(?:lam|lamb?da\w*|lambd|lmbda\w*|\w+_(?:lambda|decay|lr|rate)|\w*coeff?(?:icient)?s?|gamma|tau|T|"
    r"temp|temperature|eps|epsilon|lr|margin|momentum|discount|"
    r"(?:\w+_)?(?:loss|energy|force|reg|kl|aux|penalty|gp|gan|adv|rec|l1|l2)_weight)$"
)


def is_named_settings(name: str) -> bool:
    """Is it what configurations are called?"""
    return _SETTINGS.search(name) is not None


def is_named_number(name: str) -> bool:
    """Is it what hyperparameters are called?"""
    return _NUMBERS.search(name) is not None


def note_settings(s: State, value: Symbol, name: str) -> None:
    """From now on, what is read of a value is a constant; without a name, that is no assumption."""
    s.memory[Symbol(("settings", value))] = Const(name)


def note_default(s: State, value: Symbol, name: str) -> None:
    """An option that is on by default: callers ordinarily leave it on."""
    s.memory[Symbol(("on-by-default", value))] = Const(name)


def is_on_by_default(m: Interpreter, s: State, value: Value | None) -> bool:
    """Is it an option that is on by default? It is taken for granted then."""
    name = s.memory.get(Symbol(("on-by-default", value)))
    if not isinstance(name, Const):
        return False
    m.program.assume(f"`{name.value}` has its default")
    return True


def settings_behind(s: State, value: Value) -> str | None:
    """What the settings are called that a value was read of or computed from; None for other values."""
    if not isinstance(value, Symbol):
        return None
    known = s.memory.get(Symbol(("settings", value)))
    if isinstance(known, Const):
        return str(known.value)
    key = value.key if isinstance(value.key, tuple) else ()
    if key[:1] == ("global",) and is_named_settings(str(key[-1])):
        return str(key[-1])
    if key[:1] in (("attr",), ("item",)):
        return settings_behind(s, key[1])
    operands = (
        [part for part in key[2:] if not isinstance(part, Const)] if key[:1] in (("op",), ("unary",)) else []
    )
    names = [settings_behind(s, part) for part in operands]
    known_names = [name for name in names if name is not None]
    return max(known_names) if names and len(known_names) == len(names) else None

"""Programs that get further: lines that PyTorch refuses are taken out, so that what follows them counts."""

from __future__ import annotations

import random

from tests.differential.generator import FLAG
from tests.differential.oracle import Raise, run
from tests.differential.structures import generate

# How many raising lines a program loses; what is left may run, or raise deeper inside.
MENDS = (0, 0, 1, 1, 2, 3, 5, 8, 16)


def raises(source: str) -> list[Raise]:
    """What the program raises, for each value of the flag it may ask for."""
    flags = (False, True) if FLAG in source else (False,)
    found = (run(source, flag=flag).raised for flag in flags)
    return list(dict.fromkeys(r for r in found if r is not None))


def program(seed: int) -> str:
    """The program of a seed, mended as often as the seed says."""
    source = generate(seed)
    for _ in range(random.Random(seed).choice(MENDS)):
        found = [r for r in raises(source) if r.event]
        mended = mend(source, found[0].line) if found else None
        if mended is None:
            return source
        source = mended
    return source


def mend(source: str, number: int) -> str | None:
    """The program without one line; None where a name that is bound there would be missing."""
    lines = source.splitlines()
    line = lines[number - 1]
    text = line.lstrip()
    if text.startswith(
        ("return", "def ", "class ", "for ", "if ", "while ", "try:", "except ", "finally:", "with ", "@")
    ):
        return None
    indent = line[: len(line) - len(text)]
    name, bound, value = text.partition(" = ")
    if bound and "," in name:
        return None
    if bound and name.isidentifier():
        if value.startswith("torch.optim"):
            return None
        lines[number - 1] = f"{indent}{name} = {_without_gradient(value, name)}"
    else:
        lines[number - 1] = f"{indent}pass"
    return "\n".join(lines) + "\n" if lines[number - 1] != line else None


def _without_gradient(value: str, name: str) -> str:
    """What stands for a gradient that cannot be computed: ones like the input it was asked for."""
    if "autograd.grad(" not in value:
        return value
    wanted = next(
        part.replace("[0]", "").strip("[]() ") for part in reversed(value.split(", ")) if "=" not in part
    )
    return f"torch.ones_like({wanted})" if wanted.isidentifier() else value

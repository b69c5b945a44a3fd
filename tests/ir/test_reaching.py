"""Which definition a load reads: told where there is one, on cases done by hand."""

from __future__ import annotations

import pytest

from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.ir.lower import lower_module
from gradcheck_tool.ir.reaching import only_definitions


def read_at_the_end(source: str) -> str | int | None:
    """What `return x` of the function reads: the parameter, the number that was stored, or one of several."""
    function = lower_module(source, "p.py").functions[0]
    definitions = only_definitions(function, [function.blocks[id_] for id_ in function.order])
    loads = [i for i in function.instructions() if isinstance(i, ir.LoadName) and i.name == "x"]
    numbers = {i.dst: i.value for i in function.instructions() if isinstance(i, ir.Const)}
    found = definitions.get(loads[-1].dst)
    return numbers[found.src] if isinstance(found, ir.StoreName) else found


@pytest.mark.parametrize(
    ("body", "read"),
    [
        ("return x", "x"),
        ("x = 1\n    return x", 1),
        ("x = 1\n    x = 2\n    return x", 2),
        ("if c:\n        x = 1\n    return x", None),
        ("if c:\n        x = 1\n    else:\n        x = 2\n    return x", None),
        ("if c:\n        x = 1\n        return x\n    return c", 1),
        ("x = 1\n    for i in c:\n        print(i)\n    return x", 1),
        ("x = 1\n    for i in c:\n        x = 2\n    return x", None),
        ("x = 1\n    try:\n        c()\n        x = 2\n    except ValueError:\n        return x\n", None),
        ("def g(): return x\n    x = 1\n    return x", None),
        ("x = 1\n    del x\n    return x", None),
    ],
)
def test_the_one_definition(body: str, read: str | int | None) -> None:
    assert read_at_the_end(f"def f(x, c):\n    {body}\n") == read


def test_a_function_of_too_many_variables_and_blocks_tells_nothing() -> None:
    lines = [f"    if c: v{i} = 1\n" for i in range(500)]
    source = f"def f(x, c):\n{''.join(lines)}    x = 1\n    return x\n"
    assert read_at_the_end(source) is None
    assert read_at_the_end(source.replace("".join(lines[5:]), "")) == 1

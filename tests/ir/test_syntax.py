"""Light nodes and those of libcst are nodes of the same kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from gradcheck_tool.ir import syntax
from gradcheck_tool.ir.lower import lower_light
from gradcheck_tool.ir.outline import outline

if TYPE_CHECKING:
    from gradcheck_tool.ir.nodes import ModuleIR


def light(source: str) -> ModuleIR:
    found = outline(source)
    assert found is not None
    return lower_light(found, "file.py")


def statement(source: str) -> Any:
    line: Any = light(source).tree.body[0]
    return line.body[0]


def test_a_node_of_either_family_is_of_the_kind_of_its_name() -> None:
    for node in (cst.parse_expression("f(x)"), statement("f(x)").value):
        assert isinstance(node, syntax.Call)
        assert isinstance(node, syntax.Name | syntax.Call)
        assert not isinstance(node, syntax.Attribute)


def test_kinds_are_named_as_in_libcst() -> None:
    kinds = {name for name, kind in vars(syntax).items() if isinstance(kind, type(syntax.Module))}
    assert {name for name in kinds if not name.startswith("_")} <= {*dir(cst), "LazyImport", "LazyImportFrom"}


def test_fields_are_those_of_libcst() -> None:
    for name, kind in vars(syntax).items():
        known = getattr(getattr(cst, name, None), "__dataclass_fields__", None)
        if known is not None:
            assert set(kind.__slots__) <= set(known), name


def test_children_are_the_nodes_right_below() -> None:
    call = statement("f(x, *y, z=1)").value
    assert [type(child).__name__ for child in call.children] == ["Name", "Arg", "Arg", "Arg"]
    block = light("for i in x:\n    f(i)\n").tree.body[0]
    assert [type(child).__name__ for child in block.children] == ["Name", "Name", "IndentedBlock"]


def test_code_is_as_written_for_expressions_arguments_and_names() -> None:
    module = light("x = f(a . b, key = [1,2])\n")
    assign: Any = module.tree.body[0].body[0]
    call = assign.value
    nodes = [assign, call, *call.args, call.args[0].value.attr]
    assert [module.spans.text(node) for node in nodes] == [
        "x = f(a . b, key = [1,2])",
        "f(a . b, key = [1,2])",
        "a . b",
        "[1,2]",
        "b",
    ]

"""What of a file's top-level code functions depend on."""

from __future__ import annotations

import ast

from gradcheck_tool.ir.needed import needed
from gradcheck_tool.ir.outline import outline

COLLECTION = """
import torch
SIZES = tuple(range(3))
URLS = {"small": make_url("Block"), "large": make_url("Net")}
LIMIT = 4
def helper(count=SIZES):
    return LIMIT * count
class Block:
    rate = compute_rate()
    def forward(self, x):
        return helper(x)
@register
def small(pretrained=False):
    return Block(URLS["small"])
@register
def large():
    return small()
for name in SIZES:
    print(name)
"""


def kept(*wanted: str) -> set[str]:
    found = outline(COLLECTION)
    assert found is not None
    return {ast.unparse(each).split("\n")[-1].strip() for each in needed(found, wanted)}


def test_what_nothing_names_is_left_out() -> None:
    assert (
        kept()
        == kept("Block.forward")
        == {
            "import torch",
            "SIZES = tuple(range(3))",
            "LIMIT = 4",
            "return LIMIT * count",
            "return helper(x)",
            "print(name)",
        }
    )


def test_what_a_function_depends_on_is_kept_with_what_that_depends_on() -> None:
    small, large = "return Block(URLS['small'])", "return small()"
    assert kept("small") - kept() == {ast.unparse(ast.parse(COLLECTION).body[2]), small}
    assert kept("large") - kept("small") == {large}

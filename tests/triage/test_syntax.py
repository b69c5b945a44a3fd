"""Walks over Python's own trees."""

from __future__ import annotations

import ast
from itertools import islice

from gradcheck_tool.triage.syntax import nodes_in


def test_notes_on_what_all_trees_share_lead_nowhere() -> None:
    """IPython's tracebacks leave parents on the one object for all loads, in the process that checks a cell."""
    tree = ast.parse("y = x")
    assert isinstance(tree.body[0], ast.Assign)
    assert isinstance(tree.body[0].value, ast.Name)
    shared = tree.body[0].value.ctx
    assert ast.parse("z").body[0].value.ctx is shared  # type: ignore[attr-defined]
    before = [type(node).__name__ for node in nodes_in(tree)]
    shared.parent = tree.body[0].value  # type: ignore[attr-defined]
    try:
        found = [type(node).__name__ for node in islice(nodes_in(tree), 100)]
    finally:
        del shared.parent  # type: ignore[attr-defined]
    assert found == before

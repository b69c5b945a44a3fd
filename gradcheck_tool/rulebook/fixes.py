"""Replacements that rules build their fixes from.

Each function takes the site of a call or an attribute and returns the replacement, or None where the
code is not of the form that it can change: a rule then offers no fix.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

from gradcheck_tool.domain.events import Site
from gradcheck_tool.rulebook.call_text import CallText
from gradcheck_tool.rulebook.rule import Replacement

# Expressions that an attribute or a call can follow without parentheses.
_ATOMIC = ("Name", "Attribute", "Call", "Subscript")


def source_text(site: Site) -> str:
    """The source text of a site's node, without parentheses around it."""
    text: str = site.module.spans.text(site.node)
    return text


def with_method(text: str, call: str) -> str:
    """The source text of a method called on an expression: `loss.detach()`, `(a + b).detach()`."""
    try:
        of_all = _dumped(f"({text}).f") == _dumped(f"{text}.f")
    except SyntaxError:
        of_all = False
    return f"{text}.{call}" if of_all else f"({text}).{call}"


def _dumped(expression: str) -> str:
    return ast.dump(ast.parse(expression, mode="eval"))


def renamed(site: Site, name: str) -> Replacement | None:
    """Another attribute name in `x.old`, `x.old(...)` or `x.old = value`.

    A name that was imported on its own is left alone: the import would have to change too.
    """
    attribute = _callee(site.node)
    if _is(site.node, "Assign") and len(site.node.targets) == 1:
        attribute = site.node.targets[0].target
    if not _is(attribute, "Attribute"):
        return None
    return Replacement(Site(site.module, attribute.attr), name)


def receiver_replaced(site: Site, template: str) -> Replacement | None:
    """Another receiver in `x.method(...)`: `{}` in the template stands for its present text."""
    attribute = _callee(site.node)
    if not _is(attribute, "Attribute"):
        return None
    if not _is(attribute.value, *_ATOMIC):
        return None
    receiver = Site(site.module, attribute.value)
    return Replacement(receiver, template.format(source_text(receiver)))


def with_keyword(site: Site, name: str, value: str) -> Replacement | None:
    """A call with a keyword argument added, or with another value for it."""
    call = _call(site)
    if call is None or any(argument.star for argument in call.arguments):
        return None
    known = call.keyword(name)
    text = call.with_keyword(name, value) if known is None else call.with_value(known, value)
    return Replacement(site, text)


def keyword_renamed(site: Site, old: str, new: str, value: str | None = None) -> Replacement | None:
    """A call whose keyword has another name, and another value where one is given.

    There is none where the call has, or may have, a keyword of the new name as well.
    """
    call = _call(site)
    if call is None or call.keyword(new) or any(argument.star == "**" for argument in call.arguments):
        return None
    known = call.keyword(old)
    if known is None:
        return Replacement(site, call.text)
    if value is not None:
        # The name stands before the value: its place stays.
        call = replace(call, text=call.with_value(known, value))
    return Replacement(site, call.renamed(known, new))


def without_keyword(site: Site, name: str) -> Replacement | None:
    """A call without one of its keyword arguments."""
    call = _call(site)
    if call is None:
        return None
    known = call.keyword(name)
    return Replacement(site, call.text if known is None else call.without(known))


def called_with(site: Site, function: str, first: str) -> Replacement | None:
    """A call of another function that gets one more argument in front."""
    if not _is(site.node, "Call"):
        return None
    text, callee = source_text(site), callee_text(site)
    arguments = text.removeprefix(callee).lstrip()
    if not text.startswith(callee) or not arguments.startswith("("):
        return None
    comma = ", " if site.node.args else ""
    return Replacement(site, f"{function}({first}{comma}{arguments[1:]}")


def assigned(site: Site) -> Replacement | None:
    """The statement `x.method(...)` as `x = x.method(...)`, for a plain name."""
    attribute = _callee(site.node)
    if not _is(site.node, "Call") or not _is(attribute, "Attribute") or not _is(attribute.value, "Name"):
        return None
    return Replacement(site, f"{attribute.value.value} = {source_text(site)}")


def out_of_place(site: Site) -> Replacement | None:
    """The statement `x op= y` as `x = x op y`, for a plain name."""
    statement = site.node
    if not _is(statement, "AugAssign") or not _is(statement.target, "Name"):
        return None
    name = statement.target.value
    operator = source_text(site).removeprefix(name).partition("=")[0].strip("\\ \t\n")
    value = source_text(Site(site.module, statement.value))
    simple = _is(statement.value, *_ATOMIC, "Integer", "Float")
    return Replacement(site, f"{name} = {name} {operator} {value if simple else f'({value})'}")


def value_detached(site: Site) -> Replacement | None:
    """`.detach()` after what `x += value` or `x = x + value` adds or `f(value)` gets."""
    node = site.node
    if _is(node, "AugAssign"):
        value = node.value
    elif _is(node, "Assign") and _is(node.value, "BinaryOperation"):
        value = node.value.right
    elif _is(node, "BinaryOperation"):
        value = node.right
    elif _is(node, "Call") and len(node.args) == 1 and node.args[0].keyword is None and not node.args[0].star:
        value = node.args[0].value
    else:
        return None
    if not _is(value, *_ATOMIC):
        return None
    place = Site(site.module, value)
    return Replacement(place, f"{source_text(place)}.detach()")


def as_tuple(site: Site) -> Replacement | None:
    """A list display as a tuple."""
    if not _is(site.node, "List"):
        return None
    items = [source_text(Site(site.module, element.value)) for element in site.node.elements]
    return Replacement(site, f"({', '.join(items)}{',' if len(items) == 1 else ''})")


def item_of(site: Site) -> Replacement | None:
    """`x.item()` in place of `x[0]`."""
    if not _is(site.node, "Subscript"):
        return None
    return Replacement(site, f"{source_text(Site(site.module, site.node.value))}.item()")


def applied(site: Site) -> Replacement | None:
    """`F.apply(x)` in place of `F()(x)`."""
    maker = _callee(site.node)
    if not _is(site.node, "Call") or not _is(maker, "Call") or maker.args:
        return None
    return Replacement(Site(site.module, maker), f"{source_text(Site(site.module, maker.func))}.apply")


def only_argument(site: Site) -> str | None:
    """The text of a call's argument when there is exactly one, plain and positional."""
    call = site.node
    if not _is(call, "Call") or len(call.args) != 1:
        return None
    arg = call.args[0]
    if arg.keyword is not None or arg.star:
        return None
    text = source_text(Site(site.module, arg.value))
    return text if _is(arg.value, *_ATOMIC) else f"({text})"


def keyword_text(site: Site, name: str) -> str | None:
    """The text of a call's keyword argument, or None where it has none of that name."""
    for arg in getattr(site.node, "args", ()):
        if arg.keyword is not None and arg.keyword.value == name:
            return source_text(Site(site.module, arg.value))
    return None


def callee_text(site: Site) -> str:
    """The text of what a call calls."""
    return source_text(Site(site.module, _callee(site.node)))


def _callee(node: Any) -> Any:
    return node.func if _is(node, "Call") else node


def _is(node: Any, *kinds: str) -> bool:
    return type(node).__name__ in kinds


def _call(site: Site) -> CallText | None:
    return CallText.parse(source_text(site)) if _is(site.node, "Call") else None

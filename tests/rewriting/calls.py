"""Rewritings of calls and functions."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import libcst as cst

from tests.rewriting.base import (
    after_imports,
    assigned_name,
    call_of,
    each,
    expression,
    has,
    in_class_body,
    moving,
    nodes,
    parted,
    rewriting,
    sole,
    statement,
    statements,
    text,
    with_imports,
)

# Methods of tensors alone, which `torch` has as functions.
_TENSOR_METHODS = {
    "exp",
    "sigmoid",
    "tanh",
    "relu",
    "softmax",
    "sqrt",
    "square",
    "matmul",
    "cos",
    "sin",
    "log_softmax",
    "unsqueeze",
}
_OPERATORS = {
    cst.Add: "add",
    cst.Subtract: "sub",
    cst.Multiply: "mul",
    cst.Divide: "truediv",
    cst.MatrixMultiply: "matmul",
    cst.Power: "pow",
}
_CHAIN = 10


def _imports_torch(module: cst.Module) -> bool:
    return any(line.partition("#")[0].strip() == "import torch" for line in module.code.splitlines())


@rewriting
def methods_to_functions(module: cst.Module) -> cst.Module:
    """`torch.exp(x)` for `x.exp()`, where the program gives no object an attribute of that name."""
    given = {
        one.target.attr.value
        for one in nodes(module, cst.AssignTarget)
        if isinstance(one.target, cst.Attribute)
    }

    def change(node: cst.Call, around: Any) -> cst.Call:
        func = node.func
        if not isinstance(func, cst.Attribute) or func.attr.value not in _TENSOR_METHODS - given:
            return node
        if text(func.value).split(".")[0] in {"torch", "F", "nn", "math", "np", "numpy", "cmath"}:
            return node
        return call_of(f"torch.{func.attr.value}", [cst.Arg(func.value), *node.args])

    return each(module, cst.Call, change) if _imports_torch(module) else module


@rewriting
def functions_to_methods(module: cst.Module) -> cst.Module:
    """`x.exp()` for `torch.exp(x)`."""

    def change(node: cst.Call, around: Any) -> cst.Call:
        names = {f"torch.{name}" for name in _TENSOR_METHODS}
        if text(node.func) not in names or not node.args or node.args[0].star or node.args[0].keyword:
            return node
        return call_of(f"({text(node.args[0].value)}).{node.func.attr.value}", node.args[1:])  # type: ignore[attr-defined]

    return each(module, cst.Call, change)


@rewriting
def operators_to_functions(module: cst.Module) -> cst.Module:
    """`operator.add(a, b)` for `a + b`."""

    def change(node: cst.BinaryOperation, around: Any) -> Any:
        name = _OPERATORS.get(type(node.operator))
        if name is None or has(node, cst.SimpleString, cst.FormattedString):
            return node
        return call_of(f"operator.{name}", [cst.Arg(_bare(node.left)), cst.Arg(_bare(node.right))])

    return with_imports(module, each(module, cst.BinaryOperation, change), "import operator")


def _bare(node: Any) -> Any:
    return (
        node.with_changes(lpar=(), rpar=()) if not isinstance(node, (cst.Tuple, cst.GeneratorExp)) else node
    )


@rewriting
def products_to_functions(module: cst.Module) -> cst.Module:
    """`torch.matmul(a, b)` for `a @ b`."""

    def change(node: cst.BinaryOperation, around: Any) -> Any:
        if not isinstance(node.operator, cst.MatrixMultiply):
            return node
        return call_of("torch.matmul", [cst.Arg(_bare(node.left)), cst.Arg(_bare(node.right))])

    return each(module, cst.BinaryOperation, change) if _imports_torch(module) else module


@rewriting
def backward_as_function(module: cst.Module) -> cst.Module:
    """`torch.autograd.backward(loss)` for `loss.backward()`."""

    def change(node: cst.Call, around: Any) -> cst.Call:
        func = node.func
        plain = all(arg.keyword is not None and arg.keyword.value != "gradient" for arg in node.args)
        if not isinstance(func, cst.Attribute) or func.attr.value != "backward" or not plain:
            return node
        if any(isinstance(one, cst.ClassDef) for one in around) or not isinstance(func.value, cst.Name):
            return node
        if not func.value.value.endswith(("loss", "cost")):
            return node
        return call_of("torch.autograd.backward", [cst.Arg(func.value), *node.args])

    return each(module, cst.Call, change) if _imports_torch(module) else module


def _is_special(name: str) -> bool:
    return name in {"print", "super", "range", "len", "isinstance", "globals", "locals", "zip", "map"}


@rewriting
def starred_arguments(module: cst.Module) -> cst.Module:
    """`f(*(a, b), **{"c": d})` for `f(a, b, c=d)`."""

    def change(node: cst.Call, around: Any) -> cst.Call:
        if not node.args or any(arg.star for arg in node.args) or _is_special(text(node.func)):
            return node
        if any(isinstance(arg.value, cst.GeneratorExp) for arg in node.args):
            return node
        given = [f"({text(arg.value)})" for arg in node.args if arg.keyword is None]
        named = [f"'{arg.keyword.value}': {text(arg.value)}" for arg in node.args if arg.keyword is not None]
        args = [f"*({', '.join(given)},)"] if given else []
        args += [f"**{{{', '.join(named)}}}"] if named else []
        return node.with_changes(args=expression(f"f({', '.join(args)})").args)  # type: ignore[attr-defined]

    return each(module, cst.Call, change)


def _functions(module: cst.Module) -> dict[str, cst.FunctionDef]:
    """The functions at the top that are bound once."""
    found = [one for one in module.body if isinstance(one, cst.FunctionDef)]
    bound = [one.target.value for one in nodes(module, cst.AssignTarget) if isinstance(one.target, cst.Name)]
    bound += [one.name.value for one in nodes(module, cst.FunctionDef, cst.ClassDef, cst.Param)]
    return {one.name.value: one for one in found if bound.count(one.name.value) == 1}


@rewriting
def keyword_arguments(module: cst.Module) -> cst.Module:
    """Functions of the program are called with keywords, as are a few of torch."""
    names = {
        name: [param.name.value for param in one.params.params]
        for name, one in _functions(module).items()
        if not one.params.posonly_params and not one.decorators
    }
    names |= {
        "nn.Linear": ["in_features", "out_features", "bias"],
        "torch.nn.Linear": ["in_features", "out_features", "bias"],
        "torch.autograd.grad": ["outputs", "inputs", "grad_outputs"],
        "F.mse_loss": ["input", "target"],
        "torch.optim.SGD": ["params", "lr"],
        "torch.optim.Adam": ["params", "lr"],
        "F.cross_entropy": ["input", "target"],
    }

    def change(node: cst.Call, around: Any) -> cst.Call:
        known = names.get(text(node.func))
        given = [arg for arg in node.args if arg.keyword is None]
        if known is None or len(given) > len(known) or any(arg.star for arg in node.args):
            return node
        named = dict(zip(map(id, given), known, strict=False))
        args = [
            f"{named[id(arg)]}={text(arg.value)}"
            if id(arg) in named
            else text(arg.with_changes(comma=cst.MaybeSentinel.DEFAULT))
            for arg in node.args
        ]
        return node.with_changes(args=expression(f"f({', '.join(args)})").args)  # type: ignore[attr-defined]

    return each(module, cst.Call, change)


@rewriting
def lambdas_for_functions(module: cst.Module) -> cst.Module:
    """`f = lambda x: e` for `def f(x): return e`."""

    def change(node: cst.FunctionDef, around: Any) -> Any:
        body = node.body.body
        lines = body if isinstance(node.body, cst.IndentedBlock) else ()
        found = sole(lines[0], cst.Return) if len(lines) == 1 else None
        plain = (
            found is not None and found.value is not None and not node.decorators and not node.asynchronous
        )
        if not plain or has(found, cst.Yield) or has(node.params, cst.Annotation) or "super" in text(node):
            return node
        line = statement(f"{node.name.value} = lambda {text(node.params)}: ({text(found.value)})")
        return line.with_changes(trailing_whitespace=lines[0].trailing_whitespace)

    return each(module, cst.FunctionDef, change)


@rewriting
def functions_for_lambdas(module: cst.Module) -> cst.Module:
    """`def f(x): return e` for `f = lambda x: e`."""

    def change(line: cst.SimpleStatementLine, around: Any) -> Any:
        found = assigned_name(line)
        if found is None or not isinstance(found[1], cst.Lambda):
            return line
        made = found[1]
        one = statement(f"def {found[0]}({text(made.params)}):\n    return {text(made.body)}")
        inner = one.body.body[0].with_changes(trailing_whitespace=line.trailing_whitespace)
        return one.with_changes(body=one.body.with_changes(body=[inner]))

    return each(module, cst.SimpleStatementLine, change)


def _is_decorated_well(node: cst.FunctionDef, around: Any) -> bool:
    """May a decorator be put on it? Not on what `autograd.Function` and protocols of Python call by their own ways."""
    in_function_class = any(
        isinstance(one, cst.ClassDef) and "Function" in text(one.name) + "".join(map(text, one.bases))
        for one in around
    )
    return not (node.decorators or node.asynchronous or in_function_class or node.name.value.startswith("__"))


def _decorated(module: cst.Module, maker: str, name: str) -> cst.Module:
    decorator = cst.Decorator(expression(name))

    def change(node: cst.FunctionDef, around: Any) -> cst.FunctionDef:
        return node.with_changes(decorators=[decorator]) if _is_decorated_well(node, around) else node

    changed = each(module, cst.FunctionDef, change)
    return after_imports(changed, statements(maker)) if changed.code != module.code else module


@rewriting
def identity_decorators(module: cst.Module) -> cst.Module:
    maker = "def same(f):\n    def called(*args, **kwargs):\n        return f(*args, **kwargs)\n    return called\n"
    return _decorated(module, maker, "same")


@rewriting
def identity_decorators_with_wraps(module: cst.Module) -> cst.Module:
    maker = """
def same(f):
    @functools.wraps(f)
    def called(*args, **kwargs):
        result = f(*args, **kwargs)
        return result
    return called
"""
    return with_imports(module, _decorated(module, maker, "same"), "import functools")


@rewriting
def decorators_with_arguments(module: cst.Module) -> cst.Module:
    maker = """
def named(name):
    def decorate(f):
        def called(*args, **kwargs):
            return f(*args, **kwargs)
        return called
    return decorate
"""
    return _decorated(module, maker, "named('f')")


@rewriting
def chains_of_calls(module: cst.Module) -> cst.Module:
    """Each function of the program is called through others."""
    names = {name for name, one in _functions(module).items() if not one.decorators and not one.asynchronous}

    def change(node: cst.FunctionDef, around: Any) -> Any:
        name = node.name.value
        if name not in names or not isinstance(around[-1], cst.Module):
            return node
        first = node.with_changes(name=cst.Name(f"{name}_0"))
        names_of = [f"{name}_{i}" for i in range(_CHAIN)] + [name]
        code = [
            f"def {outer}(*args, **kwargs):\n    return {inner}(*args, **kwargs)\n"
            for inner, outer in pairwise(names_of)
        ]
        return cst.FlattenSentinel([first, *(line for one in code for line in statements(one))])

    return each(module, cst.FunctionDef, change)


@rewriting
def partial_calls(module: cst.Module) -> cst.Module:
    """`functools.partial(f, a)()` for `f(a)`, of the program's own functions."""
    names = set(_functions(module))

    def change(node: cst.Call, around: Any) -> cst.Call:
        if text(node.func) not in names or isinstance(around[-1], cst.Decorator):
            return node
        made = call_of("functools.partial", [cst.Arg(node.func), *node.args])
        return cst.Call(made)

    return with_imports(module, each(module, cst.Call, change), "import functools")


@rewriting
def bound_methods(module: cst.Module) -> cst.Module:
    """`method = x.f`, `method(y)` for `x.f(y)` as a statement."""

    def change(line: cst.SimpleStatementLine, around: Any) -> Any:
        found = sole(line, cst.Expr)
        call = found.value if found is not None else None
        if (
            not isinstance(call, cst.Call)
            or not isinstance(call.func, cst.Attribute)
            or "super" in text(line)
        ):
            return line
        if in_class_body(around):
            return line
        first = statement(f"method = {text(call.func)}")
        second = line.with_changes(body=[cst.Expr(call.with_changes(func=cst.Name("method")))])
        return cst.FlattenSentinel([first, second])

    return each(module, cst.SimpleStatementLine, change)


@moving
def functions_in_reverse_order(module: cst.Module) -> cst.Module:
    """Functions at the top that nothing between them uses are defined in another order."""
    first, rest = parted(module)
    out: list[Any] = []
    run: list[Any] = []
    for line in rest:
        is_free = isinstance(line, cst.FunctionDef) and not line.decorators and not has(line.params, cst.Call)
        defaults = [param for param in nodes(line, cst.Param) if param.default] if is_free else []
        if is_free and not defaults:
            run.append(line)
        else:
            out += [*reversed(run), line]
            run = []
    return module.with_changes(body=[*first, *out, *reversed(run)])


@rewriting
def functions_as_static_methods(module: cst.Module) -> cst.Module:
    """`Functions.f(x)` for `f(x)`."""
    names = {name for name, one in _functions(module).items() if not one.asynchronous}
    used = [name for name in nodes(module, cst.Name) if name.value in names]
    if not used or has(module, cst.Global):
        return module

    def moved(node: cst.FunctionDef, around: Any) -> Any:
        if node.name.value not in names or not isinstance(around[-1], cst.Module):
            return node
        method = node.with_changes(
            decorators=[cst.Decorator(cst.Name("staticmethod")), *node.decorators], leading_lines=()
        )
        name = node.name.value
        made = cst.ClassDef(cst.Name(f"Holder_{name}"), cst.IndentedBlock([method]))
        return made.with_changes(leading_lines=node.leading_lines)

    def called(node: cst.Call, around: Any) -> cst.Call:
        name = node.func.value if isinstance(node.func, cst.Name) else ""
        return node.with_changes(func=expression(f"Holder_{name}.{name}")) if name in names else node

    calls = [node.func.value for node in nodes(module, cst.Call) if isinstance(node.func, cst.Name)]
    counted = {name: sum(one.value == name for one in used) for name in names}
    names = {name for name in names if counted[name] == calls.count(name) + 1}
    return each(each(module, cst.Call, called), cst.FunctionDef, moved)


@rewriting
def keyword_dictionaries(module: cst.Module) -> cst.Module:
    """`f(**dict(a=b))` for `f(a=b)`."""

    def change(node: cst.Call, around: Any) -> cst.Call:
        named = [arg for arg in node.args if arg.keyword is not None]
        if not named or text(node.func) in {"dict", "print", "super"}:
            return node
        plain = [arg for arg in node.args if arg.keyword is None]
        if any(arg.star == "**" for arg in plain):
            return node
        table = call_of("dict", named)
        return node.with_changes(args=[*plain, cst.Arg(table, star="**")])

    return each(module, cst.Call, change)

"""What the code in sight shows about a value that it does not make.

A parameter's uses are those in its function, those of the attribute of `self` that it is stored in, in the
whole class, and those in the functions and constructors that it is passed to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gradcheck_tool.analysis.usage import Usage, Uses, uses_at_module_level, uses_in
from gradcheck_tool.domain.records import Class, Frame, Func
from gradcheck_tool.domain.values import LibraryObject, Ref, Value
from gradcheck_tool.interp import attributes
from gradcheck_tool.interp.imports import module_variables, resolve_import
from gradcheck_tool.ir import nodes as ir

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter

# What is assumed of an argument that what is differentiated is computed from.
REQUIRES_GRADIENT = "requires a gradient"
# How far a value is followed through calls.
DEPTH = 3
# The most functions one after the other that hand on what they are given.
MOST_HANDING_ON = 40
_ALL_ARGUMENTS = (ir.ArgKind.STAR, ir.ArgKind.DOUBLE_STAR)


class Place(NamedTuple):
    """Where code stands: a function, the class that it is a method of, and the frame of its module.

    `around` is the innermost frame in which its names are looked up, where that is not the module's.
    """

    function: ir.Function
    cls: Ref | None
    module: Ref | None
    around: Ref | None = None


def place_of(func: Func, cls: Ref | None) -> Place:
    """Where a function stands, which may be a method of a class."""
    return Place(func.function, cls, func.env.globals, func.frame)


class Evidence:
    """Reads how functions and classes use their values, each once."""

    def __init__(self, m: Interpreter) -> None:
        self._m = m
        self._of_functions: dict[int, Uses] = {}
        self._of_classes: dict[int, Uses] = {}

    def parameter(self, s: State, place: Place, name: str, depth: int = DEPTH) -> Usage:
        """What is done with a parameter."""
        usage = Usage()
        usage.add(self.uses_of(place.function, method=place.cls is not None).get(name, Usage()))
        if place.cls is not None:
            of_class = self.uses_of_class(s, place.cls)
            for path in sorted(usage.stored):
                usage.add(of_class.get(path, Usage()))
        return self._followed(s, place, usage, depth)

    def variable(self, s: State, place: Place, name: str) -> Usage | None:
        """What is done with a variable; None where nothing is."""
        usage = self.uses_of(place.function, method=place.cls is not None).get(name)
        return None if usage is None else self._followed(s, place, usage, DEPTH)

    def attribute(self, s: State, place: Place, name: str) -> Usage | None:
        """What the methods of a class do with an attribute of `self`; None where they do nothing."""
        usage = None if place.cls is None else self.uses_of_class(s, place.cls).get(f"self.{name}")
        return None if usage is None else self._followed(s, place, usage, DEPTH)

    def attributes_of(self, s: State, place: Place) -> list[str]:
        """The attributes of `self` that the methods around use."""
        uses = self.uses_of_class(s, place.cls) if place.cls is not None else ()
        return [path.removeprefix("self.") for path in uses if path.startswith("self.")]

    def differentiates(self, function: ir.Function) -> bool:
        """Does a function call `backward`?"""
        return function.worked_out(_calls_backward)

    def asks_for_gradients(self, function: ir.Function) -> bool:
        """Does a function call `autograd.grad`?"""
        return function.worked_out(_asks_for_gradients)

    def hands_on_to_backward(self, s: State, place: Place, depth: int = DEPTH) -> bool:
        """Does a function pass something on to what calls `backward`, in whatever file?"""
        uses = self.uses_of(place.function, method=place.cls is not None).values()
        callees = {callee for usage in uses for callee, _ in usage.passed}
        targets = [self._callee(s, place, callee) for callee in sorted(callees)]
        return any(
            self.differentiates(target.function)
            or (depth > 1 and self.hands_on_to_backward(s, target, depth - 1))
            for target in targets
            if target is not None
        )

    def uses_of(self, function: ir.Function, *, method: bool) -> Uses:
        """How a function, a method or a module's body uses its variables."""
        uses = self._of_functions.get(id(function))
        if uses is None:
            is_body = function.kind is ir.FunctionKind.MODULE
            uses = uses_at_module_level(function) if is_body else uses_in([function], methods=method)
            self._of_functions[id(function)] = uses
        return uses

    def uses_of_class(self, s: State, cls: Ref) -> Uses:
        """How the methods of a class use the attributes of `self`."""
        uses = self._of_classes.get(cls.id)
        if uses is None:
            uses = self._of_classes[cls.id] = uses_in(methods_of(s, cls), methods=True)
        return uses

    def _followed(self, s: State, place: Place, usage: Usage, depth: int) -> Usage:
        """The uses, and those in what the value is passed to."""
        if not depth or not usage.passed:
            return usage
        whole = Usage()
        whole.add(usage)
        for callee, key in sorted(usage.passed, key=str):
            target = self._callee(s, place, callee)
            if target is None:
                continue
            params = target.function.params[target.cls is not None :]
            for index, p in enumerate(params):
                if key in (index, p.name) and p.kind not in (ir.ParamKind.VARARGS, ir.ParamKind.KWARGS):
                    whole.add(self.parameter(s, target, p.name, depth - 1))
        return whole

    def _callee(self, s: State, place: Place, path: str) -> Place | None:
        """The function, method or constructor of the repository that a name stands for, in whatever file.

        Of a function that hands on all that it is given, what it hands it on to.
        """
        for _ in range(MOST_HANDING_ON):
            target = self._called(s, place, path)
            handed_on = None if target is None else target.function.worked_out(_hands_on_to)
            if target is None or handed_on is None:
                return target
            place, path = target, handed_on
        return None

    def behind(self, s: State, func: Func) -> Func:
        """The function inside decorators that hand on all they are given; else the function itself."""
        for _ in range(MOST_HANDING_ON):
            wrapped = s.get(func.attrs.get("__wrapped__"), Func)
            name = func.function.worked_out(_hands_on_to)
            if wrapped is None and name is not None:
                wrapped = s.get(self.named(s, place_of(func, None), name), Func)
            if wrapped is None:
                break
            func = wrapped
        return func

    def _called(self, s: State, place: Place, path: str) -> Place | None:
        cls: Ref | None = None
        value: Value | None
        if path.startswith("self."):
            cls = place.cls
            value = None if cls is None else attributes.in_class(s, cls, path.removeprefix("self."))
        else:
            value = self.named(s, place, path)
            cls = value if isinstance(value, Ref) and s.get(value, Class) is not None else None
            value = value if cls is None else attributes.in_class(s, cls, "__init__")
        func = s.get(attributes.innermost(s, value), Func) if value is not None else None
        return None if func is None else place_of(func, cls)

    def named(self, s: State, place: Place, path: str) -> Value | None:
        """What a name stands for, or one of a module or a class: `f`, `module.f`, `Class.f`."""
        first, _, inner = path.partition(".")
        value = self._variable(s, place, first)
        owner = None if value is None else resolve_import(self._m, s, value)
        if owner is None or not inner:
            return owner
        if isinstance(owner, LibraryObject):
            return LibraryObject(f"{owner.name}.{inner}")
        if isinstance(owner, Ref) and s.get(owner, Class) is not None:
            found = attributes.in_class(s, owner, inner)
            return None if found is None else attributes.function_of(s, found)
        variables = module_variables(s, owner)
        found = None if variables is None else variables.locals.get(inner)
        return None if found is None else resolve_import(self._m, s, found)

    def _variable(self, s: State, place: Place, name: str) -> Value | None:
        """The value of a variable of the functions around a place, or of its module."""
        frame = s.get(place.around, Frame)
        is_running = frame is not None and frame.function is place.function
        is_own = name in place.function.local_names and place.function.kind is not ir.FunctionKind.MODULE
        if is_own and not is_running:
            return None
        while frame is not None:
            if name in frame.locals:
                return frame.locals[name]
            frame = s.get(frame.parent, Frame)
        module = s.get(place.module, Frame)
        return None if module is None or is_own else module.locals.get(name)


def _hands_on_to(function: ir.Function) -> str | None:
    """The name of what a function that takes anything gives it all to: `return f(*args, **kwargs)`."""
    if [p.kind for p in function.params] != [ir.ParamKind.VARARGS, ir.ParamKind.KWARGS]:
        return None
    everything = list(zip(_ALL_ARGUMENTS, [p.name for p in function.params], strict=True))
    names: dict[int, str] = {}
    for instr in function.instructions():
        if isinstance(instr, ir.LoadName):
            names[instr.dst] = instr.name
        elif isinstance(instr, ir.Call):
            if [(arg.kind, names.get(arg.value)) for arg in instr.args] == everything:
                return names.get(instr.func)
    return None


def _calls_backward(function: ir.Function) -> bool:
    return any(type(i) is ir.GetAttr and i.name == "backward" for i in function.instructions())


def _asks_for_gradients(function: ir.Function) -> bool:
    """Does a function call `autograd.grad`, under that name or that of its import?"""
    names: dict[int, str] = {}
    for i in function.instructions():
        if isinstance(i, ir.LoadName) or (isinstance(i, ir.GetAttr) and i.name == "autograd"):
            names[i.dst] = i.name
        is_attribute = isinstance(i, ir.GetAttr) and i.name == "grad" and names.get(i.obj) == "autograd"
        if is_attribute or (isinstance(i, ir.Call) and names.get(i.func) == "grad"):
            return True
    return False


def methods_of(s: State, cls: Ref) -> list[ir.Function]:
    """The methods of a class and of its bases in the repository."""
    found = []
    for entry in s[cls].mro:
        record = s.get(entry, Class)
        for value in record.attrs.values() if record is not None else ():
            func = s.get(attributes.function_of(s, value), Func)
            if func is not None:
                found.append(func.function)
    return found

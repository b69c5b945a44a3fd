"""What the arguments of a unit that nobody calls must be, judged by how it uses them.

Uses show an optimizer, a module, a criterion; a module may be of a class of the file, if the class has all
that is asked of it. What each decision assumes is noted for the findings.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gradcheck_tool.analysis.evidence import Evidence, Place, methods_of
from gradcheck_tool.analysis.optimizer_roles import (
    is_averaged,
    is_module_object,
    is_optimizer,
    is_trainable_leaf,
    named_alike,
)
from gradcheck_tool.analysis.ordinary_use import is_module_class
from gradcheck_tool.domain.records import Class, Frame, Func, Instance
from gradcheck_tool.domain.values import TRUE, Const, LibraryObject, Ref, Symbol, Tup, Value, unknown
from gradcheck_tool.engine.tensors import new_tensor
from gradcheck_tool.interp import attributes
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.library.torch.held_parameters import HELD
from gradcheck_tool.library.torch.module_tree import STAND_IN, named_parameters
from gradcheck_tool.library.torch.opaque_modules import criterion

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gradcheck_tool.analysis.usage import Usage
    from gradcheck_tool.domain.graph import Tensor
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter

MODULE = frozenset(
    (
        "parameters",
        "named_parameters",
        "state_dict",
        "load_state_dict",
        "train",
        "eval",
        "zero_grad",
        "modules",
    )
)
# What hardly anything has but modules.
PARAMETERS = frozenset({"parameters", "named_parameters"})
# What every module has, and what wrappers of modules have.
MODULE_API = MODULE | {
    "add_module",
    "apply",
    "bfloat16",
    "buffers",
    "children",
    "compile",
    "cpu",
    "cuda",
    "double",
    "float",
    "forward",
    "get_buffer",
    "get_parameter",
    "get_submodule",
    "half",
    "module",
    "named_buffers",
    "named_children",
    "named_modules",
    "register_backward_hook",
    "register_buffer",
    "register_forward_hook",
    "register_forward_pre_hook",
    "register_full_backward_hook",
    "register_module",
    "register_parameter",
    "requires_grad_",
    "share_memory",
    "to",
    "to_empty",
    "training",
    "type",
    "__class__",
    "__dict__",
}
# Usual names are a last resort: they count together with a use that fits.
_CRITERION = re.compile(r"(?:^|_)(?:criterion|crit|loss(?:_?(?:fn|func|function))?|objective)$")
_MODULE = re.compile(
    r"(?:^|_)(?:model|net|network|module|generator|discriminator|encoder|decoder|backbone|classifier|critic|"
    r"actor|policy|student|netG|netD|net_[gdGD])(?:_?\d)?$"
)
# What modules inside of networks are called: what they are given has a history.
_PART = re.compile(
    r"Layer|Block|Norm|Att|Conv|Linear|Unit|Head|Gate|Cell|Module|Resid|FeedForward|MLP|Mlp|FFN|Act|Pool|Loss|Drop|Emb"
)
_DATA = re.compile(r"(?:^|_)(?:data|dataset|batches|(?:data_?)?loader|dl|iterator|stream)$")
# How deep objects are made for the arguments of constructors.
DEPTH = 2


@dataclass(slots=True)
class Cast:
    """The arguments of one unit: values by name, the state that has them, and what they assume."""

    state: State
    values: dict[str, Value] = field(default_factory=dict)
    assumes: list[str] = field(default_factory=list)

    def with_history(self, m: Interpreter, s: State, names: Iterable[str], function: ir.Function) -> Cast:
        """The same arguments in the state in which they were made, these of them in the middle of a graph."""
        given = {
            name: new_tensor(s, m.site(s, function.node), requires_grad=True, leaf=False, name=name)
            for name in names
        }
        told = [f"`{name}` requires a gradient" for name in given]
        return Cast(s, {**self.values, **given}, [*self.assumes, *told])


def arguments(
    m: Interpreter, s: State, func: Func, skip: int, cls: Ref | None = None, depth: int = DEPTH
) -> Cast:
    """A value for each parameter (but the first `skip`).

    A parameter with a number for a default has that number: a dropout of 0.0 by default is meant to be off.

    Args:
        m: the interpreter.
        s: the state in which the unit is to be called.
        func: the unit.
        skip: how many parameters the caller fills in itself.
        cls: the class that the unit is a method of.
        depth: how many constructors may be called for arguments of arguments.
    """
    place = Place(func.function, cls, func.env.globals)
    return _Casting(m, s, place, depth).cast(func.function.params[skip:], func.defaults)


class _Casting:
    def __init__(self, m: Interpreter, s: State, place: Place, depth: int) -> None:
        self._m = m
        self._place = place
        self._depth = depth
        self._optimizers = 0
        self._trains = _differentiates(place.function)
        self._out = Cast(s)

    @property
    def trains(self) -> bool:
        """Does the unit, or a method of the same class, call `backward`?"""
        cls = self._place.cls
        methods = methods_of(self._out.state, cls) if cls is not None else ()
        return self._trains or any(map(_differentiates, methods))

    @property
    def out(self) -> Cast:
        """What has been decided so far."""
        return self._out

    def cast(self, params: list[ir.Parameter], defaults: Mapping[str, Value]) -> Cast:
        """Decide on all parameters: optimizers come last, as they hold the parameters of modules."""
        named = [p for p in params if p.kind not in (ir.ParamKind.VARARGS, ir.ParamKind.KWARGS)]
        evidence = self._m.program.refinement.evidence
        usage = {p.name: evidence.parameter(self._out.state, self._place, p.name) for p in named}
        trains = self.trains
        optimizers = [p for p in named if is_optimizer(p.name, usage[p.name], trains=trains)]
        self._optimizers = len(optimizers)
        for p in named:
            default = defaults.get(p.name)
            if isinstance(default, Const) and isinstance(default.value, float):
                self._out.values[p.name] = default
            elif p not in optimizers:
                self._out.values[p.name] = self.value(p.name, usage[p.name], p.node)
        for p in optimizers:
            self._out.values[p.name] = self._optimizer(p.name)
        return self._out

    def value(self, name: str, usage: Usage, node: Any) -> Value:
        """What something that is called `name` and used so must be, unless it is an optimizer."""
        if "step" not in usage.methods:
            made = self._of_file(name, usage, node)
            if made is not None:
                return made
            if self._is_module(name, usage):
                return self._module(name, node)
        if usage.iterated and _DATA.search(name):
            return unknown("data")
        if usage.called and not usage.attributes and (usage.differentiated or _CRITERION.search(name)):
            return criterion(self._out.state, name)
        return unknown()

    def _is_module(self, name: str, usage: Usage) -> bool:
        if not usage.called:
            return bool(usage.methods & PARAMETERS) and len(usage.methods & MODULE) > 1
        return bool(usage.methods & MODULE) or (_MODULE.search(name) is not None and self._trains)

    def _of_file(self, name: str, usage: Usage, node: Any) -> Value | None:
        """An object of the one class of the file that has everything that is asked of the parameter."""
        s = self._out.state
        fitting = [ref for ref, record in module_classes(s) if _fits(s, ref, record, usage, name)]
        if len(fitting) != 1 or not self._depth:
            return None
        cls = fitting[0]
        init = s.get(attributes.in_class(s, cls, "__init__"), Func)
        inner = Cast(s)
        if init is not None:
            inner = arguments(self._m, s, init, 1, cls, self._depth - 1)
        site = self._m.site(inner.state, node)
        made = self._m.call(inner.state, cls, [], inner.values, site)
        done = [(state, value) for state, value in made if state.exc is None and isinstance(value, Ref)]
        if not done:
            return None
        self._out.state, value = done[0]
        self._out.assumes += inner.assumes
        record = self._out.state.edit(value)
        record.name = name
        record.attrs[STAND_IN] = TRUE
        self._out.assumes.append(f"`{name}` is a `{s[cls].name}`")
        return value

    def _module(self, name: str, node: Any) -> Value:
        s = self._out.state
        ref = new_tensor(s, self._m.site(s, node), requires_grad=True, leaf=True, name=f"{name}'s parameters")
        tensor: Tensor = s[ref]
        tensor.is_summary = True
        tensor.is_param = True
        tensor.grad_state = "unknown"
        record = Instance(LibraryObject("torch.nn.Module"), {"#group": ref}, open=True)
        record.name = name
        self._out.assumes.append(f"`{name}` has parameters that require a gradient")
        return s.new(record)

    def optimizer_of(self, name: str, made_from: Value | None) -> Value:
        """An optimizer that is made where modules are in sight.

        They are arguments of the call that made it, or variables, or attributes of the same object.
        """
        s = self._out.state
        given = made_from.items if isinstance(made_from, Tup) else ()
        modules = {str(s[v].name): v for v in given if isinstance(v, Ref) and is_module_object(s, v)}
        if modules:
            self._out.values, self._optimizers = dict(modules), 1
            return self._optimizer(name)
        leaves = [v for v in given if isinstance(v, Ref) and is_trainable_leaf(s, v)]
        if leaves:
            self._out.assumes += [f"`{name}` holds `{s[leaf].name}`" for leaf in leaves]
            return self._made(name, leaves, is_open=False)
        frame: Frame = s[s.frames[-1]]
        receiver = s.get(frame.receiver, Instance)
        near: dict[str, Value] = {k: v for k, v in frame.locals.items() if isinstance(k, str)}
        if receiver is not None:
            near.update(receiver.attrs)
        others = [each for each in near if each != name]
        self._optimizers = 1 + sum("optim" in each or each.startswith("opt") for each in others)
        self._out.values = {k: v for k, v in near.items() if is_module_object(s, v)}
        return self._optimizer(name)

    def _optimizer(self, optimizer: str) -> Value:
        """An optimizer of the parameters of the modules that are given along with it."""
        s = self._out.state
        modules = [
            name
            for name, value in self._out.values.items()
            if is_module_object(s, value) and not is_averaged(name)
        ]
        held: list[Value] = []
        alone = len(modules) == 1 and self._optimizers == 1
        for name in modules if alone else named_alike(optimizer, modules):
            module: Ref = self._out.values[name]  # type: ignore[assignment]
            held += [ref for _, ref in named_parameters(s, module)[0]]
            self._out.assumes.append(f"`{optimizer}` holds the parameters of `{name}`")
        return self._made(optimizer, held, is_open=True)

    def _made(self, name: str, held: Sequence[Value], *, is_open: bool) -> Value:
        parameters = Tup(tuple(held), open=is_open)
        record = Instance(LibraryObject("torch.optim.Optimizer"), {HELD: parameters}, open=True)
        record.name = name
        return self._out.state.new(record)


class Refinement:
    """Gives what an unknown call returned the role that its uses show, when it is stored under a name."""

    def __init__(self, m: Interpreter) -> None:
        self._m = m
        self.evidence = Evidence()

    def variable(self, s: State, name: str, value: Symbol, node: Any) -> tuple[State, Value]:
        """The value of a variable that the running function stores."""
        frame: Frame = s[s.frames[-1]]
        place = Place(frame.function, frame.cls if isinstance(frame.cls, Ref) else None, frame.env.globals)
        return self._refined(s, place, name, self.evidence.variable(s, place, name), value, node)

    def attribute(self, s: State, owner: Ref, name: str, value: Symbol, node: Any) -> tuple[State, Value]:
        """The value of an attribute that is stored in an object of the repository."""
        cls = s[owner].cls
        record = s.get(cls, Class)
        if record is None:
            return s, value
        place = Place(s[s.frames[-1]].function, cls, record.env.globals)
        return self._refined(s, place, name, self.evidence.attribute(s, place, name), value, node)

    def _refined(
        self, s: State, place: Place, name: str, usage: Usage | None, value: Symbol, node: Any
    ) -> tuple[State, Value]:
        if usage is None or not (usage.called or usage.methods or usage.iterated):
            return s, value
        casting = _Casting(self._m, s, place, 1)
        if is_optimizer(name, usage, trains=casting.trains):
            made = casting.optimizer_of(name, s.memory.get(Symbol(("made-from", value))))
        else:
            made = casting.value(name, usage, node)
        out = casting.out
        if isinstance(made, Symbol) and made.kind is None:
            return s, value
        self._m.program.assumes = (
            *self._m.program.assumes,
            *(one for one in out.assumes if one not in self._m.program.assumes),
        )
        return out.state, made


def module_classes(s: State) -> Iterator[tuple[Ref, Class]]:
    """The classes of modules that the file defines at its top level."""
    for name, value in s[s.frames[0]].locals.items():
        record = s.get(value, Class)
        if isinstance(name, str) and record is not None and record.name == name and is_module_class(s, value):
            yield value, record


def _fits(s: State, cls: Ref, record: Class, usage: Usage, name: str) -> bool:
    """Has a class all that is asked of an object, and is enough asked that not every object has?"""
    asked = usage.attributes - MODULE_API
    usual = _MODULE.search(name) is not None
    if not asked:
        return usage.called and (usual or bool(usage.methods & MODULE)) and _is_alone(s, cls, usage)
    telling = usual or usage.called or len(asked) > 1 or bool(usage.methods & record.attrs.keys())
    return telling and asked <= _members(s, cls) and (not usage.called or _takes(s, cls, usage.arity))


def is_part(s: State, cls: Ref) -> bool:
    """Is a class of modules made for the inside of networks, by its name or as another class uses it?"""
    name = s[cls].name
    others = (ref for ref, record in module_classes(s) if record.name != name)
    return _PART.search(name) is not None or any(name in named_in(s, ref) for ref in others)


def _is_alone(s: State, cls: Ref, usage: Usage) -> bool:
    """Is it the one class of the file that is trained: no part of another, and called as it can be?"""
    module = s[s.frames[0]].env.module
    classes = [(ref, record) for ref, record in module_classes(s) if record.env.module is module]
    parts = {name for ref, _ in classes for name in named_in(s, ref)}
    whole = [ref for ref, record in classes if record.name not in parts]
    return whole == [cls] and _takes(s, cls, usage.arity)


def _takes(s: State, cls: Ref, arity: set[int]) -> bool:
    """Can `forward` be called with these numbers of positional arguments?"""
    forward = s.get(attributes.in_class(s, cls, "forward"), Func)
    if forward is None:
        return False
    params = forward.function.params[1:]
    if any(p.kind is ir.ParamKind.VARARGS for p in params):
        return True
    positional = [p for p in params if p.is_positional]
    least = sum(not p.has_default for p in positional)
    return all(least <= count <= len(positional) for count in arity)


def _members(s: State, cls: Ref) -> set[str]:
    """Names of methods and of attributes that methods assign, of a class and its bases in the repository."""
    found: set[str] = set()
    for entry in s[cls].mro:
        record = s.get(entry, Class)
        if record is not None:
            found |= record.attrs.keys()
    for function in methods_of(s, cls):
        receiver = function.params[0].name if function.params else ""
        for block in function.blocks.values():
            selves = {i.dst for i in block.instrs if isinstance(i, ir.LoadName) and i.name == receiver}
            found |= {i.name for i in block.instrs if isinstance(i, ir.SetAttr) and i.obj in selves}
    return found


def named_in(s: State, cls: Ref) -> set[str]:
    """Names that the methods of a class load: parts that it is made of among them."""
    return {
        i.name
        for function in methods_of(s, cls)
        for block in function.blocks.values()
        for i in block.instrs
        if isinstance(i, ir.LoadName)
    }


def _differentiates(function: ir.Function) -> bool:
    """Does a unit call `backward`?"""
    return any(isinstance(i, ir.GetAttr) and i.name == "backward" for i in function.instructions())

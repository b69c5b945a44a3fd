"""What the arguments of a unit that nobody calls must be, judged by how it uses them.

Uses show an optimizer, a module, a criterion; a module may be of a class of the file, if the class has all
that is asked of it. What each decision assumes is noted for the findings.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gradcheck_tool.analysis.annotations import is_whole, named_class, role_of
from gradcheck_tool.analysis.cast import Cast
from gradcheck_tool.analysis.class_fit import (
    COMMON,
    PARAMETERS,
    asks_to_compute,
    fits,
    has_all,
    is_of,
    is_option,
    made_of,
    module_classes,
    plain_classes,
)
from gradcheck_tool.analysis.defaults import is_usual_default, is_whole_number
from gradcheck_tool.analysis.evidence import Place, methods_of, place_of
from gradcheck_tool.analysis.loop_data import BATCH
from gradcheck_tool.analysis.made_objects import most_ordinary
from gradcheck_tool.analysis.optimizer_roles import (
    is_averaged,
    is_module_object,
    is_optimizer,
    is_trainable_leaf,
    modules_inside,
    named_alike,
    optimizers_among,
)
from gradcheck_tool.analysis.ordinary_use import is_module_class
from gradcheck_tool.analysis.wrapped_modules import is_bare, wrap
from gradcheck_tool.domain.records import Frame, Func, Instance
from gradcheck_tool.domain.values import TRUE, Const, LibraryObject, Ref, Symbol, Tup, Value, unknown
from gradcheck_tool.interp import attributes
from gradcheck_tool.interp.constants import note_argument
from gradcheck_tool.interp.imports import import_module, module_variables, resolve_import
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.library.torch.held_parameters import hold
from gradcheck_tool.library.torch.module_names import MODULE, MODULE_API, MODULE_NAME
from gradcheck_tool.library.torch.module_tree import STAND_IN, named_parameters, parameters_of
from gradcheck_tool.library.torch.opaque_modules import HAS_PARAMETERS, criterion, opaque_module
from gradcheck_tool.library.torch.settings import note_default, note_settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gradcheck_tool.analysis.given import Given
    from gradcheck_tool.analysis.usage import Usage
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter

# Usual names are a last resort: they count together with a use that fits.
_CRITERION = re.compile(r"(?:^|_)(?:criterion|crit|loss(?:_?(?:fn|func|function))?|objective)$")
_SCHEDULER = re.compile(r"(?:^|_)(?:lr_?)?sched(?:uler)?s?(?:_|\d|[A-Z]|$)")
_DATA = re.compile(
    r"(?:^|_)(?:data|dataset|batches|(?:data_?)?loader|dl|iterator|stream|"
    r"(?:train|val|valid|test)(?:ing|ation)?(?:_?(?:set|iter|gen|generator|ds))?)$"
)
# Two modules one of which follows the other.
_FOLLOWED = re.compile(
    r"(?:^|_)(?:source|target|src|tgt|dst|teacher|online|ema|shadow|momentum|slow|fast)(?:_|$)"
)
# What only modules are given to.
_WRAPPERS = frozenset({"DDP", "DataParallel", "DistributedDataParallel"})
# What only scalers of gradients have both of.
_SCALER = frozenset({"scale", "step"})
# So many methods and attributes that are asked of an object tell its class among those of a repository.
TELLING = 2
# How deep objects are made for the arguments of constructors.
DEPTH = 2


def arguments(
    m: Interpreter, s: State, func: Func, skip: int, cls: Ref | None = None, depth: int = DEPTH
) -> Cast:
    """A value for each parameter (but the first `skip`).

    A parameter with a number for a default has that number: a dropout of 0.0 by default is meant to be off.
    So has one with a class, a function, a module (`act=nn.ReLU()`) or a configuration (`dict(type="ReLU")`).

    Args:
        m: the interpreter.
        s: the state in which the unit is to be called.
        func: the unit.
        skip: how many parameters the caller fills in itself.
        cls: the class that the unit is a method of.
        depth: how many constructors may be called for arguments of arguments.
    """
    place = place_of(func, cls)
    cast = Casting(m, s, place, depth).cast(func.function.params[skip:], func.defaults)
    for value in cast.values.values():
        note_argument(cast.state, value)
    return cast


class Casting:
    """Decides what the values that a unit or an object is given must be."""

    def __init__(self, m: Interpreter, s: State, place: Place, depth: int) -> None:
        self._m = m
        self._place = place
        self._depth = depth
        self._optimizers: list[str] = []
        # Under which attribute of `self` a parameter is kept: that may tell more than its own name.
        self._kept_as: dict[str, str] = {}
        self._out = Cast(s)
        self._is_argument = False
        self._given: Mapping[str, Given] = {}
        # The class that the annotation of a parameter names.
        self._annotated: dict[str, Value] = {}

    @cached_property
    def trains(self) -> bool:
        """Does the unit, or another method of its class or function of its file, differentiate something?

        Or does the unit hand something on to a function of another file that calls `backward`?
        """
        s, evidence = self._out.state, self._m.program.refinement.evidence
        cls, frame = self._place.cls, s.get(self._place.module, Frame)
        near = methods_of(s, cls) if cls is not None else ()
        of_file = (frame.env.module.body, *frame.env.module.functions) if frame is not None else ()
        functions = (self._place.function, *near, *of_file)
        if any(map(evidence.differentiates, functions)) or any(map(evidence.asks_for_gradients, functions)):
            return True
        return evidence.hands_on_to_backward(s, self._place)  # type: ignore[no-any-return]

    @cached_property
    def trains_itself(self) -> bool:
        """Does the unit call `backward`, or another method of its class that is no module?"""
        s, cls = self._out.state, self._place.cls
        is_trainer = cls is not None and not is_module_class(s, cls)
        near = methods_of(s, cls) if is_trainer and cls is not None else ()
        return any(map(self._m.program.refinement.evidence.differentiates, (self._place.function, *near)))

    @property
    def _is_inside_module(self) -> bool:
        """Is it what a module is made of that is looked at?"""
        cls = self._place.cls
        return not self._is_argument and cls is not None and is_module_class(self._out.state, cls)

    @property
    def out(self) -> Cast:
        """What has been decided so far."""
        return self._out

    def cast(self, params: list[ir.Parameter], defaults: Mapping[str, Value]) -> Cast:
        """Decide on all parameters: optimizers come last, as they hold the parameters of modules."""
        self._is_argument = True
        named = [p for p in params if p.kind not in (ir.ParamKind.VARARGS, ir.ParamKind.KWARGS)]
        self._given = self._m.program.refinement.given(self._out.state, self._place, [p.name for p in named])
        evidence = self._m.program.refinement.evidence
        usage = {p.name: evidence.parameter(self._out.state, self._place, p.name) for p in named}
        self._kept_as = {name: _kept_as(used, name) for name, used in usage.items()}
        self._annotated = dict(self._classes_named(named, usage))
        optimizers = [
            p
            for p in named
            if is_optimizer(self._called(p.name), usage[p.name], trains=lambda: self.trains)
            or self._is_given(p.name, "optimizer")
            or self._is_annotated(p.name, "optimizer")
            or self._is_shown(p.name, usage[p.name])
        ]
        self._optimizers = [p.name for p in optimizers]
        for p in named:
            default = defaults.get(p.name)
            if default is not None and self._is_ordinary(default, p.name):
                self._out.values[p.name] = default
            elif p not in optimizers:
                value = self.value(p.name, usage[p.name], p.node)
                is_batch = self.trains_itself and BATCH.search(p.name) is not None
                if is_batch and isinstance(value, Symbol) and "backward" not in usage[p.name].attributes:
                    value = unknown("data")
                self._out.values[p.name] = value
                self._note_settings(p.name, usage[p.name], value, default)
        for p in optimizers:
            self._out.values[p.name] = self._optimizer(p.name)
        return self._out

    def _classes_named(
        self, params: list[ir.Parameter], usage: Mapping[str, Usage]
    ) -> Iterator[tuple[str, Value]]:
        """The classes that annotations name, of parameters that are used or passed on."""
        evidence = self._m.program.refinement.evidence
        for p in params:
            used = usage[p.name]
            if p.annotation is not None and (used.attributes or used.called or used.passed or used.stored):
                cls = named_class(evidence, self._out.state, self._place, p.annotation)
                if cls is not None:
                    yield p.name, cls

    def _is_shown(self, name: str, usage: Usage) -> bool:
        """Is it kept as an optimizer by an object that trains, and shows itself to what may step it?"""
        s, cls = self._out.state, self._place.cls
        if cls is None or not usage.stored or not optimizers_among([self._called(name)]):
            return False
        itself = self._m.program.refinement.evidence.uses_of_class(s, cls).get("self")
        return itself is not None and bool(itself.passed) and self.trains_itself

    def _called(self, name: str) -> str:
        """What a parameter is called where it is used."""
        return self._kept_as.get(name, name)

    def _is_ordinary(self, default: Value, name: str) -> bool:
        """Is a default what ordinary calls have?"""
        is_usual = is_usual_default(self._out.state, default)
        if is_usual and not isinstance(default, Const):
            self._out.assumes.append(f"`{name}` has its default")
        return is_usual

    def _note_settings(self, name: str, usage: Usage, value: Value, default: Value | None) -> None:
        constructs = self._is_argument and self._place.function.name == "__init__"
        if not isinstance(value, Symbol) or value.kind is not None:
            return
        if default == TRUE:
            note_default(self._out.state, value, name)
        elif constructs and is_whole_number(default):
            note_settings(self._out.state, value, "")
        elif is_option(name, usage):
            note_settings(self._out.state, value, name)

    def value(self, name: str, usage: Usage, node: Any) -> Value:
        """What something that is called `name` and used so must be, unless it is an optimizer."""
        called = self._called(name)
        # What is called is no optimizer: an engine steps itself.
        if "step" not in usage.methods or (usage.called and usage.methods & MODULE):
            made = (
                self._of_callers(name, usage, node)
                or self._of_annotation(name, usage, node)
                or self._of_file(called, usage, node)
                or self._of_others(called, usage, node)
            )
            if made is not None:
                return made
            is_module = self._is_given(name, "module", "object") or self._is_annotated(name, "module")
            if is_module or self._is_module(called, usage):
                return self._module(called, node)
        if self._is_given(name, "data") or self._is_annotated(name, "data"):
            return unknown("data")
        if usage.methods >= _SCALER or self._is_annotated(name, "scaler"):
            return self._scaler(called)
        if usage.iterated and _DATA.search(called):
            return unknown("data")
        if "step" in usage.methods and _SCHEDULER.search(called):
            return unknown("data")
        is_loss = usage.differentiated or _CRITERION.search(called) or self._is_given(name, "criterion")
        if usage.called and not usage.attributes and is_loss:
            return criterion(self._out.state, called, parts=usage.taken_apart)
        return unknown()

    def _is_module(self, name: str, usage: Usage) -> bool:
        if any(callee in _WRAPPERS for callee, _ in usage.passed):
            return True
        is_usual = (has_name := MODULE_NAME.search(name) is not None) and self._is_inside_module
        is_named = has_name or _FOLLOWED.search(name) is not None
        if not usage.called:
            several = len(usage.methods & MODULE) > 1 or is_named
            shows = usage.optimized or (bool(usage.methods & PARAMETERS) and several)
            return shows or ((is_usual or (is_named and self.trains)) and asks_to_compute(usage))
        return bool(usage.methods & MODULE) or is_usual or (is_named and self.trains)

    def _of_file(self, name: str, usage: Usage, node: Any) -> Value | None:
        """An object of the one class of the file that has everything that is asked of the parameter.

        What makes parts of the class whose constructor is called is not given to one of these parts.
        """
        s = self._out.state
        own = self._place.cls if self._place.function.name == "__init__" else None
        wholes = made_of(s, own) if own is not None else set()
        fitting = [ref for ref, _ in module_classes(s) if ref not in wholes and fits(s, ref, usage, name)]
        if self._is_argument:
            fitting += [ref for ref, record in plain_classes(s) if is_of(s, ref, record, usage)]
        return self._object(fitting[0], name, node) if len(fitting) == 1 else None

    def _of_callers(self, name: str, usage: Usage, node: Any) -> Value | None:
        """An object of the class of modules that other files pass."""
        given = self._given.get(name)
        return self._of_class(given, name, usage, node) if given is not None else None

    def _of_others(self, name: str, usage: Usage, node: Any) -> Value | None:
        """An object of the one class of modules of other files that has everything that is asked."""
        asked = usage.attributes - MODULE_API - COMMON
        is_used = usage.called or usage.methods & MODULE or MODULE_NAME.search(name)
        if len(asked) < TELLING or not is_used:
            return None
        given = self._m.program.refinement.having(self._out.state, self._place, asked)
        return self._of_class(given, name, usage, node) if given is not None else None

    def _of_class(self, given: Given, name: str, usage: Usage, node: Any) -> Value | None:
        """An object of a class of modules of another file, if it has everything that is asked."""
        if given.kind != "object":
            return None
        s = self._out.state
        importer = s[self._place.module].env.module.filename  # type: ignore[index]
        module = module_variables(s, import_module(self._m, s, importer, given.module, 0))
        cls = None if module is None else resolve_import(self._m, s, module.locals.get(given.name, unknown()))
        if not isinstance(cls, Ref) or not is_module_class(s, cls):
            return None
        asked = usage.attributes - MODULE_API
        return self._object(cls, name, node) if has_all(s, cls, asked, usage) else None

    def _of_annotation(self, name: str, usage: Usage, node: Any) -> Value | None:
        """An object of the class of modules that the annotation names, if it has everything that is asked."""
        cls = self._annotated.get(name)
        s = self._out.state
        if not isinstance(cls, Ref) or not is_module_class(s, cls) or not is_whole(s, cls):
            return None
        asked = usage.attributes - MODULE_API
        return self._object(cls, name, node) if has_all(s, cls, asked, usage) else None

    def _is_annotated(self, name: str, role: str) -> bool:
        """Does the annotation name a class of this role?"""
        cls = self._annotated.get(name)
        return cls is not None and role_of(self._out.state, cls) == role

    def _is_given(self, name: str, *kinds: str) -> bool:
        """Do other files pass something of this kind?"""
        given = self._given.get(name)
        return given is not None and given.kind in kinds

    def _object(self, cls: Ref, name: str, node: Any) -> Value | None:
        """An object of a class of the repository, made with arguments that fit their use."""
        s = self._out.state
        if not self._depth:
            return None
        init = s.get(attributes.in_class(s, cls, "__init__"), Func)
        inner = Cast(s.fork())
        if init is not None:
            inner = arguments(self._m, inner.state, init, 1, cls, self._depth - 1)
        site = self._m.site(inner.state, node)
        made = self._m.call(inner.state, cls, [], inner.values, site)
        done = [(state, value) for state, value in made if state.exc is None and isinstance(value, Ref)]
        if not done:
            return None
        self._out.state, value = most_ordinary(done, inner.values, init.defaults if init is not None else {})
        self._out.assumes += inner.assumes
        record = self._out.state.edit(value)
        record.name = name
        record.attrs[STAND_IN] = TRUE
        self._out.assumes.append(f"`{name}` is a `{s[cls].name}`")
        return value

    def _module(self, name: str, node: Any) -> Value:
        s = self._out.state
        self._out.assumes.append(f"`{name}` {HAS_PARAMETERS}")
        return opaque_module(s, name, self._m.site(s, node))

    def _scaler(self, name: str) -> Value:
        record = Instance(LibraryObject("torch.amp.GradScaler"), {"#on": TRUE, "#scaled": TRUE})
        record.name = name
        self._out.assumes.append(f"`{name}` is enabled")
        return self._out.state.new(record)

    def result(self, name: str, usage: Usage, node: Any, given: Tup) -> Value:
        """What a call that was given this has returned, unless it is an optimizer."""
        s = self._out.state
        wrapper = wrap(s, given, name) if usage.called or usage.methods & MODULE else None
        if wrapper is not None:
            self._out.assumes.append(f"`{name}` has the parameters of the module that it is made from")
            return wrapper
        return unknown() if is_bare(s, given) else self.value(name, usage, node)

    def optimizer_of(self, name: str, given: Sequence[Value]) -> Value:
        """An optimizer that is made where modules are in sight.

        They are arguments of the call that made it, or variables, or attributes of the same object.
        """
        s = self._out.state
        modules = {str(s[v].name): v for v in given if isinstance(v, Ref) and is_module_object(s, v)}
        if modules:
            self._out.values, self._optimizers = dict(modules), [name]
            return self._optimizer(name)
        leaves = [leaf for v in given for leaf in parameters_of(s, v)[0] if is_trainable_leaf(s, leaf)]
        if leaves:
            self._out.assumes += [f"`{name}` holds `{s[leaf].name}`" for leaf in leaves]
            return self._made(name, leaves, is_open=False)
        frame: Frame = s[s.frames[-1]]
        receiver = s.get(frame.receiver, Instance)
        near: dict[str, Value] = {k: v for k, v in frame.locals.items() if isinstance(k, str)}
        if receiver is not None:
            near.update(receiver.attrs)
        named = {*near, *self._m.program.refinement.evidence.attributes_of(s, self._place)}
        self._optimizers = [name, *optimizers_among(named - {name})]
        self._out.values = {k: v for k, v in near.items() if is_module_object(s, v)}
        return self._optimizer(name)

    def optimizers_of(self, names: Sequence[str], modules: Mapping[str, Value]) -> dict[str, Value]:
        """Optimizers that share the parameters of modules."""
        self._out.values, self._optimizers = dict(modules), list(names)
        return {name: self._optimizer(name) for name in names}

    def _optimizer(self, optimizer: str) -> Value:
        """An optimizer of the parameters of the modules that are given along with it."""
        s = self._out.state
        near = {
            self._called(name): value
            for name, value in self._out.values.items()
            if is_module_object(s, value)
        }
        near = near or {
            name: inner for value in self._out.values.values() for name, inner in modules_inside(s, value)
        }
        trained = [name for name in near if not is_averaged(name)]
        # A criterion may be a module, too: the optimizer is that of the model beside it.
        modules = [name for name in trained if _CRITERION.search(name) is None] or trained
        held: list[Value] = []
        given, called = self._given.get(optimizer), self._called(optimizer)
        known = [name for name in modules if given is not None and self._called(given.of) == name]
        for name in known or named_alike(called, modules, [*map(self._called, self._optimizers)]):
            module: Ref = near[name]  # type: ignore[assignment]
            held += [ref for _, ref in named_parameters(s, module)[0]]
            self._out.assumes.append(f"`{called}` holds the parameters of `{name}`")
        return self._made(called, held, is_open=True)

    def _made(self, name: str, held: Sequence[Value], *, is_open: bool) -> Value:
        record = Instance(LibraryObject("torch.optim.Optimizer"), open=True)
        record.name = name
        ref = self._out.state.new(record)
        hold(self._out.state, ref, held, is_open=is_open)
        return ref


def _kept_as(usage: Usage, name: str) -> str:
    """The one attribute of `self` that a parameter is stored in, or its own name."""
    return next(iter(usage.stored)).rpartition(".")[2] if len(usage.stored) == 1 else name

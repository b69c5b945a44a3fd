"""Custom `autograd.Function`s: what is wrong with their text, and with what they have done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Class, Dict, Frame, Func, Instance, List
from gradcheck_tool.domain.values import NONE, TRUE, Bound, Const, LibraryObject, Method, Ref, Tup, Value
from gradcheck_tool.interp.attributes import function_of, in_class
from gradcheck_tool.interp.iteration import elements
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.library.torch.function_flow import guarded_inputs, ignored_inputs
from gradcheck_tool.library.torch.function_text import function_class_of, place_on_ctx
from gradcheck_tool.trackers import backward_reads, function_contracts, unset_context, unset_gradients
from gradcheck_tool.trackers.events import FunctionDefect, FunctionDefinition
from gradcheck_tool.trackers.function_contracts import defect
from gradcheck_tool.trackers.notes import RunNote
from gradcheck_tool.trackers.starred_gradients import starred_gradients
from gradcheck_tool.trackers.tracker import Tracker
from gradcheck_tool.trackers.truth_of_elements import truth_of_elements

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.domain.events import Site
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Interpreter
    from gradcheck_tool.interp.facts import (
        AttributeRead,
        CallbackRan,
        Called,
        LibraryCalled,
        ObjectMade,
        RunEnded,
    )
    from gradcheck_tool.library.torch.function_text import FunctionClass

CHECKS = (
    *function_contracts.CHECKS,
    *backward_reads.CHECKS,
    *unset_context.CHECKS,
    *unset_gradients.CHECKS,
    starred_gradients,
    truth_of_elements,
)


class Functions(Tracker):
    """Reads Functions when they are defined and applied, and looks at what their methods have done."""

    derives = (FunctionDefect, FunctionDefinition)
    # By class, what is known of the arguments that are no tensors, and number of an input: whether it has
    # got a gradient in company, or alone, and what is wrong where it has not.
    given = RunNote[tuple[Any, ...], bool]()
    given_alone = RunNote[tuple[Any, ...], bool]()
    withheld = RunNote[tuple[Any, ...], FunctionDefect]()

    def on_object_made(self, m: Interpreter, s: State, fact: ObjectMade) -> None:
        """A class of a Function is defined: what is certainly wrong in its text?"""
        record = s.get(fact.object, Class)
        if record is None or not _is_function(s, fact.object):
            return
        functions = {name: _function(s, value) for name, value in record.attrs.items()}
        methods = {name: func.function for name, func in functions.items() if func is not None}
        self.report(FunctionDefinition(site=fact.site, function=record.name, methods=methods))
        text = function_class_of(s, fact.object)
        if text is not None:
            for check in CHECKS:
                for event in check(text):
                    if self.once((id(event.site.node), event.kind, event.detail)):
                        self.report(event)

    def on_library_called(self, m: Interpreter, s: State, fact: LibraryCalled) -> None:
        """Does `apply` get tensors in containers, or for an input whose gradient is never computed?"""
        if fact.name != "torch.autograd.Function.apply":
            return
        text, call = function_class_of(s, fact.call.receiver), fact.call
        if text is None or s.grad is not True or s.inference or call.kwargs or call.unsure:
            return
        # A backward that runs one of its own fills the gradients of what is hidden itself.
        if text.backward is None or not any(text.backward.calls("backward")):
            for argument in _hidden_tensors(s, text, call):
                self._report(call.site, text.name, "hidden-tensors", argument)
        # What has no elements only makes the backward run.
        direct = {i for i, v in enumerate(call.args) if _wants_grad(s, v) and not _is_empty(s, v)}
        for index, node in ignored_inputs(text).items():
            if index in direct and index < len(text.arguments()):
                self.report(defect(text, node, "none-for-input", text.arguments()[index]))

    def _report(self, site: Site, function: str, kind: str, detail: str = "") -> None:
        if self.once((id(site.node), kind, detail)):
            self.report(FunctionDefect(site=site, function=function, kind=kind, detail=detail))

    def on_called(self, m: Interpreter, s: State, fact: Called) -> None:
        """Is `forward` called directly, or `save_for_backward` again, with other tensors?"""
        func = fact.func
        if isinstance(func, Method) and func.name == "save_for_backward":
            context = s.get(func.receiver, Instance)
            before = context.attrs.get("#saved") if context is not None else None
            if isinstance(before, Tup) and any(value not in fact.args for value in before.items):
                name = _name(s, context.attrs["#class"])  # type: ignore[union-attr]
                self._report(m.site(s, fact.instr.node), name, "save-twice")
        forward = s.get(func.func if isinstance(func, Bound) else func, Func)
        if forward is None or forward.function.name != "forward":
            return
        caller: Frame = s[s.frames[-1]]
        if s.grad is not True or not _is_function(s, forward.cls) or _is_function(s, caller.cls):
            return
        has_backward = in_class(s, forward.cls, "backward") is not None
        if has_backward and any(_wants_grad(s, value) for value in fact.args):
            self._report(m.site(s, fact.instr.node), _name(s, forward.cls), "direct-forward")

    def on_attribute_read(self, m: Interpreter, s: State, fact: AttributeRead) -> None:
        """Does `forward` ask what it has computed itself whether that needs a gradient?"""
        frame, ref = s[s.frames[-1]], fact.object
        if fact.instr.name != "requires_grad" or frame.function.name != "forward" or s.grad is not False:
            return
        tensor, text = s.get(ref, Tensor), function_class_of(s, frame.cls)
        if tensor is None or text is None or not _is_function(s, frame.cls):
            return
        # Views of an input need a gradient where it does.
        is_new = not tensor.view and ref.id > s.frames[-1].id  # type: ignore[union-attr]
        if is_new and tensor.detached_because == "no-grad":
            node = fact.instr.node
            self._report(m.site(s, node), text.name, "grad-mode-in-forward", text.text(node))

    def on_callback_ran(self, m: Interpreter, s: State, fact: CallbackRan) -> None:
        """Has a method written to what it must not, or kept or returned what it should not?"""
        if fact.context is None:
            return
        name = _name(s, fact.owner)
        is_forward = fact.by == "forward"
        dirty = s[fact.context].attrs.get("#dirty", Tup(())).items if is_forward else ()
        inputs = s[fact.context].attrs["#inputs"].items
        for ref, version in fact.versions.items():
            storage = s[s[ref].storage]
            now = storage.version if is_forward or ref in inputs else storage.data
            if now == version or storage.unsure or ref in dirty:
                continue
            if is_forward and not _has_gradient(s, fact, ref):
                continue
            if not is_forward or storage.site is not None:
                of_backward = "writes-saved" if ref in inputs else "writes-cotangent"
                kind = "unmarked-write" if is_forward else of_backward
                self._report(storage.site, name, kind, str(s[ref].name))
        if fact.run is not None:
            if fact.run.create is True:
                for site, detail in _intermediates(s, fact.context, fact.owner):
                    self._report(site, name, "intermediate-kept", detail)
            if s.exc is None and fact.applied is not None:
                self._missing_gradients(s, fact, fact.context, id(fact.applied.node))
                self._alone(s, fact, fact.context)

    def _missing_gradients(self, s: State, fact: CallbackRan, context: Ref, place: int) -> None:
        """An input that needs a gradient gets None on every path of a backward that asks which inputs do."""
        inputs, value = s[context].attrs["#inputs"], fact.value
        text = function_class_of(s, fact.owner)
        if text is None or inputs.open or (isinstance(value, Tup) and value.open):
            return
        got = value.items if isinstance(value, Tup) else (value,)
        guarded = guarded_inputs(text)
        for index, (given, gradient) in enumerate(zip(inputs.items, got)):  # noqa: B905  more Nones are allowed
            key = (place, given)
            if not _wants_grad(s, given):
                continue
            if gradient != NONE:
                self.drop(key)
            elif index in guarded:
                self.hold(key, defect(text, guarded[index], "none-for-input", text.arguments()[index]))

    def _alone(self, s: State, fact: CallbackRan, context: Ref) -> None:
        """An input that gets None where it alone needs a gradient, and one where others need theirs, too.

        Paths are compared that no other argument tells apart.
        """
        record, value = s[context], fact.value
        text, needs = function_class_of(s, fact.owner), record.attrs.get("needs_input_grad")
        if text is None or not isinstance(needs, Tup) or not isinstance(value, Tup):
            return
        options = [a for a in record.attrs["#inputs"].items if s.get(a, Tensor) is None]
        truths = tuple(s.path_condition.get(option) for option in options)
        needed = [index for index, flag in enumerate(needs.items) if flag == TRUE]
        for index in needed:
            key = (text.record.node, truths, index)
            gradient = value.items[index] if index < len(value.items) else NONE
            if len(needed) > 1 and gradient != NONE:
                self.given[key] = True
            elif gradient == NONE and len(needed) == 1 and not value.open:
                asked = _asked_of_others(text, index)
                if asked:
                    self.withheld.setdefault(
                        key, defect(text, asked[-1], "none-for-input", _name_of(s, record, index))
                    )
            elif len(needed) == 1:
                self.given_alone[key] = True

    def on_run_ended(self, m: Interpreter, s: State, fact: RunEnded) -> None:
        """Which gradients have been computed in company only?"""
        for key, event in self.withheld.items():
            if key in self.given and key not in self.given_alone:
                self.report(event)


def _asked_of_others(c: FunctionClass, index: int) -> list[Any]:
    """Where backward asks whether another input, by its number, needs a gradient.

    Nowhere where it seems to ask for one of several inputs that belong together: once, and never for
    this one.
    """
    body = c.backward
    assert body is not None
    found, numbers = [], []
    for i in body.instrs:
        if not isinstance(i, ir.GetItem):
            continue
        flags, number = body.maker(i.obj), body.maker(i.index)
        asks = isinstance(flags, ir.GetAttr) and flags.name == "needs_input_grad"
        if asks and isinstance(number, ir.Const):
            numbers.append(number.value)
            if number.value != index:
                found.append(i.node)
    return found if index in numbers or len(set(numbers)) < len(numbers) else []


def _name_of(s: State, context: Instance, index: int) -> str:
    tensor = s.get(context.attrs["#inputs"].items[index], Tensor)  # type: ignore[union-attr]
    return str(tensor.name) if tensor is not None else "..."


def _is_function(s: State, cls: Value) -> bool:
    record = s.get(cls, Class)
    return record is not None and LibraryObject("torch.autograd.Function") in record.mro


def _name(s: State, cls: Value) -> str:
    record = s.get(cls, Class)
    return record.name if record is not None else "Function"


def _function(s: State, value: Value) -> Func | None:
    """A function, or the one inside `staticmethod` and the like."""
    return s.get(function_of(s, value), Func)


def _wants_grad(s: State, value: Value) -> bool:
    tensor = s.get(value, Tensor)
    return tensor is not None and tensor.requires_grad is True


def _is_empty(s: State, value: Value) -> bool:
    tensor = s.get(value, Tensor)
    return tensor is not None and 0 in (tensor.shape or ())


def _hidden_tensors(s: State, c: FunctionClass, call: Call) -> Iterator[str]:
    """The texts of arguments that hold tensors which require grad and are no arguments themselves."""
    for index, value in enumerate(call.args):
        table = s.get(value, Dict)
        items = list(table.items.values()) if table is not None else []
        if isinstance(value, Tup) or s.get(value, List) is not None:
            items = elements(s, value)[0]
        if any(_wants_grad(s, item) and item not in call.args for item in items):
            nodes = getattr(call.site.node, "args", ())
            yield c.text(nodes[index].value) if index < len(nodes) else "..."


def _intermediates(s: State, context: Ref, cls: Value) -> Iterator[tuple[Site, str]]:
    """What forward computed and kept without returning it: backward cannot be differentiated through it."""
    record: Instance = s[context]
    saved, place = record.attrs.get("#saved"), record.attrs.get("#saved_site")
    outputs = record.attrs.get("#outputs", Tup(())).items  # type: ignore[union-attr]
    found: list[tuple[Site, Value]] = []
    if isinstance(saved, Tup) and isinstance(place, Const):
        found += [(place.value, value) for value in saved.items]
    for name, value in record.attrs.items():
        where = None if name.startswith("#") else place_on_ctx(s, cls, name)
        if where is not None:
            found.append((where, value))
    for where, value in found:
        tensor = s.get(value, Tensor)
        if tensor is not None and tensor.detached_because == "no-grad" and value not in outputs:
            if tensor.dtype not in ("int", "bool"):
                yield where, str(tensor.name)


def _has_gradient(s: State, fact: CallbackRan, given: Ref) -> bool:
    """May `backward` return a gradient for an input of `forward`? Statistics and other buffers have none."""
    text = function_class_of(s, fact.owner)
    with_gradients = text.differentiable() if text is not None else set()
    inputs = s[fact.context].attrs.get("#inputs", Tup(())).items  # type: ignore[index]
    return not with_gradients or any(given == inputs[n] for n in with_gradients if n < len(inputs))

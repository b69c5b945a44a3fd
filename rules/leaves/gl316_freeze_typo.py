"""GL316: an attempt to freeze or unfreeze that sets an attribute nobody reads."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gradcheck_tool import (
    FALSE,
    NONE,
    TRUE,
    Class,
    Event,
    Frame,
    Instance,
    Interpreter,
    Rule,
    Severity,
    Site,
    State,
    Symbol,
    Tensor,
    Tracker,
    Trigger,
    Value,
    Violation,
    facts,
    in_class,
    may_be_module,
    module_tree,
    places,
    renamed,
    when,
)

_MISSPELT = (
    "require_grad",
    "required_grad",
    "requires_grad_",
    "requires_grads",
    "require_grads",
    "requiresgrad",
    "requires_gradient",
)


@dataclass(slots=True, eq=False, kw_only=True)
class FlagWrite(Event):
    """An attribute is assigned on a tensor or module which the class does not define, or to no effect.

    `receiver` is `tensor`, `state-dict` (a tensor of one) or `module`, `name` the attribute
    (`require_grad`, `requires_grad`, ...). Attempts to freeze that assign nothing are `compared` (the flag
    is compared as a statement) and `rebound` (a name that nothing reads gets the detached parameter).
    Not emitted where the analysed class defines that attribute.
    """

    triggers = (when.REQUIRES_GRAD,)

    receiver: str
    subject: str
    name: str


# What gives the layers of a module, one after the other.
_LAYERS = re.compile(r"\.(?:named_)?(?:children|modules)\(\)\)*(?:\[[^\]]*\])?\)*$")
# Classes of the file that have such a flag, or children, of their own.
_OWN = re.compile(r"\bself\.requires_grad\s*[=:]|\bdef (?:requires_grad|children|modules)\b")
# A file that has to do with modules at all; others may have children, too.
_HAS_MODULES = re.compile(r"\bnn\b|\b(?:torchvision|timm|transformers)\b|\bparameters\(\)")
_SETTABLE = frozenset({"requires_grad", "grad", "data", "names", "_grad", "_version", "_backward_hooks"})


class Flags(Tracker):
    """Reports attributes that are assigned, compared or bound to no effect."""

    derives = (FlagWrite,)

    def on_attribute_written(self, m: Interpreter, s: State, fact: facts.AttributeWritten) -> None:
        """An attribute that a tensor or module does not have is of no effect."""
        i = fact.instr
        if i is None:
            return
        if s.get(fact.object, Tensor) is not None:
            if i.name == "requires_grad" and Symbol(("state-dict", fact.object)) in s.memory:
                if fact.value == FALSE and self.once(id(i)):
                    self._flag(m, s, "state-dict", i)
            elif i.name not in _SETTABLE and self.once(id(i)):
                self._flag(m, s, "tensor", i)
            return
        record = s.get(fact.object, Instance)
        is_opaque = record is not None and "#group" in record.attrs
        is_assumed = False
        if record is None or is_opaque:
            site = m.site(s, i.node)
            is_flag = i.name == "requires_grad" and fact.value in (TRUE, FALSE)
            is_near = is_flag and _OWN.search(site.module.source) is None
            has_none = is_flag and (is_opaque or (is_near and _is_unknown_layer(m, site)))
            if is_near and not has_none:
                called = places.receiver_text(site).rpartition(".")[2]
                is_assumed = has_none = may_be_module(s, fact.object, called)
        else:
            has_none = i.name not in record.attrs and _is_foreign(s, fact.object, record, i.name)
        if has_none and self.once(id(i)):
            self._flag(m, s, "module", i, is_assumed=is_assumed)

    def _flag(self, m: Interpreter, s: State, receiver: str, i: Any, *, is_assumed: bool = False) -> None:
        site = m.site(s, i.node)
        subject = places.receiver_text(site)
        assumes = (f"`{subject}` is a module",) if is_assumed else ()
        self.report(FlagWrite(site=site, receiver=receiver, subject=subject, name=i.name, assumes=assumes))

    def on_compared(self, m: Interpreter, s: State, fact: facts.Compared) -> None:
        """`p.requires_grad == False` as a statement."""
        i = fact.instr
        left: Any = getattr(i.node, "left", None)
        if type(left).__name__ != "Attribute" or left.attr.value != "requires_grad":
            return
        if not m.places.is_read(places.running_function(s), i.dst) and self.once(id(i)):
            site = m.site(s, i.node)
            subject = places.text_of(site, left.value)
            self.report(FlagWrite(site=site, receiver="compared", subject=subject, name="requires_grad"))

    def on_name_bound(self, m: Interpreter, s: State, fact: facts.NameBound) -> None:
        """`p = p.detach()` for a parameter, where nothing reads the name any more."""
        i, tensor = fact.instr, s.get(fact.value, Tensor)
        source = s.get(tensor.base, Tensor) if tensor is not None and tensor.view == "detached" else None
        if tensor is None or source is None or not (source.is_param and source.leaf and source.requires_grad):
            return
        itself = places.receiver_text(tensor.site) == i.name
        if itself and not places.is_loaded(places.running_function(s), i) and self.once(id(i)):
            site = m.site(s, i.node)
            self.report(FlagWrite(site=site, receiver="rebound", subject=i.name, name="detach"))


def _is_unknown_layer(m: Interpreter, site: Site) -> bool:
    """Is an attribute set on what a loop over the layers of a module gives?"""
    node: Any = getattr(m.places.loop_of(site), "node", None)
    if _HAS_MODULES.search(site.module.source) is None:
        return False
    if type(node).__name__ != "For" or _LAYERS.search(places.text_of(site, node.iter)) is None:
        return False
    return places.receiver_text(site) in re.findall(r"\w+", places.text_of(site, node.target))


def _is_foreign(s: State, obj: Value, record: Instance, name: str) -> bool:
    """Is it a module whose class is all known, does not define the name, and does not run now?"""
    cls = s.get(record.cls, Class)
    if record.open or (cls is not None and cls.open) or not module_tree.is_module(s, record):
        return False
    frame: Frame = s[s.frames[-1]]
    runs = frame.cls != NONE and frame.receiver == obj
    return not runs and in_class(s, record.cls, name) is None


class FreezeTypo(Rule):
    """Freezing or unfreezing is written so that it has no effect.

    ## What it detects

    `p.require_grad = False` and similar spellings of `requires_grad` on a tensor,
    `module.requires_grad = False` on a module or on what a loop over `children()` or `modules()` gives, which
    have no such attribute, the comparison `p.requires_grad == False` as a statement, and `p = p.detach()`
    for a parameter where nothing reads `p` any more.

    ## Why it is wrong

    Python creates a new attribute that nothing reads, or changes nothing but a name. The parameters keep
    requiring gradients, and the optimizer keeps training them. Nothing is raised.

    ## Example

    ```python
    import torch

    model = torch.nn.Linear(3, 3)
    for parameter in model.parameters():
        parameter.require_grad = False  # <- GL316
    ```

    ```python
    import torch

    model = torch.nn.Linear(3, 3)
    model.requires_grad = False  # <- GL316
    ```

    ```python
    import torch

    model = torch.nn.Linear(3, 3)
    for parameter in model.parameters():
        parameter.requires_grad == False  # <- GL316
    ```

    ```python
    import torch

    model = torch.nn.Linear(3, 3)
    for parameter in model.parameters():
        parameter = parameter.detach()  # <- GL316
    ```

    ## Use instead

    ```python
    import torch

    model = torch.nn.Linear(3, 3)
    for parameter in model.parameters():
        parameter.requires_grad = False
    ```

    ```python
    import torch

    model = torch.nn.Linear(3, 3)
    model.requires_grad_(False)
    ```

    ## Fix safety

    What was meant to be frozen or trained changes, so the fix is unsafe.

    ## References

    - [`torch.nn.Module.requires_grad_`](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.requires_grad_)
    """

    code = "GL316"
    name = "freeze-typo"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the parameters still require gradients"
    symptom = "assert all(parameter.requires_grad for parameter in model.parameters())"
    triggers = (
        when.REQUIRES_GRAD,
        Trigger("require_grad", r"\brequire_grad", mentions=("require_grad",)),
        Trigger("required_grad", r"\brequired_grad"),
        Trigger("requiresgrad"),
        Trigger(".detach(", r"for (?:\w+, *)?(\w+) in [^\n]*parameters\(\)[^\n]*:\s+\1 = \1\.detach\("),
    )
    trackers = (Flags,)

    def on_flag_write(self, event: FlagWrite) -> Iterator[Violation]:
        if event.receiver == "module" and event.name == "requires_grad":
            yield self.finding(
                event,
                f"`{event.subject}.requires_grad` is a new attribute of the module that nothing reads; "
                "its parameters "
                "are unchanged",
                f"use `{event.subject}.requires_grad_(...)`",
            )
        elif event.receiver == "state-dict":
            yield self.finding(
                event,
                f"`{event.subject}` is a detached copy of the entry of `state_dict()`: the parameter itself "
                "is unchanged",
                "go through `named_parameters()`",
            )
        elif event.receiver == "compared":
            yield self.finding(
                event,
                f"`{event.subject}.requires_grad` is only compared here; nothing is frozen",
                "assign the flag with `=`",
            )
        elif event.receiver == "rebound":
            yield self.finding(
                event,
                f"`{event.subject}` is bound to a detached tensor that nothing reads; the parameter itself "
                "is unchanged",
                f"use `{event.subject}.requires_grad_(False)`",
            )
        elif event.name in _MISSPELT:
            yield self.finding(
                event,
                f"`{event.subject}.{event.name}` is a new attribute that nothing reads",
                "the flag is spelt `requires_grad`",
                fix=self.unsafe_fix("Correct the spelling", renamed(event.site, "requires_grad")),
            )

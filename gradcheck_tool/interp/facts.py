"""What happens while a program is executed: facts, which the interpreter and the models of libraries tell.

A fact says what happened and never what is wrong with it. Each is told once, by the one place that knows it,
with `Interpreter.tell(s, fact)`: `s` is the state in which it happened. Trackers listen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gradcheck_tool.domain.values import NONE
from gradcheck_tool.interp.api import Fact

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gradcheck_tool.domain.events import Site
    from gradcheck_tool.domain.records import Dict
    from gradcheck_tool.domain.values import Ref, Text, Value
    from gradcheck_tool.engine.backward import BackwardPass
    from gradcheck_tool.interp.api import Call
    from gradcheck_tool.ir import nodes as ir


@dataclass(slots=True, eq=False)
class Called(Fact):
    """A call instruction is about to call something. `unsure`: star-arguments may add more."""

    func: Value
    instr: ir.Call
    args: Sequence[Value]
    kwargs: Mapping[str, Value]
    unsure: bool


@dataclass(slots=True, eq=False)
class LibraryCalled(Fact):
    """A function of a library is called, by the program or by a model; it has not run yet.

    `name` is its qualified name, whatever the program calls it. `torch.autograd.Function.apply` is told of
    Functions of the program; the `receiver` of the call is the class.
    """

    name: str
    call: Call


@dataclass(slots=True, eq=False)
class AttributeRead(Fact):
    """`object.name` has been read by an instruction of the program."""

    object: Value
    value: Value
    instr: ir.GetAttr


@dataclass(slots=True, eq=False)
class AttributeWritten(Fact):
    """`object.name = value` is about to be carried out; `setattr` and models of libraries have no `instr`."""

    object: Value
    name: str
    value: Value
    site: Site
    instr: ir.SetAttr | None = None


@dataclass(slots=True, eq=False)
class NameBound(Fact):
    """A variable is bound to a tensor."""

    value: Ref
    instr: ir.StoreName


@dataclass(slots=True, eq=False)
class Compared(Fact):
    """Two values are compared."""

    instr: ir.Compare


@dataclass(slots=True, eq=False)
class Used(Fact):
    """A value is used as what it has to be: entered by `with`, gone through by a `loop` or to `clip`.

    `number`: a tensor of one element is made one, as far as its size is known.
    `drained`: an iterator has given `items` and is used up. `register_hook` and the like: it is a hook of
    `owner` from now on, None where that is not known.
    """

    value: Value
    by: str
    site: Site
    items: Sequence[Value] = ()
    owner: Ref | None = None


@dataclass(slots=True, eq=False)
class ObjectMade(Fact):
    """A class of the repository is defined, or the constructor of one returns or raises an exception."""

    object: Ref
    site: Site


@dataclass(slots=True, eq=False)
class Taken(Fact):
    """The program does something with parameters or modules itself.

    `by` says what: `grad` and `data` (the attribute is read), `autograd.grad` (their gradients are computed),
    `copy` (they are copies), `container` (one of torch holds them), `registered`, `loaded`, `optimizer` (one
    is given them later; it is among them where the program changes its lists), `retained` (they keep their
    gradients from now on, and did not), `thawed` (they require grad now, and did not), `detached` (in
    place). `given` is the table that is loaded, and what `autograd.grad` gets as its inputs.
    """

    records: Sequence[Ref]
    by: str
    site: Site
    given: Value = NONE


@dataclass(slots=True, eq=False)
class ItemWritten(Fact):
    """`container[index] = value` is about to be carried out.

    Without an `index`, the value has been added to a list or set, by a call or as one that `+=` adds.
    """

    container: Value
    index: Value | None
    value: Value
    site: Site


@dataclass(slots=True, eq=False)
class Computed(Fact):
    """An operation of torch has computed something.

    `operation` is its name (`-`, `mse_loss`, `mseloss` for the layer), `arguments` what it is given by the
    names of its parameters, and `operands` the tensors among these, or that unknown values among these stand
    for. `history` is the graph node that the operand `self` had before.
    """

    operation: str
    arguments: Mapping[str, Value | list[Value]]
    operands: Mapping[str, Ref | Sequence[Ref]]
    history: Ref | None
    result: Value
    site: Site
    text: Text


@dataclass(slots=True, eq=False)
class Written(Fact):
    """An operation writes to a tensor in place; `how` is its name: `mul_`, `*=`, `all_reduce`."""

    tensor: Ref
    how: str
    operands: Sequence[Value]
    site: Site


@dataclass(slots=True, eq=False)
class BackwardRan(Fact):
    """A backward pass has run through a graph and, but for `autograd.grad`, added to `.grad` of leaves."""

    run: BackwardPass


@dataclass(slots=True, eq=False)
class CallbackRan(Fact):
    """PyTorch has run code of the program: a `forward` or `backward` of a Function, or a `hook` of a tensor.

    `owner` is the Function's class, with its `context`, or the tensor. `versions` tells what arguments held
    before which others read, too: of a `forward`, and of what it has saved of them, their versions, else
    their data. `value` is what `forward` and `backward` return. Of a `backward`, `applied` is where the
    Function was applied and `run` the pass that runs it; what the engine refuses of its `value` is raised
    already.
    """

    by: str
    owner: Value
    versions: Mapping[Ref, Value]
    context: Ref | None = None
    applied: Site | None = None
    run: BackwardPass | None = None
    value: Value | None = None


@dataclass(slots=True, eq=False)
class GradientsCleared(Fact):
    """Gradients are cleared. `is_fresh`: no step has applied them.

    `parameters` are those of the optimizer or module that clears them; none where the program itself clears
    that of a single tensor.
    """

    parameters: Sequence[Ref]
    site: Site
    target: str
    is_fresh: bool


@dataclass(slots=True, eq=False)
class GradientsApplied(Fact):
    """A step moves parameters by their gradients, which are not marked as used yet.

    With a closure an optimizer may do so several times in a step. `name` is that of the optimizer, `text` the
    call's; both are empty where the program does it without an optimizer. `is_assumed` tells that the
    gradients come from a pass whose graph is not known.
    """

    parameters: Sequence[Ref]
    site: Site
    name: str
    text: Text
    is_assumed: bool = False


@dataclass(slots=True, eq=False)
class OptimizerMade(Fact):
    """An optimizer is made by a call; `groups` are the dictionaries of parameters that it is given.

    `is_open`: it may have other parameters.
    """

    optimizer: Ref
    parameters: Sequence[Ref]
    is_open: bool
    call: Call
    groups: Sequence[Dict]


@dataclass(slots=True, eq=False)
class Stepped(Fact):
    """An optimizer steps. It is told before the parameters are moved and their gradients marked as used.

    `scaler` is the text of the GradScaler that makes the call, if one does.
    """

    optimizer: Ref
    parameters: Sequence[Ref]
    site: Site
    name: str
    scaler: str


@dataclass(slots=True, eq=False)
class SchedulerStepped(Fact):
    """A learning rate scheduler steps: to a number that it is given (`is_given`), or one further."""

    scheduler: Ref
    site: Site
    name: str
    is_given: bool


@dataclass(slots=True, eq=False)
class ModuleCalled(Fact):
    """A module is called; its hooks and its `forward` have not run yet."""

    module: Ref
    call: Call


@dataclass(slots=True, eq=False)
class ModuleReturned(Fact):
    """A module that was called returns a value, or raises an exception."""

    module: Ref
    call: Call
    value: Value


@dataclass(slots=True, eq=False)
class ModeSwitched(Fact):
    """`train()` or `eval()` reaches modules, the first of which it is called on."""

    modules: Sequence[Ref]
    training: Value
    site: Site


@dataclass(slots=True, eq=False)
class GradModeSwitched(Fact):
    """Gradients are switched on or off, by a call or a manager that is entered; None: unknown which."""

    on: bool | None
    site: Site | None


@dataclass(slots=True, eq=False)
class PathEnded(Fact):
    """A way through a module's body, or a function that is executed on its own, ends.

    It `returns` a value, or else raises one.
    """

    returns: bool
    value: Value


@dataclass(slots=True, eq=False)
class RunEnded(Fact):
    """All that was to be executed of a module has been; the state is that in which its body has ended.

    `is_complete`: nothing reached the work limit, or came so near that ways were left out. `cut_short` are
    the qualified names of functions that may not have been executed to their end.
    """

    module: ir.ModuleIR
    is_complete: bool
    cut_short: frozenset[str]

"""Managers under which hooks of the program keep what graph nodes save (`torch.autograd.graph`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool import engine
from gradcheck_tool.domain.graph import SavingHooks, Tensor
from gradcheck_tool.domain.records import Instance
from gradcheck_tool.domain.values import FALSE, NONE, Const, LibraryObject, Symbol, Tup, Value
from gradcheck_tool.interp.registry import Result, function, lib_name, method

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Interpreter

PACK_WRITES = "A saved tensor pack hook is modifying its input in place."
UNPACK = "Output of saved tensor unpack_hook expected to be a Tensor but got result of type"
MUTATION = "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"
_SIMPLE = ("int", "float", "bool", "str")


@function(
    "torch.autograd.graph.saved_tensors_hooks",
    "torch.autograd.graph.save_on_cpu",
    "torch.autograd.graph.allow_mutation_on_saved_tensors",
)
def saved_hooks(m: Interpreter, s: State, call: Call) -> Result:
    """What is saved inside is kept by the hooks: nothing is known about its version."""
    user = lib_name(call.func).endswith("saved_tensors_hooks")
    return s.new(
        Instance(
            LibraryObject("#saved-tensor-hooks"),
            {
                "#pack": (call.get(0, "pack_hook") or NONE) if user else NONE,
                "#unpack": (call.get(1, "unpack_hook") or NONE) if user else NONE,
                "#site": Const(call.site),
                "#mutation": Const(lib_name(call.func).endswith("allow_mutation_on_saved_tensors")),
            },
        )
    )


@method("#saved-tensor-hooks", "__enter__")
def enter(m: Interpreter, s: State, call: Call) -> Result:
    mine = s.edit(call.self)
    hooks = SavingHooks(mine.attrs["#site"].value)
    if mine.attrs["#pack"] != NONE:
        _try_hooks(m, s, hooks, mine.attrs["#pack"], mine.attrs["#unpack"])
    mine.attrs["#before"] = s.saving_hooks
    s.saving_hooks = mine.attrs["#inside"] = s.new(hooks)
    return NONE


@method("#saved-tensor-hooks", "__exit__")
def leave(m: Interpreter, s: State, call: Call) -> Result:
    record = s[call.self]
    if record.attrs["#mutation"] == Const(True):
        s.edit(record.attrs["#inside"]).on_read = MUTATION
    s.saving_hooks = record.attrs["#before"]
    return FALSE


def _try_hooks(m: Interpreter, s: State, hooks: SavingHooks, pack: Value, unpack: Value) -> None:
    """Run both hooks once, on a tensor of which nothing is known, to see what they do with any."""
    site = hooks.site
    trial = s.fork()
    trial.grad = False
    tensor = engine.new_tensor(trial, site, name="tensor")
    version = trial[trial[tensor].storage].version
    for after, packed in m.call(trial, pack, [tensor], {}, site):
        storage = after[after[tensor].storage]
        if after.exc is not None or storage.unsure:
            return
        if storage.version != version:
            hooks.on_save, hooks.site = PACK_WRITES, storage.site
            return
        for end, result in m.call(after, unpack, [packed], {}, site):
            kind = _not_a_tensor(end, result)
            if end.exc is not None or kind is None:
                return
            hooks.on_read = f"{UNPACK} {kind}"


def _not_a_tensor(s: State, value: Value) -> str | None:
    """The class of a value that is certainly no tensor."""
    if isinstance(value, Const):
        return type(value.value).__name__
    if isinstance(value, Symbol):
        return value.kind if value.kind in _SIMPLE else None
    return None if s.get(value, Tensor) is not None or not isinstance(value, Tup) else "tuple"

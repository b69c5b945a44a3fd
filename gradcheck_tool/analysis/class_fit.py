"""Which class an object may be of, by what is asked of the object."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gradcheck_tool.analysis.evidence import methods_of
from gradcheck_tool.analysis.ordinary_use import is_module_class
from gradcheck_tool.domain.records import Class, Func
from gradcheck_tool.domain.values import Ref
from gradcheck_tool.interp import attributes
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.library.torch.module_names import MODULE, MODULE_API, MODULE_NAME
from gradcheck_tool.library.torch.settings import is_named_number, is_named_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.analysis.usage import Usage
    from gradcheck_tool.domain.state import State

# What hardly anything has but modules.
PARAMETERS = frozenset({"parameters", "named_parameters"})
# Methods that compute with the parameters of a module, as `forward` does.
PASS_NAME = re.compile(r"(?:forward|encode|decode|embed|extract)(?:_|$)|\w+_forward$")
# What objects of all kinds have: it tells of no class.
COMMON = frozenset(
    {"args", "bias", "cfg", "config", "criterion", "data", "device", "dtype", "fit", "grad", "hparams", "log"}
    | {"loss", "name", "optimizer", "predict", "reset", "run", "shape", "size", "step", "update", "weight"}
)
# What modules inside of networks are called: what they are given has a history.
_PART = re.compile(
    r"Layer|Block|Norm|Att|Conv|Linear|Unit|Head|Gate|Cell|Resid|FeedForward|MLP|Mlp|FFN|Act|Pool|Loss|Drop|Emb|"
    r"Bank|Queue|Codebook|Quanti[sz]|Contrast|Proto(?!c)"
)


def module_classes(s: State) -> Iterator[tuple[Ref, Class]]:
    """The classes of modules that can be named here."""
    return ((ref, record) for ref, record in _classes(s) if is_module_class(s, ref))


def plain_classes(s: State) -> Iterator[tuple[Ref, Class]]:
    """The other classes that can be named here."""
    return ((ref, record) for ref, record in _classes(s) if not is_module_class(s, ref))


def _classes(s: State) -> Iterator[tuple[Ref, Class]]:
    """Those of the file's top level, and of the functions around the one that is executed."""
    frames = [s.frames[0]]
    around: Ref | None = s.frames[-1]
    while around is not None and around != s.frames[0]:
        frames.append(around)
        around = s[around].parent
    for frame in frames:
        for name, value in s[frame].locals.items():
            # Most names of a file are no classes, which they never become: that is not read of them.
            if type(value) is Ref and type(dict.get(s.heap, value.id)) is Class:
                record: Class = s[value]
                if record.name == name:
                    yield value, record


def is_of(s: State, cls: Ref, record: Class, usage: Usage) -> bool:
    """Is something an object of a class that is no module, going by the methods of it that are called?"""
    own = usage.methods & record.attrs.keys()
    return bool(own) and not usage.called and usage.attributes <= members(s, cls)


def asks_to_compute(usage: Usage) -> bool:
    """Is a method called that computes as `forward` does, or a part that is called like a module?"""
    return any(PASS_NAME.match(name) or MODULE_NAME.search(name) for name in usage.methods)


def is_option(name: str, usage: Usage) -> bool:
    """Is it a configuration, or a number of one?"""
    if usage.called or usage.methods & {"step", "zero_grad"}:
        return False
    return is_named_settings(name) or (is_named_number(name) and not usage.attributes)


def fits(s: State, cls: Ref, usage: Usage, name: str) -> bool:
    """Has a class all that is asked of an object, and is enough asked that not every object has?"""
    asked = usage.attributes - MODULE_API
    usual = MODULE_NAME.search(name) is not None
    if not asked and _is_named_after(s[cls].name, name):
        return usage.called and not _is_bare(s, cls) and _takes(s, cls, usage.arity)
    if not asked:
        return usage.called and (usual or bool(usage.methods & MODULE)) and _is_alone(s, cls, usage)
    telling = usual or usage.called or len(asked) > 1 or bool(usage.methods & MODULE)
    return telling and has_all(s, cls, asked, usage)


def _is_named_after(cls: str, name: str) -> bool:
    """Is it `tail_head` or `self.tailhead` of a class `TailHead`?"""
    return name.rpartition(".")[2].replace("_", "").lower() == cls.replace("_", "").lower()


def has_all(s: State, cls: Ref, asked: set[str], usage: Usage) -> bool:
    """Has a class all the members that are asked of an object, and can it be called as the object is?"""
    return asked <= members(s, cls) and (not usage.called or _takes(s, cls, usage.arity))


def is_part(s: State, cls: Ref) -> bool:
    """Is a class of modules made for the inside of networks, by its name or as another class uses it?

    A `Module` may be any: one that the file makes, but not for another module, is a whole network. An `Input`
    is given data.
    """
    name = s[cls].name
    if "Input" in name:
        return False
    others = (ref for ref, record in module_classes(s) if record.name != name)
    if _PART.search(name) is not None or any(name in named_in(s, ref) for ref in others):
        return True
    module = s[cls].env.module
    return "Module" in name and not any(
        name in f.worked_out(_loaded) for f in (module.body, *module.functions)
    )


def _is_alone(s: State, cls: Ref, usage: Usage) -> bool:
    """Is it the one class of the file that is trained: no part of another, and called as it can be?"""
    if _is_bare(s, cls):
        return False
    module = s[s.frames[0]].env.module
    classes = [(ref, record) for ref, record in module_classes(s) if record.env.module is module]
    parts = {name for ref, _ in classes for name in named_in(s, ref)}
    whole = [ref for ref, record in classes if record.name not in parts]
    return whole == [cls] and _takes(s, cls, usage.arity)


def _is_bare(s: State, cls: Ref) -> bool:
    """Has a module nothing to train, as it derives straight from `nn.Module` and has no constructor?"""
    known = not s[cls].open and attributes.lib_bases(s, cls)[:1] == ["torch.nn.Module"]
    return known and attributes.in_class(s, cls, "__init__") is None


def _takes(s: State, cls: Ref, arity: set[int]) -> bool:
    """Can `forward` be called with these numbers of positional arguments?"""
    found = attributes.in_class(s, cls, "forward")
    forward = None if found is None else s.get(attributes.innermost(s, found), Func)
    if forward is None:
        return False
    if any(p.kind is ir.ParamKind.VARARGS for p in forward.function.params):
        return True
    positional = [p for p in forward.function.params[1:] if p.is_positional]
    least = sum(not p.has_default for p in positional)
    return all(least <= count <= len(positional) for count in arity)


def members(s: State, cls: Ref) -> set[str]:
    """Names of methods and of attributes that methods assign, of a class and its bases in the repository."""
    found: set[str] = set()
    for entry in s[cls].mro:
        record = s.get(entry, Class)
        if record is not None:
            found |= record.attrs.keys()
    return found.union(*(function.worked_out(_assigned) for function in methods_of(s, cls)))


def _assigned(method: ir.Function) -> set[str]:
    """The attributes of its object that a method assigns."""
    found: set[str] = set()
    receiver = method.params[0].name if method.params else ""
    for block in method.blocks.values():
        selves = {i.dst for i in block.instrs if isinstance(i, ir.LoadName) and i.name == receiver}
        found |= {i.name for i in block.instrs if isinstance(i, ir.SetAttr) and i.obj in selves}
    return found


def made_of(s: State, part: Ref) -> set[Ref]:
    """A class of modules, and those made of its objects: their methods name it, or another of them."""
    found = {part}
    while True:
        names = {s[cls].name for cls in found}
        more = {ref for ref, _ in module_classes(s) if ref not in found and names & named_in(s, ref)}
        if not more:
            return found
        found |= more


def named_in(s: State, cls: Ref) -> set[str]:
    """Names that the methods of a class load: parts that it is made of among them."""
    found: set[str] = set()
    return found.union(*(function.worked_out(_loaded) for function in methods_of(s, cls)))


def _loaded(function: ir.Function) -> set[str]:
    blocks = function.blocks.values()
    return {i.name for block in blocks for i in block.instrs if isinstance(i, ir.LoadName)}

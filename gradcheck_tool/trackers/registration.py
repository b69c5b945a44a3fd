"""Which modules and parameters are registered, given to an optimizer, trained."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.events import ModuleAttribute, ParameterReplaced, Site, UntrainedModule
from gradcheck_tool.domain.graph import Node, Tensor
from gradcheck_tool.domain.records import Class, Dict, Generator, Instance, List
from gradcheck_tool.domain.values import Const, Ref, Tup, Value
from gradcheck_tool.engine.errors import story
from gradcheck_tool.interp.places import text_of
from gradcheck_tool.library.torch.module_tree import is_module, modules, named_parameters

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter


def parameters_in(s: State, value: Value) -> list[Ref]:
    """A Parameter itself, or those of a module; those that require grad."""
    tensor = s.get(value, Tensor)
    if tensor is not None:
        return [value] if tensor.is_param and tensor.requires_grad else []  # type: ignore[list-item]
    record = s.get(value, Instance)
    if record is None or not is_module(s, record):
        return []
    return [r for _, r in named_parameters(s, value)[0] if s[r].requires_grad]  # type: ignore[arg-type]


# -- attributes that a module does not register ---------------------------------------------------------


def constructed(m: Interpreter, s: State, ref: Ref) -> None:
    """A constructor has ended: what does the module keep that it has not registered?

    Only what the constructor made itself is looked at: an object from outside may be kept in a list just
    to keep it from being registered.
    """
    record: Instance = s[ref]
    cls = s.get(record.cls, Class)
    if s.exc is not None or record.open or cls is None or cls.open or not is_module(s, record):
        return
    known = {at.id for _, at in modules(s, ref)} | {p.id for _, p in named_parameters(s, ref)[0]}
    for name, value in record.attrs.items():
        site = m.stores.get((ref.id, name))
        if site is None or name.startswith("#") or Const(name) in record.attrs.get("#buffers", Tup(())).items:  # type: ignore[union-attr]
            continue
        kind, about = _unregistered(s, value, site, lambda r: r.id > ref.id and r.id not in known)
        if kind:
            call = text_of(site, getattr(site.node, "value", site.node))
            event = ModuleAttribute(site=site, module=cls.name, attribute=name, kind=kind, call=call)
            m.suspicions.hold(("attribute", id(site.node)), event, about)


def _unregistered(s: State, value: Value, site: Site, is_own: Any) -> tuple[str, set[int]]:
    tensor = s.get(value, Tensor)
    if tensor is not None:
        return _unregistered_tensor(s, value, tensor, is_own)  # type: ignore[arg-type]
    items = _elements(s, value)
    if not items or _is_pair_of_one(site) or not all(isinstance(i, Ref) and is_own(i) for i in items):
        return "", set()
    params = [parameters_in(s, item) for item in items]
    about = {p.id for found in params for p in found} | {item.id for item in items if isinstance(item, Ref)}
    if not all(params) or not all(is_own(p) for found in params for p in found):
        return "", set()
    if all(s.get(item, Tensor) is not None for item in items):
        return "parameter-list", about
    kind = "module-dict" if s.get(value, Dict) is not None else "module-list"
    return (kind, about) if all(s.get(item, Instance) is not None for item in items) else ("", set())


def _unregistered_tensor(s: State, ref: Ref, tensor: Tensor, is_own: Any) -> tuple[str, set[int]]:
    if tensor.is_param or not tensor.requires_grad or not is_own(ref):
        return "", set()
    if tensor.leaf:
        return "tensor", {ref.id}
    sources = _leaves(s, tensor)
    moved = bool(sources) and all(s[r].is_param and is_own(r) for r in sources)
    return ("moved-parameter", {ref.id}) if moved else ("", set())


def _leaves(s: State, tensor: Tensor) -> list[Ref]:
    """The leaves that a result was computed from; none where that is not known."""
    todo: list[Value] = [tensor.grad_fn] if tensor.grad_fn is not None else []
    found: list[Ref] = []
    while todo:
        at = todo.pop()
        node = s.get(at, Node)
        if node is not None:
            todo += node.inputs
        elif s.get(at, Tensor) is not None:
            found.append(at)  # type: ignore[arg-type]
        elif not isinstance(at, Const):
            return []
    return found


def _elements(s: State, value: Value, depth: int = 2) -> list[Value]:
    record = s.heap.get(value.id) if isinstance(value, Ref) else None
    items: list[Value] = []
    if isinstance(value, Tup):
        items = list(value.items)
    elif isinstance(record, List):
        items = record.items
    elif isinstance(record, Dict):
        items = list(record.items.values())
    if depth == 0 or not items:
        return items
    return [inner for item in items for inner in (_elements(s, item, depth - 1) or [item])]


def _is_pair_of_one(site: Site) -> bool:
    """Is the assigned value written as `[x]`? That is how a module is kept from being registered."""
    value = getattr(site.node, "value", None)
    return type(value).__name__ in ("List", "Tuple") and len(value.elements) == 1  # type: ignore[union-attr]


def gone_through(m: Interpreter, s: State, value: Value, site: Site) -> Value:
    """What a generator expression yields, which is used up then; any other value as it is."""
    from gradcheck_tool.interp.iteration import drain

    if s.get(value, Generator) is None:
        return value
    for state, items, is_open in drain(m, s, value, site):
        if state is s and s.exc is None:
            if items and not is_open and all(parameters_in(s, item) for item in items):
                m.noted.add(("parameters", value))
            return s.new(List(items, is_open))
    return value


# -- what optimizers hold -------------------------------------------------------------------------------


def optimizers(s: State) -> list[tuple[Ref, Instance]]:
    """The optimizers that are known."""
    return [(ref, record) for ref, record in s.records(Instance) if "#params" in record.attrs]


def _held(s: State) -> set[Value] | None:
    """The parameters that the optimizers hold; None where one may hold others."""
    known = optimizers(s)
    if any(record.open or record.attrs["#params"].open for _, record in known):  # type: ignore[union-attr]
        return None
    return {p for _, record in known for p in record.attrs["#params"].items}  # type: ignore[union-attr]


def note_replaced(m: Interpreter, s: State, old: Value, new: Value, site: Site) -> None:
    """An attribute or item `old` of a module becomes `new`: do optimizers still hold the old one?"""
    before = set(parameters_in(s, old))
    if not before or old == new or not parameters_in(s, new):
        return
    for ref, record in optimizers(s):
        held = record.attrs["#params"]
        if isinstance(held, Tup) and not before.isdisjoint(held.items):
            mine = s.edit(ref)
            mine.attrs["#replaced"] = Tup((*mine.attrs.get("#replaced", Tup(())).items, new))
            m.replaced[new.id] = site  # type: ignore[union-attr]


def note_item(m: Interpreter, s: State, container: Ref, index: Value, new: Value, site: Site) -> None:
    """An item of a container of modules or parameters is replaced."""
    old = s[container].attrs.get(str(index.value)) if isinstance(index, Const) else None
    if old is not None:
        note_replaced(m, s, old, new, site)


def check_replaced(m: Interpreter, s: State, optimizer: Ref, text: str) -> None:
    """An optimizer steps: are there new parameters in place of its own that no optimizer has?"""
    replaced = s[optimizer].attrs.get("#replaced")
    if not isinstance(replaced, Tup):
        return
    held = _held(s)
    if held is None:
        return
    for new in replaced.items:
        site = m.replaced.get(new.id)  # type: ignore[union-attr]
        mine = parameters_in(s, new)
        if site is not None and mine and held.isdisjoint(mine) and (id(site.node), "replaced") not in m.noted:
            m.noted.add((id(site.node), "replaced"))
            node = site.node.targets[0].target if hasattr(site.node, "targets") else site.node
            m.emit(ParameterReplaced(site=site, attribute=text_of(site, node), optimizer=text))


def note_untrained(m: Interpreter, s: State, optimizer: Ref, site: Site, text: str) -> None:
    """An optimizer steps in a loop: do other new modules get gradients of the same loss, and no optimizer?"""
    held = _held(s)
    if held is None or not m.places.repeats(s, site):
        return
    mine: Any = s[optimizer].attrs["#params"].items
    fresh = [s[p] for p in mine if s[p].grad_state == "fresh" and s[p].backward_site is not None]
    losses = {id(tensor.backward_site) for tensor in fresh}
    strays = {
        ref
        for ref, tensor in s.records(Tensor)
        if tensor.is_param
        and tensor.requires_grad
        and not tensor.is_summary
        and ref not in held
        and tensor.grad_state in ("fresh", "mixed")
        and id(tensor.backward_site) in losses
    }
    if not strays or s[optimizer].site is None:
        return
    found = _top_modules(s)
    trained = {p for ref in found for _, p in named_parameters(s, ref)[0]}
    if not trained.issuperset(mine):
        return
    for ref in found:
        params, is_open = named_parameters(s, ref)
        own = {p for _, p in params}
        if is_open or own.isdisjoint(strays) or not s[ref].name:
            continue
        if own.isdisjoint(held):
            _suspect(m, s, optimizer, text, ref, s[ref].name, own)
        else:
            for name, p in _left_out(s, ref, strays, held):
                if p.id < optimizer.id:  # `note_late` tells of later ones
                    _suspect(m, s, optimizer, text, p, f"{s[ref].name}.{name}", {p})


def _left_out(s: State, top: Ref, strays: set[Ref], held: set[Value]) -> Iterator[tuple[str, Ref]]:
    """Parameters that no optimizer has, of modules all of whose sub-modules are trained or frozen."""
    for prefix, at in modules(s, top):
        own = named_parameters(s, at, recurse=False)[0]
        inner = {p for _, p in named_parameters(s, at)[0] if s[p].requires_grad} - {p for _, p in own}
        if inner and inner <= held:
            yield from ((f"{prefix}.{name}".lstrip("."), p) for name, p in own if p in strays)


def _suspect(
    m: Interpreter, s: State, optimizer: Ref, text: str, subject: Ref, name: str, own: set[Ref]
) -> None:
    """Hold back that an optimizer does not train a module or a parameter."""
    is_parameter = s.get(subject, Tensor) is not None
    reached = next(s[p].backward_site for p in own if s[p].grad_state in ("fresh", "mixed"))
    whose = f"`{name}`" if is_parameter else f"the parameters of `{name}`"
    steps = [story(reached, f"this backward gives {whose} gradients")]
    if s[subject].site is not None:
        steps.insert(0, story(s[subject].site, f"`{name}` is made here"))
    event = UntrainedModule(
        site=s[optimizer].site, story=tuple(steps), module=name, optimizer=text, is_parameter=is_parameter
    )
    m.suspicions.hold(("untrained", id(event.site.node), name), event, {p.id for p in own})


def note_late(m: Interpreter, s: State, optimizer: Ref, text: str) -> None:
    """An optimizer steps: has one of its modules got a parameter since, which no optimizer has?

    It may be new, or may have been frozen when the optimizer was made.
    """
    held = _held(s)
    if held is None:
        return
    mine = set(s[optimizer].attrs["#params"].items)
    for ref in _top_modules(s):
        owned = named_parameters(s, ref)[0]
        strays = {p: name for name, p in owned if p not in held and _is_trained(s[p])}
        if not strays or mine.isdisjoint(p for _, p in owned):
            continue
        for p, name in strays.items():
            _note_thawed(m, s, optimizer, p, f"{s[ref].name}.{name}" if s[ref].name else name, text)
        for at, name in [(owner, attr) for _, owner in modules(s, ref) for attr in s[owner].attrs]:
            site, value = m.stores.get((at.id, name)), s[at].attrs[name]
            if site is None or value not in strays or value.id < optimizer.id or value.id in m.replaced:
                continue
            label = f"{s[at].name}.{name}" if s[at].name else name
            event = ParameterReplaced(site=site, attribute=label, optimizer=text, is_new=True)
            m.suspicions.hold(("late", id(site.node)), event, {value.id})


def _note_thawed(m: Interpreter, s: State, optimizer: Ref, p: Ref, name: str, text: str) -> None:
    """Suspect a parameter if it was made trainable after the optimizer was made."""
    site, since = m.thawed.get(p.id, (None, 0))
    if site is not None and optimizer.id < since:
        made = story(s[optimizer].site, f"`{text}` is made here, while `{name}` is frozen")
        event = ParameterReplaced(site=site, story=(made,), attribute=name, optimizer=text, was_frozen=True)
        m.suspicions.hold(("thawed", id(site.node)), event, {p.id})


def _is_trained(tensor: Tensor) -> bool:
    return bool(tensor.is_param and tensor.requires_grad and tensor.grad_state in ("fresh", "mixed"))


def _top_modules(s: State) -> list[Ref]:
    """The modules that are not part of another."""
    found = [ref for ref, record in s.records(Instance) if is_module(s, record)]
    inner = {at.id for ref in found for _, at in modules(s, ref)[1:]}
    return [ref for ref in found if ref.id not in inner]

"""Events as trackers report them, made by hand for the tests of what rules say about them."""

from __future__ import annotations

from typing import Any

from gradcheck_tool.domain import events as ev
from gradcheck_tool.findings import Finding, Location, Position
from gradcheck_tool.rulebook.handlers import judged_events
from gradcheck_tool.rulebook.ruleset import RuleSet
from gradcheck_tool.trackers import events as told

RULES = RuleSet.load().select(["ALL"])


def own(name: str) -> type[ev.Event]:
    """An event that the file of its rule defines."""
    judged = [kind for rule in RULES.known for kind in judged_events(type(rule)).values()]
    return next(kind for kind in judged if kind.__name__ == name)


class Node:
    """A node of no syntax: fixes look at its kind and offer nothing."""


class Spans:
    def text(self, node: object) -> str:
        return "call()"


class Module:
    source = "call()\n" * 40
    spans = Spans()


def site(row: int = 1) -> ev.Site:
    node = Node()
    node.row = row  # type: ignore[attr-defined]
    return ev.Site(module=Module(), node=node)  # type: ignore[arg-type]


def locate(place: ev.Site) -> Location:
    row = place.node.row
    return Location("train.py", Position(row, 1), Position(row, 2))


HERE = site()


def cut(kind: str) -> told.GraphBreak:
    return told.GraphBreak(kind=kind, tensor="aux", call="torch.tensor([aux])", site=HERE)


def evaluate(*events: ev.Event) -> list[Finding]:
    return RULES.evaluate(events, locate)


def event(of: type[ev.Event], /, **facts: Any) -> ev.Event:
    if issubclass(of, (ev.EngineError, ev.PythonError)):
        facts.setdefault("text", "PyTorch says this")
    return of(site=facts.pop("site", HERE), **facts)


def freed(cause: str, **facts: Any) -> ev.Event:
    return event(ev.FreedGraph, root="loss", op="exp", freed_by="a.backward()", cause=cause, **facts)


def modified(writer: str) -> ev.Event:
    return event(ev.SavedTensorModified, root="loss", tensor="h", op="exp", writer=writer, write="h.add_(1)")


def view(kind: str) -> ev.Event:
    return event(ev.ViewWrite, tensor="row", write="row.mul_(2)", kind=kind)


def invalid(kind: str) -> ev.Event:
    return event(ev.InvalidTensorUse, kind=kind, tensor="x", call="f(x)")


def no_graph(reason: str) -> ev.Event:
    return event(ev.NoGraph, root="loss", reason=reason, call="backward")


def backward(**facts: Any) -> ev.Event:
    return event(told.BackwardCall, **{"root": "loss", "retain_graph": False, "create_graph": False, **facts})


def again(**facts: Any) -> ev.Event:
    return event(own("AppliedAgain"), root="loss", owner="opt", parameter="w", step=HERE, **facts)


def step(*gradients: str, **facts: Any) -> ev.Event:
    return event(told.OptimizerStep, **{"optimizer": "opt", "gradients": frozenset(gradients), **facts})


def clip(*gradients: str, **facts: Any) -> ev.Event:
    return event(told.ClipGradients, target="params", gradients=frozenset(gradients), **facts)


def named(name: str, *keywords: str, called: bool = True) -> ev.Event:
    return event(told.NameUse, name=name, called=called, keywords=keywords)


def method(receiver: str, name: str, *keywords: str) -> ev.Event:
    return event(told.MethodUse, receiver=receiver, subject="x", name=name, called=True, keywords=keywords)


def attribute(kind: str) -> ev.Event:
    return event(told.ModuleAttribute, module="Net", attribute="layers", kind=kind, call="[...]")


def contract(kind: str) -> ev.Event:
    return event(ev.FunctionError, function="Scale", kind=kind, detail="x")


def defect(kind: str) -> ev.Event:
    return event(told.FunctionDefect, function="Scale", kind=kind, detail="x")


def mode(kind: str) -> ev.Event:
    return event(told.GradModeMisuse, kind=kind, call="torch.no_grad()")


def distributed(kind: str) -> ev.Event:
    return event(told.DistributedMisuse, kind=kind, call="call(x)", subject="ddp")


def kept(kind: str) -> ev.Event:
    return event(told.GraphKept, container="total", value="loss", kind=kind)

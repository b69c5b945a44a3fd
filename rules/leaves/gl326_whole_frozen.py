"""GL326: a loop that is to freeze some modules freezes the whole."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gradcheck_tool import (
    Event,
    FunctionBody,
    Interpreter,
    Rule,
    Severity,
    Site,
    State,
    Tracker,
    Violation,
    facts,
    nodes,
    when,
)

WALKS = frozenset({"modules", "named_modules"})
# Functions that may well hold for the whole.
_OF_STRUCTURE = re.compile(r"child|root|parent|param|top|container|module")
PARAMETERS = frozenset({"parameters", "named_parameters"})


@dataclass(slots=True, eq=False, kw_only=True)
class WholeFrozen(Event):
    """A loop over the modules of `whole` freezes all parameters of those that it does not exempt.

    `whole` itself is the first of them, and has the parameters of those that are exempt.
    """

    triggers = (when.MODULE_WALK,)

    whole: str


class FrozenWholes(Tracker):
    """Reads the loops over modules of a file.

    `named_modules()` begins with the module that it is called on, whose name is empty, and `parameters()` of
    that has the parameters of all parts. What the loop does with it is followed through the conditions.
    """

    derives = (WholeFrozen,)

    def on_run_ended(self, m: Interpreter, s: State, fact: facts.RunEnded) -> None:
        """Look at each function that goes through modules and freezes parameters."""
        for function in (fact.module.body, *fact.module.functions):
            names = {i.name for i in function.instructions() if isinstance(i, nodes.GetAttr)}
            if names & WALKS and names & (PARAMETERS | {"requires_grad_"}):
                self._read(fact.module, function.worked_out(FunctionBody))

    def _read(self, module: nodes.ModuleIR, body: FunctionBody) -> None:
        flags = [_flag(body, i) for i in body.instrs]
        if True in flags:
            return
        for loop in (end for end in body.ends if isinstance(end, nodes.ForIter)):
            walk = _iterates(body, loop)
            if walk is None or walk.name not in WALKS:
                continue
            variables = _variables(body, loop)
            for i in _of_the_whole(body, loop, variables):
                self.report(WholeFrozen(site=Site(module, i.node), whole=_text(module, walk)))


def _text(module: nodes.ModuleIR, walk: nodes.GetAttr) -> str:
    return str(module.spans.text(walk.node)).rpartition(".")[0]


def _flag(body: FunctionBody, i: nodes.Instr) -> bool | None:
    """The flag that an instruction gives parameters; None where it gives none, or one that is not known."""
    reg = None
    if isinstance(i, nodes.SetAttr) and i.name == "requires_grad":
        reg = i.src
    elif isinstance(i, nodes.Call):
        func = body.made.get(i.func)
        if isinstance(func, nodes.GetAttr) and func.name == "requires_grad_":
            if not i.args:
                return True
            reg = i.args[0].value
    made = body.maker(reg) if reg is not None else None
    if reg is None:
        return None
    return made.value is not False if isinstance(made, nodes.Const) else True


def _iterates(body: FunctionBody, loop: nodes.ForIter) -> nodes.GetAttr | None:
    """The method whose result a loop goes through, called without arguments."""
    iterated = body.made.get(loop.iterator)
    call = body.made.get(iterated.src) if isinstance(iterated, nodes.GetIter) else None
    func = body.made.get(call.func) if isinstance(call, nodes.Call) and not call.args else None
    return func if isinstance(func, nodes.GetAttr) else None


def _variables(body: FunctionBody, loop: nodes.ForIter) -> list[str]:
    """The names that a loop binds: the module, or its name and the module."""
    elements = [loop.dst]
    for i in body.instrs:
        if isinstance(i, nodes.Unpack) and i.src == loop.dst:
            elements = i.dsts
    bound = {i.src: i.name for i in body.instrs if isinstance(i, nodes.StoreName)}
    return [bound.get(reg, "") for reg in elements]


def _of_the_whole(body: FunctionBody, loop: nodes.ForIter, variables: list[str]) -> Iterator[nodes.Instr]:
    """What freezes the parameters of the first module of a loop, where a condition exempts others."""
    seen: set[tuple[int, bool]] = set()
    todo = [(loop.body, False)]
    while todo:
        at, exempts = todo.pop()
        block = body.function.blocks[at]
        if (at, exempts) in seen or block.terminator is loop:
            continue
        seen.add((at, exempts))
        if exempts:
            yield from _freezes(body, block, variables[-1])
        end = block.terminator
        if isinstance(end, nodes.Jump):
            todo.append((end.target, exempts))
        elif isinstance(end, nodes.ForIter):
            todo.append((end.exhausted, exempts))
        elif isinstance(end, nodes.Branch):
            answer = _holds_for_whole(body, end.condition, variables)
            if answer is not False:
                todo.append((end.then, exempts or answer is True))
            if answer is not True:
                todo.append((end.otherwise, exempts or answer is False))


def _freezes(body: FunctionBody, block: nodes.Block, module: str) -> Iterator[nodes.Instr]:
    """What in a block freezes a module: `module.requires_grad_(False)`, or a loop over its parameters."""
    for i in block.instrs:
        func = body.made.get(i.func) if isinstance(i, nodes.Call) else None
        if (
            isinstance(func, nodes.GetAttr)
            and _is_variable(body, func.obj, module)
            and _flag(body, i) is False
        ):
            yield i
    loop = _loop_after(body, block)
    inner = _iterates(body, loop) if loop is not None else None
    if loop is None or inner is None or inner.name not in PARAMETERS:
        return
    if _is_variable(body, inner.obj, module):
        for i in body.function.blocks[loop.body].instrs:
            if _flag(body, i) is False:
                yield i


def _loop_after(body: FunctionBody, block: nodes.Block) -> nodes.ForIter | None:
    """The loop that a block makes the iterator of."""
    made = {i.dst for i in block.instrs if isinstance(i, nodes.GetIter)}
    loops = (end for end in body.ends if isinstance(end, nodes.ForIter) and end.iterator in made)
    return next(loops, None)


def _is_variable(body: FunctionBody, reg: int, name: str) -> bool:
    made = body.made.get(reg)
    return isinstance(made, nodes.LoadName) and made.name == name != ""


def _holds_for_whole(body: FunctionBody, reg: int, variables: list[str]) -> bool | None:
    """Does a condition hold for the whole, whose name is empty? None where it asks something else.

    No test that picks out parts does: it has the class of no layer, and none of the names looked for.
    """
    made = body.made.get(reg)
    if isinstance(made, nodes.UnaryOp) and made.op == "not":
        inner = _holds_for_whole(body, made.value, variables)
        return None if inner is None else not inner
    if isinstance(made, nodes.Compare):
        return _compared(body, made, variables)
    if not isinstance(made, nodes.Call):
        return None
    func = body.made.get(made.func)
    if isinstance(func, nodes.LoadName) and func.name == "any":
        return False
    asked = [arg.value for arg in made.args] + ([func.obj] if isinstance(func, nodes.GetAttr) else [])
    if isinstance(func, (nodes.GetAttr, nodes.LoadName)) and _OF_STRUCTURE.search(func.name):
        return None
    about = any(_is_variable(body, each, name) for each in asked for name in variables)
    return False if about else None


def _compared(body: FunctionBody, made: nodes.Compare, variables: list[str]) -> bool | None:
    """`name in kept`, `name == "head"`, `"head" in name`, `type(module) is Linear` and their opposites."""
    sides = (made.left, made.right)
    calls = [each for each in map(body.made.get, sides) if isinstance(each, nodes.Call)]
    asked = [*sides, *(arg.value for call in calls for arg in call.args)]
    if not any(_is_variable(body, each, name) for each in asked for name in variables):
        return None
    empty = any(isinstance(c, nodes.Const) and c.value in ("", None) for c in map(body.made.get, sides))
    if empty:
        return None
    return {"in": False, "not-in": True, "==": False, "!=": True, "is": False, "is-not": True}.get(made.op)


class WholeModuleFrozen(Rule):
    """A loop over all modules freezes those that it does not exempt, with all that is inside of them.

    ## What it detects

    A loop over `modules()` or `named_modules()` that clears `requires_grad` of all `parameters()` of the
    modules which a condition does not exempt, and sets it nowhere.

    ## Why it is wrong

    The first module that the loop yields is the whole model, with an empty name, and its `parameters()`
    are those of all parts, the exempt ones too. The same holds for every module that contains an exempt
    one.
    Nothing is left to train.

    ## Example

    ```python
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    for name, module in model.named_modules():
        if name not in ("1",):
            for parameter in module.parameters():
                parameter.requires_grad = False  # <- GL326
    trained = [p for p in model.parameters() if p.requires_grad]
    ```

    ## Use instead

    ```python
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    for name, module in model.named_modules():
        if name not in ("1",):
            for parameter in module.parameters(recurse=False):
                parameter.requires_grad = False
    trained = [p for p in model.parameters() if p.requires_grad]
    ```

    ## References

    - [`torch.nn.Module.named_modules`](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.named_modules)
    """

    code = "GL326"
    name = "whole-frozen"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "what the condition exempts is frozen as well"
    symptom = "assert not trained"
    trackers = (FrozenWholes,)

    def on_whole_frozen(self, event: WholeFrozen) -> Iterator[Violation]:
        yield self.finding(
            event,
            f"this freezes all parameters of `{event.whole}`, the first module of the loop, and with them "
            "those that the condition exempts",
            "freeze `parameters(recurse=False)` of each module",
        )

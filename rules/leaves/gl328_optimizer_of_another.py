"""GL328: an optimizer gets what another one has, and what it is named after gets none."""

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

_OPTIMIZER = re.compile(
    r"(?:Adam\w*|SGD|RMSprop|Adagrad|Adadelta|LBFGS|NAdam|RAdam|Lion)$|optim", re.IGNORECASE
)
_PARAMETERS = re.compile(r"^(?:get_)?(?:named_|trainable_)?param(?:eter)?s$")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
# Words that every optimizer has in its name.
_COMMON = frozenset({"opt", "optim", "optimiser", "optimizer", "optims", "optimizers"})


@dataclass(slots=True, eq=False, kw_only=True)
class OptimizerCopied(Event):
    """`optimizer` gets the parameters of `given`, as `first` does; no optimizer gets those of `meant`."""

    triggers = (when.OPTIMIZER_PAIR,)

    optimizer: str
    first: str
    given: str
    meant: str


@dataclass(frozen=True)
class _Made:
    """An optimizer of the name `name`, made with the parameters of `given` by the call `node`.

    `beside` are the names of what stands beside `given`: variables of the function, attributes of the class.
    """

    name: str
    given: str
    node: object
    beside: frozenset[str]


class CopiedOptimizers(Tracker):
    """Reads the functions that make several optimizers."""

    derives = (OptimizerCopied,)

    def on_run_ended(self, m: Interpreter, s: State, fact: facts.RunEnded) -> None:
        """Look at each function of the file, and at the file's own code."""
        bodies = [f.worked_out(FunctionBody) for f in (fact.module.body, *fact.module.functions)]
        attributes: dict[str, frozenset[str]] = {}
        for body in bodies:
            mine = frozenset(i.name for i in body.instrs if isinstance(i, (nodes.GetAttr, nodes.SetAttr)))
            attributes[_class(body)] = attributes.get(_class(body), frozenset()) | mine
        for body in bodies:
            made = list(_made(body, attributes[_class(body)]))
            given = {one.given for one in made}
            for one in made:
                for first in made:
                    is_copied = first.node is not one.node and first.given == one.given
                    meant = _meant(first, one) if is_copied else ""
                    if meant in one.beside and meant not in given:
                        self.report(
                            OptimizerCopied(
                                site=Site(fact.module, one.node),
                                optimizer=one.name,
                                first=first.name,
                                given=one.given,
                                meant=meant,
                            )
                        )


class OptimizerOfAnother(Rule):
    """An optimizer gets the parameters that another one has.

    ## What it detects

    Two optimizers that one function makes with the same parameters, `opt_critic = Adam(actor.parameters())`
    beside `opt_actor = Adam(actor.parameters())`, where there is a `critic` whose parameters no optimizer
    gets.

    ## Why it is wrong

    The line was copied and not changed everywhere. What the optimizer is named after is never trained, and
    what it was given is stepped twice. Nothing is raised.

    ## Example

    ```python
    import torch
    from torch import nn

    actor, critic = nn.Linear(3, 3), nn.Linear(3, 1)
    before = critic.weight.clone()
    opt_actor = torch.optim.SGD(actor.parameters(), lr=0.1)
    opt_critic = torch.optim.SGD(actor.parameters(), lr=0.1)  # <- GL328
    critic(actor(torch.ones(2, 3))).mean().backward()
    opt_actor.step()
    opt_critic.step()
    ```

    ## Use instead

    ```python
    import torch
    from torch import nn

    actor, critic = nn.Linear(3, 3), nn.Linear(3, 1)
    before = critic.weight.clone()
    opt_actor = torch.optim.SGD(actor.parameters(), lr=0.1)
    opt_critic = torch.optim.SGD(critic.parameters(), lr=0.1)
    critic(actor(torch.ones(2, 3))).mean().backward()
    opt_actor.step()
    opt_critic.step()
    ```

    ## References

    - [`torch.optim`](https://docs.pytorch.org/docs/stable/optim.html)
    """

    code = "GL328"
    name = "optimizer-of-another"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "what the optimizer is named after is never trained"
    symptom = "assert torch.equal(before, critic.weight)"
    trackers = (CopiedOptimizers,)

    def on_optimizer_copied(self, event: OptimizerCopied) -> Iterator[Violation]:
        yield self.finding(
            event,
            f"`{event.optimizer}` gets the parameters of `{event.given}`, as `{event.first}` does, and no "
            f"optimizer gets those of `{event.meant}`",
            f"give it the parameters of `{event.meant}`",
        )


def _class(body: FunctionBody) -> str:
    """The class that a function is a method of; empty for one of the file."""
    return body.function.qualname.rpartition(".")[0]


def _made(body: FunctionBody, attributes: frozenset[str]) -> Iterator[_Made]:
    """The optimizers that a function makes and names."""
    loaded = {i.name for i in body.instrs if isinstance(i, (nodes.LoadName, nodes.StoreName))}
    variables = frozenset((*loaded, *body.params))
    for store in body.instrs:
        if not isinstance(store, (nodes.SetAttr, nodes.StoreName)):
            continue
        call = body.made.get(store.src)
        if not isinstance(call, nodes.Call) or not call.args:
            continue
        func = body.made.get(call.func)
        named = func.name if isinstance(func, (nodes.GetAttr, nodes.LoadName)) else ""
        given = _owner(body, call.args[0].value)
        if given is not None and _OPTIMIZER.search(named):
            beside = attributes if isinstance(given, nodes.GetAttr) else variables
            yield _Made(store.name, given.name, call.node, beside)


def _owner(body: FunctionBody, reg: int) -> nodes.GetAttr | nodes.LoadName | None:
    """What reads that whose parameters `x.parameters()` or `get_parameters(x)` gives; None for all else."""
    call = body.made.get(reg)
    func = body.made.get(call.func) if isinstance(call, nodes.Call) else None
    if not isinstance(call, nodes.Call) or not isinstance(func, (nodes.GetAttr, nodes.LoadName)):
        return None
    if _PARAMETERS.search(func.name) is None or len(call.args) > 1:
        return None
    of = call.args[0].value if call.args else func.obj if isinstance(func, nodes.GetAttr) else None
    owner = body.made.get(of) if of is not None else None
    return owner if isinstance(owner, (nodes.GetAttr, nodes.LoadName)) else None


def _meant(first: _Made, copied: _Made) -> str:
    """What a copied line was to name: the same, with the word of the copy for that of the first."""
    pairs = _different(_own_words(first.name), _own_words(copied.name))
    if len(pairs) != 1:
        return ""
    old, new = pairs[0]
    words = _WORD.findall(first.given)
    matches = [word for word in words if word.lower() == old.lower()]
    if len(matches) != 1 or any(word.lower() == new.lower() for word in words):
        return ""
    like = matches[0]
    word = new.upper() if like.isupper() else new.lower() if like.islower() else new.title()
    return first.given.replace(like, word, 1)


def _different(old: list[str], new: list[str]) -> list[tuple[str, str]]:
    """The words that differ, of names with as many words; none where they have not."""
    if len(old) != len(new):
        return []
    return [(a, b) for a, b in zip(old, new, strict=True) if a.lower() != b.lower()]


def _own_words(name: str) -> list[str]:
    return [word for word in _WORD.findall(name) if word.lower() not in _COMMON]

"""Functions that exist only once a factory has run: the factory is called, as what is known of it asks."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import torch

from gradcheck_tool.gradcheck.rng import preserved
from gradcheck_tool.harness.inputs.synthesised.budget import Budget
from gradcheck_tool.harness.inputs.synthesised.callees import Callee, callee_of
from gradcheck_tool.harness.inputs.synthesised.callsites import Called, apply_sites, sites_of
from gradcheck_tool.harness.inputs.synthesised.examples import examples_of, main_block
from gradcheck_tool.harness.inputs.synthesised.objects import with_objects
from gradcheck_tool.harness.inputs.synthesised.search import Search
from gradcheck_tool.harness.inputs.synthesised.specs import build
from gradcheck_tool.harness.inputs.synthesised.trial import Outcome, try_call
from gradcheck_tool.harness.inputs.synthesised.usage import Body
from gradcheck_tool.harness.stopping import made_class

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gradcheck_tool.harness.functions import FunctionRef
    from gradcheck_tool.harness.inputs.synthesised.search import State

_WORK_S = 6.0
_TRIES, _SECONDS = 100, 1.0
_MOST = 5


def made_by_factory(ref: FunctionRef, module: str, seed: int) -> type | None:
    """The class that a function of an imported file defines; None where it could not be brought to do so."""
    budget = Budget(_WORK_S)
    outer = ref.qualname.split(".<locals>")[0]
    for callee in _callees(ref, outer):
        for run in examples_of(callee.body, callee.owner):
            _run(run, (), [])
            if found := made_class(module, ref.qualname):
                return found
        _search(ref, module, callee, seed, budget.share(_SECONDS))
        if (found := made_class(module, ref.qualname)) or budget.over:
            return found
    for run in main_block(ref.filename):
        _run(run, (), [])
    return made_class(module, ref.qualname)


def _callees(ref: FunctionRef, outer: str) -> Iterator[Callee]:
    """The callers of the factory, which know its arguments, then itself with the values that they show."""
    name = outer.rpartition(".")[2]
    sites = sites_of(Called(outer.partition(".")[0] if name == "__init__" else name), ref)
    callers = (callee_of(site.filename, site.within, site.conditions) for site in sites if site.within)
    yield from islice((callee for callee in callers if callee is not None), _MOST)
    factory = callee_of(ref.filename, outer, {})
    if factory is not None:
        apply_sites(factory.parameters[len(factory.parameters) - factory.given :], sites)
        yield factory


def _search(ref: FunctionRef, module: str, callee: Callee, seed: int, budget: Budget) -> None:
    bodies = [(1, Body(callee.body))]

    def attempt(state: State) -> Outcome:
        generator, dtype = torch.Generator().manual_seed(seed), torch.get_default_dtype()

        # Arguments are made within the try: constructors of objects may raise.
        def call() -> Any:
            return callee.call(*(build(spec, generator, dtype, "cpu") for spec in state))

        outcome = _run(call, (), bodies)
        made = made_class(module, ref.qualname) is not None
        return Outcome("", 5) if made else outcome

    Search(with_objects(callee.parameters), attempt).run(_TRIES, budget)


def _run(call: Callable[..., Any], args: tuple[Any, ...], bodies: list[tuple[int, Body]]) -> Outcome:
    with preserved():
        torch.manual_seed(0)
        return try_call(call, args, bodies)

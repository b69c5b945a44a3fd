"""Arguments for `Function.apply` itself."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from gradcheck_tool.gradcheck.broken import BrokenDeviceError, broken_device
from gradcheck_tool.gradcheck.native import native_code
from gradcheck_tool.gradcheck.problem import identical
from gradcheck_tool.gradcheck.rehearsal import breaks_device
from gradcheck_tool.gradcheck.rng import preserved, seed_torch
from gradcheck_tool.gradcheck.session import quiet
from gradcheck_tool.gradcheck.target import backward_of, overrides
from gradcheck_tool.gradcheck.tree import flatten
from gradcheck_tool.harness.inputs.synthesised.search import Found, Search, State
from gradcheck_tool.harness.inputs.synthesised.sizes import with_distinct_sizes, without_unused
from gradcheck_tool.harness.inputs.synthesised.specs import Made, Several, Spec, TensorSpec, build, plain
from gradcheck_tool.harness.inputs.synthesised.trial import Outcome, try_call
from gradcheck_tool.harness.inputs.synthesised.usage import Body

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gradcheck_tool.harness.inputs.synthesised.budget import Budget
    from gradcheck_tool.harness.inputs.synthesised.parameters import Parameter


class Maker:
    """Makes values from descriptions, always the same ones, and tries them."""

    def __init__(self, function: Any, dtype: torch.dtype | None, device: str, seed: int) -> None:
        """`dtype` None stands for the default one, and for double precision where the Function demands it."""
        self.function, self._device, self._seed = function, device, seed
        self._dtype, self._free = dtype or torch.get_default_dtype(), dtype is None
        methods = [(1, function.forward), (3, backward_of(function))]
        if overrides(function, "setup_context"):
            methods.append((2, function.setup_context))
        self._bodies = [(stage, Body(method)) for stage, method in methods if method is not None]

    def arguments(self, state: State, salt: int = 0) -> tuple[Any, ...]:
        """The arguments that a state describes."""
        generator = torch.Generator().manual_seed(self._seed + salt)
        return tuple(build(spec, generator, self._dtype, self._device) for spec in state)

    def attempt(self, state: State) -> Outcome:
        """Try the Function with these arguments."""
        made = quiet(lambda: self.arguments(state))
        if isinstance(made, Exception):
            return Outcome(f"{type(made).__name__}: {made}", 0)
        outcome = self.attempt_with(made)
        if self._free and _DOUBLE.search(outcome.problem):
            return self._in_double(state, outcome)
        return outcome

    def _in_double(self, state: State, outcome: Outcome) -> Outcome:
        """Try again in double precision, and keep to it where that comes farther."""
        before, self._dtype, self._free = self._dtype, torch.float64, False
        again = self.attempt(state)
        if again.problem and again.progress <= outcome.progress:
            self._dtype, self._free = before, True
            return outcome
        return again

    def attempt_with(self, arguments: Sequence[Any]) -> Outcome:
        """Try the Function with given arguments.

        Raises:
            BrokenDeviceError: it has left the device unusable.
        """
        with preserved():
            seed_torch(self._seed)
            if self._device != "cpu" and (why := self._breaks_device(arguments)):
                return Outcome(why, 1)
            outcome = try_call(self.function.apply, arguments, self._bodies)
        if "CUDA error" in outcome.problem and (broken := broken_device(self._device)):
            raise BrokenDeviceError(broken)
        return outcome

    def _breaks_device(self, arguments: Sequence[Any]) -> str | None:
        """How a CPU refuses a guess with which the device would be lost; native code is not tried on one."""
        if native_code(self.function) is not None:
            return None
        leaves, rebuild = flatten(list(arguments))
        return breaks_device(lambda moved: self.function.apply(*rebuild(moved)), leaves)

    def unused(self, state: State, index: int, axis: int, position: int) -> bool:
        """Whether the outputs are the same with other numbers at one position of an axis of an argument."""
        before, after = self.arguments(state), list(self.arguments(state))
        changed = after[index].detach().clone()
        changed.select(axis, position).add_(3.0).mul_(-2.0)
        after[index] = changed
        outputs = [self._outputs(arguments) for arguments in (before, after)]
        return all(outputs) and len(outputs[0]) == len(outputs[1]) and all(map(identical, *outputs))

    def constant(self, state: State) -> bool:
        """Whether the outputs are the same for other tensors: a guessed bound may cut all of them off."""
        first, second = (self._outputs(self.arguments(state, salt)) for salt in (0, 1))
        return bool(first) and len(first) == len(second) and all(map(identical, first, second))

    def asking_for_more(self, state: State) -> State:
        """With the flags turned on that add outputs and change none; the same state where there are none."""
        for index, spec in enumerate(state):
            if spec == _FALSE:
                other = (*state[:index], _TRUE, *state[index + 1 :])
                few, many = (self._outputs(self.arguments(one)) for one in (state, other))
                more = 0 < len(few) < len(many) and all(any(map(partial(identical, y), many)) for y in few)
                state = other if more and _good(self.attempt(other)) else state
        return state

    def _outputs(self, arguments: Sequence[Any]) -> list[torch.Tensor]:
        """The outputs as detached tensors; none where the Function refuses."""
        with preserved(), torch.no_grad():
            seed_torch(self._seed)
            outputs = quiet(lambda: flatten(self.function.apply(*arguments))[0])
        if isinstance(outputs, Exception):
            return []
        return [y.detach() for y in outputs if isinstance(y, torch.Tensor)]


_FALSE, _TRUE = plain(False), plain(True)
_DOUBLE = re.compile(r"float64|\b[Dd]ouble\b")
"""Words of errors about a precision that is wanted."""
_TRIES, _FEW_TRIES, _SECONDS = 1000, 60, 8.0
_BARE_TRIES, _BARE_S = 300, 3.0


class DirectSearch:
    """A search for arguments of `apply` that can go on where it has stopped."""

    def __init__(self, maker: Maker, parameters: Sequence[Parameter]) -> None:
        self._maker = maker
        self._parameters = parameters
        self._whole = Search(parameters, maker.attempt)
        self._begun = False

    def run(self, budget: Budget, tries: int = _TRIES) -> Found:
        """Go on.

        The lengths of what is found differ where that is accepted, and only tensors that get a gradient
        require one.
        """
        maker, budget = self._maker, budget.share(_SECONDS)
        begun = None if self._begun else self._short(budget) or self._bare(budget)
        found = begun or self._whole.run(tries, budget)
        self._begun = True
        if found.state is None or not found.outcome or found.outcome.problem:
            return found
        state = _as_long_as_used(maker, found.state)
        # A loop through two tensors ends with the shorter one: the rest of the longer has no influence.
        state = _as_long_as_used(maker, with_distinct_sizes(state, lambda s: _good(maker.attempt(s))))
        wanting = tuple(_wanting(spec) for spec in state)
        state = wanting if _good(maker.attempt(wanting)) else state
        outcome = maker.attempt(state)
        return replace(found, state=needing(state, outcome.gradients), outcome=outcome)

    def _short(self, budget: Budget) -> Found | None:
        """Arguments with few of the values that `*args` takes."""
        variable = sum(parameter.variable for parameter in self._parameters)
        fixed, miscounted = len(self._parameters) - variable, False
        for count in (*range(1, variable), 0):
            if count == 0 and not (fixed and miscounted):
                break  # where some are taken, none would show less
            found = Search(self._parameters[: fixed + count], self._maker.attempt).run(_FEW_TRIES, budget)
            if found.state is not None:
                return found
            miscounted = miscounted or (found.outcome is not None and found.outcome.miscounted)
        return None

    def _bare(self, budget: Budget) -> Found | None:
        """Arguments without objects of the package's own, where the code can do without them."""
        free = [p for p in self._parameters if p.usage.none and p.objects]
        if not free:
            return None
        bare = [replace(p, objects=(), seen=[None]) if p in free else p for p in self._parameters]
        found = Search(bare, self._maker.attempt).run(_BARE_TRIES, budget.share(_BARE_S))
        return (
            found if found.state is not None and found.outcome is not None and _good(found.outcome) else None
        )


def _as_long_as_used(maker: Maker, state: State) -> State:
    return without_unused(state, lambda s: _good(maker.attempt(s)), maker.unused)


def _good(outcome: Outcome) -> bool:
    return not outcome.problem and not outcome.flat


def _wanting(spec: Spec) -> Spec:
    """With gradients for every tensor of real numbers: a try may have done without."""
    if isinstance(spec, Several):
        return replace(spec, items=tuple(map(_wanting, spec.items)))
    return replace(spec, grad=True) if isinstance(spec, TensorSpec) else spec


def needing(state: State, gradients: Sequence[bool]) -> State:
    """Only tensors that got a gradient are to require one: for others backward returns None on purpose."""
    came = iter(gradients)
    return tuple(_needing(spec, came) for spec in state)


def _needing(spec: Spec, came: Iterator[bool]) -> Spec:
    if isinstance(spec, TensorSpec):
        got_one = next(came, False)
        return replace(spec, grad=spec.grad and got_one)
    if isinstance(spec, Several):
        return replace(spec, items=tuple(_needing(item, came) for item in spec.items))
    if isinstance(spec, Made):
        if issubclass(spec.owner, tuple):
            return replace(spec, items=tuple((name, _needing(item, came)) for name, item in spec.items))
        return spec
    for leaf in flatten(spec.value)[0]:
        if isinstance(leaf, torch.Tensor):
            next(came, False)
    return spec

"""The state of one check: what is checked, what is known about it, what was found."""

from __future__ import annotations

import linecache
import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gradcheck_tool.codes import CODES
from gradcheck_tool.findings import Finding, Location, Position, Severity, TraceStep
from gradcheck_tool.gradcheck.names import named
from gradcheck_tool.gradcheck.native import native_code
from gradcheck_tool.gradcheck.problem import raised_by_engine
from gradcheck_tool.gradcheck.stencil import coarsest
from gradcheck_tool.gradcheck.surrogates import declared
from gradcheck_tool.gradcheck.suspect import row_of_gradient
from gradcheck_tool.gradcheck.target import backward_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from gradcheck_tool.gradcheck.manifolds import Projection
    from gradcheck_tool.gradcheck.names import Names
    from gradcheck_tool.gradcheck.probes import Cotangent, Draws
    from gradcheck_tool.gradcheck.problem import Grads, Problem
    from gradcheck_tool.gradcheck.stencil import Gap
    from gradcheck_tool.gradcheck.target import Target

_CODE_OF_WORD = {
    "none": "GC102",
    "zero": "GC102",
    "spurious": "GC103",
    "ignores-cotangent": "GC104",
    "not-linear-in-cotangent": "GC104",
    "nan": "GC105",
    "layout": "GC106",
    "precision": "GC107",
    "second-order": "GC108",
    "jvp": "GC109",
    "vmap": "GC110",
    "surrogate": "GC190",
}


def code_of(word: str) -> str:
    """The code under which a diagnosis of the gradient is reported."""
    return _CODE_OF_WORD.get(word, "GC101")


@dataclass(frozen=True)
class Options:
    """What the caller may choose; every default is the thorough choice."""

    reference: Callable[..., Any] | None = None
    seed: int = 0
    variations: bool = True
    contracts: bool = True
    second_order: bool = True
    forward_mode: bool = True
    vmap: bool = True
    modes: tuple[str, ...] = ()
    surrogates: Mapping[str, str] = field(default_factory=dict)
    manifold: Mapping[int, str | Projection] = field(default_factory=dict)
    plots: str | None = None
    risky: bool = False
    """Give native code other sizes, numbers and strides, too: it may end the process."""
    isolate: bool = False
    """Check in a forked process, with the risky calls."""
    brief: bool = False
    """Only the verdicts count: the first mistake is enough."""
    builtin: bool = False
    """Check PyTorch's own operators as thoroughly as custom Functions."""

    @property
    def more(self) -> bool:
        """Whether anything but the first derivative at the given inputs is checked."""
        parts = (self.variations, self.contracts, self.second_order, self.forward_mode, self.vmap)
        return any(parts) or bool(self.modes)


@dataclass
class Verdict:
    """The growing verdict about one input."""

    word: str = "not checked"
    factor: float | None = None
    entry: float | None = None
    heat: Tensor | None = None


@dataclass
class Session:
    """Everything that the parts of one check share."""

    target: Target
    options: Options
    problem: Problem
    native: Problem
    draws: Draws
    klass: Any
    body: Problem | None = None
    oracle: str = "finite differences"
    surrogate: str | None = None
    findings: list[Finding] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    manifolds: dict[int, Projection] = field(default_factory=dict)
    interpreted: bool = False
    """Whether Triton's interpreter ran kernels of the Function."""
    iterative: bool = False
    """Whether forward was seen to iterate until a tolerance."""
    loops: bool = True
    """Whether the first call ran some line of the user's code several times."""
    repeats: bool = True
    """Whether the first call ran some line of the user's code again."""
    names: Names = ()
    """The names of the arguments, in order."""
    first: tuple[Problem, list[Tensor], Grads] | None = None
    """The problem, outputs and gradients of the first backward, for the shared cotangent."""
    sparse: bool = False
    """Whether an output that can be differentiated is sparse, and therefore left out."""
    given: tuple[list[Finding], list[Verdict], list[str]] | None = None
    """Findings, verdicts and notes of the given inputs, after which the device still ran."""
    unsettled: set[int] = field(default_factory=set)
    """Inputs whose gradient differs from the derivative, and changes with the last digits of the inputs."""
    steady: bool = True
    """Whether the same call gives the same outputs and gradients."""
    usual: float = 0.0
    """The largest directional derivative measured at the given inputs."""
    tried: int = 0
    skipped: int = 0

    def add(
        self,
        code: str,
        word: str,
        message: str,
        *,
        severity: Severity | None = None,
        predicts: str | None = None,
        problem: Problem | None = None,
        **evidence: Any,
    ) -> None:
        """Report a finding once: the same code, diagnosis and input are not repeated."""
        entry = CODES[code]
        evidence = {"diagnosis": word, **evidence}
        self._name(evidence)
        for known in self.findings:
            old = known.evidence or {}
            if (
                known.code == code
                and old.get("diagnosis") == word
                and old.get("input") == evidence.get("input")
            ):
                return
        tensors = (problem or self.problem).values
        self.findings.append(
            Finding(
                code=code,
                name=entry.name,
                severity=severity or entry.severity,
                message=self.named(message),
                location=self.target.forward if evidence.get("by") == "forward" else self.target.location,
                predicts=predicts,
                trace=self._story(evidence),
                url=entry.url,
                function=self.target.name,
                device=str(tensors[0].device) if tensors else None,
                dtype=str(tensors[0].dtype).removeprefix("torch.") if tensors else None,
                evidence=evidence,
                source="gradcheck",
            )
        )

    def named(self, text: str) -> str:
        """`text` with the names of arguments in the place of their numbers."""
        return named(text, self.names, self.problem.wrt)

    def name_of(self, index: int) -> str | None:
        """The name of the argument that is input number `index`."""
        position = self.problem.wrt[index]
        return self.names[position] if position < len(self.names) else None

    def _name(self, evidence: dict[str, Any]) -> None:
        """Add the name of the argument, and the row on which its gradient is computed."""
        if "variation" in evidence:
            evidence["variation"] = self.named(evidence["variation"])
        index = evidence.get("input")
        if index is None or index >= len(self.problem.wrt):
            return
        name = self.name_of(index)
        if name is not None:
            evidence["name"] = name
        if evidence.get("by") == "forward":
            return
        if self.target.cls is not None and name is not None and name.isidentifier():
            row = row_of_gradient(backward_of(self.target.cls), self.problem.wrt[index])
            if row is not None:
                evidence["row"] = row

    def _story(self, evidence: dict[str, Any]) -> tuple[TraceStep, ...]:
        """The row on which the gradient is computed, where it is known."""
        if "row" not in evidence:
            return ()
        row, filename = evidence["row"], self.target.location.filename
        text = linecache.getline(filename, row).rstrip()
        first = Position(row, len(text) - len(text.lstrip()) + 1)
        place = Location(filename, first, Position(row, len(text) + 1))
        return (TraceStep(place, f"the gradient of `{evidence['name']}` is computed here"),)

    def cotangent(self, problem: Problem) -> Cotangent:
        """A signed cotangent of the outputs of `problem`: the same one for all checks that ask."""
        memo = problem.memo
        if memo.cotangent is None:
            memo.cotangent = self.draws.cotangent(problem.base)
        return memo.cotangent

    def conclude(self, indices: Iterable[int], word: str) -> None:
        """Give the inputs `indices` the verdict `word`."""
        for index in indices:
            self.verdicts[index].word = word

    def deviates(
        self, indices: Sequence[int], looks: str, gap: Gap | None = None, *, doubtful: bool = False
    ) -> None:
        """Report that the gradients of `indices` are no derivatives on purpose; a declared one is a note.

        A `doubtful` one, of which nothing but its own numbers speaks, is a warning.
        """
        self.surrogate = looks
        self.conclude(indices, "surrogate")
        if self.declared is not None:
            self.notes.append(f"the gradient is not the derivative, as declared: {self.declared}")
            return
        numbers: dict[str, Any] = (
            {}
            if gap is None
            else {"analytic": gap.analytic, "numeric": gap.numeric, "numeric_error": gap.error}
        )
        self.add(
            "GC190",
            "surrogate",
            f"the gradient is not the derivative; it looks like {looks}. If that is meant, declare it with "
            "@gradcheck_tool.surrogate(reason=...)",
            severity=Severity.WARNING if doubtful else None,
            input=indices[0],
            **numbers,
        )

    @cached_property
    def declared(self) -> str | None:
        """The declared reason for a deviation on purpose; looked up in the source on first use only."""
        return declared(self.klass, self.options.surrogates)

    @property
    def coarse(self) -> bool:
        """Whether finite differences in half precision are all there is: too little for fine questions."""
        return self.body is None and coarsest(self.problem.values) in (torch.float16, torch.bfloat16)

    @property
    def kernel(self) -> bool:
        """Whether forward runs code that trusts sizes and may write anywhere: it gets only what fits."""
        kernel = self.interpreted or self.problem.values[0].device.type != "cpu"
        return self.body is None and (kernel or self.spared)

    @cached_property
    def spared(self) -> bool:
        """Whether forward runs native code, which is to be given no other sizes, numbers and strides."""
        found = None if self.options.risky or self.body is not None else native_code(self.klass)
        if found is not None:
            self.notes.append(
                f"{found} is native code: other sizes, numbers and strides, at which it may end the process, "
                "are left to gradlint gradcheck and to isolate=True"
            )
        return found is not None

    def wrong_inputs(self) -> set[int]:
        """Inputs whose gradient is already known to be wrong or intended to deviate."""
        return {i for i, v in enumerate(self.verdicts) if v.word in ("wrong", "surrogate")}


def quiet(call: Callable[[], Any]) -> Any:
    """The result of `call`, or the exception it raised, as a value."""
    try:
        return call()
    except Exception as error:
        if isinstance(error, (TypeError, AttributeError, NameError)) and raised_by_engine(error):
            raise
        return error


def finite(tensors: list[Tensor]) -> bool:
    """Whether every element of every tensor is finite."""
    return all(_is_finite(t) for t in tensors)


def _is_finite(tensor: Tensor) -> bool:
    plain = torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor
    return not plain.numel() or all(math.isfinite(end) for end in torch.aminmax(plain))

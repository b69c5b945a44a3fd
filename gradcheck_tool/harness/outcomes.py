"""What became of one Function: by which inputs it was checked and what was found, or why it was not."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from gradcheck_tool.codes import CODES
from gradcheck_tool.findings import Finding, Location, Position, Severity, TraceStep
from gradcheck_tool.report.json import to_dict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gradcheck_tool.harness.functions import FunctionRef
    from gradcheck_tool.harness.units import Unit


@dataclass(frozen=True, slots=True)
class InputResult:
    """The verdict about one tensor argument; see `gradcheck_tool.gradcheck.InputVerdict`."""

    index: int
    verdict: str
    oracle: str
    sensitivity: str = ""
    name: str | None = None

    @property
    def label(self) -> str:
        """The name of the argument, or the number of the input."""
        return str(self.index) if self.name is None else f"`{self.name}`"


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What one call reported.

    Attributes:
        source: `declared`, `recorded` or `synthesised`.
        note: where exactly the arguments come from.
        inputs: the verdicts.
        calls: forward and backward calls made.
        oracle: who judged.
        text: the engine's report for a terminal.
        notes: its remarks that are no findings.
        heat: for wrong inputs, the size of the error as rows of at most 64 x 64 numbers from 0 to 1.
        largest: for these, the error that 1 stands for.
    """

    source: str
    note: str
    inputs: tuple[InputResult, ...] = ()
    calls: int = 0
    oracle: str = ""
    text: str = ""
    notes: tuple[str, ...] = ()
    heat: dict[int, list[list[float]]] = field(default_factory=dict)
    largest: dict[int, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one Function on one device in one dtype.

    Attributes:
        unit: what was asked for.
        findings: each code, diagnosis and input once, over all cases.
        cases: the calls that were judged.
        cause: why the Function was not checked; None where it was.
        tried: one line for each way of getting inputs that gave none.
        stub: samples for the user to complete.
        notes: remarks on the run that are no findings.
        seconds: what the check took.
        cached: the result is of an earlier run.
        lasting: the result may be kept for later runs.
        death: how its process ended: `crash`, `hang`, `slow` or `memory`; None where it lived.
    """

    unit: Unit
    findings: tuple[Finding, ...] = ()
    cases: tuple[CaseResult, ...] = ()
    cause: str | None = None
    tried: tuple[str, ...] = ()
    stub: str = ""
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    cached: bool = False
    lasting: bool = False
    death: str | None = None

    @property
    def status(self) -> str:
        """`wrong` (an error), `crashed`, `not checked`, `warned`, `inconclusive`, `intended` or `ok`."""
        if any(finding.severity is Severity.ERROR for finding in self.findings):
            return "wrong"
        if self.death == "crash":
            return "crashed"
        if self.cause is not None:
            return "not checked"
        if any(finding.severity is Severity.WARNING for finding in self.findings):
            return "warned"
        words = {result.verdict for case in self.cases for result in case.inputs}
        if "inconclusive" in words:
            return "inconclusive"
        return "intended" if any(finding.code == "GC190" for finding in self.findings) else "ok"

    @property
    def is_checked(self) -> bool:
        """Whether there is a verdict."""
        return self.status not in ("crashed", "not checked")

    @property
    def source(self) -> str | None:
        """Where the inputs came from; None where there were none."""
        return self.cases[0].source if self.cases else None

    def text(self) -> str:
        """The outcome for a terminal, of several lines."""
        lines = [f"{self.unit.name}: {self.status}"]
        if self.cause is not None:
            lines += [f"  {self.cause}", *(f"  {line}" for line in self.tried)]
        for case in self.cases:
            lines += [f"  {case.source} input: {case.note}".rstrip(": "), *_indented(case.text)]
        told = {
            finding.message
            for case in self.cases
            for finding in self.findings
            if finding.message in case.text
        }
        for finding in self.findings:
            if finding.message not in told:
                place = f"{finding.location.filename}:{finding.location.start.row}"
                lines.append(f"  {place} {finding.code} {finding.severity.value}: {finding.message}")
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join([*lines, *(["", self.stub] if self.stub else [])])


def merged(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Each code, diagnosis and input of a Function once: the first case, or unit, that showed it counts.

    A mistake in an input that one case could name is not listed again as `unknown`.
    """
    kept: dict[tuple[Any, ...], Finding] = {}
    for finding in findings:
        kept.setdefault((*_where(finding), _diagnosis(finding)), finding)
    named = {_where(finding) for finding in kept.values() if _diagnosis(finding) != "unknown"}
    return tuple(f for f in kept.values() if _diagnosis(f) != "unknown" or _where(f) not in named)


def _where(finding: Finding) -> tuple[Any, ...]:
    return (
        finding.function,
        finding.device,
        finding.dtype,
        finding.code,
        (finding.evidence or {}).get("input"),
    )


def _diagnosis(finding: Finding) -> Any:
    return (finding.evidence or {}).get("diagnosis")


def environment_finding(code: str, unit: Unit, message: str, evidence: dict[str, Any]) -> Finding:
    """A finding about the process that ran the Function, at its `backward`."""
    entry = CODES[code]
    return Finding(
        code=code,
        name=entry.name,
        severity=entry.severity,
        message=message,
        location=place_of(unit.ref),
        url=entry.url,
        function=unit.ref.name,
        device=unit.device,
        dtype=unit.dtype,
        evidence={"diagnosis": "crash", **evidence},
        source="gradcheck",
    )


def place_of(ref: FunctionRef) -> Location:
    """The first row of `backward`, or of the class where it inherits its `backward`."""
    rows = ref.backward or ref.rows
    return Location(ref.filename, Position(rows.first, rows.column), Position(rows.first + 1, 1))


def pack_case(result: CaseResult) -> dict[str, Any]:
    """Plain data of a case's result."""
    return asdict(result)


def unpack_case(data: dict[str, Any]) -> CaseResult:
    """The result of plain data that has been JSON."""
    return CaseResult(
        source=data["source"],
        note=data["note"],
        inputs=tuple(InputResult(**item) for item in data["inputs"]),
        calls=data["calls"],
        oracle=data["oracle"],
        text=data["text"],
        notes=tuple(data["notes"]),
        heat={int(index): rows for index, rows in data["heat"].items()},
        largest={int(index): error for index, error in data["largest"].items()},
    )


pack_finding = to_dict


def unpack_finding(data: dict[str, Any]) -> Finding:
    """The finding of plain data; findings of the run-time engine have no fix."""
    words = ("code", "name", "message", "predicts", "url", "source")
    about = ("function", "device", "dtype", "evidence")
    return Finding(
        severity=Severity(data["severity"]),
        location=_place(data),
        trace=tuple(TraceStep(_place(step), step["message"]) for step in data["trace"]),
        **{word: data[word] for word in (*words, *about)},
    )


def _place(data: dict[str, Any]) -> Location:
    return Location(
        data["filename"], Position(**data["location"]), Position(**data["end_location"]), data["cell"]
    )


def _indented(block: str) -> list[str]:
    return [f"    {line}" for line in block.splitlines()]

"""What is known of a finding besides its message and its story, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gradcheck_tool.findings import Finding, InRun

# What the line about one element says.
_ELEMENT = ("input", "argument", "name", "row", "index", "analytic", "numeric", "numeric_error", "ratio")

_IN_RUN: dict[InRun, str] = {
    "confirmed": "confirmed: it happened",
    "not reached": "not reached: this run never executed it in this way",
    "contradicted": "contradicted: it was executed in this way, and PyTorch raised nothing; please report it",
    "open": "open: the run executed it, which neither confirms nor rules out the mistake",
}


def facts(finding: Finding) -> Iterator[tuple[str, str]]:
    """Labels and texts: the Function, what is predicted, and what the run-time engine measured."""
    if finding.function:
        how = ", ".join(filter(None, (finding.device, finding.dtype)))
        yield "function", f"{finding.function} ({how})" if how else finding.function
    yield from outcome(finding)
    for assumed in finding.assumes:
        yield "assumes", assumed
    if finding.in_run is not None:
        yield "in the run", _IN_RUN[finding.in_run]
    yield from _measured(finding.evidence or {})


def outcome(finding: Finding) -> Iterator[tuple[str, str]]:
    """What PyTorch raises, or the silent effect; of a run it is no prediction."""
    if finding.predicts:
        yield "happened" if finding.source == "run" else "predicts", finding.predicts


def _measured(evidence: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The element where the gradient is compared, then whatever else is known."""
    rest = dict(evidence)
    if isinstance(rest.get("analytic"), (int, float)) and isinstance(rest.get("numeric"), (int, float)):
        yield "measured", _element(rest)
        rest = {key: value for key, value in rest.items() if key not in _ELEMENT}
    for key, value in rest.items():
        if value is not None:
            yield key.replace("_", " "), shown(value)


def _element(evidence: Mapping[str, Any]) -> str:
    index = evidence.get("index")
    name = f"`{evidence['name']}`" if "name" in evidence else evidence.get("input")
    place = f"input {name}" + (f" at {index}" if index else "")
    error = evidence.get("numeric_error")
    numbers = f"analytic {shown(evidence['analytic'])}, numeric {shown(evidence['numeric'])}"
    within = f" +- {error:.1e}" if error else ""
    ratio = evidence.get("ratio")
    return f"{place}: {numbers}{within}" + (f", ratio {shown(ratio)}" if ratio is not None else "")


def counted(number: int, thing: str) -> str:
    """A number of things, or of findings of a severity."""
    return f"{number} {thing}" if number == 1 or thing == "info" else f"{number} {thing}s"


def shown(value: Any) -> str:
    """A value in words; more digits of a number than these tell a reader nothing."""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    return f"{value:.6g}" if isinstance(value, float) else str(value)

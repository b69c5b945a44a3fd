"""The result of checking one Function."""

from __future__ import annotations

import linecache
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gradcheck_tool.findings import Finding, Severity
from gradcheck_tool.gradcheck import heatmap

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

    from gradcheck_tool.gradcheck.problem import Evaluations


@dataclass(frozen=True)
class InputVerdict:
    """What was concluded about one input: by which oracle, and whether it is `ok`, `wrong`,
    `inconclusive`, `surrogate` or `not checked`.

    `factor` is the smallest relative error of the whole gradient, `entry` the smallest relative error of
    one typical entry, that would have been noticed; None where nothing was measured. `name` is that of the
    argument, where the signature of the call tells it.
    """

    index: int
    verdict: str
    oracle: str
    factor: float | None = None
    entry: float | None = None
    name: str | None = None

    @property
    def label(self) -> str:
        """The input by the name of its argument, or by its number."""
        return f"input {self.index}" if self.name is None else f"input `{self.name}`"

    @property
    def sensitivity(self) -> str:
        """The sensitivity as a sentence; empty where nothing was measured."""
        if self.factor is None or self.entry is None:
            return ""
        return (
            f"would have noticed a factor of {self.factor:.0e} and an error of {self.entry:.0e} in one entry"
        )


@dataclass(frozen=True)
class Report:
    """Findings and verdicts for one call of one Function.

    Attributes:
        function: qualified name.
        findings: sorted; errors make the report not ok, warnings and `info` do not.
        evaluations: forward and backward calls made.
        inputs: one verdict for every input that requires grad, in order.
        oracle: who judged: `forward body`, `reference` or `finite differences`.
        skipped: number of variations that the forward refused.
        tried: number of variations that were compared.
        notes: remarks that are no findings.
        heat: for wrong inputs, the size of the error of every entry (shape of the input).
    """

    function: str
    findings: tuple[Finding, ...]
    evaluations: Evaluations
    inputs: tuple[InputVerdict, ...]
    oracle: str
    skipped: int = 0
    tried: int = 0
    notes: tuple[str, ...] = field(default=())
    heat: Mapping[int, Tensor] = field(default_factory=dict, compare=False)

    @property
    def ok(self) -> bool:
        """Whether nothing was found that makes the Function wrong: no error."""
        return not any(f.severity is Severity.ERROR for f in self.findings)

    @property
    def word(self) -> str:
        """`wrong`, `warned` where there are warnings only, or `ok`."""
        warned = any(f.severity is Severity.WARNING for f in self.findings)
        return ("warned" if warned else "ok") if self.ok else "wrong"

    @property
    def conclusive(self) -> bool:
        """Whether every input was judged."""
        return all(v.verdict not in ("inconclusive", "not checked") for v in self.inputs)

    @property
    def sensitivity(self) -> str:
        """The weakest sensitivity over the inputs, as a sentence."""
        stated = [v for v in self.inputs if v.factor is not None]
        return max(stated, key=lambda v: v.factor or 0.0).sensitivity if stated else ""

    def text(self) -> str:
        """The report for a terminal: a line per input, then every finding with its evidence."""
        lines = [f"{self.function}: {self.word} (oracle: {self.oracle})"]
        for verdict in self.inputs:
            tail = f", {verdict.sensitivity}" if verdict.sensitivity and verdict.verdict == "ok" else ""
            lines.append(f"  {verdict.label}: {verdict.verdict}{tail}")
        for finding in self.findings:
            place = f"{finding.location.filename}:{finding.location.start.row}"
            lines += [
                f"  {place} {finding.code} {finding.severity.value}: {finding.message}",
                *_suspect(finding),
                *_table(finding),
            ]
        for index, heat in self.heat.items():
            label = self.inputs[index].label
            scale = f"(darker is worse, up to {heatmap.peak(heat):.3g})"
            lines += [f"  where {label} is wrong {scale}:", *_indented(heatmap.text(heat))]
        count = self.evaluations
        lines.append(
            f"  {count.forwards} forward and {count.backwards} backward calls; {self.tried} variations tried,"
            f" {self.skipped} refused by the forward"
        )
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])


def _suspect(finding: Finding) -> list[str]:
    """The row of source on which the gradient is computed, where it is known."""
    row = (finding.evidence or {}).get("row")
    text = linecache.getline(finding.location.filename, row).strip() if row is not None else ""
    return [f"      {row}: {text}"] if text else []


def _table(finding: Finding) -> list[str]:
    """The numbers behind a finding, on one line; nothing where there are none."""
    evidence = finding.evidence or {}
    if evidence.get("analytic") is None or evidence.get("numeric") is None:
        return []
    place = "" if evidence.get("index") is None else f" at {evidence['index']}"
    ratio = "" if evidence.get("ratio") is None else f", ratio {evidence['ratio']:.6g}"
    numbers = f"analytic {evidence['analytic']:.9g}, numeric {evidence['numeric']:.9g}"
    error = evidence.get("numeric_error") or 0.0
    name = f"`{evidence['name']}`" if "name" in evidence else evidence.get("input")
    return [f"      input {name}{place}: {numbers} +- {error:.1e}{ratio}"]


def _indented(block: str) -> list[str]:
    return [f"      {line}" for line in block.splitlines()]

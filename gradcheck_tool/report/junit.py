"""JUnit XML: a suite for each file, and in it a failed case for each finding, or what cases there are."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from gradcheck_tool.report.concise import place
from gradcheck_tool.report.facts import facts
from gradcheck_tool.trust.visible import visible, visible_lines, visible_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.findings import Finding
    from gradcheck_tool.report.context import ReportContext


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a case failed: in a line, the code, and all there is to say."""

    message: str
    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Case:
    """One test: failed, skipped for a reason, or else passed."""

    filename: str
    name: str
    failure: Failure | None = None
    skipped: str | None = None
    seconds: float = 0.0


def render(findings: Sequence[Finding], context: ReportContext) -> str:
    """Render the report; one passed case stands for a run without findings."""
    return document([_case_of(finding, context) for finding in findings], context)


def document(cases: Sequence[Case], context: ReportContext) -> str:
    """The XML of cases, those of one file beside each other."""
    failures = sum(case.failure is not None for case in cases)
    root = ET.Element("testsuites", name="gradlint", tests=str(max(1, len(cases))), failures=str(failures))
    if context.not_watched:
        properties = ET.SubElement(root, "properties")
        for one in context.not_watched:
            where = f"{context.uri(one.location.filename)}:{one.location.start.row}"
            ET.SubElement(properties, "property", name="not-watched", value=visible(f"{one.what} ({where})"))
    if not cases:
        suite = _suite(root, "gradlint", [])
        ET.SubElement(suite, "testcase", name="no findings", classname="gradlint", time="0")
    for filename, group in itertools.groupby(cases, key=lambda case: case.filename):
        together = list(group)
        name = visible_name(context.uri(filename))
        suite = _suite(root, name, together)
        for case in together:
            _add(suite, name, case)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _suite(root: ET.Element, name: str, cases: Sequence[Case]) -> ET.Element:
    return ET.SubElement(
        root,
        "testsuite",
        name=name,
        file=name,
        tests=str(max(1, len(cases))),
        failures=str(sum(case.failure is not None for case in cases)),
        errors="0",
        skipped=str(sum(case.skipped is not None for case in cases)),
        time=f"{sum(case.seconds for case in cases):.3f}",
    )


def _add(suite: ET.Element, classname: str, case: Case) -> None:
    element = ET.SubElement(
        suite, "testcase", name=visible(case.name), classname=classname, time=f"{case.seconds:.3f}"
    )
    if case.failure is not None:
        failure = ET.SubElement(
            element, "failure", message=visible(case.failure.message), type=case.failure.code
        )
        failure.text = visible_lines(case.failure.text)
    elif case.skipped is not None:
        ET.SubElement(element, "skipped", message=visible(case.skipped))


def _case_of(finding: Finding, context: ReportContext) -> Case:
    location = finding.location
    cell = f"cell {location.cell}, " if location.cell else ""
    where = f"{cell}row {location.start.row}, column {location.start.column}"
    steps = [f"{place(step.location, context)}: {step.message}" for step in finding.trace]
    steps.append(f"{place(location, context)}: {finding.code} {finding.message}")
    steps += [f"{label}: {text}" for label, text in facts(finding)]
    failure = Failure(finding.message, finding.code, "\n".join(steps))
    return Case(location.filename, f"{finding.code} {finding.name} ({where})", failure)

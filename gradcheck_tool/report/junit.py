"""JUnit XML: a suite for each file, a failed case for each finding."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from gradcheck_tool.report.concise import place
from gradcheck_tool.report.facts import facts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.findings import Finding
    from gradcheck_tool.report.context import ReportContext

_ILLEGAL = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(findings: Sequence[Finding], context: ReportContext) -> str:
    """Render the report; one passed case stands for a run without findings."""
    root = ET.Element(
        "testsuites", name="gradlint", tests=str(max(1, len(findings))), failures=str(len(findings))
    )
    if not findings:
        suite = _suite(root, "gradlint", 1, 0)
        ET.SubElement(suite, "testcase", name="no findings", classname="gradlint", time="0")
    for filename, group in itertools.groupby(findings, key=lambda finding: finding.location.filename):
        cases = list(group)
        suite = _suite(root, context.uri(filename), len(cases), len(cases))
        for finding in cases:
            _case(suite, finding, context)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _suite(root: ET.Element, name: str, tests: int, failures: int) -> ET.Element:
    return ET.SubElement(
        root,
        "testsuite",
        name=_legal(name),
        file=_legal(name),
        tests=str(tests),
        failures=str(failures),
        errors="0",
        time="0",
    )


def _case(suite: ET.Element, finding: Finding, context: ReportContext) -> None:
    location = finding.location
    cell = f"cell {location.cell}, " if location.cell else ""
    where = f"{cell}row {location.start.row}, column {location.start.column}"
    case = ET.SubElement(
        suite,
        "testcase",
        name=f"{finding.code} {finding.name} ({where})",
        classname=_legal(context.uri(location.filename)),
        time="0",
    )
    failure = ET.SubElement(case, "failure", message=_legal(finding.message), type=finding.code)
    steps = [f"{place(step.location, context)}: {step.message}" for step in finding.trace]
    steps.append(f"{place(location, context)}: {finding.code} {finding.message}")
    steps += [f"{label}: {text}" for label, text in facts(finding)]
    failure.text = _legal("\n".join(steps))


def _legal(text: str) -> str:
    """The text without characters that XML 1.0 cannot hold."""
    return _ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", text)

"""Findings without an analysis: a stand-in for the engine, and a builder of findings."""

from __future__ import annotations

from gradcheck_tool.findings import (
    Applicability,
    Edit,
    Finding,
    Fix,
    Location,
    Position,
    Severity,
    TraceStep,
)
from gradcheck_tool.links import rule_link


def span(filename, row, column, end_row=None, end_column=None, cell=None):
    end = Position(end_row or row, end_column or column + 1)
    return Location(filename, Position(row, column), end, cell)


def finding(filename="/repo/train.py", row=3, column=1, *, code="GL201", end_column=None, **changes):
    fields = {
        "code": code,
        "name": "inplace-on-saved",
        "severity": Severity.ERROR,
        "message": "`y` was changed in place after it was saved",
        "location": span(filename, row, column, end_column=end_column),
        "url": rule_link(code),
    }
    return Finding(**{**fields, **changes})


def step(filename, row, column, end_column, message, cell=None):
    return TraceStep(span(filename, row, column, end_column=end_column, cell=cell), message)


def replacement(row, column, end_column, content, *, safe=True):
    applicability = Applicability.SAFE if safe else Applicability.UNSAFE
    return Fix(
        applicability, "replace it", (Edit(content, Position(row, column), Position(row, end_column)),)
    )


def fake_check_source(source, filename, ruleset, surroundings=None):
    """Report every `BAD` (fixed by `good`, safely) and every `UGLY` (unsafely); the file must parse.

    A line `IMPORT name` in a comment asks for that module, and its `BAD`s count here, too.
    """
    import libcst

    libcst.parse_module(source)
    found = []
    for row, line in enumerate(source.split("\n"), start=1):
        for word, code in (("BAD", "GL201"), ("UGLY", "GL301")):
            column = line.find(word) + 1
            if column:
                fix = replacement(row, column, column + len(word), "good", safe=word == "BAD")
                found.append(
                    finding(filename, row, column, code=code, end_column=column + len(word), fix=fix)
                )
        if "# IMPORT " in line:
            module = surroundings.imports(filename, line.split("# IMPORT ")[1].strip(), 0)
            if module is not None and "BAD" in module.source:
                found.append(finding(filename, row, 1, code="GL101"))
    return [item for item in found if any(item.code == rule.code for rule in ruleset.active)]

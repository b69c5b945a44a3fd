"""Runs small programs under the watch, in a module of their own."""

from __future__ import annotations

import linecache
import textwrap
from itertools import count
from typing import TYPE_CHECKING, Any

from gradcheck_tool.observed.run import ObservedRun
from gradcheck_tool.report.json import to_dict
from gradcheck_tool.rulebook.ruleset import RuleSet
from gradcheck_tool.sanitizer.findings import finding_of
from gradcheck_tool.sanitizer.judges.ending import conclude
from gradcheck_tool.sanitizer.judges.raised import explain
from gradcheck_tool.sanitizer.lines import Lines
from gradcheck_tool.sanitizer.records import Records
from gradcheck_tool.sanitizer.watch import observed

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradcheck_tool.sanitizer.told import Told

_numbers = count()


def run(text: str) -> dict[str, Any]:
    """Execute a program; its `import torch` stands already there."""
    text = "import torch; import numpy as np\n" + textwrap.dedent(text)
    name = f"/programs/program{next(_numbers)}.py"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(text, name, "exec"), namespace)
    return namespace


def raised_by(text: str) -> str | None:
    """What a program raises without the watch."""
    try:
        run(text)
    except Exception as error:  # noqa: BLE001
        return f"{type(error).__name__}: {error}"
    return None


def watched(text: str, *, keep_going: bool = False) -> tuple[list[Told], str | None]:
    """What is told of a program, and what it raises under the watch."""
    records, raised = Records(keep_going=keep_going), None
    with observed(records):
        try:
            run(text)
        except Exception as error:  # noqa: BLE001
            raised = f"{type(error).__name__}: {error}"
            records.told.add_all(explain(error, records))
    conclude(records)
    return records.told.all(), raised


def story(told: Told) -> list[int]:
    """The rows of the story; the first row of the program is 1."""
    steps = [step.location for step in told.trace if step.location.filename.startswith("/programs")]
    return [location.start.row - 1 for location in steps]


def check_told(text: str, code: str, rows: list[int]) -> None:
    """A program raises nothing, and one mistake is told of it, with this story."""
    told, raised = watched(text)
    assert raised is None
    assert {one.code for one in told} == {code}
    assert story(told[0]) == rows


def check_left_alone(text: str) -> None:
    """A program raises nothing, and nothing is told of it."""
    told, raised = watched(text)
    assert raised is None
    assert told == []


def observed_run(program: Callable[[], Exception | None]) -> ObservedRun:
    """What `gradlint run --save` would keep of a program, which returns what it raised."""
    records = Records(lines=Lines())
    with observed(records):
        error = program()
    if error is not None:
        records.told.add_all(explain(error, records))
    conclude(records)
    assert records.lines is not None
    rules = {rule.code: rule for rule in RuleSet.load().known}
    findings = [to_dict(finding_of(told, rules[told.code])) for told in records.told.all()]
    return ObservedRun(findings, [records.lines.observed], {})

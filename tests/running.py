"""Runs one program: in the model of PyTorch, in PyTorch itself, and through all rules."""

from __future__ import annotations

import linecache
import sys
import warnings
from typing import TYPE_CHECKING, Any

from gradcheck_tool import EngineError, Event, StoryStep
from gradcheck_tool.analysis import entries
from gradcheck_tool.analysis.import_context import Extent
from gradcheck_tool.analysis.plans import ExecutionPlan
from gradcheck_tool.analysis.program import check_source
from gradcheck_tool.ir.lower import lower_module
from gradcheck_tool.ir.positions import locate
from gradcheck_tool.rulebook.ruleset import RuleSet

if TYPE_CHECKING:
    from gradcheck_tool.analysis.entries import Imports

RULES = RuleSet.load()
FILENAME = "<program>"
# Trackers of all rules listen, of those that are off by default, too.
TRACKERS = entries.needed(RULES.select(["ALL"], target_torch=None))


class Analysis:
    """What the model says of a program: its events, and the functions that the work limit cut short."""

    def __init__(
        self,
        source: str,
        plan: ExecutionPlan | None = None,
        imports: Imports | None = None,
    ) -> None:
        self.module = lower_module(source, FILENAME)
        extent = Extent()
        self.events: list[Event] = entries.analyze(
            self.module, imports, plan or ExecutionPlan(), extent, TRACKERS
        )
        self.unfinished = extent.unfinished

    def of(self, kind: type[Event] | str) -> list[Any]:
        """The events of a class, or of the class of that name: one that serves a single rule is in its file."""
        return [
            event
            for event in self.events
            if (type(event).__name__ == kind if isinstance(kind, str) else isinstance(event, kind))
        ]

    def row(self, event: Event | StoryStep) -> int:
        return locate(self.module, event.site.node).start.row

    def errors(self) -> list[Any]:
        """The errors that PyTorch would raise."""
        return self.of(EngineError)

    def rows(self, kind: type[Event] | str) -> list[int]:
        """The rows of the events of a kind, each once."""
        return sorted({self.row(event) for event in self.of(kind)})


def events(source: str, kind: type[Event] | str) -> list[Any]:
    return Analysis(source).of(kind)


def rows(source: str, kind: type[Event] | str) -> list[int]:
    return Analysis(source).rows(kind)


def findings(source: str) -> list[tuple[int, str]]:
    """The row and the code of each finding of the rules in force by default."""
    found = check_source(source, "program.py", RULES)
    return [(finding.location.start.row, finding.code) for finding in found]


def happened(source: str) -> tuple[int | None, str]:
    """The innermost line of the program where PyTorch raises, and its message; None and "" without an error."""
    import torch

    torch.manual_seed(0)
    torch.set_grad_enabled(True)
    linecache.cache[FILENAME] = (len(source), None, source.splitlines(True), FILENAME)
    try:
        exec(compile(source, FILENAME, "exec"), {"__name__": "__main__"})
    except Exception as error:  # noqa: BLE001  whatever the program raises is what happened
        trace = sys.exc_info()[2]
        line = None
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == FILENAME:
                line = trace.tb_lineno
            trace = trace.tb_next
        return line, str(error)
    finally:
        torch.set_grad_enabled(True)
    return None, ""


def variables(source: str) -> dict[str, object]:
    """The global variables of a program after PyTorch has run it."""
    import torch

    torch.manual_seed(0)
    names: dict[str, object] = {"__name__": "__main__"}
    with warnings.catch_warnings(), torch.enable_grad():
        warnings.simplefilter("ignore")
        exec(compile(source, FILENAME, "exec"), names)
    return names

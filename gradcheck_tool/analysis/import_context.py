"""What a program is checked with: the rest of its repository, and the models of libraries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gradcheck_tool.analysis.pace import UNHURRIED, Pace

if TYPE_CHECKING:
    from gradcheck_tool.analysis.given import Surroundings
    from gradcheck_tool.ir.nodes import ModuleIR
    from gradcheck_tool.library.model_packs import ModelPacks
    from gradcheck_tool.triage.triage import Computes, Leads

# `imports(importer, dotted, level)` is the IR of the file that an import in a file leads to, or None.
Imports = Callable[[str, str, int], "ModuleIR | None"]


@dataclass(slots=True)
class Extent:
    """How far an execution went.

    Attributes:
        unfinished: the names of the functions that reached the work limit.
        long: the names of entry points that took more than their limit.
        is_short: with more work there might be more to find.
        entered: file and qualified name of the functions elsewhere that the top-level code led to, if it
            came to its end.
    """

    unfinished: list[str] = field(default_factory=list)
    long: frozenset[str] = frozenset()
    is_short: bool = False
    entered: set[tuple[str, str]] = field(default_factory=set)


@dataclass(frozen=True)
class ImportContext:
    """What a program is checked with.

    Attributes:
        imports: finds other files of the repository; without it, every import is unknown.
        partial_imports: the same, where the modules may be light and in part.
        leads: tells whether an import of the program leads to code of the repository that computes gradients.
        computes: tells whether what is called of an import computes gradients.
        elsewhere: the other files of the repository, which call what the file defines.
        extent: gets how far the last execution went.
        models: what libraries do; the models that are built in if not given.
        pace: how long the check may take.
    """

    imports: Imports | None = None
    partial_imports: Imports | None = None
    leads: Leads | None = None
    computes: Computes | None = None
    elsewhere: Surroundings | None = None
    extent: Extent = field(default_factory=Extent)
    models: ModelPacks | None = None
    pace: Pace = UNHURRIED

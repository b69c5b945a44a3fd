"""What both engines produce: a finding, where it is, and how it came about.

Rows and columns are 1-based and an end is exclusive, as in every report format.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping


Source = Literal["check", "gradcheck", "run"]

StepKind = Literal[
    "made",
    "alias",
    "saved",
    "changed",
    "freed",
    "cut",
    "switched",
    "backward",
    "applied",
    "cleared",
    "called",
    "branch",
    "raised",
    "note",
]
"""What happens in a step of a story.

Something is `made`, `saved` by a graph node, or gets another name for the same memory (`alias`); memory is
`changed`; a graph is `freed` or `cut` off; gradients are `switched` on or off, filled by a `backward`,
`applied` by a step, `cleared`; a function is `called`, a `branch` is taken, PyTorch has `raised`. All else is
a `note`.
"""

InRun = Literal["confirmed", "not reached", "contradicted", "open"]
"""What a watched run says of what is predicted."""


class Severity(str, Enum):
    """How much a finding matters, from the most; the value is the word used in every report."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Applicability(str, Enum):
    """Whether a fix keeps values and graph (`safe`) or needs a reader's eye (`unsafe`)."""

    SAFE = "safe"
    UNSAFE = "unsafe"


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place between two characters: 1-based row, 1-based column in code points."""

    row: int
    column: int


@dataclass(frozen=True, slots=True, order=True)
class Location:
    """A half-open span of source text. `cell` is the 1-based notebook cell, else None."""

    filename: str
    start: Position
    end: Position
    cell: int | None = None


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One step of the story a finding tells, in program order.

    `tensor` is the source text of the tensor that it is about. `storage` numbers the memory of that tensor
    within the story, from 1, and `version` says how often it has changed: what a run measured, else counted
    from the first step about that memory. All three are None where nothing is known.
    """

    location: Location
    message: str
    kind: StepKind = "note"
    tensor: str | None = None
    storage: int | None = None
    version: int | None = None


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the text from `start` to `end` by `content`."""

    content: str
    start: Position
    end: Position


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that make the finding go away, applied together or not at all."""

    applicability: Applicability
    message: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong at one place.

    `predicts` is the error text PyTorch would raise or the silent effect; None where the rule
    foretells neither. `assumes` has in words what the finding takes from ordinary use of the code, beyond
    what the code shows. `units` are the functions whose execution on their own shows it, where the top-level
    code of no program leads to it. `unless` has attributes, with their classes, that no other file of the
    repository mentions where the finding is right, `unless_set` those that none sets. `function`, `device`,
    `dtype` are set by the run-time engine, `evidence` where something was measured. `source` is the command
    that found it. `in_run` is what a watched run says of it, where one was asked.
    """

    code: str
    name: str
    severity: Severity
    message: str
    location: Location
    predicts: str | None = None
    trace: tuple[TraceStep, ...] = ()
    fix: Fix | None = None
    url: str = ""
    assumes: tuple[str, ...] = ()
    function: str | None = None
    device: str | None = None
    dtype: str | None = None
    evidence: Mapping[str, Any] | None = field(default=None, hash=False)
    source: Source = "check"
    in_run: InRun | None = field(default=None, compare=False)
    units: tuple[str, ...] = field(default=(), compare=False, repr=False)
    unless: tuple[tuple[str, str], ...] = field(default=(), compare=False, repr=False)
    unless_set: tuple[tuple[str, str], ...] = field(default=(), compare=False, repr=False)

    def sort_key(self) -> tuple[str, int, Location, str, str]:
        """Reports list findings by place, then code, then text, whatever order produced them.

        A notebook's are in the order of its cells.
        """
        return (self.location.filename, self.location.cell or 0, self.location, self.code, self.message)

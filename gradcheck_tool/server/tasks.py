"""What the process that talks with the editor asks of the one that analyses, and what that answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from gradcheck_tool.findings import Finding


@dataclass(frozen=True, slots=True)
class Settings:
    """What the editor's settings say, of which the configuration of a folder knows nothing.

    Attributes:
        select: rules to apply in place of the configured ones; none: as configured.
        ignore: codes to leave out.
        configuration: a file to use everywhere.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    configuration: Path | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """Something to do. `number` is unique; `root` is the folder that the file belongs to."""

    number: int
    root: Path
    path: Path


@dataclass(frozen=True, slots=True)
class Check(Task):
    """Check a file with this text; a file that is `unnamed` is nowhere on disk and imported by none."""

    text: str
    unnamed: bool = False


@dataclass(frozen=True, slots=True)
class Know(Task):
    """A file has this text, for checks of others."""

    text: str


@dataclass(frozen=True, slots=True)
class FixAll(Task):
    """Make all safe fixes in a text."""

    text: str


@dataclass(frozen=True, slots=True)
class Page(Task):
    """The documentation of a rule."""

    code: str


@dataclass(frozen=True, slots=True)
class Lenses(Task):
    """What is known of the Functions in a text."""

    text: str


@dataclass(frozen=True, slots=True)
class Forget(Task):
    """A file is as it is on disk from now on."""


@dataclass(frozen=True, slots=True)
class Reload(Task):
    """Read configurations, rules and files of all roots anew."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Nobody waits for the task of this number any more."""

    number: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a task, or what is known of it soon.

    Attributes:
        number: that of the task.
        findings: of a `Check`, in this file and those that it leads to.
        is_first: the findings are those of a quick check; another answer follows.
        quick: of an answer that follows, what the quick check of the same text has found; None without one.
        is_stopped: the task was not carried out to its end, as nobody waits for it.
        is_broken: the text is not Python, so that nothing is known of it.
        text: of a `FixAll` the fixed text, of a `Page` its Markdown.
        lenses: rows and words.
        error: why nothing could be done, for people.
    """

    number: int
    findings: tuple[Finding, ...] = ()
    is_first: bool = False
    quick: tuple[Finding, ...] | None = None
    is_stopped: bool = False
    is_broken: bool = False
    text: str | None = None
    lenses: tuple[tuple[int, str], ...] = ()
    error: str | None = None

"""`gradlint explain`."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gradcheck_tool.cli import options
from gradcheck_tool.cli.completion import rules
from gradcheck_tool.cli.console import When, fail, look, print_out, tell_left_out
from gradcheck_tool.cli.output import targets, write_file
from gradcheck_tool.config import ConfigError, Overrides
from gradcheck_tool.sources.discover import absolute
from gradcheck_tool.sources.lines import SourceLines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.cli.output import Target
    from gradcheck_tool.findings import Finding
    from gradcheck_tool.report.picture.layout import Picture
    from gradcheck_tool.session.session import Outcome, Session

FORMATS = ("text", "html")
# `train.py:12`, `train.py:12:5` and `notebook.ipynb:cell 3:12:5`, as reports print places.
_PLACE = re.compile(r"(?P<file>.+?)(?::cell (?P<cell>\d+))?:(?P<row>\d+)(?::\d+)?:?")


def explain(
    place: Annotated[
        str, typer.Argument(metavar="FILE:ROW", help="Where the finding is; notebooks: `FILE:cell N:ROW`.")
    ],
    code: Annotated[
        str | None,
        typer.Argument(autocompletion=rules, help="Code or name of its rule, where there are several."),
    ] = None,
    output_format: Annotated[
        str, typer.Option(metavar="FORMAT[=FILE]", help=f"{' or '.join(FORMATS)}.")
    ] = "text",
    output_file: options.OutputFile = None,
    select: options.Select = None,
    config: options.Config = None,
    isolated: options.Isolated = False,
    trust: options.Trust = False,
    color: options.Color = When.AUTO,
) -> None:
    """Draw how a finding comes about.

    Shows the source with numbered steps, and what they do to memory, graph nodes and gradients.
    """
    from gradcheck_tool.session.session import Options, Session

    found = _PLACE.fullmatch(place)
    if found is None:
        fail(f"{place}: give a file and a row, such as train.py:12")
    path, row = Path(found["file"]), int(found["row"])
    cell = int(found["cell"]) if found["cell"] else None
    (target,) = targets([output_format], output_file, FORMATS)
    overrides = Overrides(
        isolated=isolated,
        path=options.config_file(config),
        settings=options.settings(config),
        select=options.codes("--select", select),
        trust=trust,
    )
    try:
        session = Session(Path.cwd(), Options(overrides, cache=True, jobs=0))
        outcome = session.check([path])
        tell_left_out(session.configs_in_force(), Path.cwd())
        _refuse_problems(outcome)
        wanted = _wanted(outcome, absolute(path), cell, row, code)
        if not wanted and absolute(path).is_relative_to(Path.cwd()):
            # What is wrong may show only where another file of the project leads there.
            outcome = session.check([path, Path()])
            wanted = _wanted(outcome, absolute(path), cell, row, code)
        if not wanted:
            fail(_nothing(outcome, absolute(path), place, code))
        pictures = [_picture(session, outcome, finding) for finding in wanted]
    except ConfigError as error:
        fail(str(error))
    if not _write(target, pictures, session, color):
        raise typer.Exit(2)


def _refuse_problems(outcome: Outcome) -> None:
    """Say why a file cannot be explained that cannot be read."""
    for problem in outcome.problems:
        if problem.fatal:
            fail(f"{problem.path}: {problem.message}")


def _wanted(outcome: Outcome, path: Path, cell: int | None, row: int, code: str | None) -> list[Finding]:
    """The findings at a row: those that stand there, else those of whose story a step does."""
    here = [
        finding
        for finding in outcome.findings
        if code is None or code.upper() == finding.code or code == finding.name
    ]

    def is_at(one: Finding, steps: bool) -> bool:
        places = [step.location for step in one.trace] if steps else [one.location]
        return any(
            each.filename == str(path)
            and each.cell in (cell, each.cell if cell is None else cell)
            and each.start.row <= row <= max(each.start.row, each.end.row - (each.end.column == 1))
            for each in places
        )

    return [one for one in here if is_at(one, False)] or [one for one in here if is_at(one, True)]


def _nothing(outcome: Outcome, path: Path, place: str, code: str | None) -> str:
    rows = sorted({one.location.start.row for one in outcome.findings if one.location.filename == str(path)})
    which = f"no finding of {code}" if code else "no finding"
    there = f"; there are findings in rows {', '.join(map(str, rows))}" if rows else ""
    return f"{place}: {which} here{there}"


def _picture(session: Session, outcome: Outcome, finding: Finding) -> Picture:
    from gradcheck_tool.report.picture.layout import picture
    from gradcheck_tool.report.shown import shown

    story = session.story(finding, outcome)
    return picture(shown(finding), SourceLines(), story)


def _write(target: Target, pictures: Sequence[Picture], session: Session, color: When) -> bool:
    from gradcheck_tool.report.context import ReportContext

    shown = look(sys.stdout, color, to_file=target.file is not None)
    context = ReportContext(Path.cwd(), SourceLines(), session.rules_in_force, **shown)
    if target.format == "html":
        from gradcheck_tool.report.html import page

        text = page(pictures, context)
    else:
        from gradcheck_tool.report.drawing import draw
        from gradcheck_tool.report.drawing.glyphs import ASCII, UNICODE

        glyphs = UNICODE if _can_print(UNICODE.head + UNICODE.looks["wrong"]) else ASCII
        width = shutil.get_terminal_size().columns
        text = "\n".join(draw(one, context, width, glyphs) for one in pictures)
    return print_out(text) if target.file is None else write_file(target.file, text)


def _can_print(characters: str) -> bool:
    try:
        characters.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True

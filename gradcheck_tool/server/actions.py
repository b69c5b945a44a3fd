"""Code actions: fixes, suppressions with a reason, and all safe fixes at once."""

from __future__ import annotations

import difflib
from dataclasses import replace
from typing import TYPE_CHECKING

from lsprotocol import types

from gradcheck_tool.findings import Applicability
from gradcheck_tool.fixes.noqa import CommentForm, noqa_edits
from gradcheck_tool.server.diagnostics import diagnostic
from gradcheck_tool.sources.source import Source, split_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gradcheck_tool.findings import Edit, Finding
    from gradcheck_tool.server.documents import Part, Places, Program

FIX_ALL = "source.fixAll.gradlint"
# Editors ask for this kind at a cell of a notebook, and mean all of its cells.
FIX_NOTEBOOK = f"notebook.{FIX_ALL}"
# What a new suppression says until somebody says why it is there.
REASON = "say why"


def actions(
    findings: Sequence[Finding], part: Part, wanted: types.Range, only: Sequence[str] | None, places: Places
) -> Iterator[types.CodeAction]:
    """What can be done about the findings of a document.

    Args:
        findings: those of the document, in its text as it is.
        part: the document.
        wanted: the place that the editor asks about.
        only: kinds of actions that it asks for; all if None.
        places: turns rows and columns into those of the editor.
    """
    if _is_asked(types.CodeActionKind.QuickFix.value, only):
        for finding in findings:
            if _meet(places.range(finding.location), wanted):
                yield from _of(finding, part, places)


def fix_all(
    findings: Iterable[Finding], program: Program, only: Sequence[str] | None
) -> Iterator[types.CodeAction]:
    """All safe fixes of a file or a notebook at once, where `findings` in it have any."""
    kind = FIX_NOTEBOOK if program.is_notebook else FIX_ALL
    is_fixable = any(one.fix and one.fix.applicability is Applicability.SAFE for one in findings)
    if is_fixable and _is_asked(kind, only):
        yield types.CodeAction("Make all safe fixes of gradlint", kind=kind, data={"uri": program.uri})


def _is_asked(kind: str, only: Sequence[str] | None) -> bool:
    """Is a kind of action, or one that it is a kind of, asked for?"""
    return only is None or any(kind == one or kind.startswith(f"{one}.") for one in only)


def _meet(one: types.Range, other: types.Range) -> bool:
    return one.start <= other.end and other.start <= one.end


def _of(finding: Finding, part: Part, places: Places) -> Iterator[types.CodeAction]:
    about = [diagnostic(finding, places)]
    lines = split_lines(part.text)
    if finding.fix is not None:
        is_safe = finding.fix.applicability is Applicability.SAFE
        title = (
            finding.fix.message if is_safe else f"{finding.fix.message} (unsafe: read it before you keep it)"
        )
        yield types.CodeAction(
            f"{finding.code}: {title}",
            kind=types.CodeActionKind.QuickFix,
            diagnostics=about,
            is_preferred=is_safe,
            edit=_changed(part, finding.fix.edits, lines, places),
        )
    source = Source(finding.location.filename, part.text)
    here = replace(finding, location=replace(finding.location, cell=None))
    comment = noqa_edits(source, [here], CommentForm(reason=REASON))
    if comment:
        yield types.CodeAction(
            f"{finding.code}: suppress it here, and say why",
            kind=types.CodeActionKind.QuickFix,
            diagnostics=about,
            edit=_changed(part, comment, lines, places),
        )


def _changed(part: Part, edits: Sequence[Edit], lines: Sequence[str], places: Places) -> types.WorkspaceEdit:
    changes = [
        types.TextEdit(
            types.Range(places.position(edit.start, lines), places.position(edit.end, lines)), edit.content
        )
        for edit in edits
    ]
    return types.WorkspaceEdit(document_changes=[_rewritten(part, changes)])


def rewritten(program: Program, fixed: str) -> types.WorkspaceEdit:
    """Changes that make a program what it is as `fixed`, in each document that differs."""
    pairs = zip(program.parts, program.texts(fixed), strict=True)
    changed = [(part, differences(part.text, text)) for part, text in pairs if part.text != text]
    return types.WorkspaceEdit(document_changes=[_rewritten(part, changes) for part, changes in changed])


def _rewritten(part: Part, changes: Sequence[types.TextEdit]) -> types.TextDocumentEdit:
    """Changes of a document, for the version that they were made for alone."""
    document = types.OptionalVersionedTextDocumentIdentifier(part.uri, part.version)
    return types.TextDocumentEdit(document, [*changes])


def differences(before: str, after: str) -> list[types.TextEdit]:
    """The lines that differ, as changes of the first text: what else the editor knows of it stays."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    return [
        types.TextEdit(
            types.Range(types.Position(first, 0), types.Position(last, 0)), "".join(new[start:end])
        )
        for kind, first, last, start, end in matcher.get_opcodes()
        if kind != "equal"
    ]

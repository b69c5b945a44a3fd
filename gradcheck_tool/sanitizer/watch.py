"""Watches a part of a program, or all that is left of it."""

from __future__ import annotations

import sys
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from gradcheck_tool.sanitizer.arrays import arrays_watched
from gradcheck_tool.sanitizer.checkpoints import checkpoints_watched
from gradcheck_tool.sanitizer.clearing import clearing_watched
from gradcheck_tool.sanitizer.clipping import clipping_watched
from gradcheck_tool.sanitizer.compiled import compile_none_of_ours
from gradcheck_tool.sanitizer.cuts import lists_watched
from gradcheck_tool.sanitizer.data import data_watched
from gradcheck_tool.sanitizer.forward_hooks import forward_hooks_watched
from gradcheck_tool.sanitizer.grad_mode import grad_mode_watched
from gradcheck_tool.sanitizer.hooks import hooks_watched
from gradcheck_tool.sanitizer.judges import overwritten, recomputed
from gradcheck_tool.sanitizer.judges.ending import conclude
from gradcheck_tool.sanitizer.judges.raised import explain, went_on
from gradcheck_tool.sanitizer.left_alone import ways_out_watched
from gradcheck_tool.sanitizer.lines import lines_watched
from gradcheck_tool.sanitizer.modes import modes_watched
from gradcheck_tool.sanitizer.parameters import parameters_watched
from gradcheck_tool.sanitizer.passes import passes_watched
from gradcheck_tool.sanitizer.records import Records
from gradcheck_tool.sanitizer.reducing import reducing_watched
from gradcheck_tool.sanitizer.reentrant import reentrant_watched
from gradcheck_tool.sanitizer.refusals import refusals_watched
from gradcheck_tool.sanitizer.scaling import scaling_watched
from gradcheck_tool.sanitizer.steps import steps_watched
from gradcheck_tool.sanitizer.threads import threads_watched
from gradcheck_tool.sanitizer.warned import warnings_watched

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.findings import Finding
    from gradcheck_tool.report.not_watched import NotWatched


class Watched:
    """What a watched part of a program showed.

    Attributes:
        findings: the mistakes, once the part has ended.
        not_watched: what was left alone.
    """

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.not_watched: list[NotWatched] = []


@contextmanager
def watch(*, quiet: bool = False, keep_going: bool = False) -> Iterator[Watched]:
    """Watch autograd in a part of a program, and report its mistakes at the end.

    The program does what it would do, and raises what it would raise. Findings are printed to standard error
    unless `quiet`, and are in the `findings` of what `with ... as` binds. With `keep_going`, what PyTorch
    refuses is reported, and the program goes on where there is a way.

    Example::

        with gradcheck_tool.watch():
            train(model, batches)
    """
    seen, records = Watched(), Records(keep_going=keep_going)
    try:
        with observed(records):
            try:
                yield seen
            except Exception as error:
                # While nodes are still known by the places that made them.
                records.told.add_all(explain(error, records))
                raise
    finally:
        conclude(records)
        _report(seen, records, quiet)


@contextmanager
def observed(records: Records) -> Iterator[None]:
    """What happens inside is recorded."""
    compile_none_of_ours()
    records.judges_of_needs.append(overwritten.judge)
    records.recomputing.listeners.append(lambda other: recomputed.judge(other, records))
    records.refusals.listeners.append(lambda error, site: records.told.add_all(went_on(error, records, site)))
    with ExitStack() as stack:
        stack.enter_context(refusals_watched(records.refusals))
        stack.enter_context(passes_watched(records.passes))
        stack.enter_context(steps_watched(records.steps))
        stack.enter_context(parameters_watched(records.parameters))
        stack.enter_context(clipping_watched(records.clipping))
        stack.enter_context(scaling_watched(records.scaling))
        stack.enter_context(reducing_watched(records.reducing))
        stack.enter_context(modes_watched(records.modes))
        stack.enter_context(clearing_watched(records.clearing))
        stack.enter_context(arrays_watched(records.storages.arrays))
        stack.enter_context(checkpoints_watched(records.recomputing))
        stack.enter_context(reentrant_watched(records.replays))
        stack.enter_context(data_watched(records.storages.moves))
        stack.enter_context(grad_mode_watched())
        stack.enter_context(lists_watched(records.cuts))
        stack.enter_context(hooks_watched(records.hooks))
        stack.enter_context(forward_hooks_watched(records.hooks))
        stack.enter_context(warnings_watched(records.warned))
        stack.enter_context(ways_out_watched(records.left_alone))
        stack.enter_context(threads_watched(records))
        if records.lines is not None:
            stack.enter_context(lines_watched(records.lines))
        yield


def _report(seen: Watched, records: Records, quiet: bool) -> None:
    from pathlib import Path

    from gradcheck_tool.report import render
    from gradcheck_tool.report.context import ReportContext
    from gradcheck_tool.report.left_out import left_out_line
    from gradcheck_tool.report.not_watched import in_a_line
    from gradcheck_tool.sanitizer.cells import cell_names, sources_of
    from gradcheck_tool.sanitizer.findings import completed
    from gradcheck_tool.session.session import Options, Session
    from gradcheck_tool.sources.lines import SourceLines

    told, folder = records.told.all(), Path.cwd()
    seen.not_watched = records.left_alone.all()
    if told:
        session = Session(folder, Options())
        for name, text in sources_of(one.location.filename for one in told).items():
            session.update(Path(name), text)
        seen.findings = completed(told, session).findings
        if line := left_out_line(session.configs_in_force(), folder):
            sys.stderr.write(f"gradlint: {line}\n")
    if quiet:
        return
    files = {one.location.filename for one in seen.not_watched}
    for one in seen.findings:
        files |= {one.location.filename, *(step.location.filename for step in one.trace)}
    sources = {name: text.encode() for name, text in sources_of(files).items()}
    context = ReportContext(folder, SourceLines(sources), names=cell_names(files))
    if seen.findings:
        sys.stderr.write(render("full", seen.findings, context))
    if seen.not_watched:
        line = in_a_line(seen.not_watched, context.relative)
        sys.stderr.write(f"gradlint: {line}\n")

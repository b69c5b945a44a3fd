"""The process that analyses: it carries out one task after the other, and remembers what it has read."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from gradcheck_tool.analysis.pace import UNHURRIED, Outdated, Pace
from gradcheck_tool.config import CACHE_FOLDER, ConfigError, Overrides
from gradcheck_tool.server.inbox import Inbox
from gradcheck_tool.server.lenses import lenses
from gradcheck_tool.server.reading import read
from gradcheck_tool.server.tasks import (
    Answer,
    Check,
    FixAll,
    Forget,
    Know,
    Lenses,
    Page,
    Reload,
    Settings,
    Task,
)
from gradcheck_tool.session.session import Options, Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.connection import Connection
    from pathlib import Path

    from gradcheck_tool.server.reading import Reading

# What the cyclic collector waits for: most of what an analysis makes is freed without it.
_GARBAGE = 200_000


def serve(connection: Connection, settings: Settings) -> None:
    """Carry out tasks until the connection ends."""
    _leave_streams()
    gc.set_threshold(_GARBAGE, 50, 50)
    inbox = Inbox(connection)
    worker = Worker(settings, inbox.pause)
    with suppress(EOFError, OSError, KeyboardInterrupt):
        while True:
            for answer in worker.carry_out(inbox.next()):
                connection.send(answer)
                if answer.is_first:
                    # Now, while nobody waits, and not in the middle of the next quick check.
                    gc.collect(0)
            if inbox.is_empty:
                gc.collect(0)


def _leave_streams() -> None:
    """The standard streams are the editor's: nothing here reads or writes them."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    sys.stdout = sys.stderr


class Worker:
    """Sessions by root, each with the configurations, rules and modules that it has loaded."""

    def __init__(self, settings: Settings, pause: Callable[[], object] = bool) -> None:
        """`pause` is called again and again while a text is checked; it raises `Outdated` to end that."""
        self._paces = Pace(is_quick=True, pause=pause), Pace(pause=pause)
        self._overrides = Overrides(
            path=settings.configuration,
            select=settings.select,
            ignore=settings.ignore,
        )
        self._sessions: dict[Path, Session] = {}
        self._texts: dict[Path, str] = {}
        self._known: dict[Path, tuple[Reading, Answer]] = {}

    def carry_out(self, task: Task) -> Iterator[Answer]:
        """The answers to a task, of which the last is final; none where nobody waits for one."""
        if isinstance(task, Reload):
            self._sessions.clear()
            self._known.clear()
        elif isinstance(task, Know):
            self._take(task)
        elif isinstance(task, Forget):
            self._texts.pop(task.path, None)
            self._known.clear()
            for session in self._sessions.values():
                session.forget(task.path)
        else:
            yield from self._answered(task)

    def _answered(self, task: Task) -> Iterator[Answer]:
        try:
            session = self._session(task.root)
            if isinstance(task, Check):
                yield from self._check(session, task)
            else:
                yield _told(session, task)
        except Outdated:
            yield Answer(task.number, is_stopped=True)
        except ConfigError as error:
            yield Answer(task.number, error=str(error))
        except Exception as error:  # noqa: BLE001 - one text must not end the process
            yield Answer(task.number, error=f"internal error: {type(error).__name__}: {error}")

    def _check(self, session: Session, task: Check) -> Iterator[Answer]:
        """Check a text, unless it reads as the one before, or is no program where that was one.

        A quick check comes first. Where it has left nothing out, it is all that there is to say.
        """
        reading = None if task.path.suffix == ".ipynb" else read(task.text)
        known = self._known.get(task.path)
        if known is not None and reading is None:
            yield Answer(task.number, is_broken=True)
            return
        quick, whole = self._paces
        if known is not None and known[0] == reading:
            answer = replace(known[1], number=task.number)
        else:
            answer = self._remember(task, reading, self._checked(session, task, quick))
        if answer.is_first:
            yield answer
            last = replace(self._checked(session, task, whole), is_first=False, quick=answer.findings)
            answer = self._remember(task, reading, last)
        yield answer

    def _remember(self, task: Check, reading: Reading | None, answer: Answer) -> Answer:
        if reading is not None and not answer.is_broken:
            self._known[task.path] = (reading, answer)
        return answer

    def _checked(self, session: Session, task: Check, pace: Pace) -> Answer:
        if not task.unnamed:
            self._take(task)
        session.checker.pace = pace
        try:
            if task.unnamed or not task.path.exists():
                outcome = session.check_text(task.text.encode(errors="surrogatepass"), str(task.path))
            else:
                outcome = session.check([task.path])
        finally:
            session.checker.pace = UNHURRIED
        is_broken = bool(outcome.problems) and not outcome.findings
        return Answer(task.number, tuple(outcome.findings), is_first=outcome.is_short, is_broken=is_broken)

    def _take(self, task: Check | Know) -> None:
        """Take the file to have this text in all sessions, where that is news."""
        if self._texts.get(task.path) != task.text:
            self._texts[task.path] = task.text
            # What is known of the file itself holds for what it reads as.
            self._known = {path: known for path, known in self._known.items() if path == task.path}
            for session in self._sessions.values():
                session.update(task.path, task.text)

    def _session(self, root: Path) -> Session:
        if root not in self._sessions:
            session = Session(root, Options(self._overrides, force_exclude=True))
            for path, text in self._texts.items():
                session.update(path, text)
            self._sessions[root] = session
        return self._sessions[root]


def _told(session: Session, task: Task) -> Answer:
    """The answer to a question."""
    if isinstance(task, FixAll):
        data = session.fix_text(task.text.encode(errors="surrogatepass"), str(task.path), False)
        return Answer(task.number, text=data.decode(errors="surrogatepass"))
    if isinstance(task, Lenses):
        cache = session.config(task.path.parent).root / CACHE_FOLDER
        return Answer(task.number, lenses=tuple(lenses(task.path, task.text, cache)))
    assert isinstance(task, Page)
    return Answer(task.number, text=_page(session, task.code))


def _page(session: Session, code: str) -> str | None:
    from gradcheck_tool.rulebook.documentation import render

    return next((render(rule) for rule in session.rules_known() if rule.code == code), None)

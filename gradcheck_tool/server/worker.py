"""The process that analyses: it carries out one task after the other, and remembers what it has read."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from gradcheck_tool.config import CACHE_FOLDER, ConfigError, Overrides
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
    from multiprocessing.connection import Connection
    from pathlib import Path

    from gradcheck_tool.server.reading import Reading

# What the cyclic collector waits for: most of what an analysis makes is freed without it.
_GARBAGE = 200_000


def serve(connection: Connection, settings: Settings) -> None:
    """Carry out tasks until the connection ends."""
    _leave_streams()
    gc.set_threshold(_GARBAGE, 50, 50)
    worker = Worker(settings)
    with suppress(EOFError, OSError, KeyboardInterrupt):
        while True:
            task = connection.recv()
            answer = worker.carry_out(task)
            if answer is not None:
                connection.send(answer)
            if not connection.poll():
                gc.collect(0)


def _leave_streams() -> None:
    """The standard streams are the editor's: nothing here reads or writes them."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    sys.stdout = sys.stderr


class Worker:
    """Sessions by root, each with the configurations, rules and modules that it has loaded."""

    def __init__(self, settings: Settings) -> None:
        self._overrides = Overrides(
            path=settings.configuration,
            select=settings.select,
            ignore=settings.ignore,
        )
        self._sessions: dict[Path, Session] = {}
        self._texts: dict[Path, str] = {}
        self._known: dict[Path, tuple[Reading, Answer]] = {}

    def carry_out(self, task: Task) -> Answer | None:
        """The answer to a task; None where nobody waits for one."""
        if isinstance(task, Reload):
            self._sessions.clear()
            self._known.clear()
            return None
        if isinstance(task, Know):
            self._take(task)
            return None
        if isinstance(task, Forget):
            self._texts.pop(task.path, None)
            self._known.clear()
            for session in self._sessions.values():
                session.forget(task.path)
            return None
        try:
            return self._answer(task)
        except ConfigError as error:
            return Answer(task.number, error=str(error))
        except Exception as error:  # noqa: BLE001 - one text must not end the process
            return Answer(task.number, error=f"internal error: {type(error).__name__}: {error}")

    def _answer(self, task: Task) -> Answer:
        session = self._session(task.root)
        if isinstance(task, Check):
            return self._check(session, task)
        if isinstance(task, FixAll):
            data = session.fix_text(task.text.encode(), str(task.path), False)
            return Answer(task.number, text=data.decode())
        if isinstance(task, Lenses):
            cache = session.config(task.path.parent).root / CACHE_FOLDER
            return Answer(task.number, lenses=tuple(lenses(task.path, task.text, cache)))
        assert isinstance(task, Page)
        return Answer(task.number, text=_page(session, task.code))

    def _check(self, session: Session, task: Check) -> Answer:
        """Check a text, unless it reads as the one before, or is no program where that was one."""
        reading = None if task.path.suffix == ".ipynb" else read(task.text)
        known = self._known.get(task.path)
        if known is not None and reading is None:
            return Answer(task.number, is_broken=True)
        if known is not None and known[0] == reading:
            return replace(known[1], number=task.number)
        answer = self._checked(session, task)
        if reading is not None and not answer.is_broken:
            self._known[task.path] = (reading, answer)
        return answer

    def _checked(self, session: Session, task: Check) -> Answer:
        if task.unnamed or not task.path.exists():
            if not task.unnamed:
                self._take(task)
            outcome = session.check_text(task.text.encode(), str(task.path))
        else:
            self._take(task)
            outcome = session.check([task.path])
        is_broken = bool(outcome.problems) and not outcome.findings
        return Answer(task.number, tuple(outcome.findings), is_broken)

    def _take(self, task: Check | Know) -> None:
        """Take the file to have this text in all sessions, where that is news."""
        if self._texts.get(task.path) != task.text:
            self._texts[task.path] = task.text
            self._known.clear()
            for session in self._sessions.values():
                session.update(task.path, task.text)

    def _session(self, root: Path) -> Session:
        if root not in self._sessions:
            session = Session(root, Options(self._overrides, force_exclude=True))
            for path, text in self._texts.items():
                session.update(path, text)
            self._sessions[root] = session
        return self._sessions[root]


def _page(session: Session, code: str) -> str | None:
    from gradcheck_tool.rulebook.documentation import render

    return next((render(rule) for rule in session.rules_known() if rule.code == code), None)

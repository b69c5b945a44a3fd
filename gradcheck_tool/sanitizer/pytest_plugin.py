"""`pytest --gradlint-run`: each test is watched, and what it shows is told with its node id.

A test is watched from its first fixture to its last: what a run must show in several steps, one test has to.
What was seen travels on the report of the test, so that pytest-xdist brings it to the process that prints.

Loading the plugin imports neither torch nor gradlint's engines.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gradcheck_tool.report import FORMATS
from gradcheck_tool.writing import write_atomically

if TYPE_CHECKING:
    from collections.abc import Generator

    from gradcheck_tool.report.not_watched import NotWatched
    from gradcheck_tool.sanitizer.records import Records
    from gradcheck_tool.sanitizer.told import Told
    from gradcheck_tool.session.session import Session

_SEEN = "gradlint_run"
"""The attribute of the report of a test's teardown that says what the test showed."""
_LEFT_ALONE = "gradlint_left_alone"
"""The attribute that says what of it was not watched."""
_NAMED = 5
"""So many tests are named in which the same mistake was seen."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the command line's options."""
    group = parser.getgroup("gradlint")
    group.addoption(
        "--gradlint-run", action="store_true", help="Watch autograd in each test, and report its mistakes."
    )
    group.addoption(
        "--gradlint-run-output",
        action="append",
        default=[],
        metavar="FORMAT=FILE",
        help=f"Also write the findings to a file: {', '.join(FORMATS)}.",
    )
    group.addoption(
        "--gradlint-run-error-exitcode",
        type=int,
        default=0,
        metavar="N",
        help="Exit with N where there are findings and all tests have passed.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Watch tests where they run, and report where results are printed."""
    if not config.getoption("gradlint_run"):
        return
    config.pluginmanager.register(_Watching(), "gradlint-run-watching")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Reporting(config), "gradlint-run-reporting")


class _Watching:
    """Watches the test that runs."""

    def __init__(self) -> None:
        self._records: Records | None = None
        self._watch = ExitStack()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        """A test begins."""
        from gradcheck_tool.sanitizer.records import Records
        from gradcheck_tool.sanitizer.watch import observed

        self._watch.close()  # a test that was broken off has no end
        self._records = Records()
        self._watch.enter_context(observed(self._records))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """A part of a test has ended: explain why it failed, and after the last part say what it showed."""
        from gradcheck_tool.sanitizer.judges.ending import conclude
        from gradcheck_tool.sanitizer.judges.raised import explain
        from gradcheck_tool.sanitizer.sites import without_ours

        records, error = self._records, call.excinfo.value if call.excinfo is not None else None
        explained: list[Told] = []
        if records is not None and call.excinfo is not None and isinstance(error, Exception):
            explained = explain(error, records)
            call.excinfo = pytest.ExceptionInfo.from_exception(
                error.with_traceback(without_ours(error.__traceback__))
            )
        report = yield
        if records is None:
            return report
        if report.failed:
            records.told.add_all(explained)
        if call.when == "teardown":
            self._watch.close()
            self._records = None
            conclude(records)
            told = records.told.all()
            vars(report)[_SEEN] = [one.to_json() for one in told]
            vars(report)[_LEFT_ALONE] = [asdict(one) for one in records.left_alone.all()]
            report.user_properties += [("gradlint", f"{one.code} {one.message}") for one in told]
        return report

    def pytest_unconfigure(self) -> None:
        """Nothing is watched any more, whatever broke the run off."""
        self._watch.close()


class _Reporting:
    """Collects what the tests showed, in whichever process they ran, and prints it."""

    def __init__(self, config: pytest.Config) -> None:
        from gradcheck_tool.config import ConfigError, Overrides
        from gradcheck_tool.session.session import Options, Session

        self._folder = Path(config.invocation_params.dir)
        self._status: int = config.getoption("gradlint_run_error_exitcode")
        self._files: list[tuple[str, Path]] = []
        for given in config.getoption("gradlint_run_output"):
            name, _, file = given.partition("=")
            if name not in FORMATS or not file:
                raise pytest.UsageError(f"--gradlint-run-output: {given}: give it FORMAT=FILE")
            self._files.append((name, self._folder / file))
        self._seen: dict[object, tuple[Told, list[str]]] = {}
        self._left_alone: dict[NotWatched, None] = {}
        self._unwritten: list[str] = []
        self._text = ""
        try:
            self._session: Session = Session(self._folder, Options(Overrides()))
            self._session.rules_known()
        except ConfigError as error:
            raise pytest.UsageError(f"gradlint: {error}") from error

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A part of a test has ended somewhere."""
        from gradcheck_tool.sanitizer.delivery import not_watched_of
        from gradcheck_tool.sanitizer.told import Told

        self._left_alone.update(dict.fromkeys(map(not_watched_of, getattr(report, _LEFT_ALONE, ()))))
        for data in getattr(report, _SEEN, ()):
            told = Told.from_json(data)
            self._seen.setdefault(told.key, (told, []))[1].append(report.nodeid)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """All tests have run: what do their findings come to?"""
        from gradcheck_tool.report import render
        from gradcheck_tool.report.context import ReportContext
        from gradcheck_tool.sanitizer.findings import completed
        from gradcheck_tool.sources.discover import absolute
        from gradcheck_tool.sources.lines import SourceLines
        from gradcheck_tool.trust.links import refuse_links
        from gradcheck_tool.trust.visible import visible

        found = completed([_with_tests(*one) for one in self._seen.values()], self._session).findings
        reporter: Any = session.config.pluginmanager.get_plugin("terminalreporter")
        color = reporter is not None and reporter.hasmarkup
        lines = SourceLines()
        self._text = render("full", found, ReportContext(self._folder, lines, color=color)) if found else ""
        for name, file in self._files:
            context = ReportContext(
                self._folder, lines, self._session.rules_in_force, not_watched=list(self._left_alone)
            )
            try:
                refuse_links(absolute(file), self._folder)
                write_atomically(file, render(name, found, context))
            except OSError as error:
                self._unwritten.append(
                    visible(f"gradlint: error: {file}: cannot be written: {error.strerror}")
                )
        if session.exitstatus == pytest.ExitCode.OK:
            if self._unwritten:
                session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
            elif found and self._status:
                session.exitstatus = self._status

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the findings, and what was left alone."""
        from gradcheck_tool.report.context import relative_name
        from gradcheck_tool.report.left_out import left_out_line
        from gradcheck_tool.report.not_watched import in_a_line

        if self._text:
            terminalreporter.section("autograd mistakes seen by gradlint")
            terminalreporter.write(self._text)
        for line in self._unwritten:
            terminalreporter.write_line(line)
        if packs := left_out_line(self._session.configs_in_force(), self._folder):
            terminalreporter.write_line(f"gradlint: {packs}")
        if self._left_alone:
            line = in_a_line(self._left_alone, lambda name: relative_name(name, self._folder))
            terminalreporter.write_line(f"gradlint: {line}")


def _with_tests(told: Told, tests: list[str]) -> Told:
    from dataclasses import replace

    evidence = {**told.evidence, "tests": tests[:_NAMED]}
    if len(tests) > _NAMED:
        evidence["tests_in_all"] = len(tests)
    return replace(told, evidence=evidence)

"""The pytest plugin of `gradlint check`: `pytest --gradlint-check` adds a test for each file.

The test fails with gradlint's report of the file. Nothing of what is checked is run, and loading the plugin
imports nothing of gradlint.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from gradcheck_tool.findings import Finding

_SUFFIXES = (".py", ".ipynb")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the option."""
    group = parser.getgroup("gradlint-check", "autograd mistakes in files, without running them")
    group.addoption(
        "--gradlint-check",
        action="store_true",
        help="Check every Python file and notebook in the given paths, each as a test.",
    )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A test for a file, beside those in it. What the configuration excludes has none."""
    if file_path.suffix not in _SUFFIXES or not parent.config.getoption("gradlint_check"):
        return None
    checks = parent.config.stash.setdefault(_CHECKS, _Checks(parent.config.rootpath))
    return _File.from_parent(parent, path=file_path, checks=checks) if checks.wants(file_path) else None


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> Any:
    """Leave a file without tests alone that was named to be checked: pytest would run it to find some."""
    patterns: list[str] = parent.config.getini("python_files")
    if not parent.config.getoption("gradlint_check") or any(map(module_path.match, patterns)):
        return None
    return _Untouched.from_parent(parent, path=module_path)


class _Untouched(pytest.File):
    """A file that is not imported."""

    def collect(self) -> list[pytest.Item]:
        """Nothing."""
        return []


class _Checks:
    """The files of one run of pytest, which are checked together when the first of their tests runs."""

    def __init__(self, root: Path) -> None:
        from gradcheck_tool.config import Overrides
        from gradcheck_tool.session.session import Options, Session

        self._session = Session(root, Options(Overrides(), cache=True, force_exclude=True))
        self._found: dict[Path, list[Finding]] | None = None
        self._problems: dict[Path, str] = {}

    def wants(self, path: Path) -> bool:
        """Whether a file is to be checked: what a configuration excludes is not.

        Raises:
            UsageError: a configuration cannot be used.
        """
        from gradcheck_tool.config import ConfigError

        try:
            return not self._session.leaves_out(str(path))
        except ConfigError as error:
            raise pytest.UsageError(f"gradlint: {error}") from error

    def findings(self, path: Path, files: Collection[Path]) -> list[Finding]:
        """What is found in a file.

        Args:
            path: the file.
            files: all files that have a test, which are checked at the first call.

        Raises:
            UsageError: a configuration, a code or a rule pack cannot be used.
            CheckError: the file cannot be checked.
        """
        from gradcheck_tool.config import ConfigError
        from gradcheck_tool.session.api import CheckError

        if self._found is None:
            try:
                self._found = self._checked(files)
            except ConfigError as error:
                raise pytest.UsageError(f"gradlint: {error}") from error
        if path in self._problems:
            raise CheckError(f"{path}: {self._problems[path]}")
        return self._found.get(path, [])

    def report(self, findings: list[Finding], color: bool) -> str:
        """The report of findings."""
        from gradcheck_tool.report import render
        from gradcheck_tool.report.context import ReportContext
        from gradcheck_tool.sources.lines import SourceLines

        return render("full", findings, ReportContext(Path.cwd(), SourceLines(), color=color)).rstrip("\n")

    def _checked(self, files: Collection[Path]) -> dict[Path, list[Finding]]:
        """Findings by file; those in a file without a test belong to the file whose execution led to them."""
        outcome = self._session.check(list(files))
        self._problems = {Path(one.path): one.message for one in outcome.problems if one.fatal}
        found: dict[Path, list[Finding]] = {}
        for finding in outcome.findings:
            path = Path(finding.location.filename)
            found.setdefault(path if path in files else outcome.ways[finding], []).append(finding)
        return found


_CHECKS: pytest.StashKey[_Checks] = pytest.StashKey()


class _File(pytest.File):
    """A file that is checked."""

    def __init__(self, *, checks: _Checks, **options: Any) -> None:
        super().__init__(**options)
        self._checks = checks

    def collect(self) -> Iterator[pytest.Item]:
        """The one test."""
        yield _Item.from_parent(self, name="gradlint-check", checks=self._checks)


class _Item(pytest.Item):
    """The check of one file."""

    def __init__(self, *, checks: _Checks, **options: Any) -> None:
        super().__init__(**options)
        self._checks = checks

    def runtest(self) -> None:
        """Fail where something is found."""
        # Collecting a file looks at those beside it, too: the tests that run are known only now.
        files = {item.path: None for item in self.session.items if isinstance(item, _Item)}
        findings = self._checks.findings(self.path, files)
        if findings:
            raise _FoundError(findings)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The report alone, without the frames of the plugin."""
        from gradcheck_tool.session.api import CheckError

        if isinstance(excinfo.value, _FoundError):
            reporter: Any = self.config.pluginmanager.get_plugin("terminalreporter")
            return self._checks.report(excinfo.value.findings, reporter is not None and reporter.hasmarkup)
        if isinstance(excinfo.value, CheckError):
            return f"not checked: {excinfo.value}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """The whole file."""
        return self.path, 0, self.name


class _FoundError(Exception):
    """A file has findings."""

    def __init__(self, findings: list[Finding]) -> None:
        number = len(findings)
        super().__init__(f"{number} autograd mistake{'s' if number > 1 else ''}")
        self.findings = findings

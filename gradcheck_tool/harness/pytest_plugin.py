"""The pytest plugin.

- `pytest --gradlint` adds a test for each autograd Function, device and dtype; its failure text is
  gradlint's report. A Function that could not be checked is a skipped test that says why.
- The fixture `gradlint` checks a Function in a test of your own: `gradlint(MyFunction, (x, y))`. Options come
  from the call and from the marker `@pytest.mark.gradlint(seed=1, ...)`.
- `pytest --gradlint-gradcheck` puts gradlint's checker in the place of `torch.autograd.gradcheck` for the
  tests that are there already.

Loading the plugin imports neither torch nor gradlint's engines.
"""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gradcheck_tool.gradcheck import Report
    from gradcheck_tool.harness.outcomes import Outcome
    from gradcheck_tool.harness.run import Plan
    from gradcheck_tool.harness.units import Unit


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the command line's options."""
    group = parser.getgroup("gradlint", "gradients of torch.autograd.Function")
    group.addoption("--gradlint", action="store_true", help="Check autograd Functions, as tests.")
    group.addoption(
        "--gradlint-target",
        action="append",
        metavar="TARGET",
        help="Path, package or module:Name with the Functions. [default: the root folder]",
    )
    group.addoption("--gradlint-device", action="append", metavar="DEVICE", help="cpu, cuda, ...")
    group.addoption("--gradlint-dtype", action="append", metavar="DTYPE", help="float32, bfloat16, ...")
    group.addoption(
        "--gradlint-pass-env",
        action="append",
        metavar="NAME",
        help="An environment variable (or a pattern) that the checked code is to see as well.",
    )
    group.addoption(
        "--gradlint-no-cache", action="store_true", help="Neither read nor write results of earlier runs."
    )
    group.addoption(
        "--gradlint-gradcheck",
        action="store_true",
        help="Let torch.autograd.gradcheck be gradlint's checker during the tests.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and replace PyTorch's gradcheck before any test module binds it."""
    config.addinivalue_line(
        "markers", "gradlint(**options): checks a gradient; options of gradcheck_tool.check_function."
    )
    if config.getoption("gradlint_gradcheck"):
        _replace_gradcheck(config)


def _replace_gradcheck(config: pytest.Config) -> None:
    import torch

    from gradcheck_tool.gradcheck.dropin import gradcheck

    patch = pytest.MonkeyPatch()
    # `torch.autograd` has a function of the name of this module, which hides the module.
    patch.setattr(sys.modules["torch.autograd.gradcheck"], "gradcheck", gradcheck)
    patch.setattr(torch.autograd, "gradcheck", gradcheck)
    config.add_cleanup(patch.undo)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add an item for each unit, in the same order in every process of pytest-xdist."""
    if not config.getoption("gradlint"):
        return
    checks = _Checks(config, config.getoption("gradlint_target") or ["."])
    config.add_cleanup(checks.close)
    for filename, units in groupby(checks.plan.units, key=lambda unit: unit.ref.filename):
        file = _File.from_parent(session, path=Path(filename), units=list(units), checks=checks)
        # By way of the hooks, so that the terminal counts the items.
        report = session.ihook.pytest_make_collect_report(collector=file)
        session.ihook.pytest_collectreport(report=report)
        items += report.result


def _item_name(unit: Unit) -> str:
    """`gradlint::Cube[cpu-float32]`; the file stands before it."""
    return f"gradlint::{unit.name.removeprefix(unit.ref.module + '.')}"


@pytest.fixture
def gradlint(request: pytest.FixtureRequest) -> Callable[..., Report]:
    """Check a Function (or any callable) at given inputs; the test fails with the report if it is wrong."""
    marked: dict[str, Any] = {}
    for mark in reversed(list(request.node.iter_markers("gradlint"))):
        marked.update(mark.kwargs)

    def check(func: Any, inputs: Any, kwargs: Any = None, **options: Any) -> Report:
        __tracebackhide__ = True
        from gradcheck_tool.gradcheck import check_function

        report = check_function(func, inputs, kwargs, **{**marked, **options})
        if not report.ok:
            pytest.fail(report.text(), pytrace=False)
        return report

    return check


class _Checks:
    """What the items of one session share: the plan, and one worker process that is reused."""

    def __init__(self, config: pytest.Config, targets: list[str]) -> None:
        from gradcheck_tool.config import ConfigError, Overrides
        from gradcheck_tool.harness.run import Harness
        from gradcheck_tool.harness.settings import check_devices, check_dtypes
        from gradcheck_tool.harness.targets import TargetError

        try:
            harness = Harness(config.rootpath, Overrides())
            settings = harness.settings.with_choices(
                devices=check_devices(_tuple(config.getoption("gradlint_device")) or ()) or None,
                dtypes=check_dtypes(_tuple(config.getoption("gradlint_dtype")) or ()) or None,
                pass_env=_tuple(config.getoption("gradlint_pass_env")),
            )
            self.plan: Plan = harness.plan(targets, settings)
        except (ConfigError, TargetError, ValueError) as error:
            raise pytest.UsageError(f"gradlint: {error}") from error
        keep = not config.getoption("gradlint_no_cache")
        steps = harness.steps(self.plan, _processes(config), keep=keep)
        self.check, self.close = steps.check, steps.close


class _File(pytest.File):
    """A file with Functions."""

    def __init__(self, *, units: list[Unit], checks: _Checks, **options: Any) -> None:
        super().__init__(**options)
        self._units = units
        self._checks = checks

    def collect(self) -> Iterator[pytest.Item]:
        """An item for each Function, device and dtype."""
        for unit in self._units:
            yield _Item.from_parent(self, name=_item_name(unit), unit=unit, checks=self._checks)


class _Item(pytest.Item):
    """One Function on one device in one dtype."""

    def __init__(self, *, unit: Unit, checks: _Checks, **options: Any) -> None:
        super().__init__(**options)
        self._unit = unit
        self._checks = checks
        self.add_marker("gradlint")

    def runtest(self) -> None:
        """Check the Function in a worker process."""
        outcome, *earlier = self._checks.check(self._unit)
        # The test of a Function that was found to corrupt the process has passed by now.
        wrong = next((made for made in (outcome, *earlier) if made.status in ("wrong", "crashed")), None)
        if wrong is not None:
            raise _Wrong(wrong)
        if outcome.status == "not checked":
            pytest.skip(f"not checked: {outcome.cause}")
        self.add_report_section("call", "gradlint", outcome.text())

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The report alone, without the frames of the plugin."""
        if isinstance(excinfo.value, _Wrong):
            # Pytest's summary shows the first line.
            return f"{excinfo.value}\n{excinfo.value.outcome.text()}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """The row of `backward`."""
        row = (self._unit.ref.backward or self._unit.ref.rows).first
        return self.path, row - 1, self.name


class _Wrong(Exception):  # noqa: N818 - it is a verdict, no error
    """The Function is wrong, or its process has crashed."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(_first(outcome))
        self.outcome = outcome


def _first(outcome: Outcome) -> str:
    """The first error, or why there is no verdict."""
    errors = (
        f"{found.code} {found.message}" for found in outcome.findings if found.severity.value == "error"
    )
    return next(errors, outcome.cause or "")


def _processes(config: pytest.Config) -> int:
    """How many processes of pytest-xdist run tests."""
    return int(getattr(config, "workerinput", {}).get("workercount", 1))


def _tuple(values: list[str] | None) -> tuple[str, ...] | None:
    return tuple(dict.fromkeys(values)) if values else None

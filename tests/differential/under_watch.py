"""Generated programs under the watch: the same result, each raise told, and no finding contradicted."""

from __future__ import annotations

import linecache
import os
import warnings
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

import torch

from gradcheck_tool.analysis.program import check_source
from gradcheck_tool.observed.verdicts import judged
from gradcheck_tool.rulebook.ruleset import RuleSet
from tests.differential.generator import FLAG
from tests.differential.judge import UNSEEN
from tests.differential.mend import program
from tests.differential.oracle import HIDING, changed_unseen, event_of
from tests.sanitizer.programs import observed_run

if TYPE_CHECKING:
    from gradcheck_tool.observed.run import ObservedRun

RULES = RuleSet.load()
EFFECTS = {rule.code: rule.effect for rule in RULES.known}
# What is told of values that were changed behind the version counter.
CHANGED = ("GL205", "GL202", "GL201", "GL203")

_numbers = count()


@dataclass
class Ended:
    """How a program ended: what it raised, in which line, and the gradients of its leaves."""

    error: Exception | None = None
    line: int = 0
    gradients: dict[str, torch.Tensor] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return "" if self.error is None else f"{type(self.error).__name__}: {self.error}"


def disagreements(source: str, *, flag: bool = False) -> list[str]:
    """What the static engine, the watch and PyTorch disagree about."""
    filename = f"/generated/program{next(_numbers)}.py"
    alone = _ended(source, filename, flag=flag)
    watched = Ended()

    def observed_program() -> Exception | None:
        nonlocal watched
        watched = _ended(source, filename, flag=flag)
        return watched.error

    seen = observed_run(observed_program)
    found = _other_results(alone, watched)
    if alone.error is None or event_of(str(alone.error)):
        found += [*_untold(alone, seen), *_unseen(source, seen, flag=flag)]
    findings = check_source(source, filename, RULES)
    found += [
        f"line {one.location.start.row}: {one.code} is contradicted"
        for one in judged(findings, seen, EFFECTS)
        if one.in_run == "contradicted"
    ]
    return found


def _ended(source: str, filename: str, *, flag: bool) -> Ended:
    os.environ["FLAG"] = "1" if flag else "0"
    torch.manual_seed(0)
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    names: dict[str, Any] = {"__name__": "__main__"}
    ended = Ended()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compile(source, filename, "exec"), names)
        except Exception as error:  # noqa: BLE001 - whatever the program raises is compared
            ended.error = error
            ended.line = _line(error, filename)
    ended.gradients = {
        name: value.grad.clone()
        for name, value in names.items()
        if isinstance(value, torch.Tensor)
        and not value._is_view()
        and value.is_leaf
        and value.grad is not None
    }
    torch.set_grad_enabled(True)
    return ended


def _line(error: Exception, filename: str) -> int:
    trace, line = error.__traceback__, 0
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == filename and trace.tb_frame.f_code.co_name != "backward":
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _other_results(alone: Ended, watched: Ended) -> list[str]:
    if (alone.text, alone.line) != (watched.text, watched.line):
        return [f"raises {alone.line}: {alone.text!r}, watched {watched.line}: {watched.text!r}"]
    all_same = alone.gradients.keys() == watched.gradients.keys() and all(
        _same(value, watched.gradients[name]) for name, value in alone.gradients.items()
    )
    return [] if all_same else ["other gradients under the watch"]


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Are two gradients the same bit for bit, and NaN in the same places?"""
    return one.shape == other.shape and bool(((one == other) | (one.isnan() & other.isnan())).all())


def _rows(seen: ObservedRun, *codes: str) -> set[int]:
    rows = set()
    for one in seen.findings:
        if one["code"].startswith(codes or ("GL",)):
            rows |= {one["location"]["row"], *(step["location"]["row"] for step in one["trace"])}
    return rows


def _untold(alone: Ended, seen: ObservedRun) -> list[str]:
    """Is what PyTorch raises told, in its line or in that of a custom backward?"""
    in_backward = any(one["predicts"] == str(alone.error) for one in seen.findings)
    if alone.error is None or in_backward or alone.line in _rows(seen):
        return []
    return [f"line {alone.line}: {alone.text[:80]!r} is not told"]


def _unseen(source: str, seen: ObservedRun, *, flag: bool) -> list[str]:
    """Is each backward told that used values which were changed unseen?"""
    if not any(word in source for word in UNSEEN) or any(word in source for word in HIDING):
        return []
    line, _ = changed_unseen(source, flag=flag)
    if line is None or line in _rows(seen, *CHANGED):
        return []
    return [f"line {line}: uses values that were changed unseen, which is not told"]


def judged_by_watch(seed: int) -> list[str]:
    """The disagreements about the program of a seed, with each value of its flag."""
    source = program(seed)
    flags = (False, True) if FLAG in source else (False,)
    return [one for flag in flags for one in disagreements(source, flag=flag)]

"""The smallest part of a program on which the model is wrong in the same way."""

from __future__ import annotations

from tests.differential.judge import Verdict, judge_source


def kinds(verdict: Verdict) -> list[str]:
    """What a verdict shows to be wrong, in words that shrinking keeps."""
    found = [f"false alarm: {p.event}" for p in verdict.false_alarms]
    found += ["silent miss"] if verdict.silent_misses else []
    found += ["silent alarm"] if verdict.silent_alarms else []
    found += [f"crash: {verdict.crashed}"] if verdict.crashed else []
    return found + [f"miss: {verdict.cause(miss)}" for miss in verdict.misses]


def shrink(source: str, kind: str) -> str:
    """Take lines out, largest pieces first, as long as the model stays wrong in this way.

    Args:
        source: a program.
        kind: one of `kinds` of its verdict.
    """
    lines = source.splitlines()
    size = max(len(lines) // 2, 1)
    while size:
        start = 0
        while start < len(lines):
            part = lines[:start] + lines[start + size :]
            if _still(part, kind):
                lines = part
            else:
                start += 1
        size //= 2
    return "\n".join(lines) + "\n"


def _still(lines: list[str], kind: str) -> bool:
    source = "\n".join(lines) + "\n"
    try:
        compile(source, "part", "exec")
    except SyntaxError:
        return False
    verdict = judge_source(source)
    return not verdict.invalid and kind in kinds(verdict)

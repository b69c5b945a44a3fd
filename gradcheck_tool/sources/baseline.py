"""Baselines: findings that are known and not reported again, wherever their lines move to.

A finding is recognised by its file, its rule and the text of its line. Several alike in one file are
counted: one more than the baseline has is new.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from gradcheck_tool.config import ConfigError
from gradcheck_tool.trust.reading import MOST_OF_SETTINGS, read_file
from gradcheck_tool.writing import write_atomically

if TYPE_CHECKING:
    from pathlib import Path

    from gradcheck_tool.findings import Finding

VERSION = 1

# The lines of a file, or of one cell of a notebook.
Lines = Callable[[str, "int | None"], Sequence[str]]
_Key = tuple[str, str, str]


class Baseline:
    """The known findings of one baseline file."""

    def __init__(self, path: Path) -> None:
        """Read a baseline file.

        Raises:
            ConfigError: it is missing or no baseline.
        """
        self._folder = path.parent
        try:
            document = json.loads(read_file(path, MOST_OF_SETTINGS).decode("utf-8"))
            if document["version"] != VERSION:
                raise ConfigError(
                    f"{path}: written by another version of gradlint; run --write-baseline again"
                )
            self._known = Counter(
                {(row["filename"], row["code"], row["context"]): row["count"] for row in document["findings"]}
            )
        except FileNotFoundError as error:
            raise ConfigError(f"{path}: no such baseline; write it with --write-baseline") from error
        except OSError as error:
            raise ConfigError(f"{path}: {error.strerror}") from error
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            raise ConfigError(f"{path}: not a baseline; write it with --write-baseline") from error

    def new(self, findings: Iterable[Finding], lines: Lines) -> list[Finding]:
        """The findings that the baseline does not have."""
        left = self._known.copy()
        kept = []
        for finding in findings:
            key = _key(finding, self._folder, lines)
            if left[key] > 0:
                left[key] -= 1
            else:
                kept.append(finding)
        return kept


def write_baseline(path: Path, findings: Iterable[Finding], lines: Lines) -> None:
    """Write a baseline that has these findings, in an order that makes small diffs.

    Raises:
        OSError: the file cannot be written.
    """
    counts = Counter(_key(finding, path.parent, lines) for finding in findings)
    rows = [
        {"filename": filename, "code": code, "context": context, "count": count}
        for (filename, code, context), count in sorted(counts.items())
    ]
    document = {"version": VERSION, "findings": rows}
    write_atomically(path, json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def _key(finding: Finding, folder: Path, lines: Lines) -> _Key:
    location = finding.location
    text = lines(location.filename, location.cell)
    row = location.start.row
    context = text[row - 1].strip() if row <= len(text) else ""
    relative = os.path.relpath(location.filename, folder).replace(os.sep, "/")
    return (relative, finding.code, context)

"""Changes as a patch."""

from __future__ import annotations

import difflib
import io
import os
import sys
from typing import TYPE_CHECKING

from gradcheck_tool.report.context import relative_name
from gradcheck_tool.trust.visible import visible, visible_source

if TYPE_CHECKING:
    from pathlib import Path


def print_patch(filename: str, before: bytes, after: bytes, folder: Path) -> None:
    """Print the patch of a file; on a terminal with escapes for what would control it."""
    data = _patch(filename, before, after, folder)
    sys.stdout.buffer.write(visible_source(data) if sys.stdout.isatty() else data)


def _patch(filename: str, before: bytes, after: bytes, folder: Path) -> bytes:
    """A patch that `git apply -p0` takes: bytes of any encoding, in what git calls lines."""
    name = _quoted(relative_name(filename, folder))
    old, new = (io.BytesIO(data).readlines() for data in (before, after))
    lines = difflib.diff_bytes(difflib.unified_diff, old, new, name, name)
    return b"".join(
        line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n" for line in lines
    )


def _quoted(name: str) -> bytes:
    """A name as git writes it: in quotes, with octal escapes, where not all of it is printable."""
    data = os.fsencode(name)
    if visible(name) == name and not {'"', "\\"} & set(name):
        return data
    plain = b"".join(
        b"\\" + byte if byte in b'"\\' else byte if b"#" < byte <= b"~" else b"\\%03o" % byte[0]
        for byte in (data[at : at + 1] for at in range(len(data)))
    )
    return b'"' + plain + b'"'

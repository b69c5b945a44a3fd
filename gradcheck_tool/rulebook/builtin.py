"""Where the built-in rules are."""

from __future__ import annotations

from pathlib import Path


def builtin_pack() -> Path:
    """The folder of the built-in rules: inside the package when installed, else the repository's."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "_rules"
    return installed if installed.is_dir() else package.parent / "rules"

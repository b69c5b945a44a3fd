"""`gradcheck_tool.check`: the check of a program or of files, as a function."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from gradcheck_tool.findings import Finding
    from gradcheck_tool.session.session import Outcome

_SUFFIXES = (".py", ".pyi", ".ipynb")


class CheckError(ValueError):
    """What was given could not be checked; the text says why."""


def check(  # noqa: PLR0913 - each is an option of the command
    source: str | os.PathLike[str],
    *,
    filename: str | os.PathLike[str] | None = None,
    select: Iterable[str] = (),
    extend_select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    strict: bool = False,
    target_torch: str | None = None,
    isolated: bool = False,
    trust: bool = False,
) -> list[Finding]:
    """Find autograd mistakes in a program, a file or a folder, without running anything of it.

    It is `gradlint check` as a function: the same rules, configuration files, suppression comments and
    baselines are in force. Nothing is written, and neither torch nor the program is imported.

    Args:
        source: the text of a program, or the path of a file, notebook or folder. A path is an `os.PathLike`,
            or a string of one line that ends in `.py`, `.pyi` or `.ipynb` or names what is there.
        filename: for a text, the path that it is to have: the configuration above it is in force, and what it
            imports is looked for beside it. The file need not exist. A name that ends in `.ipynb` makes the
            text the JSON of a notebook.
        select: rules to apply in place of the configured ones: codes such as `"GL201"`, beginnings such as
            `"GL2"`, `"ALL"`, `"default"`.
        extend_select: rules to apply as well.
        ignore: rules to leave out.
        strict: report only what assumes nothing beyond the code.
        target_torch: the torch version that the code is written for, such as `"2.6"`.
        isolated: read no configuration file.
        trust: load the rule packs and model packs that configurations name; packs are code.

    Returns:
        The findings in order of place. Rows and columns begin at 1, and an end is exclusive. Files in a
        folder that cannot be checked are warnings (`RuntimeWarning`).

    Raises:
        CheckError: the program is not Python, or the path is not there or cannot be read.
        ConfigError: a configuration file, a code or a version cannot be used.
    """
    from gradcheck_tool.config import ConfigError, Overrides, is_version
    from gradcheck_tool.session.session import STDIN_NAME, Options, Session
    from gradcheck_tool.sources.discover import absolute

    if target_torch is not None and not is_version(target_torch):
        raise ConfigError(f'target_torch: {target_torch!r} is not a version such as "2.6"')
    overrides = Overrides(
        isolated=isolated,
        select=_several("select", select),
        extend_select=_several("extend_select", extend_select),
        ignore=_several("ignore", ignore),
        target_torch=target_torch,
        strict=strict,
        trust=trust,
    )
    session = Session(Path.cwd(), Options(overrides))
    path = _path(source)
    if path is not None:
        if filename is not None:
            raise TypeError("filename is for a text: the source is a path")
        return _findings(session.check([path]))
    name = STDIN_NAME if filename is None else str(absolute(Path(filename)))
    return _findings(session.check_text(str(source).encode(errors="surrogatepass"), name))


def _path(source: str | os.PathLike[str]) -> Path | None:
    """The path that is meant; None where the text of a program is."""
    if not isinstance(source, str):
        return Path(source)
    if "\n" in source or "\r" in source or not source.strip():
        return None
    # The length of a name is limited, and that of a program is not.
    try:
        is_path = source.endswith(_SUFFIXES) or Path(source).exists()
    except (OSError, ValueError):
        return None
    return Path(source) if is_path else None


def _several(name: str, codes: Iterable[str]) -> tuple[str, ...]:
    if isinstance(codes, str):
        raise TypeError(f"{name} takes several codes: [{codes!r}]")
    return tuple(codes)


def _findings(outcome: Outcome) -> list[Finding]:
    fatal = [problem for problem in outcome.problems if problem.fatal]
    if fatal:
        raise CheckError("; ".join(f"{problem.path}: {problem.message}" for problem in fatal))
    for problem in outcome.problems:
        warnings.warn(f"{problem.path}: {problem.message}", RuntimeWarning, stacklevel=3)
    return outcome.findings

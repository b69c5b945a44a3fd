"""What `%load_ext gradcheck_tool` loads: `%gradlint`, `%%gradlint`, and the automatic mode."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradcheck_tool.ipython.cells import NAME, Cells

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gradcheck_tool.findings import Finding

_USAGE = (
    "%gradlint checks the cells that have run; %gradlint on checks each further cell, %gradlint off ends that"
)
# The attribute of a shell that has the extension.
_LOADED = "_gradlint"


def load_ipython_extension(shell: Any) -> None:
    """Add `%gradlint` and `%%gradlint` to IPython, which calls this for `%load_ext gradcheck_tool`.

    - `%%gradlint` as the first line of a cell checks the cell, shows what is found, and lets it run.
    - `%gradlint` checks all cells that have run.
    - `%gradlint on` checks each further cell when it has run; `%gradlint off` ends that.

    Cells that have run before are part of the program, also those from before the extension was loaded.
    Findings that were shown are not shown again.
    """
    if getattr(shell, _LOADED, None) is None:
        extension = Extension(shell)
        setattr(shell, _LOADED, extension)
        extension.register()


def unload_ipython_extension(shell: Any) -> None:
    """Remove what `load_ipython_extension` added; IPython calls this for `%unload_ext gradcheck_tool`."""
    extension = getattr(shell, _LOADED, None)
    if extension is not None:
        extension.unregister()
        setattr(shell, _LOADED, None)


class Extension:
    """The magics of one shell and the cells that it has run."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._is_automatic = False
        # Versions of IPython count a cell before it runs or afterwards: the number of one that ran is sure.
        self._next: int | None = None
        history = getattr(shell.history_manager, "input_hist_raw", ())
        self._cells = Cells(Path.cwd(), {number: text for number, text in enumerate(history) if number})

    def register(self) -> None:
        """Let IPython know the magics, and tell of cells that run."""
        self._shell.register_magic_function(self.line, "line", "gradlint")
        self._shell.input_transformers_cleanup.append(without_magic)
        self._shell.events.register("pre_run_cell", self.runs)
        self._shell.events.register("post_run_cell", self.ran)

    def unregister(self) -> None:
        """Undo that."""
        self._shell.events.unregister("post_run_cell", self.ran)
        self._shell.events.unregister("pre_run_cell", self.runs)
        self._shell.input_transformers_cleanup.remove(without_magic)
        self._shell.magics_manager.magics["line"].pop("gradlint", None)

    def line(self, words: str) -> None:
        """`%gradlint`, `%gradlint on`, `%gradlint off`."""
        asked = words.strip()
        if asked in ("on", "off"):
            self._is_automatic = asked == "on"
        elif asked:
            from IPython.core.error import UsageError

            raise UsageError(_USAGE)
        else:
            self._show(self._cells.all, "No autograd mistakes found in the cells that have run.")

    def runs(self, info: Any) -> None:
        """A cell is about to run: with `%%gradlint` above it, it is checked first."""
        if info.store_history and _asks(info.raw_cell):
            self._cells.add(self._next or self._shell.execution_count, info.raw_cell)
            self._show(self._cells.new, "No autograd mistakes found in this cell.")

    def ran(self, result: Any) -> None:
        """A cell has run, or has failed to."""
        number = result.execution_count
        if number is None:
            return  # a cell that IPython does not number, such as one within a cell
        self._next = number + 1
        self._cells.add(number, result.info.raw_cell)
        if self._is_automatic:
            self._show(self._cells.new, "")
        if not result.success:
            self._cells.drop(number)

    def _show(self, find: Callable[[], list[Finding]], remark: str) -> None:
        """Display what is found; where that is nothing, the remark if there is one."""
        from IPython.display import display

        from gradcheck_tool.config import ConfigError
        from gradcheck_tool.ipython.shown import Shown
        from gradcheck_tool.report.context import ReportContext
        from gradcheck_tool.sources.lines import SourceLines
        from gradcheck_tool.sources.source import split_lines

        try:
            findings = find()
        except ConfigError as error:
            sys.stderr.write(f"gradlint: error: {error}\n")
            return
        if not findings and not remark:
            return
        files = SourceLines()

        def lines(filename: str, cell: int | None) -> Sequence[str]:
            if filename == self._cells.filename and cell is not None:
                return split_lines(self._cells.text(cell))
            return files(filename, cell)

        context = ReportContext(Path.cwd(), lines, names={self._cells.filename: NAME.partition(".")[0]})
        display(Shown(findings, context, remark))  # type: ignore[no-untyped-call,unused-ignore]


def without_magic(lines: list[str]) -> list[str]:
    """A cell without `%%gradlint` in its first line, which stays a line: IPython runs the rest as ever."""
    return ["\n", *lines[1:]] if lines and _asks(lines[0]) else lines


def _asks(text: str) -> bool:
    return text.split("\n", 1)[0].strip() == "%%gradlint"

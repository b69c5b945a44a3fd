"""Programs that are in no file, as the cells of a notebook: their sources, and what readers call them."""

from __future__ import annotations

import linecache
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable


def sources_of(filenames: Iterable[str]) -> dict[str, str]:
    """The sources of those that are no files; Python keeps them for its tracebacks."""
    return {
        filename: "".join(linecache.getlines(filename))
        for filename in filenames
        if filename in linecache.cache and not Path(filename).exists()
    }


def cell_names(filenames: Iterable[str]) -> dict[str, str]:
    """The names that IPython gives its cells in tracebacks: `In[2]`."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    named: Any = getattr(getattr(shell, "compile", None), "format_code_name", lambda _: None)
    names = {filename: named(filename) for filename in filenames}
    return {filename: name[1] for filename, name in names.items() if name is not None}

"""One program in several files: its classes and functions in modules of their own, its main part in another.

All files keep the rows of the program: what stands in another file is blank. The same findings are therefore at
the same rows in each form.
"""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gradcheck_tool.session.files import FileChecker
from gradcheck_tool.session.session import Options, Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

Files = dict[str, str]
# Rules are loaded once for all programs.
_CHECKER = FileChecker()
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True)
class Program:
    """A program that can be split.

    Attributes:
        source: its text.
        definitions: the classes and functions that use nothing of the main part.
        imports: its import statements.
    """

    source: str
    definitions: list[ast.stmt]
    imports: list[ast.stmt]

    @property
    def names(self) -> list[str]:
        """The names of the definitions."""
        return [_name(one) for one in self.definitions]

    def without(self, statements: Iterable[ast.stmt], instead: str = "", rename: Callable = str) -> str:
        """The text with some top-level statements left blank; the first line of the first has `instead`."""
        lines = rename(self.source).splitlines()
        for one in statements:
            first = _first(one)
            lines[first - 1 : one.end_lineno] = [""] * (one.end_lineno - first + 1)
            lines[first - 1], instead = instead, ""
        return "\n".join(lines) + "\n"

    def only(self, statements: Iterable[ast.stmt]) -> str:
        """The text of some top-level statements and of the imports."""
        kept = [*self.imports, *statements]
        return self.without(one for one in ast.parse(self.source).body if not _is_among(one, kept))


def program(source: str) -> Program | None:
    """The program, or None where nothing can stand apart from the main part."""
    body = ast.parse(source).body
    imports = [one for one in body if isinstance(one, ast.Import | ast.ImportFrom)]
    definitions = [one for one in body if isinstance(one, _DEFINITIONS)]
    counted = Counter(map(_name, definitions))
    bound = {name for one in body if one not in imports and one not in definitions for name in _stored(one)}
    bound |= {name for name, count in counted.items() if count > 1}
    rest = definitions
    while any(_loaded(one) & bound or _name(one) in bound for one in rest):
        bound |= {_name(one) for one in rest if _loaded(one) & bound}
        rest = [one for one in rest if not (_loaded(one) & bound or _name(one) in bound)]
    is_main = any(one not in imports and one not in rest for one in body)
    return Program(source, rest, imports) if rest and is_main else None


def forms(source: str) -> dict[str, Files]:
    """The files of each form, by the name of the form; the first is the program in one file."""
    found = program(source)
    if found is None:
        return {}
    names = ", ".join(found.names)
    parts = found.only(found.definitions)
    made = {
        "one": {"main.py": source},
        "from": _two(found, f"from parts import {names}", parts),
        "import": _two(found, "import parts", parts, "parts"),
        "package": {
            "pkg/__init__.py": "",
            "pkg/parts.py": parts,
            "pkg/main.py": found.without(found.definitions, f"from .parts import {names}"),
        },
        "as": {
            "pkg/__init__.py": "",
            "pkg/sub/__init__.py": "",
            "pkg/sub/parts.py": parts,
            "main.py": found.without(
                found.definitions, "import pkg.sub.parts as parts_of_it", _qualifier(found, "parts_of_it")
            ),
        },
        "exported": {
            "pkg/__init__.py": f"from .sub import {names}\n",
            "pkg/sub/__init__.py": "from .parts import *\n",
            "pkg/sub/parts.py": parts,
            "main.py": found.without(found.definitions, f"from pkg import {names}"),
        },
    }
    chain = _chain(found)
    if chain is not None:
        made["chain"] = chain
    return made


def apart(source: str, main: str) -> Files:
    """The classes and functions of a file without a main part in modules of their own, and what uses them.

    `main` is the text of a file that finds all of them by their names.
    """
    body = ast.parse(source).body
    imports = [one for one in body if isinstance(one, ast.Import | ast.ImportFrom)]
    definitions = [one for one in body if isinstance(one, _DEFINITIONS)]
    found = Program(source, definitions, imports)
    files = {"pkg/__init__.py": ""}
    for one in definitions:
        needed = sorted((_loaded(one) & set(found.names)) - {_name(one)})
        others = [each for each in body if not _is_among(each, [*imports, one])]
        files[f"pkg/{_name(one).lower()}_module.py"] = found.without(others) + "".join(
            f"from .{name.lower()}_module import {name}\n" for name in needed
        )
    imported = "".join(f"from pkg.{name.lower()}_module import {name}\n" for name in found.names)
    return {**files, "main.py": "".join(f"{ast.unparse(one)}\n" for one in imports) + imported + main}


def _two(found: Program, imported: str, parts: str, module: str = "") -> Files:
    main = found.without(found.definitions, imported, _qualifier(found, module) if module else str)
    return {"main.py": main, "parts.py": parts}


def _chain(found: Program) -> Files | None:
    """Each definition in a module of its own, which imports those before it."""
    files = {"pkg/__init__.py": ""}
    if len({name.lower() for name in found.names}) < len(found.names):
        return None
    for index, one in enumerate(found.definitions):
        later = set(found.names[index + 1 :])
        if _loaded(one) & later:
            return None
        needed = sorted(_loaded(one) & set(found.names[:index]))
        imported = "; ".join(f"from .{name.lower()}_module import {name}" for name in needed)
        body = ast.parse(found.source).body
        others = [each for each in body if not _is_among(each, [*found.imports, one])]
        text = found.without(others, imported)
        if needed and imported not in text:
            return None
        files[f"pkg/{_name(one).lower()}_module.py"] = text
    imported = "; ".join(f"from pkg.{name.lower()}_module import {name}" for name in found.names)
    files["main.py"] = found.without(found.definitions, imported)
    return files


def reports(files: Files, folder: Path) -> list[tuple[int, str]]:
    """The row and the code of each finding in the files."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    outcome = Session(folder, Options(), _CHECKER).check([folder])
    assert not outcome.problems
    return sorted((finding.location.start.row, finding.code) for finding in outcome.findings)


def _qualifier(found: Program, module: str) -> Callable[[str], str]:
    """Replaces the names of the definitions in the main part by attributes of a module."""
    names = set(found.names)

    def qualified(source: str) -> str:
        lines = source.splitlines()
        body = [one for one in ast.parse(source).body if not _is_among(one, found.definitions)]
        places = {
            (node.lineno, node.col_offset)
            for one in body
            for node in ast.walk(one)
            if isinstance(node, ast.Name) and node.id in names and isinstance(node.ctx, ast.Load)
        }
        for row, column in sorted(places, reverse=True):
            text = lines[row - 1].encode()
            lines[row - 1] = (text[:column] + f"{module}.".encode() + text[column:]).decode()
        return "\n".join(lines) + "\n"

    return qualified


def _name(one: ast.stmt) -> str:
    return one.name  # type: ignore[attr-defined, no-any-return]


def _first(one: ast.stmt) -> int:
    return min((each.lineno for each in getattr(one, "decorator_list", ())), default=one.lineno)


def _is_among(one: ast.stmt, others: Iterable[ast.stmt]) -> bool:
    return any(one.lineno == other.lineno and one.col_offset == other.col_offset for other in others)


def _stored(one: ast.stmt) -> set[str]:
    """Names that a statement binds; those that a function declares global, too."""
    names: set[str] = set()
    for node in ast.walk(one):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, ast.Global):
            names |= set(node.names)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            names.add(node.name)
        elif isinstance(node, (*_DEFINITIONS, ast.alias)):
            names.add(node.name if isinstance(node, _DEFINITIONS) else (node.asname or node.name))
    return names


def _loaded(one: ast.stmt) -> set[str]:
    """Names that occur in a definition; what it binds itself counts, too."""
    globals_ = {name for node in ast.walk(one) if isinstance(node, ast.Global) for name in node.names}
    return {node.id for node in ast.walk(one) if isinstance(node, ast.Name)} | globals_

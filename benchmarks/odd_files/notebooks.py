"""Programs as notebooks, and mutations of these."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from random import Random


def as_notebook(rng: Random, text: str) -> str:
    """A program as a notebook."""
    rows = text.splitlines(keepends=True)
    cells: list[dict[str, Any]] = []
    while rows:
        size = rng.choice((1, 5, 20, 80))
        part, rows = rows[:size], rows[size:]
        cells.append(
            {
                "cell_type": rng.choice(("code", "code", "code", "markdown")),
                "metadata": {},
                "outputs": [],
                "source": part if rng.random() < 0.7 else "".join(part),
            }
        )
    document = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(document, indent=rng.choice((1, None)), ensure_ascii=rng.random() < 0.5)


def _break_json(rng: Random, text: str) -> str:
    at = rng.randrange(len(text) + 1)
    new = rng.choice(
        (
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            '"',
            "\\",
            "null",
            "NaN",
            "1e999",
            "\\ud800",
            '"source"',
            '"cells": [],',
            "\0",
        )
    )
    return text[:at] + new + text[at + rng.choice((0, 1, 5)) :]


def _break_document(rng: Random, text: str) -> str:
    """Values of other kinds in the places of some."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return text
    places: list[tuple[Any, Any]] = []
    left = [document]
    while left and len(places) < 2000:
        value = left.pop()
        items = (
            value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        )
        for key, item in items:
            places.append((value, key))
            left.append(item)
    odd: tuple[Any, ...] = (
        None,
        1,
        -1,
        1e300,
        "",
        "x\ud800",
        [],
        {},
        [[]],
        [None],
        {"source": "loss.backward()"},
        True,
        "torch\0",
    )
    for _ in range(rng.choice((1, 2, 5)) if places else 0):
        holder, key = rng.choice(places)
        holder[key] = rng.choice(odd)
    return json.dumps(document)


_MAGICS = (
    "%%bash\\nls", "!ls {x}", "%timeit loss.backward()", "x = !ls", "x = %sql 1", "loss?", "??loss",
    "%%time\\n",
    "%%timeit\\nx", "get_ipython().run_line_magic('x', 'y')", "%cd ..", ", f a", "/f a", "await x",
    "%%python\\nx",
    "if x:\\n    !ls\\n    %cd\\n", "x = (\\n!ls\\n)", "'''\\n!ls\\n'''", "%%", "!", "%", "?",
)  # fmt: skip


def _magic(rng: Random, text: str) -> str:
    places = [match.end() for match in re.finditer(r'\\n|"source": \[?\s*"', text)]
    if not places:
        return text
    at = rng.choice(places)
    return f"{text[:at]}{rng.choice(_MAGICS)}\\n{text[at:]}"


NOTEBOOKS = (_break_json, _break_document, _magic, _magic)

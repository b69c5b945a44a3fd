"""Real files, changed into files that nobody would write: for `robustness.py`.

A mutation is one of statements, of tokens and lines, of bytes, or of notebooks; `mutated` makes one to four
of them. The same random numbers make the same file.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from benchmarks.odd_files.notebooks import NOTEBOOKS, as_notebook
from benchmarks.odd_files.statements import with_other_statements
from benchmarks.odd_files.text import LINES, TOKENS

if TYPE_CHECKING:
    from random import Random

COOKIES = (
    b"# coding: latin-1",
    b"# -*- coding: utf-16 -*-",
    b"# coding: undefined",
    b"# coding: idna",
    b"# coding: rot13",
    b"# coding: utf-7",
    b"# vim: set fileencoding=cp1252 :",
    b"# coding: unicode_escape",
    b"# coding: punycode",
    b"# coding: shift_jis",
)
# What a program that is none, or one that becomes none, raises.
NO_PROGRAM = (SyntaxError, ValueError, RecursionError, MemoryError, AttributeError, TypeError, IndexError)
# A file that grows beyond this is one that nobody checks.
LARGEST = 200_000


def mutated(rng: Random, data: bytes, other: bytes, notebook: bool) -> bytes:
    """A changed file; `other` is another one, parts of which may come in."""
    text, more = (item.decode("utf-8", "replace") for item in (data, other))
    if notebook:
        text = as_notebook(rng, text) if not text.lstrip().startswith("{") else text
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4))):
        kind = rng.random()
        if notebook and kind < 0.5:
            text = rng.choice(NOTEBOOKS)(rng, text)
        elif kind < 0.55:
            with suppress(*NO_PROGRAM):
                text = with_other_statements(rng, text, more)
        elif kind < 0.85:
            text = rng.choice(TOKENS)(rng, text, more)
        else:
            text = rng.choice(LINES)(rng, text, more)
        text = text[:LARGEST]
    # Half of a character cannot be written, except as what decoders take for it.
    result = text.encode("utf-8", rng.choice(("surrogatepass", "backslashreplace")))
    return rng.choice(BYTES)(rng, result) if rng.random() < 0.12 else result


def _odd_byte(rng: Random, data: bytes) -> bytes:
    at = rng.randrange(len(data) + 1)
    return (
        data[:at] + bytes(rng.choices((0, 10, 13, 12, 26, 127, 128, 0xC0, 0xED, 0xEF, 0xFF), k=3)) + data[at:]
    )


def _flip(rng: Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 4, 30)) if data else 0):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def _cookie(rng: Random, data: bytes) -> bytes:
    return rng.choice((b"", b"#!/usr/bin/env python\n", b"\xef\xbb\xbf")) + rng.choice(COOKIES) + b"\n" + data


def _mark(rng: Random, data: bytes) -> bytes:
    return rng.choice((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf\xef\xbb\xbf")) + data


def _encoded(rng: Random, data: bytes) -> bytes:
    codec = rng.choice(("utf-16", "utf-32", "utf-8-sig", "latin-1", "utf-7"))
    return data.decode("utf-8", "replace").encode(codec, "replace")


BYTES = (_odd_byte, _odd_byte, _flip, _flip, _cookie, _cookie, _mark, _encoded)

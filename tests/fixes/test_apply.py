"""Fixing programs and notebooks."""

import json

from gradcheck_tool.fixes.apply import fix_bytes
from gradcheck_tool.sources.source import read_source
from tests.fakes import finding, replacement


def fixing(filename, *words):
    """Examine bytes with findings that replace words by others."""

    def examine(data):
        source = read_source(filename, data)
        found = []
        for row, line in enumerate(source.text.split("\n"), start=1):
            for code, (word, good) in enumerate(words, start=201):
                column = line.find(word) + 1
                if column:
                    fix = replacement(row, column, column + len(word), good)
                    found.append(finding(filename, row, column, code=f"GL{code}", fix=fix))
        return source, found

    return examine


def test_fixes_are_made_until_none_is_left():
    result = fix_bytes(b"a = one\n", fixing("/a.py", ("one", "two"), ("two", "three")), unsafe=False)
    assert result.data == b"a = three\n"
    assert len(result.fixed) == 2


def test_a_fix_that_breaks_the_program_is_not_made():
    assert fix_bytes(b"a = one\n", fixing("/a.py", ("one", "(")), unsafe=False).data == b"a = one\n"


def test_fixes_that_undo_each_other_come_to_an_end():
    result = fix_bytes(b"a = one\n", fixing("/a.py", ("one", "two"), ("two", "one")), unsafe=False)
    assert result.data in (b"a = one\n", b"a = two\n")


def test_encoding_byte_order_mark_and_line_ends_stay():
    latin = "# coding: latin-1\r\ns = 'é'\r\na = one\r\n".encode("latin-1")
    assert fix_bytes(latin, fixing("/a.py", ("one", "two")), unsafe=False).data == latin.replace(
        b"one", b"two"
    )
    marked = b"\xef\xbb\xbfa = one\n"
    assert fix_bytes(marked, fixing("/a.py", ("one", "two")), unsafe=False).data == b"\xef\xbb\xbfa = two\n"


def test_a_fix_that_the_encoding_cannot_hold_is_not_made():
    data = b"# coding: ascii\na = one\n"
    assert fix_bytes(data, fixing("/a.py", ("one", "'損'")), unsafe=False).data == data


def notebook(*sources):
    cells = [
        {"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": [], "source": source}
        for source in sources
    ]
    document = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    return (json.dumps(document, indent=1) + "\n").encode()


def test_only_the_cell_with_the_fix_changes():
    before = notebook("%matplotlib inline\nx = 1", "!ls\na = one", ["b = 1\n", "c = one"])
    after = fix_bytes(before, fixing("/n.ipynb", ("one", "two")), unsafe=False).data
    assert after == notebook("%matplotlib inline\nx = 1", "!ls\na = two", ["b = 1\n", "c = two"])


def test_a_fix_that_touches_a_magic_is_not_made():
    before = notebook("%matplotlib inline\nx = 1")
    assert fix_bytes(before, fixing("/n.ipynb", ("0", "1")), unsafe=False).data == before

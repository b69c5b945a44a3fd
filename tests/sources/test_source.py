"""Decoding of Python files."""

import pytest

from gradcheck_tool.sources.errors import SourceError
from gradcheck_tool.sources.source import decode, read_source, split_lines


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("s = 'é'\n".encode(), "s = 'é'\n"),
        (b"\xef\xbb\xbfx = 1\n", "x = 1\n"),
        ("# -*- coding: latin-1 -*-\ns = 'é'\n".encode("latin-1"), "# -*- coding: latin-1 -*-\ns = 'é'\n"),
        ("#!/usr/bin/python\n# vim: set fileencoding=koi8-r :\nя = 1\n".encode("koi8-r"), "я = 1\n"),
        (b"a = 1\r\nb = 2\r\n", "a = 1\r\nb = 2\r\n"),
        (b"", ""),
    ],
)
def test_text_is_as_python_reads_it_with_its_line_ends(data, text):
    decoded, encoding = decode(data)
    assert decoded.endswith(text)
    assert decoded.encode(encoding) == data


@pytest.mark.parametrize(
    "data", [b"s = '\xe9'\n", b"# coding: no-such-codec\n", b"\xef\xbb\xbf# coding: latin-1\n"]
)
def test_wrong_bytes_are_an_error_that_says_so(data):
    with pytest.raises(SourceError, match="cannot be decoded"):
        read_source("a.py", data)


def test_only_pythons_line_ends_split_lines():
    assert split_lines("a\x0cb\u2028c\nd\r\ne\rf") == ["a\x0cb\u2028c", "d", "e", "f"]

"""Decoding of Python files."""

import pytest

from gradcheck_tool.sources.errors import SourceError
from gradcheck_tool.sources.prefilter import may_hold_findings
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


@pytest.mark.parametrize(
    "program",
    [
        b"import torch\nx = torch.ones(2, requires_grad=True)\nx += 1\n",
        b"import torch\nlayer = torch.nn.Linear(2, 2)\nlayer.weight[0] = 1\n",
        b"import torch\nlayer.weight *= 2\n",
        b"def train(model, loss):\n    loss.backward()\n",
        b"import lightning as L\nclass M(L.LightningModule):\n    def training_step(self, b):\n        return 1\n",
        b"from torch.autograd import Variable\n",
    ],
)
def test_what_could_be_wrong_is_looked_at(program):
    assert may_hold_findings(program)


@pytest.mark.parametrize(
    "program",
    [b"", b"import numpy as np\nx = np.ones(3)\nx += 1\n", b"import torch\nprint(torch.__version__)\n"],
)
def test_what_cannot_be_wrong_is_not_parsed(program):
    assert not may_hold_findings(program)

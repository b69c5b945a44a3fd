"""Bounds on time and memory of one file, where its analysis keeps none."""

from __future__ import annotations

import os
from contextlib import suppress

import pytest

from gradcheck_tool.config import Config
from gradcheck_tool.session import files, limits
from gradcheck_tool.session.files import FileChecker
from gradcheck_tool.session.limits import TooLongError, limited
from gradcheck_tool.session.pool import check_all

resource = pytest.importorskip("resource")
pytestmark = pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
PROGRAM = "import torch\ntorch.ones(1).backward()\n"


def compute_for_ever():
    """What passes over an error once goes on until the next one. All of its time is over at once."""
    resource.setrlimit(
        resource.RLIMIT_CPU, (limits._seconds_used(), resource.getrlimit(resource.RLIMIT_CPU)[1])
    )
    with suppress(TooLongError):
        while True:
            pass
    while True:
        pass


def take_all_memory():
    return bytearray(2 * limits.MOST_MEMORY)  # Other threads may give back some of their own meanwhile.


def test_what_takes_too_long_ends(monkeypatch):
    monkeypatch.setattr(limits, "MOST_SECONDS", 0)
    before = resource.getrlimit(resource.RLIMIT_CPU)
    with pytest.raises(TooLongError), limited():
        compute_for_ever()
    assert resource.getrlimit(resource.RLIMIT_CPU) == before


def test_memory_has_a_bound():
    before = resource.getrlimit(resource.RLIMIT_AS)
    with pytest.raises(MemoryError), limited():
        take_all_memory()
    assert resource.getrlimit(resource.RLIMIT_AS) == before


@pytest.mark.parametrize(
    ("deed", "words"),
    [
        (compute_for_ever, f"it took more than {limits.MOST_SECONDS} s"),
        (take_all_memory, "it takes more memory than there is"),
    ],
)
def test_the_other_files_are_checked(tmp_path, monkeypatch, deed, words):
    check_source = files.check_source

    def heavy(text, filename, *rest):
        if filename.endswith("1.py"):
            deed()
        return check_source(text, filename, *rest)

    monkeypatch.setattr(files, "check_source", heavy)
    config = Config(root=tmp_path)
    tasks = [(tmp_path / f"{number}.py", config) for number in range(3)]
    for path, _ in tasks:
        path.write_text(PROGRAM)
    results = list(check_all(tasks, FileChecker(), 1))
    assert [result.problem for result in results] == [None, f"not checked: {words}", None]
    assert all(results[number].findings for number in (0, 2))

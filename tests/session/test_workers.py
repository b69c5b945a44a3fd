"""Processes that check files: none takes another file down, none is left behind."""

from __future__ import annotations

import faulthandler
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from gradcheck_tool.analysis.result import FileResult
from gradcheck_tool.session import limits
from gradcheck_tool.session.workers import check_in_processes

ROOT = Path(__file__).parents[2]
FINE = "checked"


def start(deed, numbers, folder):
    """What a process does with the number of a file: with some of them the deed, which may need the folder."""

    def check(number):
        if number in numbers:
            deed(folder / str(number))
        return FileResult(problem=f"{FINE} {number}")

    return check


def checked(deed, numbers, folder, count=10, jobs=2):
    results = dict(check_in_processes(count, partial(start, deed, numbers, folder), jobs))
    assert set(results) == set(range(count))
    return {number: result for number, result in results.items() if result.problem != f"{FINE} {number}"}


def die(_):
    faulthandler.disable()  # that of pytest would print where it was
    os.kill(os.getpid(), signal.SIGSEGV)


def die_once(mark):
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)


def leave(_):
    os._exit(3)


def compute_for_ever(_):
    while True:
        pass


def refuse(_):
    raise LookupError("no such rule")


@pytest.mark.parametrize("jobs", [1, 2, 20])
@pytest.mark.parametrize("numbers", [{0}, {4, 5, 9}, set(range(10))])
def test_files_at_which_a_process_dies_take_down_no_other(tmp_path, numbers, jobs):
    lost = checked(die, numbers, tmp_path, jobs=jobs)
    assert lost == {
        number: FileResult(problem="not checked: its worker process died of SIGSEGV", failed=True)
        for number in numbers
    }


def test_a_process_that_ends_by_itself_is_replaced(tmp_path):
    lost = checked(leave, {3}, tmp_path)
    assert [result.problem for result in lost.values()] == [
        "not checked: its worker process ended with status 3"
    ]


def test_a_file_at_which_a_process_died_gets_another_try(tmp_path):
    assert checked(die_once, {1, 2, 8}, tmp_path) == {}
    assert len(list(tmp_path.iterdir())) == 3


def test_a_file_that_takes_too_long_is_left(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "MOST_SECONDS", 0)
    lost = checked(compute_for_ever, {1}, tmp_path, count=3)
    assert [result.problem for result in lost.values()] == ["not checked: it took more than 0 s"]


def test_what_checking_raises_is_raised(tmp_path):
    with pytest.raises(LookupError, match="no such rule"):
        checked(refuse, {5}, tmp_path)


def test_results_that_nobody_wants_any_more_end_the_processes(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "MOST_SECONDS", 10)
    results = check_in_processes(4, partial(start, compute_for_ever, {3}, tmp_path), 2)
    assert next(results)
    results.close()
    assert not children()


def children():
    """The processes that this one has started and that have not ended."""
    import multiprocessing

    return multiprocessing.active_children()


LEFT = """
import os, sys, time
from gradcheck_tool.analysis.result import FileResult
from gradcheck_tool.session.workers import check_in_processes

def start():
    def check(number):
        os.write(1, b"x")
        while True:
            time.sleep(100) if number else None
    return check

if __name__ == "__main__":
    list(check_in_processes(2, start, 2))
"""


def test_a_parent_that_is_killed_leaves_nobody_behind(tmp_path):
    (tmp_path / "left.py").write_text(LEFT)
    process = subprocess.Popen(
        [sys.executable, str(tmp_path / "left.py")],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
    )
    assert process.stdout.read(2) == b"xx"
    process.kill()
    # The pipe is closed only once the last process that holds it has ended.
    assert process.stdout.read() == b""
    process.wait()

"""What a run leaves alone is named, with its place."""

import os
import subprocess
import sys
import threading
from multiprocessing import get_context

import pytest
import torch

import gradcheck_tool
from gradcheck_tool.report.not_watched import COMPILED, HOOKS, PROCESS, THREAD, NotWatched, in_a_line
from gradcheck_tool.sanitizer.left_alone import runs_python_outside
from gradcheck_tool.sanitizer.told import location_of
from gradcheck_tool.startup.launch import START
from tests.sanitizer.programs import run

PLACE = {
    "filename": "/a/b.py",
    "start": {"row": 3, "column": 1},
    "end": {"row": 3, "column": 9},
    "cell": None,
}


def left_alone(text):
    with gradcheck_tool.watch(quiet=True) as seen:
        run(text)
    return [(one.why, one.what, one.location.start.row - 1) for one in seen.not_watched]


def test_hooks_of_the_program():
    program = """
    x = torch.rand(3, requires_grad=True)
    with torch.autograd.graph.save_on_cpu():
        y = x.exp()
    y.sum().backward()
    """
    assert left_alone(program) == [(HOOKS, "with torch.autograd.graph.save_on_cpu()", 3)]


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoints_are_watched(reentrant):
    program = f"""
    from torch.utils.checkpoint import checkpoint
    checkpoint(torch.exp, torch.ones(3, requires_grad=True), use_reentrant={reentrant}).sum().backward()
    """
    assert left_alone(program) == []


def test_a_thread_that_began_before():
    begin, ended = threading.Event(), threading.Event()

    def differentiate():
        begin.wait()
        torch.ones(3, requires_grad=True).exp().sum().backward()
        ended.set()

    thread = threading.Thread(target=differentiate)
    thread.start()
    with gradcheck_tool.watch(quiet=True) as seen:
        begin.set()
        ended.wait()
    thread.join()
    (one,) = seen.not_watched
    assert (one.why, one.what) == (THREAD, "torch.ones(3, requires_grad=True).exp().sum().backward()")


def test_a_thread_that_begins_inside_is_watched():
    program = """
    import threading
    def differentiate():
        torch.ones(3, requires_grad=True).exp().sum().backward()
    thread = threading.Thread(target=differentiate)
    thread.start()
    thread.join()
    """
    assert left_alone(program) == []


def test_processes():
    program = """
    import subprocess, sys
    subprocess.run([sys.executable, "-c", "pass"])
    subprocess.run(["true"])
    """
    assert left_alone(program) == [(PROCESS, 'subprocess.run([sys.executable, "-c", "pass"])', 3)]


def test_workers_that_load_data_are_not_named():
    data = torch.utils.data.DataLoader(list(range(4)), num_workers=1)
    with gradcheck_tool.watch(quiet=True) as seen:
        list(data)
    assert seen.not_watched == []


@pytest.mark.skipif(sys.platform == "win32", reason="it cannot fork")
def test_processes_of_multiprocessing():
    with gradcheck_tool.watch(quiet=True) as seen:
        process = get_context("fork").Process(target=os.getpid)
        process.start()
        process.join()
    assert [(one.why, one.what) for one in seen.not_watched] == [(PROCESS, "process.start()")]


@pytest.mark.parametrize(
    ("words", "outside"),
    [
        (["python", "train.py"], False),
        (["/usr/bin/python3.12", "-u", "train.py", "-I"], False),
        (["python", "-m", "train", "-S"], False),
        (["python", "-I", "train.py"], True),
        (["python3", "-uE", "-m", "train"], True),
        (["make", "-I"], False),
        ("python -S train.py", True),
    ],
)
def test_python_outside_of_the_watch(words, outside):
    assert runs_python_outside(words, {START: "gradcheck_tool"}) == outside
    if words[0] != "make":
        assert runs_python_outside(words, {})


def test_all_of_it_is_one_line_by_reason():
    place = location_of(PLACE)
    many = [NotWatched(f"f{number}", COMPILED, place) for number in range(9)]
    line = in_a_line([*many, NotWatched("save_on_cpu()", HOOKS, place)], os.path.basename)
    assert line.startswith("not watched, as torch.compile has compiled it: `f0` (b.py:3), `f1` (b.py:3), ")
    assert line.endswith(
        "`f7` (b.py:3) and 1 more; as saved-tensor hooks of the program are called instead: "
        "`save_on_cpu()` (b.py:3)"
    )
    assert in_a_line([], str) == ""


def test_a_part_of_a_program_says_it(tmp_path):
    (tmp_path / "part.py").write_text(
        "import gradcheck_tool, torch\n"
        "with gradcheck_tool.watch():\n"
        "    with torch.autograd.graph.save_on_cpu():\n"
        "        torch.ones(3, requires_grad=True).exp().sum().backward()\n"
    )
    ran = subprocess.run(
        [sys.executable, "part.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ran.stderr == (
        "gradlint: not watched, as saved-tensor hooks of the program are called instead: "
        "`with torch.autograd.graph.save_on_cpu()` (part.py:3)\n"
    )

"""What signals undo when they end the command."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")


def run(program, **options):
    return subprocess.run(
        [sys.executable, "-c", f"import os, signal\nfrom gradcheck_tool.ending import *\n{program}"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


@pytest.mark.parametrize("number", [1, 2, 15])
def test_actions_of_open_blocks_are_done_innermost_first(number):
    ended = run(f"""
end_on_signals()
with undoing(lambda: os.write(1, b"closed ")):
    pass
with undoing(lambda: os.write(1, b"outer ")), undoing(lambda: 1 / 0), undoing(lambda: os.write(1, b"inner ")):
    os.kill(os.getpid(), {number})
    print("went on")
""")
    assert (ended.returncode, ended.stdout, ended.stderr) == (128 + number, "inner outer ", "")


def test_a_second_signal_does_not_interrupt_what_the_first_one_undoes():
    ended = run("""
end_on_signals()
with undoing(lambda: (os.kill(os.getpid(), signal.SIGINT), os.write(1, b"undone"))):
    os.kill(os.getpid(), signal.SIGTERM)
""")
    assert (ended.returncode, ended.stdout, ended.stderr) == (143, "undone", "")


def test_nothing_is_started_any_more_while_a_signal_is_obeyed():
    ended = run("""
import threading, time
end_on_signals()
def starts_again():
    killed.wait()
    with starting:
        os.write(1, b"started")
killed = threading.Event()
threading.Thread(target=starts_again, daemon=True).start()
with undoing(lambda: (killed.set(), time.sleep(0.5))):
    os.kill(os.getpid(), signal.SIGTERM)
""")
    assert (ended.returncode, ended.stdout, ended.stderr) == (143, "", "")


def test_where_exceptions_are_only_printed_the_command_ends_too():
    ended = run("""
end_on_signals()
class Odd:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        print("went on")
Odd()
print("went on")
""")
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")


def test_a_process_that_is_forked_off_undoes_nothing():
    ended = run("""
end_on_signals()
with undoing(lambda: os.write(1, b"undone")):
    child = os.fork()
    if not child:
        os.kill(os.getpid(), signal.SIGTERM)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
""")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "143\n", "")


def test_signals_that_are_ignored_stay_so():
    ended = run("""
signal.signal(signal.SIGHUP, signal.SIG_IGN)
end_on_signals()
os.kill(os.getpid(), signal.SIGHUP)
print("went on")
""")
    assert (ended.returncode, ended.stdout) == (0, "went on\n")

"""Files are replaced as a whole, whatever happens on the way."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from gradcheck_tool.writing import remove_left_behind, replacing, write_atomically

ROOT = Path(__file__).parents[1]
IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_made_with_the_usual_mode(tmp_path):
    write_atomically(tmp_path / "a.json", "é\udce9\n")
    (tmp_path / "usual").write_text("")
    assert (tmp_path / "a.json").read_bytes() == "é\\udce9\n".encode()
    assert (tmp_path / "a.json").stat().st_mode == (tmp_path / "usual").stat().st_mode
    assert names(tmp_path) == ["a.json", "usual"]


def test_mode_and_links_stay(tmp_path):
    real = tmp_path / "real.py"
    real.write_bytes(b"old")
    real.chmod(0o754)
    link = tmp_path / "link.py"
    link.symlink_to(real)
    write_atomically(link, b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o754
    assert names(tmp_path) == ["link.py", "real.py"]


def test_other_names_of_a_file_keep_what_they_had(tmp_path):
    (tmp_path / "a.py").write_bytes(b"old")
    os.link(tmp_path / "a.py", tmp_path / "b.py")
    write_atomically(tmp_path / "a.py", b"new")
    assert ((tmp_path / "a.py").read_bytes(), (tmp_path / "b.py").read_bytes()) == (b"new", b"old")


@pytest.mark.skipif(not IS_ROOT, reason="only root may give files away")
def test_the_owner_stays(tmp_path):
    path = tmp_path / "a.py"
    path.write_bytes(b"old")
    os.chown(path, 12345, 54321)
    path.chmod(0o4711)
    write_atomically(path, b"new")
    state = path.stat()
    assert (state.st_uid, state.st_gid, stat.S_IMODE(state.st_mode)) == (12345, 54321, 0o4711)


def test_nobody_may_read_the_new_file_who_might_not_read_the_old_one(tmp_path):
    path = tmp_path / "a.py"
    path.write_bytes(b"old")
    path.chmod(0o600)
    with replacing(path) as file:
        file.write(b"new")
        assert {stat.S_IMODE(item.stat().st_mode) for item in tmp_path.iterdir()} == {0o600}


def test_a_read_only_file_is_not_replaced(tmp_path):
    path = tmp_path / "a.py"
    path.write_bytes(b"old")
    path.chmod(0o444)
    with pytest.raises(PermissionError, match="read-only"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a.py"]


def test_a_private_file_takes_the_place_of_whatever_is_there(tmp_path):
    (tmp_path / "elsewhere").write_bytes(b"old")
    (tmp_path / "key").symlink_to("elsewhere")
    write_atomically(tmp_path / "key", b"new", private=True)
    assert (tmp_path / "elsewhere").read_bytes() == b"old"
    state = (tmp_path / "key").lstat()
    assert (stat.S_ISREG(state.st_mode), stat.S_IMODE(state.st_mode)) == (True, 0o600)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_is_written_to(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_atomically(tmp_path / "pipe", b"new")
    assert os.read(reader, 10) == b"new"
    os.close(reader)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert names(tmp_path) == ["pipe"]


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="standard output has no name here")
def test_a_file_that_standard_output_goes_to_is_not_replaced(tmp_path):
    program = (
        "import sys\nfrom pathlib import Path\nfrom gradcheck_tool.writing import write_atomically\n"
        "write_atomically(Path('/dev/stdout'), b'report')\n"
    )
    path = tmp_path / "out"
    with path.open("wb") as file:
        before = path.stat().st_ino
        subprocess.run([sys.executable, "-c", program], stdout=file, cwd=ROOT, check=True)
    assert (path.read_bytes(), path.stat().st_ino) == (b"report", before)


@pytest.mark.parametrize("function", ["os.fsync", "Path.replace", "Path.chmod"])
@pytest.mark.parametrize("error", [OSError(errno.EIO, "I/O error"), KeyboardInterrupt()])
def test_what_fails_on_the_way_leaves_the_file_as_it_was(tmp_path, monkeypatch, function, error):
    def broken(*_):
        raise error

    path = tmp_path / "a.py"
    path.write_bytes(b"old")
    target = "gradcheck_tool.writing.os.fsync" if function == "os.fsync" else f"pathlib.{function}"
    if function == "Path.chmod" and isinstance(error, OSError):
        monkeypatch.setattr(target, broken)
        write_atomically(path, b"new")  # a file system without modes
        assert path.read_bytes() == b"new"
        return
    with monkeypatch.context() as patch:
        patch.setattr(target, broken)
        with pytest.raises(type(error)):
            write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a.py"]


def test_a_full_disk_leaves_the_file_as_it_was(small_disk):
    path = small_disk / "a.py"
    path.write_bytes(b"old")
    with pytest.raises(OSError, match="No space left on device"):
        write_atomically(path, bytes(10**6))
    assert path.read_bytes() == b"old"
    assert names(small_disk) == ["a.py"]


@pytest.mark.skipif(os.name != "posix", reason="asks POSIX which processes there are")
def test_what_killed_processes_have_left_is_removed(tmp_path):
    program = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom gradcheck_tool.writing import replacing\n"
        "with replacing(Path(sys.argv[1])):\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "a.py")], cwd=ROOT, check=False)
    assert len(names(tmp_path)) == 1
    (tmp_path / ".gradlint-other.tmp").touch()
    with replacing(tmp_path / "b.py"):
        remove_left_behind(tmp_path)
        assert len(names(tmp_path)) == 2
    assert names(tmp_path) == [".gradlint-other.tmp", "b.py"]


STAGES = """
import os, sys
from pathlib import Path
from gradcheck_tool import ending, writing

ending.end_on_signals()
number, chosen, path = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
reached = 0

def line(frame, event, _):
    global reached
    if event == "line":
        reached += 1
        if reached == chosen:
            os.kill(os.getpid(), number)
    return line

ours = {ending.__file__, writing.__file__}
sys.settrace(lambda frame, event, _: line if frame.f_code.co_filename in ours else None)
writing.write_atomically(path, b"new" * 10_000)
sys.settrace(None)
print(reached)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_signal_at_any_line_leaves_a_whole_file_and_no_other(tmp_path):
    path = tmp_path / "a.py"

    def run(stage, number):
        path.write_bytes(b"old")
        arguments = [sys.executable, "-c", STAGES, str(int(number)), str(stage), str(path)]
        ended = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=False)
        assert path.read_bytes() in (b"old", b"new" * 10_000)
        assert names(tmp_path) == ["a.py"], (stage, number)
        return ended

    stages = int(run(0, signal.SIGTERM).stdout)
    assert stages > 20
    sent = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    for stage in range(1, stages + 1):
        number = sent[stage % len(sent)]
        ended = run(stage, number)
        assert (ended.returncode, ended.stderr) == (128 + number, ""), stage

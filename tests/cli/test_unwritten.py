"""What cannot be written is named, the old file stays whole, everything else is done, and the status is 2."""

from __future__ import annotations

import ctypes
import json
import os
import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="limits and modes of POSIX")

ROOT = Path(__file__).parents[2]
BAD = "import torch\n\nw = torch.zeros(3, requires_grad=True)\nloss = w.exp().sum()\nloss.backward(retain_variables=True)\n"
GOOD = BAD.replace("retain_variables", "retain_graph")
LONG = f"{BAD}# {'x' * 8000}\n"
# Bytes that a file may have under a limit of the system.
LIMIT = 6000


def gradlint(folder, *arguments, before=None, environment=(), **options):
    """Run the command in a process of its own, where something is done first."""
    return subprocess.run(
        [sys.executable, "-m", "gradcheck_tool", *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", **dict(environment)},
        capture_output="stdout" not in options,
        text=True,
        check=False,
        preexec_fn=before,
        **options,
    )


def limit_files():
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))


def heed_modes():
    """Modes of files and folders mean nothing to root, unless it gives that up."""
    drop, passes_over_modes, reads_all = 24, 1, 2
    libc = ctypes.CDLL(None)
    for right in (passes_over_modes, reads_all):
        libc.prctl(drop, right, 0, 0, 0)


@pytest.fixture
def modes_are_heeded(tmp_path):
    closed = tmp_path / "probe"
    closed.mkdir(mode=0o555)
    probe = [sys.executable, "-c", f"open({str(closed / 'file')!r}, 'w')"]
    if not subprocess.run(probe, capture_output=True, check=False, preexec_fn=heed_modes).returncode:
        pytest.skip("this user may write to every folder")


def write(folder, **files):
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)


def told(path, why):
    return f"gradlint: error: {path}: cannot be written: {why}\n"


def fill(path):
    """Make a file of what is left of a disk."""
    with path.open("wb", buffering=0) as filler, suppress(OSError):
        while True:
            filler.write(bytes(4096))


def no_temporary_file_in(folder):
    return not list(folder.rglob("*.tmp"))


def test_fixes_go_on_after_a_file_that_does_not_fit(tmp_path):
    write(tmp_path, a=BAD, m=LONG, z=BAD)
    result = gradlint(tmp_path, "check", "--fix", ".", before=limit_files)
    assert result.returncode == 2
    assert result.stderr.startswith(told(tmp_path / "m.py", "File too large") + "Fixed 2 problems.\n")
    assert [(tmp_path / f"{name}.py").read_text() for name in "amz"] == [GOOD, LONG, GOOD]
    assert "m.py:5:1: GL910" in gradlint(tmp_path, "check", "--output-format", "concise").stdout
    assert no_temporary_file_in(tmp_path)


def test_fixes_go_on_after_a_folder_that_cannot_be_written(tmp_path, modes_are_heeded):
    (tmp_path / "m").mkdir()
    write(tmp_path, a=BAD, z=BAD)
    write(tmp_path / "m", b=BAD)
    (tmp_path / "m").chmod(0o555)
    result = gradlint(tmp_path, "check", "--fix", ".", before=heed_modes)
    assert result.returncode == 2
    assert result.stderr.startswith(
        told(tmp_path / "m" / "b.py", "Permission denied") + "Fixed 2 problems.\n"
    )
    assert [(tmp_path / name).read_text() for name in ("a.py", "m/b.py", "z.py")] == [GOOD, BAD, GOOD]


def test_suppressions_go_on_after_a_read_only_file(tmp_path):
    write(tmp_path, a=BAD, m=BAD, z=BAD)
    (tmp_path / "m.py").chmod(0o444)
    result = gradlint(tmp_path, "check", "--add-noqa", ".")
    assert result.returncode == 2
    assert result.stderr == told(tmp_path / "m.py", "the file is read-only") + "Suppressed 2 problems.\n"
    assert (tmp_path / "m.py").read_text() == BAD


def test_a_read_only_file_is_not_fixed(tmp_path):
    write(tmp_path, a=BAD)
    (tmp_path / "a.py").chmod(0o444)
    result = gradlint(tmp_path, "check", "--fix", "a.py")
    assert result.returncode == 2
    offer = "Found 1 problem in 1 file (1 fixable with --fix).\n"
    assert result.stderr == told(tmp_path / "a.py", "the file is read-only") + offer
    assert (tmp_path / "a.py").read_text() == BAD
    assert stat.S_IMODE((tmp_path / "a.py").stat().st_mode) == 0o444


def test_links_within_the_tree(tmp_path):
    write(tmp_path, real=BAD)
    (tmp_path / "symbolic.py").symlink_to("real.py")
    os.link(tmp_path / "real.py", tmp_path / "hard.py")
    result = gradlint(tmp_path, "check", "--fix", ".")
    assert (result.returncode, result.stderr.splitlines()[0]) == (0, "Fixed 3 problems.")
    assert [(tmp_path / f"{name}.py").read_text() for name in ("real", "symbolic", "hard")] == [GOOD] * 3
    assert (tmp_path / "symbolic.py").is_symlink()


def test_a_file_that_has_changed_meanwhile_is_not_fixed(tmp_path, monkeypatch):
    from gradcheck_tool.cli.changes import write_changes
    from gradcheck_tool.session.fixing import Change

    write(tmp_path, a="edited\n", b="old\n")
    changes = [Change(tmp_path / f"{name}.py", b"old\n", b"new\n", ()) for name in "ab"]
    assert write_changes(changes) == changes[1:]
    assert [(tmp_path / f"{name}.py").read_text() for name in "ab"] == ["edited\n", "new\n"]


def test_a_baseline_that_does_not_fit_leaves_the_old_one(tmp_path):
    for number in range(60):
        write(tmp_path, **{f"f{number}": BAD})
    (tmp_path / "baseline.json").write_text("old")
    result = gradlint(tmp_path, "check", "--write-baseline", "baseline.json", before=limit_files)
    assert (result.returncode, result.stderr) == (2, told(tmp_path / "baseline.json", "File too large"))
    assert (tmp_path / "baseline.json").read_text() == "old"
    assert no_temporary_file_in(tmp_path)


def test_the_other_reports_are_written(tmp_path):
    write(tmp_path, a=BAD)
    (tmp_path / "r.sarif").write_text("old")
    (tmp_path / "folder").mkdir()
    formats = ("sarif=r.sarif", "json=small.json", "gitlab=folder", "junit=a.py/junit.xml", "concise")
    arguments = [word for form in formats for word in ("--output-format", form)]
    result = gradlint(tmp_path, "check", *arguments, ".", before=limit_files)
    assert result.returncode == 2
    assert result.stdout.startswith("a.py:5:1: GL910")
    unwritten = [
        told("r.sarif", "File too large"),
        told("folder", "Is a directory"),
        told("a.py/junit.xml", "File exists"),
    ]
    assert result.stderr.startswith("".join(unwritten))
    assert (tmp_path / "r.sarif").read_text() == "old"
    assert [item["code"] for item in json.loads((tmp_path / "small.json").read_text())] == ["GL910"]
    assert no_temporary_file_in(tmp_path)


def test_a_full_disk(small_disk, tmp_path):
    write(small_disk, a=BAD)
    (small_disk / "baseline.json").write_text("old")
    (small_disk / ".gradlint_cache").mkdir()
    (small_disk / ".gradlint_cache" / ".gitignore").write_text("")
    fill(small_disk / "filler")
    full = "No space left on device"
    baseline = gradlint(small_disk, "check", "--write-baseline", "baseline.json")
    assert (baseline.returncode, baseline.stderr) == (2, told(small_disk / "baseline.json", full))
    fixed = gradlint(small_disk, "check", "--fix", "--output-format", f"sarif={tmp_path / 'r.sarif'}")
    assert (fixed.returncode, fixed.stderr) == (2, told(small_disk / "a.py", full))
    assert json.loads((tmp_path / "r.sarif").read_text())["runs"][0]["results"]
    assert (small_disk / "a.py").read_text() == BAD
    assert (small_disk / "baseline.json").read_text() == "old"
    (small_disk / "filler").unlink()
    assert gradlint(small_disk, "check", "-q").returncode == 1
    assert (small_disk / ".gradlint_cache" / ".gitignore").read_text() == "*\n"
    assert no_temporary_file_in(small_disk)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "--output-format", "json", "--output-format", "sarif=r.sarif"),
        ("check", "--show-files"),
        ("check", "--diff"),
        ("rule", "GL101"),
        ("version",),
        ("--help",),
    ],
)
def test_standard_output_that_is_full(tmp_path, arguments):
    write(tmp_path, a=BAD)
    with Path("/dev/full").open("w") as full:
        result = gradlint(tmp_path, *arguments, stdout=full, stderr=subprocess.PIPE)
    assert result.returncode == 2
    assert result.stderr.startswith(told("standard output", "No space left on device"))
    assert "Traceback" not in result.stderr
    assert "sarif=r.sarif" not in arguments or json.loads((tmp_path / "r.sarif").read_text())


def test_run(tmp_path):
    (tmp_path / "train.py").write_text("")
    (tmp_path / "folder").mkdir()
    formats = ("--output-format", "json=folder", "--output-format", "sarif=r.sarif")
    result = gradlint(tmp_path, "run", "--save", "folder", *formats, "train.py")
    assert (result.returncode, result.stderr) == (2, told("folder", "Is a directory") * 2)
    assert json.loads((tmp_path / "r.sarif").read_text())
    (tmp_path / "train.py").write_text("raise SystemExit(7)")
    assert gradlint(tmp_path, "run", "--save", "folder", "train.py").returncode == 7


@pytest.mark.slow
def test_run_where_what_is_seen_cannot_be_kept(tmp_path, small_disk):
    program = (
        "import os, torch\nwith open(os.environ['TMPDIR'] + '/filler', 'wb', buffering=0) as file:\n"
        "    try:\n        while True: file.write(bytes(4096))\n    except OSError: pass\n"
        "loss = torch.ones(2, requires_grad=True).exp().sum()\nloss.backward()\n"
    )
    write(tmp_path, right=program, wrong=f"{program}loss.backward()\n")
    statuses = []
    for name in ("right.py", "wrong.py"):
        result = gradlint(tmp_path, "run", "--no-record", name, environment={"TMPDIR": str(small_disk)})
        statuses.append(result.returncode)
        (small_disk / "filler").unlink()
        assert not list(small_disk.iterdir())
    assert statuses == [2, 1]
    assert f"error: some of what was seen is lost: {small_disk} is not writable" in result.stderr


def test_gradcheck(tmp_path):
    (tmp_path / "folder").mkdir()
    formats = ("--output-format", "html=folder", "--output-format", "json")
    result = gradlint(tmp_path, "gradcheck", *formats, ".")
    assert (result.returncode, result.stdout) == (2, "[]\n")
    assert result.stderr.startswith(told("folder", "Is a directory"))

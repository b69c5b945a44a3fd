"""Files of a checked tree that are no files, or have no end, end in an error and never hang."""

import os
import subprocess
import sys

import pytest

from gradcheck_tool.trust.reading import MEBIBYTE, RefusedFileError, read_file, read_program

pytestmark = pytest.mark.skipif(os.name != "posix", reason="there are no pipes among files")


def gradlint(folder, *arguments):
    """The command, which is killed where it hangs."""
    command = [sys.executable, "-m", "gradcheck_tool", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)


def make_special(path, kind):
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        with path.open("wb") as file:
            file.truncate(11 * MEBIBYTE)


@pytest.mark.parametrize("kind", ["pipe", "device", "large"])
def test_only_regular_files_of_a_bounded_size_are_read(tmp_path, kind):
    make_special(tmp_path / "x.py", kind)
    with pytest.raises(RefusedFileError):
        read_program(tmp_path / "x.py")


def test_files_are_read_whole_through_links_too(tmp_path):
    (tmp_path / "a").write_bytes(b"x" * MEBIBYTE)
    (tmp_path / "b").symlink_to("a")
    assert read_file(tmp_path / "b", MEBIBYTE) == b"x" * MEBIBYTE


@pytest.mark.parametrize("kind", ["pipe", "device", "large"])
@pytest.mark.parametrize("key", ["extend", "baseline"])
def test_a_configuration_that_names_one_is_an_error(tmp_path, key, kind):
    make_special(tmp_path / "special", kind)
    (tmp_path / "gradlint.toml").write_text(f'{key} = "special"\n')
    (tmp_path / "t.py").write_text("import torch\nloss = torch.ones(2).exp().sum()\nloss.backward()\n")
    ended = gradlint(tmp_path, "check", "--no-cache")
    assert ended.returncode == 2
    assert f"{tmp_path / 'special'}: it " in ended.stderr
    assert "internal error" not in ended.stderr


@pytest.mark.parametrize("kind", ["pipe", "device", "large"])
def test_an_ignore_file_that_is_none_is_an_error(tmp_path, kind):
    make_special(tmp_path / ".gitignore", kind)
    (tmp_path / "t.py").write_text("x = 1\n")
    ended = gradlint(tmp_path, "check")
    assert ended.returncode == 2
    assert f"{tmp_path / '.gitignore'}: it " in ended.stderr


@pytest.mark.parametrize("name", ["gradlint.toml", "pyproject.toml"])
def test_a_configuration_that_is_too_large_is_an_error(tmp_path, name):
    make_special(tmp_path / name, "large")
    ended = gradlint(tmp_path, "check")
    assert ended.returncode == 2
    assert f"{tmp_path / name}: it has more than 10 MiB" in ended.stderr


@pytest.mark.parametrize("kind", ["pipe", "device", "large"])
def test_programs_and_what_they_import(tmp_path, kind):
    make_special(tmp_path / "helper.py", kind)
    (tmp_path / "t.py").write_text("import torch\nimport helper\nhelper.f(torch.ones(2)).backward()\n")
    assert gradlint(tmp_path, "check", "--no-cache", "t.py").returncode == 0
    named = gradlint(tmp_path, "check", "helper.py")
    assert (named.returncode, named.stderr.count("helper.py: it ")) == (2, 1)


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_a_run_to_compare_with(tmp_path, kind):
    make_special(tmp_path / "run.json", kind)
    (tmp_path / "t.py").write_text("x = 1\n")
    ended = gradlint(tmp_path, "check", "--with-run", "run.json")
    assert ended.returncode == 2
    assert "run.json: it is a" in ended.stderr


@pytest.mark.parametrize("kind", ["pipe", "device", "large"])
def test_discovery_of_functions(tmp_path, kind):
    pytest.importorskip("psutil")
    make_special(tmp_path / "f.py", kind)
    assert "f.py: it " in gradlint(tmp_path, "gradcheck", "f.py").stderr


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("gradlint.toml", "select = " + "[" * 100_000),
        ("gradlint.toml", "a." * 100_000 + "b = 1"),
        ("baseline.json", "[" * 100_000),
    ],
)
def test_what_is_nested_too_deeply_is_an_error_of_the_configuration(tmp_path, name, text):
    (tmp_path / "gradlint.toml").write_text('baseline = "baseline.json"\n')
    (tmp_path / name).write_text(text)
    (tmp_path / "t.py").write_text("import torch\nloss = torch.ones(2).exp().sum()\nloss.backward()\n")
    ended = gradlint(tmp_path, "check", "--no-cache")
    assert ended.returncode == 2
    assert name in ended.stderr
    assert "internal error" not in ended.stderr

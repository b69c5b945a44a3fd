"""Every program and command of the guides runs, and prints what they show."""

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from gradcheck_tool.toml_text import parse_toml

ROOT = Path(__file__).parents[1]
GUIDES = sorted((ROOT / "docs" / "guides").glob("*.md"))
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# The plugin is loaded by name where this checkout's own entry points are not installed.
PLUGIN = "gradcheck_tool.sanitizer.pytest_plugin"
LOADING = "" if any(one.value == PLUGIN for one in entry_points(group="pytest11")) else f" -p {PLUGIN}"
PYTEST = f"pytest -p no:cacheprovider{LOADING}"
# Their reports end with another status than 0.
_RAISES = ("attention.py", "recurrent.py", "check ")


@pytest.fixture
def folder(tmp_path):
    """An empty project in which the commands stand for those of this checkout."""
    (tmp_path / "gradlint.toml").write_text("")
    commands = tmp_path / ".bin"
    commands.mkdir()
    for name, module in (("gradlint", "gradcheck_tool"), ("pytest", PYTEST)):
        path = commands / name
        path.write_text(f'#!/bin/sh\nexec {sys.executable} -m {module} "$@"\n')
        path.chmod(0o755)
    return tmp_path


@pytest.mark.skipif(shutil.which("sh") is None, reason="commands are a shell's")
@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_commands_print_what_the_guide_shows(folder, guide):
    printed = ""
    for language, text in _BLOCK.findall(guide.read_text(encoding="utf-8")):
        if language == "python":
            name = re.match(r"# (\S+\.py)\n", text).group(1)
            (folder / name).write_text(text)
        elif language == "sh":
            printed = "".join(run(folder, line) for line in text.splitlines())
        elif language == "text":
            for line in text.splitlines():
                assert line in printed, printed
        else:
            check_settings(language, text)


def check_settings(language, text):
    """What is for an editor's settings: read here where Python can read it."""
    if language == "json":
        json.loads(text)
    elif language == "toml":
        parse_toml(text)
    else:
        assert language in ("lua", "elisp")
        assert text.count("(") + text.count("{") == text.count(")") + text.count("}")


def run(folder, line):
    ended = subprocess.run(
        ["sh", "-c", line],
        cwd=folder,
        env={
            **os.environ,
            "PATH": f"{folder / '.bin'}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "OMP_NUM_THREADS": "1",
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0 or any(part in line for part in _RAISES), (line, ended.stderr)
    assert ended.returncode in (0, 1), (line, ended.stderr)
    return ended.stdout + ended.stderr


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_links_lead_somewhere(guide):
    for target in re.findall(r"\]\(([^)#]+)\)", guide.read_text(encoding="utf-8")):
        assert guide.parent.joinpath(target).exists(), target

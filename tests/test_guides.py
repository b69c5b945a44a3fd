"""Every program and command of the guides runs, and prints what they show."""

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import nbformat
import pytest
import yaml
from nbformat.v4 import new_code_cell, new_notebook

from gradcheck_tool.config import parse_config
from gradcheck_tool.report import FORMATS
from gradcheck_tool.toml_text import parse_toml

ROOT = Path(__file__).parents[1]
# Pages elsewhere that show what is printed in the same way.
OTHERS = ("how-it-works", "json", "repository")
GUIDES = [
    *sorted((ROOT / "docs" / "guides").glob("*.md")),
    *(ROOT / "docs" / f"{name}.md" for name in OTHERS),
]
# Their commands train, or start a process for each of several tests.
TRAINING = ("backward-raises", "long-runs", "loss-does-not-go-down", "pytest-and-ci")
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
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
@pytest.mark.parametrize(
    "guide",
    [
        pytest.param(path, id=path.stem, marks=[pytest.mark.slow] if path.stem in TRAINING else [])
        for path in GUIDES
    ],
)
def test_commands_print_what_the_guide_shows(folder, guide):
    printed = ""
    for language, text in _BLOCK.findall(guide.read_text(encoding="utf-8")):
        if language == "python":
            write(folder, text)
        elif language == "sh":
            printed = "".join(run(folder, line) for line in text.splitlines())
        elif language == "text":
            for line in text.splitlines():
                assert line in printed, printed
        else:
            check_settings(language, text)


def write(folder, text):
    """A program or a cell in its file; what has no file is a part of one, and Python all the same."""
    compile(text, "program.py", "exec")
    if name := re.match(r"# (\S+\.py)\n", text):
        (folder / name.group(1)).write_text(text)
    elif name := re.match(r"# (\S+\.ipynb), cell (\d+)\n", text):
        path, number = folder / name.group(1), int(name.group(2))
        notebook = new_notebook() if number == 1 else nbformat.read(path, as_version=4)
        notebook.cells.append(new_code_cell(text))
        nbformat.write(notebook, path)


def guide(name):
    return ROOT / "docs" / "guides" / f"{name}.md"


def check_settings(language, text):
    """What is for settings: read here where Python can read it."""
    if language == "json":
        json.loads(text)
    elif language == "yaml":
        check_recipe(yaml.safe_load(text))
    elif language == "toml":
        tool = parse_toml(text).get("tool", {})
        parse_config(tool.get("gradlint", {}), Path("/r/pyproject.toml"))
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


def check_recipe(recipe):
    """What CI and pre-commit are told uses what there is."""
    hooks = {hook["id"] for repo in recipe.get("repos", ()) for hook in repo["hooks"]}
    assert hooks <= {hook["id"] for hook in HOOKS}
    inputs = set(yaml.safe_load((ROOT / "action.yml").read_text())["inputs"])
    steps = [step for job in recipe.get("jobs", {}).values() for step in job["steps"]]
    used = [step.get("with", {}) for step in steps if "gradcheck-tool@" in step.get("uses", "")]
    assert all(set(given) <= inputs for given in used)
    assert hooks or used or set(re.findall(r"--output-format (\w+)", str(recipe))) <= set(FORMATS)


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_links_lead_somewhere(guide):
    for target in re.findall(r"\]\(([^)#]+)\)", guide.read_text(encoding="utf-8")):
        assert target.startswith("https://") or guide.parent.joinpath(target).exists(), target


def test_each_comment_suppresses_the_finding(folder):
    programs = [
        text for language, text in _BLOCK.findall(guide("suppressions").read_text()) if language == "python"
    ]
    program, shown = programs
    for line in shown.splitlines():
        changed = (
            program.replace("\nloss.backward()", f"\n{line}") if "loss" in line else f"{program}{line}\n"
        )
        (folder / "attention.py").write_text(changed)
        assert "No autograd mistakes found" in run(folder, "gradlint check --no-cache attention.py"), line

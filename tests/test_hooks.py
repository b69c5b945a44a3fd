"""The pre-commit hooks, run by the real program on a real repository; and the GitHub action's steps."""

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())

LEAF_WRITE = "import torch\n\nw = torch.zeros(3, requires_grad=True)\nw += 1\n"
OLD_NAME = """\
import torch


class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_variables
        return grad * y


Exp.apply(torch.ones(2, requires_grad=True)).sum().backward()
"""
WRONG_GRADIENT = OLD_NAME.replace("saved_variables", "saved_tensors").replace("grad * y", "2 * grad * y")
RIGHT = "import torch\n\nw = torch.zeros(3, requires_grad=True)\nprint((w * 2).sum())\n"


def run(*command, cwd, **environment):
    return subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


@pytest.fixture
def command(tmp_path):
    """A folder with a `gradlint` that runs this checkout."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "gradlint"
    script.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m gradcheck_tool "$@"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return folder


@pytest.fixture
def using(tmp_path, command):
    """Make a git repository that uses some of the hooks, and return a way to commit to it."""
    folder = tmp_path / "repo"
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
    environment = {
        "PATH": f"{command}{os.pathsep}{os.environ['PATH']}",
        "PRE_COMMIT_HOME": str(tmp_path / "home"),
    }

    def commit(**files):
        for name, text in files.items():
            (folder / name).write_text(text)
        run(*git, "add", "-A", cwd=folder)
        return run(*git, "commit", "-q", "-m", "change", cwd=folder, **environment)

    def make(*names):
        folder.mkdir()
        run(*git, "init", "-q", cwd=folder)
        # The hooks as they are published, on the checkout's code instead of an installed copy.
        hooks = [{**hook, "language": "system"} for hook in HOOKS if hook["id"] in names]
        config = {"repos": [{"repo": "local", "hooks": hooks}]}
        (folder / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
        installed = run(sys.executable, "-m", "pre_commit", "install", cwd=folder, **environment)
        assert installed.returncode == 0, installed.stdout + installed.stderr
        return commit

    return make


@pytest.fixture
def repository(using):
    """A way to commit to a repository that uses the hook that reports."""
    return using("gradlint")


def test_commit_with_a_mistake_is_refused(repository):
    result = repository(**{"train.py": LEAF_WRITE})
    assert result.returncode != 0
    assert "train.py:4:1" in result.stdout + result.stderr
    assert "GL301" in result.stdout + result.stderr


def test_fixing_hook_mends_what_it_can_and_refuses_until_that_is_added(using, tmp_path):
    commit = using("gradlint-fix")
    result = commit(**{"ops.py": OLD_NAME, "unchanged.py": RIGHT})
    assert result.returncode != 0
    assert "files were modified by this hook" in result.stdout + result.stderr
    assert (tmp_path / "repo" / "ops.py").read_text() == OLD_NAME.replace("saved_variables", "saved_tensors")
    assert commit().returncode == 0


def test_fixing_hook_refuses_what_it_cannot_mend(using, tmp_path):
    commit = using("gradlint-fix")
    result = commit(**{"train.py": LEAF_WRITE})
    assert result.returncode != 0
    assert "GL301" in result.stdout + result.stderr
    assert (tmp_path / "repo" / "train.py").read_text() == LEAF_WRITE


def test_right_program_and_files_without_torch_pass(repository):
    result = repository(**{"train.py": RIGHT, "plain.py": "print(1)\n", "empty.py": "", "readme.md": "#\n"})
    assert result.returncode == 0, result.stdout + result.stderr


def test_commit_without_any_python_passes(repository):
    assert repository(**{"readme.md": "# Hello\n"}).returncode == 0


def test_exclusions_hold_for_files_that_the_hook_names(repository):
    files = {"generated.py": LEAF_WRITE, "gradlint.toml": 'extend-exclude = ["generated.py"]\n'}
    assert repository(**files).returncode == 0


def test_notebooks_are_checked(repository):
    cell = {"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": [], "source": LEAF_WRITE}
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    result = repository(**{"n.ipynb": json.dumps(notebook)})
    assert result.returncode != 0
    assert "n.ipynb:cell 1:4:1" in result.stdout + result.stderr


def test_hooks_are_what_pre_commit_accepts():
    checked = run(sys.executable, "-m", "pre_commit", "validate-manifest", ".pre-commit-hooks.yaml", cwd=ROOT)
    assert checked.returncode == 0, checked.stdout
    assert [hook["id"] for hook in HOOKS] == ["gradlint", "gradlint-fix"]
    for hook in HOOKS:
        assert hook["types_or"] == ["python", "pyi", "jupyter"]
        assert hook["require_serial"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="the action's steps are written for bash")
class TestAction:
    @pytest.fixture
    def step(self, tmp_path, command):
        """Run a step of the action as GitHub does, with other inputs than the defaults."""
        action = yaml.safe_load((ROOT / "action.yml").read_text())

        def act(name, **inputs):
            found = next(step for step in action["runs"]["steps"] if step.get("name") == name)
            values = {key: inputs.get(key, default_of(action, value)) for key, value in found["env"].items()}
            environment = {"GRADLINT_BIN": str(command / "gradlint"), "PYTHONPATH": str(ROOT), **values}
            environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
            return run("bash", "-e", "-c", found["run"], cwd=tmp_path, **environment)

        return act

    def test_annotates_and_writes_sarif(self, step, tmp_path):
        (tmp_path / "train.py").write_text(LEAF_WRITE)
        result = step("Check")
        assert result.returncode == 1
        assert result.stdout.startswith("::error title=gradlint (GL301),file=train.py,line=4,")
        assert json.loads((tmp_path / "gradlint.sarif").read_text())["runs"][0]["results"]

    def test_inputs_may_have_several_lines(self, step, tmp_path):
        for name in ("a.py", "b.py", "c.py"):
            (tmp_path / name).write_text(LEAF_WRITE)
        result = step("Check", PATHS="a.py\nb.py\n", ARGS="--select GL3\n--quiet\n")
        assert result.returncode == 1
        assert re.findall(r"file=(\w+\.py),", result.stdout) == ["a.py", "b.py"]

    def test_can_leave_the_job_green(self, step, tmp_path):
        (tmp_path / "train.py").write_text(LEAF_WRITE)
        assert step("Check", FAIL="false").returncode == 0

    def test_inputs_are_never_commands(self, step, tmp_path):
        (tmp_path / "a.py").write_text(RIGHT)
        step("Check", PATHS="a.py; touch owned $(touch owned2)", ARGS="`touch owned3`")
        step("Check gradients", TARGETS="a.py; touch owned4 $(touch owned5)", ARGS="`touch owned6`")
        assert not [path for path in tmp_path.iterdir() if path.name.startswith("owned")]

    @pytest.mark.slow
    def test_checks_gradients(self, step, tmp_path):
        (tmp_path / "ops.py").write_text(WRONG_GRADIENT)
        result = step("Check gradients", TARGETS="ops.py")
        assert result.returncode == 1, result.stdout + result.stderr
        assert result.stdout.startswith("::error title=gradlint (GC101),file=ops.py,")
        results = json.loads((tmp_path / "gradcheck.sarif").read_text())["runs"][0]["results"]
        assert {item["ruleId"] for item in results} == {"GC101"}
        assert step("Check gradients", TARGETS="ops.py", FAIL="false").returncode == 0

    @pytest.mark.slow
    def test_a_runner_without_its_gpu_does_not_pass(self, step, tmp_path):
        (tmp_path / "ops.py").write_text(WRONG_GRADIENT)
        result = step("Check gradients", TARGETS="ops.py", DEVICES="cpu xla", HTML_FILE="report.html")
        assert result.returncode == 1
        assert "(cpu, float64)" in result.stdout
        assert "[xla]: device 'xla' cannot be used here" in result.stderr
        assert "Not checked, and why" in (tmp_path / "report.html").read_text()
        alone = {"TARGETS": "ops.py", "DEVICES": "xla"}
        assert step("Check gradients", **alone).returncode == 1
        assert step("Check gradients", **alone, FAIL="false").returncode == 0


def default_of(action, expression):
    """What `${{ inputs.NAME }}` is when the workflow says nothing."""
    name = re.fullmatch(r"\$\{\{ inputs\.([\w-]+) \}\}", expression).group(1)
    return action["inputs"][name]["default"]

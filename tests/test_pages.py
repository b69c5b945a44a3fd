"""What pages of the documentation show, whether or not it can run everywhere, is Python, a command, or a setting."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer
import yaml

from gradcheck_tool.cli.app import app
from gradcheck_tool.config import parse_config
from gradcheck_tool.toml_text import parse_toml

ROOT = Path(__file__).parents[1]
GRADCHECK = ROOT / "docs" / "gradcheck"
# Made from the rules, whose programs other tests run.
MADE = ("rules.md", "events.md")
PAGES = [page for page in sorted((ROOT / "docs").rglob("*.md")) if page.name not in MADE]


def blocks(page, language):
    return re.findall(
        rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT / "docs").as_posix())
class TestPages:
    def test_programs_are_python(self, page):
        for text in blocks(page, "python"):
            compile(text, page.name, "exec")

    def test_settings_are_read(self, page):
        for text in blocks(page, "toml"):
            parse_config(parse_toml(text).get("tool", {}).get("gradlint", {}), page)
        for text in blocks(page, "yaml"):
            assert yaml.safe_load(text)

    def test_commands_are_accepted(self, page):
        group = typer.main.get_command(app)
        context = group.make_context("gradlint", ["version"], resilient_parsing=True)
        for line in "".join(blocks(page, "sh")).splitlines():
            words = shlex.split(line.split(" || ")[0], comments=True)
            while words and re.fullmatch(r"[A-Z_]+=\S+", words[0]):
                words = words[1:]
            if words[:1] == ["gradlint"]:
                group.get_command(context, words[1]).make_context(words[1], words[2:])


def run(folder, *words):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def without_numbers(text):
    text = re.sub(r"-?\d+\.\d+(e[-+]\d+)?", "#", text)
    return re.sub(r"at \[\d+, \d+\]", "at #", text).rstrip("\n")


@pytest.mark.slow
def test_the_guide_to_gradient_checks_prints_what_it_shows(tmp_path):
    page = GRADCHECK / "guide.md"
    function, samples = blocks(page, "python")[:2]
    (tmp_path / "my_package").mkdir()
    (tmp_path / "my_package" / "ops.py").write_text(function)
    (tmp_path / "my_package" / "__init__.py").write_text("")
    (tmp_path / "pyproject.toml").write_text("")
    (shown,) = re.findall(
        r"^\$ gradlint gradcheck my_package\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE
    )
    printed = run(tmp_path, "-m", "gradcheck_tool", "gradcheck", "my_package")
    report, _, summary = without_numbers(shown).rpartition("\n\n")
    assert without_numbers(printed.stdout) == report
    assert all(line in printed.stderr for line in summary.splitlines())
    (tmp_path / "gradcheck_ops.py").write_text(samples)
    assert (
        "Checked: 1 by declared inputs."
        in run(tmp_path, "-m", "gradcheck_tool", "gradcheck", "my_package").stderr
    )


@pytest.mark.slow
def test_the_check_from_python_prints_what_it_shows(tmp_path):
    page = GRADCHECK / "index.md"
    (tmp_path / "cube.py").write_text(blocks(page, "python")[0])
    (shown,) = re.findall(r"^```\n(__main__\.Cube: wrong.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    printed = run(tmp_path, "cube.py").stdout.replace(str(tmp_path), "...")
    assert without_numbers(printed).startswith(without_numbers(shown))

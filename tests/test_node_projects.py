"""The parts that are written for Node: the playground, built and opened in a browser, and the VS Code extension."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PLAYGROUND = ROOT / "playground"
EXTENSION = ROOT / "editors" / "vscode"
BROWSER = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chrome")

# Checks the examples of all rules and what is no Python, as the page does.
CHECKING = """
import json, sys
from pathlib import Path

folder, *added = sys.argv[1:]
sys.path[:0] = added
import bridge

bridge._FOLDER = Path(folder)
programs = [rule["text"] for family in json.loads(bridge.examples()) for rule in family["rules"]]
programs += ["import torch\\nx = (\\n", "import torch\\n%time x.backward()\\n"]
print(json.dumps([json.loads(bridge.check("program.py", text)) for text in programs]))
print(getattr(sys.modules.get("libcst"), "__file__", None))
"""


def npm(folder, *arguments):
    """Run npm in a folder whose packages `npm ci` has brought."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    if not (folder / "node_modules" / ".package-lock.json").exists():
        pytest.skip(f"its packages are not installed: run `npm ci` in {folder.relative_to(ROOT)}")
    environment = {**os.environ, "CHROMIUM": BROWSER or ""}
    ended = subprocess.run(
        ["npm", *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=1200, check=False
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_the_playground_is_built_and_works_in_a_browser():
    npm(PLAYGROUND, "run", "build")
    page = (PLAYGROUND / "dist" / "index.html").read_text(encoding="utf-8")
    assert "connect-src 'none'" in page
    printed = npm(PLAYGROUND, "test")
    if BROWSER is None:
        assert "CHROMIUM names no browser" in printed
        pytest.skip("there is no Chromium: the page was built, and not opened")


def test_the_extension_for_vs_code_is_tested_and_packaged():
    npm(EXTENSION, "test")
    npm(EXTENSION, "run", "package")
    assert list(EXTENSION.glob("*.vsix"))


@pytest.mark.parametrize("folder", [PLAYGROUND, EXTENSION], ids=lambda folder: folder.name)
def test_lock_files_name_no_host(folder):
    packages = json.loads((folder / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    assert len(packages) > 1
    assert not [name for name, package in packages.items() if "resolved" in package]


@pytest.mark.slow
def test_the_page_finds_without_libcst_what_is_found_with_it(tmp_path):
    """In a browser there is no libcst; what stands in for it is asked only about what is no Python."""

    def found(*added):
        ended = subprocess.run(
            [sys.executable, "-c", CHECKING, str(tmp_path / "program"), *map(str, added)],
            capture_output=True, text=True, timeout=600, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        checked, libcst = ended.stdout.splitlines()
        return json.loads(checked), libcst

    bridge, stand_ins = PLAYGROUND / "python", PLAYGROUND / "python" / "stand_ins"
    without, stood_in = found(bridge, stand_ins)
    with_it, real = found(bridge)
    assert stood_in == str(stand_ins / "libcst.py")
    assert real != stood_in
    assert without == with_it
    assert sum(bool(one["findings"]) for one in without) == len(without) - 2
    assert [one["problems"] for one in without[-2:]] == [
        ["does not parse as Python (row 2, column 5)"],
        ["does not parse as Python (row 2, column 1)"],
    ]

"""What is installed, what starts fast, and what set-up promises."""

import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from gradcheck_tool import __version__

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "fixtures"


def python(*arguments, path=None, cwd=None, **options):
    """Run this Python; its output may not depend on where the tests run."""
    environment = {**os.environ, "PYTHONPATH": str(path or ROOT)}
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True, text=True, cwd=cwd, env=environment, check=False, timeout=300, **options,
    )  # fmt: skip


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    built = python("-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=ROOT)
    assert built.returncode == 0, built.stderr
    return next(folder.glob("*.whl"))


class TestWheel:
    def test_ships_the_rules_inside_the_package_and_nothing_beside_it(self, wheel):
        names = zipfile.ZipFile(wheel).namelist()
        assert {name.split("/")[0] for name in names} == {
            "gradcheck_tool",
            f"gradcheck_tool-{__version__}.dist-info",
        }
        rules = {path.relative_to(ROOT / "rules").as_posix() for path in (ROOT / "rules").rglob("*.py")}
        assert rules
        assert {f"gradcheck_tool/_rules/{name}" for name in rules} <= set(names)
        assert "gradcheck_tool/py.typed" in names

    def test_ships_every_file_of_the_package(self, wheel):
        tracked = subprocess.run(
            ["git", "ls-files", "gradcheck_tool"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.split()
        assert set(tracked) <= set(zipfile.ZipFile(wheel).namelist())

    def test_loads_its_own_rules_when_installed(self, wheel, tmp_path):
        zipfile.ZipFile(wheel).extractall(tmp_path)
        where = python(
            "-c",
            "import gradcheck_tool.rulebook.builtin as b; print(b.builtin_pack())",
            path=tmp_path,
            cwd="/",
        )
        assert Path(where.stdout.strip()) == (tmp_path / "gradcheck_tool" / "_rules").resolve()
        explained = python("-m", "gradcheck_tool", "rule", "GL201", path=tmp_path, cwd="/")
        assert explained.stdout.startswith("# GL201")


class TestStart:
    def imported(self, *arguments, cwd=None):
        """The top-level modules that a command imports, and its exit status."""
        result = python("-X", "importtime", "-m", "gradcheck_tool", *arguments, cwd=cwd)
        names = re.findall(r"^import time:.*\| +(\w+)", result.stderr, re.MULTILINE)
        assert names, result.stderr
        return set(names), result.returncode

    def test_check_never_imports_torch_or_numpy(self):
        modules, status = self.imported("check", "--no-cache", FIXTURES / "calls")
        assert status == 1
        assert not {"torch", "numpy"} & modules

    def test_check_of_files_without_torch_does_not_import_the_parser(self, tmp_path):
        (tmp_path / "a.py").write_text("print('hello')\n")
        modules, status = self.imported("check", "--no-cache", tmp_path)
        assert status == 0
        assert not {"libcst", "rich"} & modules

    def test_the_parser_is_imported_for_what_is_no_python_alone(self, tmp_path):
        clean = "import torch\nw = torch.ones(2, requires_grad=True)\nloss = (w * w).sum()\nloss.backward()\n"
        for more, status, needed in (
            ("", 0, False),
            ("loss.backward()\n", 1, False),
            ("nn.utils.clip_grad_norm(p, 1)\n", 1, False),
            ("nn.L1Loss(size_average=False)\n", 1, False),
            ("loss.backward(\n", 2, True),
        ):
            (tmp_path / "a.py").write_text(f"{clean}from torch import nn\np = [w]\n{more}")
            modules, ended = self.imported("check", "--no-cache", tmp_path / "a.py")
            assert ended == status
            assert ("libcst" in modules) is needed

    def test_findings_are_printed_without_rich(self, tmp_path):
        (tmp_path / "a.py").write_text(
            "import torch\nw = torch.ones(2, requires_grad=True)\nw.add_(1)\nprint('done')\n"
        )
        modules, status = self.imported("check", "--no-cache", tmp_path)
        assert status == 1
        assert "rich" not in modules

    def test_known_results_are_reported_without_loading_the_engine(self, tmp_path):
        first, _ = self.imported("check", "--isolated", FIXTURES / "calls", cwd=tmp_path)
        again, _ = self.imported("check", "--isolated", FIXTURES / "calls", cwd=tmp_path)
        assert "typer" in first
        assert "typer" not in again

    def test_a_profiler_gets_to_its_own_end(self, tmp_path):
        (tmp_path / "a.py").write_text("import torch\nw = torch.ones(2, requires_grad=True)\nw.add_(1)\n")
        arguments = ("-m", "gradcheck_tool", "check", "--isolated", "--no-cache", "--exit-zero", tmp_path)
        assert "GL301" in python(*arguments).stdout
        assert "function calls" in python("-m", "cProfile", *arguments).stdout

    def test_version_imports_next_to_nothing(self):
        modules, _ = self.imported("version")
        assert not {"typer", "rich", "libcst"} & modules

    def test_importing_the_package_imports_none_of_its_parts(self):
        loaded = python(
            "-c", "import sys, gradcheck_tool; print([m for m in sys.modules if 'gradcheck_tool.' in m])"
        )
        assert loaded.stdout.strip() == "[]"


@pytest.mark.slow
def test_a_tree_without_torch_gives_no_finding_and_no_error():
    result = python(
        "-m", "gradcheck_tool", "check", "--isolated", "--no-cache", sysconfig.get_paths()["stdlib"]
    )
    assert (result.returncode, result.stdout) == (0, "")
    *problems, last = result.stderr.splitlines()
    # The standard library has files for its own tests that are no Python.
    assert [
        line for line in problems if not re.search("does not parse as Python|cannot be decoded", line)
    ] == []
    assert re.fullmatch(
        r"No autograd mistakes found in \d+ files(; \d+ files? could not be checked)?\.( The analysis of .*)?",
        last,
    )


def test_every_public_name_can_be_imported():
    code = "import gradcheck_tool as g\nfor name in g.__all__:\n    getattr(g, name)"
    result = python("-c", code)
    assert result.returncode == 0, result.stderr


def test_every_dependency_is_pinned():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [
        *project["dependencies"],
        *(item for extra in project["optional-dependencies"].values() for item in extra),
    ]
    pins = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = {canonical(re.split("==", line)[0]) for line in pins if "==" in line}
    assert {canonical(Requirement(item).name) for item in wanted} - {"gradcheck-tool"} <= pinned
    assert "torch==2.13.0" in pins


def canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()

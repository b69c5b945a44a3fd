"""Functions are found by their syntax, through aliases, imports and subclasses."""

import subprocess
import sys
from pathlib import Path

import pytest

from gradcheck_tool.analysis.entries import analyze
from gradcheck_tool.harness.discovery import BASES, Discovery
from gradcheck_tool.harness.roots import import_folders, place_of
from gradcheck_tool.ir.lower import lower_module
from gradcheck_tool.sources.modules import find_module
from gradcheck_tool.trackers.events import FunctionDefinition

BODY = """
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return g
"""


def found(*paths):
    return [ref.qualname for ref in Discovery().functions(paths)]


@pytest.mark.parametrize(
    ("head", "base"),
    [
        ("import torch", "torch.autograd.Function"),
        ("import torch.autograd", "torch.autograd.Function"),
        ("import torch as t", "t.autograd.Function"),
        ("import torch.autograd as ag", "ag.Function"),
        ("from torch import autograd", "autograd.Function"),
        ("from torch.autograd import Function as F", "F"),
        ("from torch.autograd.function import Function", "Function"),
        ("from torch.autograd.function import InplaceFunction", "InplaceFunction"),
        ("from torch.autograd import *", "Function"),
        ("import torch\nBase = torch.autograd.Function", "Base"),
        ("import torch\nfn = torch.autograd\nBase = fn.Function", "Base"),
        ("try:\n    from absent import Function\nexcept ImportError:\n    from torch.autograd import Function", "Function"),
        ("from typing import Generic, T\nfrom torch.autograd import Function", "Function, Generic[T]"),
        ("from torch.autograd import Function\nclass Base(Function): pass", "Base"),
        ("from torch.autograd import Function\nclass Outer:\n    class Base(Function): pass", "Outer.Base"),
    ],
)  # fmt: skip
def test_every_way_to_write_the_base(project, head, base):
    path = project("ops.py", f"{head}\n\nclass Mine({base}):{BODY}")
    assert "Mine" in found(path)


@pytest.mark.parametrize(
    "text",
    [
        "from elsewhere import Function\nclass Mine(Function): pass",
        "class Function: pass\nclass Mine(Function): pass",
        "import torch\nclass Mine(torch.nn.Module):\n    def backward(self): pass",
        "import torch\nclass Mine:\n    base = torch.autograd.Function",
        "Function = Function\nclass Mine(Function): pass",
        "class Mine(Mine): # autograd\n    pass",
    ],
)
def test_other_classes_are_none(project, text):
    assert found(project("ops.py", text)) == []


def test_bases_are_followed_through_the_files_of_a_package(project):
    project("pkg/__init__.py")
    project("pkg/base.py", f"import torch\n\nclass Base(torch.autograd.Function):{BODY}")
    project("pkg/sub/__init__.py", "from ..base import Base as Exported")
    first = project("pkg/first.py", "from .sub import Exported\nclass First(Exported): forward = None")
    second = project("pkg/second.py", "from pkg import base\nclass Second(base.Base):\n    '''forward'''")
    third = project("pkg/third.py", "from pkg.sub import *\nclass Third(Exported): forward = None")
    assert found(first, second, third) == ["First", "Second", "Third"]


def test_imports_in_a_circle_end(project):
    one = project("one.py", "from two import Two\nclass One(Two): forward = None")
    two = project("two.py", "from one import One\nclass Two(One): forward = None")
    assert found(one, two) == []


def test_a_module_that_is_missing_is_not_its_package(project):
    init = project("pkg/__init__.py", "from ._missing import *\nfrom .one import *")
    one = project("pkg/one.py", "from ._missing import *\nclass One(missing.Base): forward = None")
    assert found(init, one) == []


def test_names_rows_and_modules(project):
    project("src/pkg/__init__.py")
    path = project(
        "src/pkg/ops.py",
        f"""\
from torch.autograd import Function

class Outer:
    @decorated
    class Inner(Function):
        def forward(ctx, x): return x
        if True:
            def vjp(ctx, g):
                return g

def make():
    class Local(Function): pass
    return Local
{"class Twice(Function): pass"}
class Twice(Function):{BODY}""",
    )
    refs = {ref.qualname: ref for ref in Discovery().functions([path])}
    assert list(refs) == ["Outer.Inner", "make.<locals>.Local", "Twice"]
    inner = refs["Outer.Inner"]
    assert (inner.rows.first, inner.rows.last) == (4, 9)
    assert (inner.forward.first, inner.backward.first, inner.backward.last) == (6, 8, 9)
    assert inner.name == "pkg.ops.Outer.Inner"
    assert Path(inner.root) == project.folder / "src"
    assert refs["Twice"].backward is not None


def test_a_file_that_cannot_be_parsed_is_a_problem_and_no_more(project):
    broken = project("broken.py", "class Function(:\n")
    right = project("right.py", f"import torch\nclass Mine(torch.autograd.Function):{BODY}")
    discovery = Discovery()
    assert [ref.qualname for ref in discovery.functions([broken, right])] == ["Mine"]
    assert [name for name, _ in discovery.problems] == [str(broken)]


def test_dependencies_are_the_files_of_the_repository(project):
    project("pkg/__init__.py")
    helper = project("pkg/helper.py", "import os")
    main = project("pkg/main.py", "import torch\nfrom . import helper\nfrom pkg.helper import x")
    assert Discovery().dependencies(main) == {main, helper, project.folder / "pkg/__init__.py"}


@pytest.mark.parametrize(
    ("name", "level", "module", "root"),
    [
        ("script.py", 0, "script", ""),
        ("folder/script.py", 0, "script", "folder"),
        ("folder/part.py", 1, "folder.part", ""),
        ("a/b/part.py", 2, "a.b.part", ""),
        ("pkg/ops.py", 0, "pkg.ops", ""),
        ("pkg/ops.py", 1, "pkg.ops", ""),
        ("pkg/__init__.py", 1, "pkg", ""),
    ],
)
def test_the_name_that_a_file_is_imported_by(project, name, level, module, root):
    project("pkg/__init__.py")
    assert place_of(project.folder / name, level) == (module, project.folder / root)


def test_imports_start_from_the_repository_and_its_src(project):
    project("src/pkg/__init__.py")
    path = project("src/pkg/ops.py")
    _, root = place_of(path, 0)
    assert import_folders(path, root) == [root, path.parent, project.folder]


PROGRAM = f"""
import torch
from torch.autograd import Function as F

Alias = torch.autograd.Function

class First(F):{BODY}
class Second(First): pass
class Third(Alias):{BODY}
class Module(torch.nn.Module): pass
class Holder:
    class Fourth(F):{BODY.replace(chr(10), chr(10) + "    ")}
def make():
    class Fifth(F):{BODY.replace(chr(10), chr(10) + "    ")}
    return Fifth.apply(torch.ones(1))
"""


def test_check_and_gradcheck_find_the_same_functions(project):
    path = project("ops.py", PROGRAM)
    module = lower_module(PROGRAM, str(path))
    known = {event.function for event in analyze(module) if isinstance(event, FunctionDefinition)}
    assert {name.rpartition(".")[2] for name in found(path)} == known
    assert len(known) == 5


def test_the_names_of_the_bases_are_those_of_pytorch():
    import torch
    from torch.autograd import Function

    for name in BASES:
        module, _, attribute = name.rpartition(".")
        made = getattr(
            torch.autograd if module == "torch.autograd" else torch.autograd.function, attribute, None
        )
        assert made is None or issubclass(made, Function)


def test_nothing_is_imported(project):
    project(
        "ops.py", f"raise SystemExit('imported')\nimport torch\nclass Mine(torch.autograd.Function):{BODY}"
    )
    code = (
        "import sys\n"
        f"sys.path.insert(0, {str(Path(__file__).parents[2])!r})\n"
        "sys.argv = ['gradlint', 'gradcheck', '--list']\n"
        "from gradcheck_tool.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    print(end.code, 'torch' in sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=300
    )
    assert ran.stdout.split("\n")[:2] == ["ops.Mine[cpu]", "0 False"], ran.stderr


def test_a_name_that_many_star_imports_may_give_is_looked_for_once(tmp_path, monkeypatch):
    """Modules that import everything from each other: the ways through them are more than can be followed."""
    names = [f"part{k}" for k in range(9)]
    for name in names:
        others = "".join(f"from .{other} import *\n" for other in names if other != name)
        (tmp_path / f"{name}.py").write_text(f"{others}\n\nclass Op(Unknown):{BODY}")
    (tmp_path / "__init__.py").touch()
    looked = []

    def find(path, dotted, level):
        looked.append(dotted)
        assert len(looked) < 2000
        return find_module(path, dotted, level)

    monkeypatch.setattr("gradcheck_tool.harness.discovery.find_module", find)
    assert found(*sorted(tmp_path.glob("part*.py"))) == []

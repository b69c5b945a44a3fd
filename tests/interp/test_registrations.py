"""What a module registers elsewhere is there for whoever imports it, used or not."""

from __future__ import annotations

import pytest

from gradcheck_tool.ir.lower import lower_module
from tests.running import Analysis

REGISTRY = """
class Registry:
    def __init__(self):
        self.kinds = {}
    def register(self, name=None):
        def add(cls):
            self.kinds[name or cls.__name__] = cls
            return cls
        return add
    def build(self, name):
        if name not in self.kinds:
            raise KeyError(name)
        return self.kinds[name]()
    def find(self, name):
        kind = self.kinds.get(name)
        return kind()
KINDS = Registry()
"""
FREED = """
import torch
from registry import KINDS
@KINDS.register()
class Freed:
    def total(self):
        y = torch.ones(2, requires_grad=True).exp()
        y.sum().backward()
        return y.sum()
"""
KEPT = """
import torch
from registry import KINDS
@KINDS.register("kept")
class Kept:
    def total(self):
        return torch.ones(2, requires_grad=True).exp().sum()
"""
FILES = {
    "registry": REGISTRY,
    "freed": FREED,
    "kept": KEPT,
    "package": "from kept import Kept\nfrom freed import Freed\n",
}


def raises(program: str, files: dict[str, str] = FILES) -> bool:
    lowered = {name: lower_module(text, f"{name}.py") for name, text in files.items()}
    return bool(Analysis(program, None, lambda _, name, level: lowered.get(name)).errors())


@pytest.mark.parametrize(
    "imports",
    [
        "import kept\nimport freed\n",
        "import freed\nimport kept\n",
        "import package\n",
        "from package import *\n",
    ],
)
@pytest.mark.parametrize("way", ["build", "find"])
@pytest.mark.parametrize(("name", "is_freed"), [("Freed", True), ("kept", False)])
def test_a_class_is_registered_by_an_import_of_which_nothing_is_read(
    imports: str, way: str, name: str, is_freed: bool
) -> None:
    program = f"from registry import KINDS\n{imports}KINDS.{way}({name!r}).total().backward()\n"
    assert raises(program) is is_freed


def test_what_several_modules_register_is_all_there() -> None:
    program = (
        "from registry import KINDS\nfrom kept import Kept\nfrom freed import Freed\nprint(Kept, Freed)\n"
    )
    assert raises(program + "KINDS.kinds['Freed']().total().backward()\n")
    assert raises(program + "[KINDS.kinds[n]().total().backward() for n in ('kept', 'Freed')]\n")


def test_what_the_program_has_registered_itself_comes_first() -> None:
    program = "from registry import KINDS\nimport freed, kept\nKINDS.kinds['Freed'] = kept.Kept\n"
    assert not raises(program + "print(freed.Freed)\nKINDS.kinds['Freed']().total().backward()\n")


@pytest.mark.parametrize(("chosen", "is_freed"), [("package", True), ("kept", False)])
def test_a_name_that_is_not_known_chooses_one_of_the_few_classes_of_a_module(
    chosen: str, is_freed: bool
) -> None:
    program = f"import sys\nimport {chosen}\ngetattr({chosen}, sys.argv[1])().total().backward()\n"
    assert raises(program) is is_freed

"""Modules are imported as their project imports them, and the cause is told where they cannot be."""

import json
import sys
import textwrap

import pytest

from gradcheck_tool.harness import stopping
from gradcheck_tool.harness.absent import imported_without
from gradcheck_tool.harness.discovery import Discovery
from gradcheck_tool.harness.loading import LoadError, load_function, missing_packages, was_stopped

FUNCTION = """
from torch.autograd import Function


class Mine(Function):
    @staticmethod
    def forward(ctx, x):
        return x
"""


@pytest.fixture(autouse=True)
def restored(project, monkeypatch):
    """What loading adds of the project to the interpreter goes with the test."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield
    for name, module in list(sys.modules.items()):
        places = [vars(module).get("__file__"), *vars(module).get("__path__", ())]
        if any(str(place).startswith(str(project.folder)) for place in places):
            del sys.modules[name]


def load(path, name="Mine"):
    refs = {ref.qualname: ref for ref in Discovery().functions([path])}
    return load_function(refs[name])


def cause(path, name="Mine"):
    with pytest.raises(LoadError) as error:
        load(path, name)
    return str(error.value)


class TestImports:
    @pytest.mark.parametrize(
        ("name", "module"),
        [
            ("alone.py", "alone"),
            ("with-dashes.py", "with-dashes"),
            ("2d/ops.py", "ops"),
            ("src/layout_pkg/ops.py", "layout_pkg.ops"),
            ("namespace/part/ops.py", "ops"),
        ],
    )
    def test_files_wherever_they_are(self, project, monkeypatch, name, module):
        monkeypatch.delitem(sys.modules, "ops", raising=False)  # of a test before
        project("src/layout_pkg/__init__.py")
        assert load(project(name, FUNCTION)).__module__ == module

    def test_relative_imports_siblings_and_the_packages_of_src(self, project):
        project("src/neighbour/__init__.py", "value = 1")
        project("lib/__init__.py", "from .deep import value")
        project("lib/deep.py", "value = 2")
        project("tools/beside.py", "value = 3")
        project("loose/part.py", "value = 4")
        inner = project("lib/ops.py", f"from . import deep\nfrom neighbour import value\n{FUNCTION}")
        script = project("tools/script.py", f"import beside\nfrom lib import value\n{FUNCTION}")
        loose = project("loose/ops.py", f"from .part import value\n{FUNCTION}")
        assert [load(path).__module__ for path in (inner, script, loose)] == [
            "lib.ops",
            "script",
            "loose.ops",
        ]

    def test_a_file_that_a_module_of_the_same_name_hides(self, project):
        assert load(project("tools/json.py", FUNCTION)).__qualname__ == "Mine"

    def test_a_package_that_cannot_be_imported_does_not_stop_its_modules(self, project):
        project("pkg/__init__.py", "import absent_package")
        project("pkg/helper.py", "value = 1")
        project("pkg/sub/__init__.py", "from ..helper import value")
        ref = Discovery().functions([project("pkg/sub/ops.py", f"from . import value\n{FUNCTION}")])[0]
        assert load_function(ref).__module__ == "pkg.sub.ops"
        why = "needs a module that is missing: absent_package"
        assert missing_packages(ref) == [f"pkg/__init__.py was left out: {why}"]

    def test_the_first_error_of_a_package_is_the_cause(self, project):
        # A second attempt would find the module that the first has left behind.
        second = "if 'pkg.half' in sys.modules: raise AttributeError('half of it')"
        project("pkg/__init__.py", f"import sys\n{second}\nimport pkg.half, absent_package")
        project("pkg/half.py")
        ref = Discovery().functions([project("pkg/ops.py", FUNCTION)])[0]
        load_function(ref)
        why = "needs a module that is missing: absent_package"
        assert missing_packages(ref) == [f"pkg/__init__.py was left out: {why}"]

    def test_a_module_that_needs_what_its_package_defines_is_not_imported_without(self, project):
        project("pkg/__init__.py", "import absent_package\nabsent_package + 1\nvalue = 1")
        path = project("pkg/ops.py", f"from pkg import value\n{FUNCTION}")
        assert cause(path) == "needs a module that is missing: absent_package"

    def test_a_module_about_a_library_is_not_that_library(self, project):
        project("pkg/__init__.py")
        project("pkg/parts/__init__.py")
        project("pkg/parts/absent_library.py", "from ..parts import value\nraise RuntimeError")
        tried = "try:\n    import absent_library\nexcept ModuleNotFoundError:\n    absent_library = None\n"
        load(project("pkg/parts/ops.py", f"{tried}{FUNCTION}"))
        assert sys.modules["pkg.parts.ops"].absent_library is None

    @pytest.mark.parametrize("package", ["", "import beside_in_package"])
    def test_a_package_that_takes_its_modules_for_top_level_ones(self, project, package):
        project("pkg/__init__.py", package)
        project("pkg/beside_in_package.py", "value = 3")
        path = project("pkg/ops.py", f"from beside_in_package import value\n{FUNCTION}")
        ref = Discovery().functions([path])[0]
        assert load_function(ref).__module__ == "pkg.ops"
        assert missing_packages(ref) == []

    def test_a_package_that_the_folder_above_it_holds(self, project):
        project("Part/own_package/helper.py", "value = 3")
        project("setup.cfg")
        path = project("Part/own_package/ops.py", f"from own_package.helper import value\n{FUNCTION}")
        assert load(path).__qualname__ == "Mine"

    def test_nested_classes(self, project):
        path = project(
            "ops.py",
            f"import torch\nclass Outer:\n    class Inner(torch.autograd.Function): pass\n{FUNCTION}",
        )
        assert load(path, "Outer.Inner").__qualname__ == "Outer.Inner"

    def test_a_name_that_is_bound_to_apply_afterwards(self, project):
        assert load(project("ops.py", f"{FUNCTION}\nMine = Mine.apply\n")).__qualname__ == "Mine"


class TestMissingModules:
    USES = """
        import absent_logger, absent_library.parts as parts
        from absent_library import Base, jit
        import tried

        setting = absent_logger.init(project="x")

        @jit(nopython=True)
        def kernel(x): return x

        class Layer(Base):
            where: "parts.Kind" = parts.Kind.first
        """
    TRIED = """
        import importlib.util
        try:
            import absent_library
        except ImportError:
            absent_library = None
        seen = importlib.util.find_spec("absent_logger") is not None
        """

    def load(self, project):
        project("tried.py", textwrap.dedent(self.TRIED))
        return load(project("ops.py", f"{textwrap.dedent(self.USES)}{FUNCTION}"))

    def test_a_function_that_does_without_them_is_had(self, project):
        module = sys.modules[self.load(project).__module__]
        assert imported_without("ops") == ["imported without what is missing: absent_logger, absent_library"]
        for use in (lambda: module.kernel(1), lambda: module.setting.log, lambda: module.kernel[1]):
            with pytest.raises(ModuleNotFoundError, match="No module named 'absent_l"):
                use()

    def test_code_that_asks_whether_they_are_there_is_told_that_they_are_not(self, project):
        self.load(project)
        assert sys.modules["tried"].absent_library is None
        assert not sys.modules["tried"].seen
        assert "absent_library" not in sys.modules

    def test_an_import_that_fails_for_another_reason_then_names_the_first(self, project):
        path = project("ops.py", f"import absent_library\nassert absent_library.version > 3\n{FUNCTION}")
        assert cause(path) == "needs a module that is missing: absent_library"


class TestSamples:
    DECLARED = """
        import torch, gradcheck_tool
        from {module} import Mine

        @gradcheck_tool.samples(Mine)
        def _(device, dtype):
            yield gradcheck_tool.Sample(torch.ones(2, device=device, dtype=dtype, requires_grad=True))
        """
    CHECKED = f"{FUNCTION}\n    @staticmethod\n    def backward(ctx, g):\n        return g\n"

    @pytest.mark.parametrize(
        ("function", "samples", "module"),
        [
            ("ops.py", "gradcheck_ops.py", "ops"),
            ("ops.py", "conftest.py", "ops"),
            ("ops.py", "tests/conftest.py", "ops"),
            ("src/pkg/ops.py", "tests/gradcheck_all.py", "pkg.ops"),
            ("src/pkg/ops.py", "src/pkg/gradcheck_ops.py", "pkg.ops"),
        ],
    )
    def test_samples_are_declared_in_files_of_their_own(self, project, gradcheck, function, samples, module):
        project("src/pkg/__init__.py")
        project(function, self.CHECKED)
        project(samples, self.DECLARED.format(module=module))
        result = gradcheck("-j", 1, "-k", "Mine")
        assert "Checked: 1 by declared inputs." in result.stderr

    def test_a_file_of_samples_that_cannot_be_imported_is_told(self, project, gradcheck):
        project("ops.py", self.CHECKED)
        project("conftest.py", "import absent_package, gradcheck_tool")
        told = gradcheck("-j", 1, "-v").stderr
        why = "needs a module that is missing: absent_package"
        assert f"note: conftest.py, which may declare samples, {why}" in told

    def test_a_conftest_without_samples_is_not_run(self, project, gradcheck):
        project("ops.py", self.CHECKED)
        project("conftest.py", "raise SystemExit")
        assert "conftest" not in gradcheck("-j", 1, "-v").stderr


class TestCauses:
    def test_a_missing_dependency(self, project):
        path = project("ops.py", f"import absent_package.ops\nabsent_package + 1\n{FUNCTION}")
        assert cause(path) == "needs a module that is missing: absent_package"

    def test_a_missing_extension(self, project):
        project("pkg/__init__.py")
        path = project("pkg/ops.py", f"from pkg import _C\nimport pkg._kernels\n{FUNCTION}")
        assert "_C" in cause(path)
        path.write_text(f"import pkg._kernels\npkg._kernels + 1\n{FUNCTION}")
        assert cause(path) == "needs an extension module that is missing: pkg._kernels"

    def test_a_device(self, project):
        path = project("ops.py", f"raise RuntimeError('No CUDA GPUs are available')\n{FUNCTION}")
        assert cause(path) == "needs CUDA: RuntimeError: No CUDA GPUs are available"

    def test_whatever_is_raised_with_its_place(self, project):
        path = project("ops.py", f"\nraise ValueError('not\\ntoday')\n{FUNCTION}")
        assert cause(path) == "importing it raises ValueError: not today (ops.py:2)"

    def test_the_end_of_the_process(self, project):
        assert (
            cause(project("ops.py", f"raise SystemExit(1)\n{FUNCTION}"))
            == "ends the process when it is imported"
        )

    def test_a_library_that_cannot_be_loaded(self, project):
        path = project("ops.py", f"import ctypes\nctypes.CDLL('libabsent.so')\n{FUNCTION}")
        assert cause(path).startswith("needs a library that cannot be loaded: libabsent.so")

    def test_a_class_inside_a_function(self, project):
        path = project(
            "ops.py", "import torch\ndef make():\n    1 / 0\n    class Mine(torch.autograd.Function): pass\n"
        )
        assert (
            cause(path, "make.<locals>.Mine")
            == "defined inside the function 'make', which could not be brought to make it"
        )

    def test_a_class_under_a_condition_that_does_not_hold(self, project):
        path = project("ops.py", "import torch\nif False:\n    class Mine(torch.autograd.Function): pass\n")
        assert cause(path) == "ops defines no 'Mine' here: a condition leaves it out"

    def test_a_name_that_is_something_else_afterwards(self, project):
        assert cause(project("ops.py", f"{FUNCTION}\nMine = 3\n")) == "Mine is no class once ops is imported"


def test_base_classes_and_missing_parts_are_told_by_the_run(project, gradcheck):
    project(
        "ops.py",
        """
        from torch.autograd import Function
        class Base(Function):
            helper = "forward"
        class Half(Base):
            @staticmethod
            def forward(ctx, x): return x
        """,
    )
    lines = gradcheck("-j", 1).stderr.splitlines()
    assert "  ops.Base[cpu]: defines no forward: a base class of others" in lines
    assert "  ops.Half[cpu]: defines no backward: a base class of others, or not differentiable" in lines


FACTORY = """
from torch.autograd import Function


def make(scale):
    class Scaled(Function):
        @staticmethod
        def forward(ctx, x):
            return x * scale

        @staticmethod
        def backward(ctx, g):
            return g * scale

    return Scaled


double = make(2.0).apply
"""

TRAINING = """
import torch
from torch.autograd import Function


class Mine(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2


weight = torch.ones(3, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)
for _ in range(10**9):
    weight.sum().backward()
    optimizer.step()


class Later(Function):
    pass
"""

LONG = """
from torch.autograd import Function


class Mine(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2


count = 0
while True:
    count += 1
"""


def test_a_class_that_a_factory_makes_at_import_is_found(project):
    path = project("made_by_factory.py", FACTORY)
    (ref,) = Discovery().functions([path])
    assert load_function(ref).__qualname__ == "make.<locals>.Scaled"


def test_a_module_that_trains_is_stopped_at_its_first_step(project):
    path = project("trains.py", TRAINING)
    mine, later = Discovery().functions([path])
    assert load_function(mine).__name__ == "Mine"
    assert was_stopped(mine)
    with pytest.raises(LoadError, match="defines no 'Later'"):
        load_function(later)


def test_a_module_that_does_not_end_is_stopped(project, monkeypatch):
    monkeypatch.setattr(stopping, "PATIENCE_S", 0.2)
    path = project("goes_on.py", LONG)
    (ref,) = Discovery().functions([path])
    assert load_function(ref).__name__ == "Mine"


def test_the_cells_of_a_notebook_are_run(project, gradcheck):
    cells = [
        ["%matplotlib inline\n", "import torch\n", "from torch.autograd import Function\n"],
        [
            "class Cube(Function):\n",
            "    @staticmethod\n",
            "    def forward(ctx, x):\n",
            "        ctx.save_for_backward(x)\n",
            "        return x**3\n",
            "    @staticmethod\n",
            "    def backward(ctx, g):\n",
            "        (x,) = ctx.saved_tensors\n",
            "        return 2 * g * x * x\n",
        ],
    ]
    code = [
        {"cell_type": "code", "metadata": {}, "source": cell, "outputs": [], "execution_count": None}
        for cell in cells
    ]
    project("book.ipynb", json.dumps({"cells": code, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    result = gradcheck("-j", 1, "--output-format", "json", "book.ipynb")
    (found,) = json.loads(result.stdout)
    assert (found["code"], found["cell"], found["location"]["row"]) == ("GC101", 2, 7)

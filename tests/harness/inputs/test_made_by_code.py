"""Arguments that the checked code itself makes: its objects, its factories, its callers and its examples."""

import sys
import textwrap

import pytest
import torch

from gradcheck_tool.gradcheck import check_function
from gradcheck_tool.harness.discovery import Discovery
from gradcheck_tool.harness.inputs.case import InputSettings
from gradcheck_tool.harness.inputs.finding import cases
from gradcheck_tool.harness.inputs.synthesised import budget
from gradcheck_tool.harness.inputs.synthesised.direct import Maker
from gradcheck_tool.harness.inputs.synthesised.specs import TensorSpec, plain
from gradcheck_tool.harness.loading import LoadError, load_function

HEAD = "from __future__ import annotations\nimport dataclasses, torch\nfrom torch.autograd import Function\n"


@pytest.fixture
def found(tmp_path, monkeypatch):
    """The class and the inputs of the only Function of a file `made.py`, or of one of several files."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def find(program, **others):
        for name, text in {"made": program, **others}.items():
            (tmp_path / f"{name}.py").write_text(HEAD + textwrap.dedent(text))
        (ref,) = Discovery().functions([tmp_path / "made.py"])
        function = load_function(ref)
        return function, cases(function, ref, InputSettings())

    before = set(sys.modules)
    yield find
    for name in set(sys.modules) - before:
        if name.split(".")[0] in ("made", "other"):
            del sys.modules[name]


SCALE = """
    class Scale(Function):
        @staticmethod
        def forward(ctx, x, how{annotation}):
            ctx.how = how
            if how.kind != "exactly this":
                raise ValueError("unknown kind")
            return x * how.factor

        @staticmethod
        def backward(ctx, g):
            return g * ctx.how.factor, None
"""

CLASS = """
    class How:
        def __init__(self, factor: float, kind: str = "exactly this"):
            self.factor, self.kind = factor, kind
"""


def test_an_object_of_the_class_that_an_annotation_names(found):
    _, inputs = found(CLASS + SCALE.format(annotation=": How | None"))
    assert type(inputs.cases[0].args[1]).__name__ == "How"
    assert "How(factor=" in inputs.cases[0].note


def test_an_object_of_a_class_below_the_one_that_is_named(found):
    below = """
    import abc

    class Some(abc.ABC):
        @abc.abstractmethod
        def kind(self): ...

    class How(Some):
        factor = 3.0
        kind = "exactly this"
    """
    _, inputs = found(below + SCALE.format(annotation=": Some"))
    assert type(inputs.cases[0].args[1]).__name__ == "How"


def test_a_class_that_leaves_its_methods_to_those_below_is_not_made(found):
    below = """
    class Some:
        def kind(self):
            raise NotImplementedError

    class How(Some):
        factor = 3.0
        kind = "exactly this"
    """
    _, inputs = found(below + SCALE.format(annotation=": Some"))
    assert type(inputs.cases[0].args[1]).__name__ == "How"


def test_an_object_that_has_the_attributes_that_are_read(found):
    _, inputs = found(CLASS + SCALE.format(annotation=""))
    assert type(inputs.cases[0].args[1]).__name__ == "How"


def test_an_object_of_the_class_that_is_called_as_the_parameter(found):
    keyed = SCALE.replace("how.kind", "how['kind']").replace("how.factor", "how['factor']")
    how = """
    class How(dict):
        def __init__(self):
            super().__init__(kind="exactly this", factor=3.0)
    """
    _, inputs = found(how + keyed.format(annotation=""))
    assert inputs.cases[0].args[1]["factor"] == 3.0


def test_objects_that_need_each_other_end_the_search(found):
    circle = """
    class How:
        def __init__(self, other: Other):
            self.factor, self.kind = other.factor, other.kind

    class Other:
        def __init__(self, how: How):
            self.how = how
    """
    _, inputs = found(circle + SCALE.format(annotation=": How"))
    assert inputs.cases == ()


def test_bounds_that_cut_everything_off_are_nobodys_arguments(found):
    bounded = """
    class Bounded(Function):
        @staticmethod
        def forward(ctx, x, low, high):
            if low >= 0 and high > low:
                raise ValueError("not so")
            return (x * 8).round().clamp(low, high) + torch.zeros(3, *x.shape)

        @staticmethod
        def backward(ctx, g):
            return g, None, None
    """
    _, inputs = found(bounded)
    low, high = inputs.cases[0].args[1:] if inputs.cases else (-1, 1)
    assert low < high


THROUGH = """
    def doubled(values, {names}):
        values = values.double()
        return values.float() * other(values, {names})

    def other(values, {names}):
        if len({first}.clone().shape) != 1 or len({second}.view(-1)) != values.shape[-1]:
            raise ValueError("no match")
        return {first} + {second}

    class Through(Function):
        @staticmethod
        def forward(ctx, x, p, q):
            ctx.x = x
            return doubled(x, p, q)

        @staticmethod
        def backward(ctx, g):
            return None, (g * ctx.x).sum(0), (g * ctx.x).sum(0)
"""


def test_what_a_helper_does_with_an_argument_tells_what_it_is(found):
    _, inputs = found(THROUGH.format(names="a, b", first="a", second="b"))
    assert [x.dim() for x in inputs.cases[0].args][1:] == [1, 1]


def test_of_the_arguments_of_a_helper_the_one_at_fault_is_suspected(found):
    program = """
    def only(a, b, c):
        assert b == "x" + "y"
        return a

    class Fussy(Function):
        @staticmethod
        def forward(ctx, one, two, three):
            return only(one, two, three)

        @staticmethod
        def backward(ctx, g):
            return g, None, None
    """
    function, _ = found(program)
    maker = Maker(function, torch.float32, "cpu", 0)
    outcome = maker.attempt((TensorSpec((2,)), plain("word"), plain(7)))
    assert outcome.suspects == {"two"}


SECRET = """
    class Secret(Function):
        @staticmethod
        def forward(ctx, x, word):
            if word != "a" + "b" * 3:
                raise ValueError("wrong word")
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2, None
"""


@pytest.mark.parametrize(
    ("callers", "note"),
    [
        (("def twice(x, word):\n    return Secret.apply(x, word)\n"
         "def secretly(x):\n    return twice(x, 'abbb')\n"), "as secretly calls it"),
        (("class Layer(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
         "        self.fn = Secret.apply\n    def forward(self, x):\n"
         "        return self.fn(x, 'a' + 'b' * 3)\n"), "as Layer.forward calls it"),
        (("def secret(x, word):\n    '''Twice.\n\n    >>> secret(torch.ones(3, requires_grad=True), 'abbb')\n"
         "    '''\n    return Secret.apply(x, word)\n"), "as secret calls it"),
        ("if __name__ == '__main__':\n    Secret.apply(torch.ones(3, requires_grad=True), 'abb' + 'b')\n",
         "as the main block of its file calls it"),
        (("import unittest\nclass TestIt(unittest.TestCase):\n    def setUp(self):\n        self.word = 'abbb'\n"
         "    def test_it(self):\n        Secret.apply(torch.ones(3, requires_grad=True), self.word)\n"),
         "as TestIt.test_it calls it"),
    ],
)  # fmt: skip
def test_what_the_code_shows_is_used(found, callers, note):
    _, inputs = found(SECRET + textwrap.indent(callers, "    "))
    (case, *_) = inputs.cases
    assert (case.args[1], case.note) == ("abbb", note)


def test_code_that_ends_the_process_does_not_end_the_search(found):
    _, inputs = found(SECRET + "    import sys\n    def secret(x):\n        sys.exit(Secret.apply)\n")
    assert inputs.cases == ()


MAKER = """
    def make(factor, kind):
        if kind != "exactly this" or not isinstance(factor, float):
            raise ValueError("unknown kind")

        class Scaled(Function):
            @staticmethod
            def forward(ctx, x):
                return x * factor

            @staticmethod
            def backward(ctx, g):
                return g * factor

        return Scaled.apply
"""


def test_a_factory_is_called_as_its_callers_do(found):
    _, inputs = found(MAKER + "\n    def scaled(x):\n        return make(3.0, 'exactly this')(x)\n")
    assert inputs.cases[0].args[0].requires_grad


def test_a_class_that_a_method_makes(found):
    method = """
    class Wrapped:
        def __init__(self, factor: float):
            self.factor = factor

        def made(self):
            factor = self.factor
            class Scaled(Function):
                @staticmethod
                def forward(ctx, x):
                    return x * factor

                @staticmethod
                def backward(ctx, g):
                    return g * factor

            return Scaled
    """
    function, inputs = found(method)
    x = torch.ones(2)
    assert torch.equal(function.apply(x), x * function.apply(x)[0])
    assert inputs.cases


def test_a_factory_that_nobody_calls_is_said(found):
    with pytest.raises(LoadError, match=r"inside the function 'make', which could not be brought to make it"):
        found(MAKER.replace("kind !=", "kind[::-1] !=").replace("Scaled", "Never"))


def test_modules_that_import_each_other(found):
    function, _ = found("    import other\n" + SECRET, other="from made import Secret\n\ndef helper(): ...\n")
    assert function.__name__ == "Secret"


def test_a_search_keeps_to_its_time(found, monkeypatch):
    monkeypatch.setattr(budget, "WALL_S", 0.0)
    monkeypatch.setattr(budget.Budget.__init__, "__defaults__", (budget.WORK_S, 0.0))
    _, inputs = found(SECRET)
    assert inputs.cases == ()
    assert "no arguments found in 0 s" in inputs.tried[-1]


BLOCKS = """
    import torch
    from torch import nn


    class Block(nn.Module):
        def __init__(self, f):
            super().__init__()
            self.f = f

        def forward(self, x, **given):
            first, second = x.chunk(2, dim=2)
            with torch.no_grad():
                return torch.cat([first + self.f(second), second], dim=2)

        def undone(self, y, dy, **given):
            first, second = y.chunk(2, dim=2)
            upper, lower = dy.chunk(2, dim=2)
            with torch.enable_grad():
                second = second.detach().requires_grad_()
                moved = self.f(second)
                moved.backward(upper)
            with torch.no_grad():
                x = torch.cat([first - moved, second.detach()], dim=2)
                return x, torch.cat([upper, lower + second.grad], dim=2)


    class Reversible(Function):
        @staticmethod
        def forward(ctx, x, blocks, options):
            ctx.options = options
            for block, option in zip(blocks, options):
                x = block(x, **option)
            ctx.y = x.detach()
            ctx.blocks = blocks
            return x

        @staticmethod
        def backward(ctx, dy):
            y = ctx.y
            for block, option in zip(ctx.blocks[::-1], ctx.options[::-1]):
                y, dy = block.undone(y, dy, **option)
            return dy, None, None
"""


def test_lists_of_objects_that_have_what_is_read_of_each(found):
    function, made = found(BLOCKS)
    assert made.cases, made.tried
    x, blocks, options = made.cases[0].args
    assert x.dim() == 3
    assert type(blocks[0]).__name__ == "Block"
    assert {*map(len, options)} == {0}
    assert check_function(function, made.cases[0].args, **made.cases[0].options).ok


def test_a_function_that_takes_whatever_the_package_passes(found):
    source = BLOCKS.replace("self.f(second)", "self.f(second, 1, reverse=True)")
    function, made = found(source)
    assert made.cases, made.tried
    assert check_function(function, made.cases[0].args, **made.cases[0].options).ok


def test_parts_of_objects_that_turn_out_to_be_called(found):
    source = (
        BLOCKS.replace("def __init__(self, f):", "def __init__(self, f, j):")
        .replace("self.f = f\n", "self.f, self.j = f, j\n")
        .replace("self.f(second)", "self.j(self.f(second))")
        .replace("for block, option in zip(blocks, options)", "for block, option in zip(blocks, (options,))")
        .replace("zip(ctx.blocks[::-1], ctx.options[::-1])", "zip(ctx.blocks[::-1], (ctx.options,))")
    )
    function, made = found(source)
    assert made.cases, made.tried
    blocks, options = made.cases[0].args[1:]
    assert len(blocks) == 1
    assert options == {}
    assert check_function(function, made.cases[0].args, **made.cases[0].options).ok


def test_an_object_of_a_class_in_a_file_that_nothing_imports(found):
    _, inputs = found(SCALE.format(annotation=""), other=CLASS)
    assert type(inputs.cases[0].args[1]).__module__ == "other"


def test_what_a_helper_reads_of_what_forward_keeps(found):
    program = """
    class Part:
        def __init__(self, factor: float = 2.0):
            self.factor = factor

        def scaled(self, x):
            return self.factor * x

    class Sum(Function):
        @classmethod
        def _each(cls, ctx, x):
            total = 0.0
            for i, part in enumerate(ctx.parts):
                total = total + part.scaled(x)
            return total

        @classmethod
        def forward(cls, ctx, x, parts):
            ctx.parts = parts
            return cls._each(ctx, x)

        @classmethod
        def backward(cls, ctx, g):
            return cls._each(ctx, g), None
    """
    _, inputs = found(program)
    assert [type(part).__name__ for part in inputs.cases[0].args[1]] == ["Part"]


def test_a_tensor_that_a_caller_writes_down(found):
    program = """
    class Clip(Function):
        @staticmethod
        def forward(ctx, x, bounds):
            ctx.save_for_backward(x, bounds)
            return x.round()

        @staticmethod
        def backward(ctx, g):
            x, bounds = ctx.saved_tensors
            return g * ((x > bounds[0]) & (x < bounds[1])), None

    def clip(x):
        limits = torch.tensor([-1.5, 1.5])
        return Clip.apply(x, limits)
    """
    _, inputs = found(program)
    assert inputs.cases[0].args[1].tolist() == [-1.5, 1.5]

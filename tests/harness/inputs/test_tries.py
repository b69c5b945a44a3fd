"""What a try with guessed arguments shows: mistakes that all arguments meet, shapes, compiled code."""

import pytest
import torch

from gradcheck_tool.findings import Severity
from gradcheck_tool.gradcheck import check_function
from gradcheck_tool.harness.worker import _blind

TUPLES = """
import torch
from torch.autograd import Function


class {name}(Function):
    @staticmethod
    def forward(ctx, x, dim=-1):
        ctx.dim = dim
        ctx.save_for_backward(x)
        return x.logsumexp(dim)

    @staticmethod
    def backward(ctx, g):
        x, dim = ctx.saved_tensors, ctx.dim
        return {gradient}, None
"""

WEIGHTED = """
import torch
from torch.autograd import Function


class Weighted(Function):
    @staticmethod
    def forward(ctx, x, weights):
        ctx.save_for_backward(x, weights)
        return torch.relu(x).square() * weights

    @staticmethod
    def backward(ctx, g):
        x, weights = ctx.saved_tensors
        relu = torch.relu(x)
        return 2 * g * relu * weights, (g * relu.square()).sum(dim=-1, keepdim=True)
"""

COMPILED = """
import torch
from torch.autograd import Function


def refuses(graph, inputs):
    raise RuntimeError("no compiler here")


@torch.compile(backend=refuses)
def square(x):
    return x * x


class Compiled(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return square(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * g * x
"""

ADJOINT = """
import torch
from torch.autograd import Function


class Operator(Function):
    @staticmethod
    def forward(ctx, x, forw, adj, device):
        ctx.forw, ctx.adj = forw, adj
        ctx.device = device
        if ctx.device == "cpu":
            x = x.detach().numpy()
        else:
            x = to_another_library(x)
        return torch.from_numpy(ctx.forw(x))

    @staticmethod
    def backward(ctx, g):
        return torch.from_numpy(ctx.adj(g.numpy())), None, None, None
"""

WRAPPED = """
import torch
from torch.autograd import Function


class Wrapped(Function):
    @staticmethod
    def forward(ctx, x, fw, bw):
        ctx.bw = bw
        return fw(x.detach())

    @staticmethod
    def backward(ctx, g):
        return ctx.bw(g), None, None
"""

CHAINED = """
import torch
from torch.autograd import Function


class Chained(Function):
    @staticmethod
    def forward(ctx, x, functions, *params):
        assert all(isinstance(f, torch.nn.Module) for f in functions)
        assert len(params) == sum(1 for f in functions for _ in f.parameters()) > 0
        ctx.functions = functions
        ctx.save_for_backward(x)
        return run(x, functions)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        x = x.detach().requires_grad_()
        params = [p for f in ctx.functions for p in f.parameters()]
        with torch.enable_grad():
            grads = torch.autograd.grad(run(x, ctx.functions), [x, *params], g)
        return grads[0], None, *grads[1:]


def run(x, functions):
    for function in functions:
        x = function(x)
    return x


class Chain(torch.nn.Module):
    def __init__(self, functions):
        super().__init__()
        for number, function in enumerate(functions):
            self.add_module(str(number), function)

    def forward(self, x):
        functions = list(self.children())
        return Chained.apply(x, functions, *self.parameters())
"""

DEMANDING = """
import torch
from torch.autograd import Function


class Demanding(Function):
    @staticmethod
    def forward(ctx, m, gain):
        assert m.dim() == 3 and m.shape[1:] == (2, 3), "not what is wanted"
        assert m.dtype == torch.float64
        ctx.gain = gain
        return m * gain

    @staticmethod
    def backward(ctx, g):
        return g * ctx.gain, None
"""

ELSEWHERE = """
import torch
from torch.autograd import Function

made = torch.library.Library("gradlint_tries", "FRAGMENT")
made.define("halve(Tensor x) -> Tensor")


class Elsewhere(Function):
    @staticmethod
    def forward(ctx, x, size, mode):
        return torch.ops.gradlint_tries.halve(x)

    @staticmethod
    def backward(ctx, g):
        return g / 2, None, None
"""


@pytest.mark.parametrize("gradient", ["g.unsqueeze(dim) * x.softmax(dim)", "g.unsqueeze(dim) * x"])
def test_saved_tensors_that_are_not_unpacked_fail_whatever_the_arguments_are(found, gradient):
    function, made = found(TUPLES.format(name="Packed", gradient=gradient))
    (case,) = made.cases
    report = check_function(function, case.args, **case.options)
    (finding,) = [f for f in report.findings if f.code == "GC206"]
    assert finding.severity is Severity.ERROR


UNDEFINED = """
import torch
from torch.autograd import Function

try:
    import no_such_module as kernels
except ImportError:
    pass


class Undefined(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.scale = scale
        return torch.mul(x, scale)

    @staticmethod
    def backward(ctx, g):
        return g * {name}, None
"""


def test_a_name_that_is_nowhere_defined_fails_whatever_the_arguments_are(found):
    function, made = found(UNDEFINED.format(name="scale"))
    (case,) = made.cases
    report = check_function(function, case.args, **case.options)
    assert [f.message for f in report.findings if f.code == "GC206"] == [
        "backward raises NameError: name 'scale' is not defined"
    ]


def test_a_module_that_could_not_be_imported_is_no_mistake(found):
    _, made = found(UNDEFINED.format(name="kernels.scale"))
    assert made.cases == ()


NOT_BUILT = """
import torch
from torch.autograd import Function

try:
    from no_such_extension import multiply
except ImportError:
    pass


class NotBuilt(Function):
    @staticmethod
    def forward(ctx, x, scale):
        return multiply(x, scale)

    @staticmethod
    def backward(ctx, g):
        return g, None
"""


def test_a_function_that_could_not_be_imported_ends_the_search(found):
    _, made = found(NOT_BUILT)
    assert made.cases == ()
    assert "needs what is not here: NameError: name 'multiply'" in made.tried[-1]


GREEDY = """
import torch
from torch.autograd import Function

SIZES = []


class Greedy(Function):
    @staticmethod
    def forward(ctx, x, y):
        SIZES.append(x.numel() + y.numel())
        raise IndexError("tuple index out of range")

    @staticmethod
    def backward(ctx, g):
        return g, g
"""


def test_a_message_about_sizes_does_not_make_tensors_grow_for_ever(found):
    function, made = found(GREEDY)
    assert made.cases == ()
    assert 256 < max(function.forward.__globals__["SIZES"]) <= 1 << 18


def test_shape_of_a_gradient_tells_that_of_its_argument(found):
    function, made = found(WEIGHTED)
    assert made.cases
    x, weights = made.cases[0].args
    assert weights.shape == (*x.shape[:-1], 1)
    assert check_function(function, made.cases[0].args).ok


def test_compiled_parts_run_as_they_are_written_while_arguments_are_tried(found):
    function, made = found(COMPILED)
    assert made.cases
    with pytest.raises(Exception, match="no compiler here"):
        function.apply(torch.ones(3, requires_grad=True))


def test_functions_that_ctx_keeps_are_called_with_arrays(found):
    function, made = found(ADJOINT)
    assert made.cases
    assert made.cases[0].args[3] == "cpu"
    assert check_function(function, made.cases[0].args).ok


def test_functions_are_tried_that_are_their_own_adjoints(found):
    function, made = found(WRAPPED)
    assert made.cases
    assert check_function(function, made.cases[0].args, **made.cases[0].options).ok


def test_modules_in_a_list_are_made_where_they_are_asked_for(found):
    function, made = found(CHAINED)
    assert made.cases
    report = check_function(function, made.cases[0].args, **made.cases[0].options)
    assert {verdict.verdict for verdict in report.inputs} == {"ok"}


def test_what_an_assertion_demands_is_read(found):
    function, made = found(DEMANDING)
    assert made.cases
    assert made.cases[0].args[0].shape[1:] == (2, 3)
    assert check_function(function, made.cases[0].args).ok


def test_a_kernel_for_another_device_ends_the_search(found):
    _, made = found(ELSEWHERE)
    assert made.cases == ()
    assert "needs what is not here: NotImplementedError: Could not run" in made.tried[-1]


ZIPPED = """
import torch
from torch.autograd import Function


class Zipped(Function):
    @staticmethod
    def forward(ctx, keys, values):
        ctx.save_for_backward(keys, values)
        parts = zip(keys.split(2), values.split(2))
        return sum(k.exp().sum() * v.sum() for k, v in parts)

    @staticmethod
    def backward(ctx, g):
        keys, values = ctx.saved_tensors
        dkeys, dvalues = torch.zeros_like(keys), torch.zeros_like(values)
        parts = zip(keys.split(2), values.split(2), dkeys.split(2), dvalues.split(2))
        for k, v, dk, dv in parts:
            dk.copy_(g * k.exp() * v.sum())
            dv.copy_((g * k.exp().sum()).expand_as(dv))
        return dkeys, dvalues
"""


def test_ends_that_a_loop_through_two_tensors_leaves_out_are_not_made(found):
    function, made = found(ZIPPED)
    assert made.cases, made.tried
    keys, values = made.cases[0].args
    assert len(keys.split(2)) == len(values.split(2))
    assert check_function(function, made.cases[0].args).ok


DIVIDED = """
import torch
from torch.autograd import Function


class Pooled(Function):
    @staticmethod
    def forward(ctx, x):
        _, _, rows, columns = x.shape
        assert rows % 6 == columns % 6 == 0
        ctx.shape = x.shape
        return torch.nn.functional.avg_pool2d(x, 6)

    @staticmethod
    def backward(ctx, g):
        return g.repeat_interleave(6, 2).repeat_interleave(6, 3) / 36
"""


def test_lengths_that_a_number_has_to_divide(found):
    function, made = found(DIVIDED)
    assert made.cases, made.tried
    assert made.cases[0].args[0].shape[2:] == (6, 6)
    assert check_function(function, made.cases[0].args).ok


COUNTING = """
import torch
from torch.autograd import Function

THREADS = set()


class Counting(Function):
    @staticmethod
    def forward(ctx, x):
        THREADS.add(torch.get_num_threads())
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2
"""


def test_small_tensors_are_tried_in_one_thread(found):
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        function, made = found(COUNTING)
        assert made.cases
        assert function.forward.__globals__["THREADS"] == {1}
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


DELEGATED = """
import torch
from torch.autograd import Function


def _gradients(x, g):
    return g * x.cos(), None


class Delegated(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.set_materialize_grads(False)
        return x.sin()

    @staticmethod
    def backward(ctx, g):
        if g is None:
            return None, None
        (x,) = ctx.saved_tensors
        return _gradients(x, g)
"""


def test_what_backward_returns_early_is_not_all_that_it_returns(found):
    function, made = found(DELEGATED)
    assert not _blind(function)
    assert made.cases[0].args[0].requires_grad
    assert check_function(function, made.cases[0].args).ok

"""Functions that exchange tensors with other processes are checked in a group of one."""

import pytest
import torch.distributed as dist

from gradcheck_tool.gradcheck import check_function
from gradcheck_tool.harness.alone import joined, leave

GATHERED = """
import torch
import torch.distributed as dist
from torch.autograd import Function


class Gathered(Function):
    @staticmethod
    def forward(ctx, x, tp_group):
        ctx.group = tp_group
        ctx.save_for_backward(x)
        parts = [torch.empty_like(x) for _ in range(dist.get_world_size(tp_group))]
        dist.all_gather(parts, x.contiguous(), group=tp_group)
        return torch.cat(parts).exp()

    @staticmethod
    def backward(ctx, g):
        rank, size = dist.get_rank(ctx.group), dist.get_world_size(ctx.group)
        (x,) = ctx.saved_tensors
        mine = {factor} * g.chunk(size)[rank] * x.exp()
        dist.all_reduce(mine, group=ctx.group)
        return mine, None
"""

ENDING = """
from torch.autograd import Function


class Ending(Function):
    @staticmethod
    def forward(ctx, x, y, n):
        print("install the kernels first")
        raise SystemExit

    @staticmethod
    def backward(ctx, g):
        return g, g, None
"""

EINSUM = """
import torch
from torch.autograd import Function


class Attention(Function):
    @staticmethod
    def forward(ctx, q, k):
        ctx.save_for_backward(q, k)
        return torch.einsum("b i h d, b j h d -> b h i j", q, k)

    @staticmethod
    def backward(ctx, g):
        q, k = ctx.saved_tensors
        return torch.einsum("b h i j, b j h d -> b i h d", g, k), torch.einsum("b h i j, b i h d -> b j h d", g, q)
"""

STACKED = """
from torch.autograd import Function


class Remembers(Function):
    @staticmethod
    def forward(ctx, x, states):
        states.append(x.shape)
        ctx.save_for_backward(x)
        return x.exp()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x.exp(), None
"""


@pytest.fixture(autouse=True)
def left():
    yield
    leave()


@pytest.mark.slow
@pytest.mark.skipif(not dist.is_available(), reason="PyTorch was built without torch.distributed")
@pytest.mark.parametrize(("factor", "word"), [("1", "ok"), ("2", "wrong")])
def test_a_group_of_one_is_started_where_one_is_wanted(found, factor, word):
    function, made = found(GATHERED.format(factor=factor))
    assert made.cases
    report = check_function(function, made.cases[0].args, **made.cases[0].options)
    assert {v.verdict for v in report.inputs} == {word}, report.text()


def test_no_group_is_started_for_another_error():
    assert not joined("RuntimeError: shapes do not fit")
    assert not (dist.is_available() and dist.is_initialized())


def test_code_that_ends_the_program_ends_the_search(found):
    _, made = found(ENDING)
    assert made.cases == ()
    assert "needs what is not here: SystemExit" in made.tried[-1]


@pytest.mark.parametrize("source", [EINSUM, STACKED], ids=["einsum", "list"])
def test_what_an_error_says_of_ranks_and_lists_is_read(found, source):
    function, made = found(source)
    assert made.cases, made.tried
    assert check_function(function, made.cases[0].args, **made.cases[0].options).ok

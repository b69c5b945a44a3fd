"""Functions that take properties of their arguments for granted get such arguments without being told."""

import sys
from pathlib import Path

import pytest

from gradcheck_tool.gradcheck import check_function
from gradcheck_tool.harness.discovery import Discovery
from gradcheck_tool.harness.inputs.case import InputSettings
from gradcheck_tool.harness.inputs.finding import cases
from gradcheck_tool.harness.loading import load_function

MOTIONS = Path(__file__).parents[2] / "motions.py"


@pytest.fixture
def words(tmp_path):
    """What the check of a Function says without configuration, word by word of its inputs."""
    path, modules = list(sys.path), set(sys.modules)

    def run(source, name):
        file = tmp_path / "of_a_domain.py"
        file.write_text(source)
        (ref,) = (r for r in Discovery().functions([file]) if r.qualname == name)
        function = load_function(ref)
        found = cases(function, ref, InputSettings()).cases
        assert found
        return {v.verdict for c in found for v in check_function(function, c.args, **c.options).inputs}

    yield run
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("name", "word"), [("LogOfRotation", "ok"), ("TurnOfMotion", "ok"), ("LogOfRotationTwice", "wrong")]
)
def test_rotations_and_motions_are_made(words, name, word):
    assert words(MOTIONS.read_text(encoding="utf-8"), name) == {word}


MASKED = """
import torch
from torch.autograd import Function


class Masked(Function):
    @staticmethod
    def forward(ctx, x, kept, alpha):
        ctx.save_for_backward(kept != 0)
        ctx.alpha = alpha
        return x * kept * alpha

    @staticmethod
    def backward(ctx, g):
        (kept,) = ctx.saved_tensors
        return g * kept * {factor}, None, None


class Dropout(torch.nn.Module):
    def __init__(self, p: float, axis: int):
        super().__init__()
        self.p, self.axis = p, axis

    def forward(self, x):
        shape = list(x.shape)
        shape[self.axis] = 1
        return Masked.apply(x, torch.rand(shape) > self.p, 1 / (1 - self.p))
"""


@pytest.mark.parametrize(("factor", "word"), [("ctx.alpha", "ok"), ("2 * ctx.alpha", "wrong")])
def test_what_callers_pass_is_taken_where_it_is_what_the_gradient_is_right_for(words, factor, word):
    assert words(MASKED.format(factor=factor), "Masked") == {word}


SINGULAR = """
import torch
from torch.autograd import Function


class Resolvent(Function):
    @staticmethod
    def forward(ctx, a):
        eye = torch.eye(a.shape[-1], dtype=a.dtype)
        ctx.save_for_backward(a)
        return torch.linalg.solve(eye + a, eye)

    @staticmethod
    def backward(ctx, g):
        (a,) = ctx.saved_tensors
        eye = torch.eye(a.shape[-1], dtype=a.dtype)
        return torch.linalg.solve(eye - a, g) @ torch.linalg.inv(eye + a)
"""


def test_arguments_at_which_a_wrong_gradient_is_noise_do_not_excuse_it(words):
    assert words(SINGULAR, "Resolvent") == {"wrong"}


SOLVER = """
import torch
from torch.autograd import Function


class Solve(Function):
    @staticmethod
    def forward(ctx, a, b):
        x = torch.randn_like(b)
        for _ in range(200):
            x = x + 0.1 * (b - a @ x)
        ctx.save_for_backward(a, x)
        return x

    @staticmethod
    def backward(ctx, g):
        a, x = ctx.saved_tensors
        y = Solve.apply(a.mT, g)
        return -y @ x.mT, y


class Dropped(Function):
    @staticmethod
    def forward(ctx, x):
        return x * (torch.rand_like(x) < 0.5)

    @staticmethod
    def backward(ctx, g):
        return g * (torch.rand_like(g) < 0.5)
"""


def test_a_solver_that_has_not_converged_for_a_guess_is_no_mistake(found):
    _, made = found(SOLVER.partition("class Dropped")[0])
    assert not made.cases or "wrong" not in {
        v.verdict for c in made.cases for v in check_function(_, c.args, **c.options).inputs
    }


def test_a_mask_that_is_drawn_anew_is_one(words):
    assert words(SOLVER, "Dropped") == {"wrong"}


PULLED = """
import torch
from torch.autograd import Function


class Pulled(Function):
    @staticmethod
    def forward(ctx, values, places):
        ctx.save_for_backward(values, places)
        return torch.where(places.abs() < 0.4, places, 0.0) * values

    @staticmethod
    def backward(ctx, g):
        values, places = ctx.saved_tensors
        inside = places.abs() < 0.4
        return 1.1 * g * torch.where(inside, places, 0.0), g * inside * values
"""


def test_where_nothing_depends_on_an_input_no_gradient_is_right(found):
    function, made = found(PULLED)
    report = check_function(function, made.cases[0].args, **made.cases[0].options)
    assert "wrong" in {v.verdict for v in report.inputs}, report.text()


DROPPED = """
import torch
from torch.autograd import Function


class Dropped(Function):
    @staticmethod
    def forward(ctx, x, keep_prob, mask):
        ctx.keep_prob = keep_prob
        ctx.save_for_backward(mask)
        return x * mask / keep_prob

    @staticmethod
    def backward(ctx, g):
        grad = ctx.saved_tensors[0] * g / ctx.keep_prob
        grad[..., -1] = 0
        return grad, None, None
"""


def test_a_mask_that_hides_a_mistake_by_chance_is_not_what_it_is_made_for(found):
    function, made = found(DROPPED)
    report = check_function(function, made.cases[0].args, **made.cases[0].options)
    assert "wrong" in {v.verdict for v in report.inputs}, report.text()


CENTRED = """
from torch.autograd import Function


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        grad = 3 * g * x**2
        return grad - grad.mean(-1, keepdim=True)
"""


def test_numbers_that_add_up_to_one_need_evidence(found):
    function, made = found(CENTRED)
    report = check_function(function, made.cases[0].args, **made.cases[0].options)
    assert [v.verdict for v in report.inputs] == ["wrong"], report.text()


POWER = """
import torch
from torch.autograd import Function


class Power(Function):
    @staticmethod
    def forward(ctx, vectors, eig_diag):
        ctx.save_for_backward(vectors, eig_diag)
        return vectors.bmm(eig_diag.sqrt()).bmm(vectors.mT)

    @staticmethod
    def backward(ctx, g):
        vectors, eig_diag = ctx.saved_tensors
        first = (g + g.mT).bmm(vectors).bmm(eig_diag.sqrt()) * {factor}
        root = torch.diagonal(eig_diag, dim1=1, dim2=2).rsqrt()
        inner = torch.diagonal(vectors.mT.bmm(g).bmm(vectors), dim1=1, dim2=2)
        return first, torch.diag_embed(0.5 * root * inner)


class Upper(Function):
    @staticmethod
    def forward(ctx, x):
        n = x.shape[-1]
        return x.reshape(len(x), n * n)[:, torch.ones(n, n).triu().flatten().nonzero()]

    @staticmethod
    def backward(ctx, g):
        size = int((2 * g.shape[1]) ** 0.5)
        full = torch.zeros(len(g), size * size).to(g)
        full[:, torch.ones(size, size).triu().flatten().nonzero()] = g
        full = full.view(len(g), size, size)
        return (full + full.mT) * 0.5

"""


@pytest.mark.parametrize(
    ("name", "factor", "word"), [("Power", 1.0, "ok"), ("Power", 1.1, "wrong"), ("Upper", 1.0, "ok")]
)
def test_diagonal_and_symmetric_matrices_are_made(words, name, factor, word):
    found = words(POWER.format(factor=factor), name)
    assert word in found
    assert ("wrong" in found) == (word == "wrong")


ROOT = """
import torch
from torch.autograd import Function


class Root(Function):
    @staticmethod
    def forward(ctx, x):
        values, vectors = torch.linalg.eigh(x)
        root = vectors @ torch.diag_embed(values.abs().sqrt()) @ vectors.mT
        ctx.save_for_backward(root)
        return root

    @staticmethod
    def backward(ctx, g):
        (root,) = ctx.saved_tensors
        b, c = root / root.norm(), g / root.norm()
        eye = torch.eye(root.shape[-1]).to(root)
        for _ in range(3):
            square = b @ b
            c = 0.5 * (c @ (3.0 * eye - square) - square @ c + b @ c @ b)
            b = 0.5 * b @ (3.0 * eye - square)
        return 0.5 * c
"""


def test_an_iteration_that_has_not_converged_is_not_judged(found):
    _, inputs = found(ROOT)
    assert inputs.cases == ()
    assert "for positive-definite values the gradient is nearly right" in inputs.tried[-1]


EIGEN = """
import torch
from torch.autograd import Function


class Eigen(Function):
    @staticmethod
    def forward(ctx, a, compute_vectors):
        values, vectors = torch.linalg.eigh(a)
        ctx.save_for_backward(values, vectors)
        return (values, vectors) if compute_vectors else values

    @staticmethod
    def backward(ctx, g, *more):
        values, vectors = ctx.saved_tensors
        inner = torch.diag_embed(g)
        if more:
            gaps = values[..., None, :] - values[..., :, None]
            gaps.diagonal(dim1=-2, dim2=-1).fill_(float("inf"))
            inner = inner + {factor} * vectors.mT.matmul(more[0]) / gaps
        return vectors @ inner @ vectors.mT, None
"""


@pytest.mark.parametrize(("factor", "right"), [(1.0, True), (-1.0, False)])
def test_a_flag_that_asks_for_more_is_turned_on(words, factor, right):
    assert ("wrong" not in words(EIGEN.format(factor=factor), "Eigen")) == right


def test_a_text_about_one_gradient_keeps_no_domain_from_the_other(words):
    said = POWER.format(factor=1.0).replace("class Power(", '"""Approximate gradients."""\n\n\nclass Power(')
    assert words(said, "Power") == {"ok"}

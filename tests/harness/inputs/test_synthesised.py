"""Arguments that are found by trying: they fit, they repeat, and what cannot be found is said."""

import sys
import textwrap

import pytest
import torch

import gradcheck_tool
from gradcheck_tool.gradcheck.manifolds import recognised
from gradcheck_tool.harness.discovery import Discovery
from gradcheck_tool.harness.inputs.case import InputSettings
from gradcheck_tool.harness.inputs.finding import cases
from gradcheck_tool.harness.inputs.synthesised.specs import FLOATING, SPECIAL, TensorSpec, build, describe
from gradcheck_tool.harness.loading import load_function

FUNCTIONS = """
import torch
from torch.autograd import Function

class Double(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        return g * 2

class Linear(Function):
    @staticmethod
    def forward(ctx, input, weight, bias=None):
        ctx.save_for_backward(input, weight, bias)
        return input.mm(weight.t()) + bias
    @staticmethod
    def backward(ctx, g):
        input, weight, bias = ctx.saved_tensors
        return g.mm(weight), g.t().mm(input), g.sum(0)

class Image(Function):
    @staticmethod
    def forward(ctx, x, kernel_size, mode):
        b, c, h, w = x.shape
        if mode not in ("soft", "hard"):
            raise ValueError(f"unknown mode {mode}")
        ctx.size = kernel_size
        return x.unfold(2, kernel_size, 1).sum(-1)
    @staticmethod
    def backward(ctx, g):
        return torch.nn.functional.conv_transpose2d(
            g.flatten(0, 1)[:, None], g.new_ones(1, 1, ctx.size, 1)
        ).view(*g.shape[:2], -1, g.shape[3]), None, None

class Gather(Function):
    @staticmethod
    def forward(ctx, values, where):
        ctx.save_for_backward(where)
        ctx.rows = values.shape[0]
        return values[where]
    @staticmethod
    def backward(ctx, g):
        (where,) = ctx.saved_tensors
        return g.new_zeros(ctx.rows, *g.shape[1:]).index_add_(0, where, g), None

class Root(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.sqrt()
        ctx.save_for_backward(y)
        return y
    @staticmethod
    def backward(ctx, g):
        return g / (2 * ctx.saved_tensors[0])

class Three(Function):
    @staticmethod
    def forward(ctx, p, q):
        assert p.shape[-1] == 3, "points have 3 coordinates"
        ctx.save_for_backward(p, q)
        return torch.linalg.cross(p, q)
    @staticmethod
    def backward(ctx, g):
        p, q = ctx.saved_tensors
        return torch.linalg.cross(q, g), torch.linalg.cross(g, p)

class Through(Function):
    @staticmethod
    def forward(x, run, times: int):
        for _ in range(times):
            x = x + 0 * run(x)
        return x * times
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.times = inputs[2]
    @staticmethod
    def backward(ctx, g):
        return g * ctx.times, None, None

class Sum(Function):
    @staticmethod
    def forward(ctx, *args):
        a, b, scale = args
        ctx.scale = scale
        return (a + b) * scale
    @staticmethod
    def backward(ctx, g):
        return g * ctx.scale, g * ctx.scale, None

class Overwrite(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)
    @staticmethod
    def backward(ctx, g):
        return g * 2

class Configured(Function):
    @staticmethod
    def forward(ctx, x, config):
        ctx.factor = config.factor
        return x * config.factor
    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor, None

class Config:
    def __init__(self, factor):
        self.factor = factor

def scaled(x, factor=3.0):
    return Configured.apply(x, Config(factor))

class Shaped(Function):
    @staticmethod
    def forward(ctx, x: 'Float[Tensor, "batch 7 3"]'):
        return x.view(-1, 7, 3) * 2
    @staticmethod
    def backward(ctx, g):
        return g * 2

class Impossible(Function):
    @staticmethod
    def forward(ctx, x, secret):
        if secret != "xyzzy!" + "!":
            raise ValueError("wrong word")
        return x * 1
    @staticmethod
    def backward(ctx, g):
        return g, None

class Modulus(Function):
    @staticmethod
    def forward(ctx, x):
        y = (x[..., 0] ** 2 + x[..., 1] ** 2).sqrt()
        ctx.save_for_backward(x, y)
        return y
    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return x * (g / y)[..., None]

class Power(Function):
    @staticmethod
    def forward(ctx, x, exponent):
        ctx.save_for_backward(x, exponent)
        return x.abs() ** exponent
    @staticmethod
    def backward(ctx, g):
        x, exponent = ctx.saved_tensors
        y = x.abs() ** exponent
        return g * exponent * y / x, g * y * x.abs().log()

def power(x, exponent=1.5):
    return Power.apply(x, torch.tensor(exponent))

class OfProbabilities(Function):
    @staticmethod
    def forward(ctx, p):
        ctx.save_for_backward(p)
        return p / p.sum(-1, keepdim=True)
    @staticmethod
    def backward(ctx, g):
        (p,) = ctx.saved_tensors
        return g - (g * p).sum(-1, keepdim=True)

class Wrong(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()
    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0].sin()

class OfLinear(Function):
    @staticmethod
    def forward(ctx, x, run):
        ctx.slope = run(torch.ones(()))
        return run(x)
    @staticmethod
    def backward(ctx, g):
        return g * ctx.slope, None

class LastOnly(Function):
    @staticmethod
    def forward(ctx, data, scale):
        if ctx.needs_input_grad[0]:
            raise RuntimeError("no gradient with respect to data")
        ctx.save_for_backward(data)
        return data * scale
    @staticmethod
    def backward(ctx, g):
        return None, g * ctx.saved_tensors[0]

class Importing(Function):
    @staticmethod
    def forward(ctx, x):
        import slow_to_import
        return x * slow_to_import.factor
    @staticmethod
    def backward(ctx, g):
        return g * 3

class Endless(Function):
    @staticmethod
    def forward(ctx, x):
        while True:
            pass
    @staticmethod
    def backward(ctx, g):
        return g

def bent(x, slope=25.0):
    return Bend.apply(x, slope)

class Bend(Function):
    @staticmethod
    def forward(ctx, x, s):
        ctx.s = s
        return x * s
    @staticmethod
    def backward(ctx, g):
        return g * ctx.s, None

class Scale:
    def __init__(self, factor):
        self.factor = factor

class Halves(torch.nn.Module):
    def forward(self, x):
        even, odd = x[..., ::2], x[..., 1::2]
        return even + odd, [(even - odd)[None].expand(2, *even.shape)]

class Whole(torch.nn.Module):
    def __init__(self, kind="plain"):
        super().__init__()
        if kind == "special":
            self.twice = True
        else:
            self.twice = False
    def forward(self, parts):
        sums, (differences,) = parts
        if self.twice:
            return JoinTwice.apply(sums, differences, Scale(2.0))
        return Join.apply(sums, differences, Scale(1.0))

class Join(Function):
    @staticmethod
    def forward(ctx, sums, differences, scale):
        ctx.scale = scale.factor
        assert differences.dim() == sums.dim() + 1 and len(differences) == 2
        first = differences[0]
        return scale.factor * torch.stack([(sums + first) / 2, (sums - first) / 2], -1).flatten(-2)
    @staticmethod
    def backward(ctx, g):
        even, odd = ctx.scale * g[..., ::2] / 2, ctx.scale * g[..., 1::2] / 2
        return even + odd, torch.stack([even - odd, torch.zeros_like(odd)]), None

class JoinTwice(Join):
    pass

class Turned(Function):
    @staticmethod
    def forward(ctx, q, p):
        v, w = q[..., :3], q[..., 3:]
        t = 2 * torch.linalg.cross(v, p, dim=-1)
        y = p + w * t + torch.linalg.cross(v, t, dim=-1)
        ctx.save_for_backward(q, y)
        return y
    @staticmethod
    def backward(ctx, g):
        q, y = ctx.saved_tensors
        of_q = torch.linalg.cross(y, g, dim=-1)
        v, w = -q[..., :3], q[..., 3:]
        t = 2 * torch.linalg.cross(v, g, dim=-1)
        back = g + w * t + torch.linalg.cross(v, t, dim=-1)
        return torch.cat([of_q, torch.zeros_like(of_q[..., :1])], -1), back
"""


SLOW = """
import time
began = time.process_time()
while time.process_time() < began + 2.5:
    pass
factor = 3
"""


@pytest.fixture(scope="module")
def synthesise(tmp_path_factory):
    folder = tmp_path_factory.mktemp("repository")
    file = folder / "functions_to_guess.py"
    file.write_text(textwrap.dedent(FUNCTIONS))
    (folder / "slow_to_import.py").write_text(SLOW)
    refs = {ref.qualname: ref for ref in Discovery().functions([file])}
    path = list(sys.path)

    def run(name, **settings):
        ref = refs[name]
        return load_function(ref), cases(load_function(ref), ref, InputSettings(**settings))

    yield run
    sys.path[:] = path
    sys.modules.pop("functions_to_guess", None)


@pytest.mark.parametrize(
    "name",
    [
        "Double",
        "Linear",
        "Image",
        "Gather",
        "Root",
        "Three",
        "Through",
        "Sum",
        "Overwrite",
        "Configured",
        "Shaped",
        "Bend",
    ],
)
def test_the_function_accepts_what_was_found(synthesise, name):
    function, found = synthesise(name)
    assert found.cases
    for case in found.cases:
        assert case.source == "synthesised"
        given = [x.clone() if isinstance(x, torch.Tensor) else x for x in case.args]
        output = function.apply(*given)
        assert torch.isfinite(output).all()
        asked = [x for x in case.args if isinstance(x, torch.Tensor) and x.requires_grad]
        gradients = torch.autograd.grad(output.sum(), asked)
        assert all(torch.isfinite(g).all() for g in gradients)


def shapes(found):
    return [tuple(x.shape) for x in found.cases[0].args if isinstance(x, torch.Tensor)]


def test_lengths_differ_where_they_may(synthesise):
    (rows, inner), (outer, same), bias = shapes(synthesise("Linear")[1])
    assert same == inner
    assert bias in ((outer,), (1,), (rows, outer), (1, outer))
    assert len({rows, inner, outer}) == 3


def test_only_what_gets_a_gradient_requires_one(synthesise):
    _, found = synthesise("Gather")
    values, where = found.cases[0].args
    assert values.requires_grad
    assert not where.is_floating_point()


def test_annotated_shapes_are_kept(synthesise):
    assert shapes(synthesise("Shaped")[1])[0][1:] == (7, 3)


def test_values_of_callers_are_used(synthesise):
    assert synthesise("Bend")[1].cases[0].args[1] == 25.0


def test_callers_make_what_cannot_be_guessed(synthesise):
    _, found = synthesise("Configured")
    assert found.cases[0].args[1].factor == 3.0
    assert "scaled" in found.cases[0].note


@pytest.mark.parametrize(("name", "factor"), [("Join", 1.0), ("JoinTwice", 2.0)])
def test_an_inverse_gets_what_its_transform_gives_and_the_flags_that_reach_it(synthesise, name, factor):
    function, found = synthesise(name)
    assert "Whole.forward" in found.cases[0].note
    assert found.cases[0].args[2].factor == factor
    assert gradcheck_tool.check_function(function, found.cases[0].args).ok


def test_poses_are_tried_where_the_gradient_is_wrong_for_other_values(synthesise):
    function, found = synthesise("Turned")
    poses = found.cases[0].args[0]
    assert torch.allclose(poses.norm(dim=-1), torch.ones(poses.shape[:-1]))
    report = gradcheck_tool.check_function(function, found.cases[0].args, **found.cases[0].options)
    assert [v.verdict for v in report.inputs] == ["surrogate", "ok"]


def test_the_same_seed_gives_the_same_values(synthesise):
    first, again, other = (synthesise("Double", seed=seed)[1].cases[0].args[0] for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "complex64"])
def test_the_wanted_dtype(synthesise, dtype):
    _, found = synthesise("Double", dtype=dtype)
    assert found.cases[0].args[0].dtype is getattr(torch, dtype)


def test_random_state_is_left_alone(synthesise):
    before = torch.get_rng_state()
    synthesise("Image")
    assert torch.equal(before, torch.get_rng_state())


def test_what_is_not_found_is_said_with_a_stub(synthesise):
    _, found = synthesise("Impossible")
    assert found.cases == ()
    assert "wrong word" in found.tried[-1]
    compile(found.stub, "stub", "exec")
    assert "@gradcheck_tool.samples(Impossible)" in found.stub
    assert "# secret" in found.stub


def test_an_import_is_not_cut_short(synthesise):
    assert synthesise("Importing")[1].cases


def test_a_forward_that_never_ends_ends_the_search(synthesise):
    _, found = synthesise("Endless")
    assert found.cases == ()
    assert "works for longer than" in found.tried[-1]


def test_axes_are_as_long_as_they_are_used(synthesise):
    assert shapes(synthesise("Modulus")[1])[0][-1] == 2


def test_tensors_are_near_the_numbers_that_callers_pass(synthesise):
    _, found = synthesise("Power")
    exponent = found.cases[0].args[1]
    assert exponent.requires_grad
    assert 1.3 < float(exponent.detach().min()) <= float(exponent.detach().max()) < 1.7


def test_values_for_which_the_function_is_made(synthesise):
    function, found = synthesise("OfProbabilities")
    (case,) = found.cases
    assert not gradcheck_tool.check_function(function, torch.randn(3, 4, requires_grad=True)).ok
    assert gradcheck_tool.check_function(function, case.args, **case.options).ok
    assert "make no sense" in case.note


def test_a_wrong_gradient_stays_wrong(synthesise):
    function, found = synthesise("Wrong")
    assert found.cases[0].options == {}
    assert not gradcheck_tool.check_function(function, found.cases[0].args).ok


def test_a_gradient_that_is_wrong_for_a_guessed_function_says_nothing(synthesise):
    _, found = synthesise("OfLinear")
    assert found.cases == ()
    assert "none of the functions" in found.tried[-1]


def test_constants_before_what_gets_a_gradient(synthesise):
    _, found = synthesise("LastOnly")
    first, second = found.cases[0].args
    assert not first.requires_grad
    assert second.requires_grad


@pytest.mark.parametrize("kind", [*FLOATING, *SPECIAL, "complex", "index", "mask"])
@pytest.mark.parametrize("shape", [(3, 4, 4), (2, 7), (2, 3), (8,), (3,), ()])
@pytest.mark.parametrize("grad", [True, False])
def test_descriptions_are_programs(kind, shape, grad):
    spec = TensorSpec(shape, kind, grad)
    made = build(spec, torch.Generator(), torch.float64, "cpu")
    written = eval(describe(spec), {"torch": torch, "device": "cpu", "dtype": torch.float64})
    assert (written.shape, written.dtype, written.requires_grad) == (
        made.shape,
        made.dtype,
        made.requires_grad,
    )
    if kind in ("simplex", "unit-norm", "orthogonal", "symmetric"):
        assert recognised(written) == recognised(made)

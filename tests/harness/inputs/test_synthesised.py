"""Arguments that are found by trying: they fit, they repeat, and what cannot be found is said."""

import operator
import sys
from pathlib import Path

import pytest
import torch

import gradcheck_tool
from gradcheck_tool.gradcheck.manifolds import recognised
from gradcheck_tool.harness.discovery import Discovery
from gradcheck_tool.harness.inputs.case import InputSettings
from gradcheck_tool.harness.inputs.finding import cases
from gradcheck_tool.harness.inputs.synthesised import trial
from gradcheck_tool.harness.inputs.synthesised.specs import FLOATING, SPECIAL, TensorSpec, build, describe
from gradcheck_tool.harness.loading import load_function

FUNCTIONS = Path(__file__).parent / "functions_to_guess.py"


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
    file.write_text(FUNCTIONS.read_text(encoding="utf-8"), encoding="utf-8")
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


@pytest.mark.slow
def test_a_forward_that_never_ends_ends_the_search(synthesise, monkeypatch):
    monkeypatch.setattr(trial, "_SECONDS", 0.2)
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


@pytest.mark.parametrize("name", ["Wrong", "RightAtTies", "RightWhereSaturated"])
def test_a_wrong_gradient_stays_wrong(synthesise, name):
    function, found = synthesise(name)
    assert found.cases[0].options == {}
    assert not gradcheck_tool.check_function(function, found.cases[0].args).ok


def test_a_gradient_that_is_wrong_for_a_guessed_function_says_nothing(synthesise):
    _, found = synthesise("OfLinear")
    assert found.cases[0].args[1] is operator.neg
    _, found = synthesise("OfConstant")
    assert found.cases == ()
    assert "none of the functions" in found.tried[-1]


def test_a_wrong_number_of_gradients_is_found(synthesise):
    function, found = synthesise("Miscounted")
    (case,) = found.cases
    report = gradcheck_tool.check_function(function, case.args, **case.options)
    assert [finding.code for finding in report.findings] == ["GC206"]
    assert "expected 3, got 1" in report.findings[0].message


def test_callers_are_asked_where_a_guess_moves_nothing(synthesise):
    _, found = synthesise("Gated")
    assert found.cases[0].note == "as gated calls it"


def test_a_guess_that_moves_nothing_is_not_varied(synthesise):
    _, found = synthesise("Shut")
    assert [case.options for case in found.cases] == [{"variations": False}]


def test_a_search_for_what_no_argument_mends_ends_early(synthesise):
    _, found = synthesise("Compiled")
    assert found.cases == ()
    assert "needs what is not here: ModuleNotFoundError" in found.tried[-1]


def test_arguments_that_avoid_what_is_missing_are_found(synthesise):
    _, found = synthesise("Optional")
    assert found.cases[0].args[1] is False


def test_constants_before_what_gets_a_gradient(synthesise):
    _, found = synthesise("LastOnly")
    first, second = found.cases[0].args
    assert not first.requires_grad
    assert second.requires_grad


@pytest.mark.parametrize("kind", [*FLOATING, *SPECIAL, "complex", "index", "index32", "mask"])
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

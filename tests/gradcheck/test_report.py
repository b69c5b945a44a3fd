"""What a report tells: place, numbers, sensitivity, evaluations."""

import inspect
from pathlib import Path

import pytest
import torch
from torch.autograd import Function

import gradcheck_tool
from gradcheck_tool.gradcheck import (
    CODES,
    InputVerdict,
    Sample,
    check_function,
    registered,
    samples,
    surrogate,
)
from gradcheck_tool.gradcheck.names import named

D = torch.float64


class WrongCube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * g * x**2


class Sine(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x.cos()


def _x(*shape, dtype=D):
    return (
        torch.linspace(-2, 2, max(1, torch.Size(shape).numel()), dtype=dtype).reshape(shape).requires_grad_()
    )


def test_finding_stands_at_the_line_of_backward():
    (finding,) = [f for f in check_function(WrongCube, (_x(3, 3),)).findings if f.code == "GC101"]
    source, first = inspect.getsourcelines(WrongCube)
    backward = first + next(i for i, line in enumerate(source) if "def backward" in line)
    assert finding.location.filename == __file__
    assert finding.location.start.row == backward
    assert finding.function.endswith("WrongCube")
    assert (finding.device, finding.dtype) == ("cpu", "float64")


def test_evidence_has_the_numbers_of_the_worst_entry():
    x = _x(3, 3)
    finding = check_function(WrongCube, (x,)).findings[0]
    evidence = finding.evidence
    assert evidence["diagnosis"] == "factor"
    assert evidence["ratio"] == pytest.approx(2 / 3)
    assert evidence["analytic"] / evidence["numeric"] == pytest.approx(2 / 3, rel=1e-6)
    assert evidence["numeric_error"] < 1e-6 * abs(evidence["numeric"])
    assert len(evidence["index"]) == 2


def test_a_pass_states_its_sensitivity():
    report = check_function(Sine, (_x(5, 5),))
    (verdict,) = report.inputs
    assert verdict.verdict == "ok"
    assert verdict.factor < 1e-6
    assert "would have noticed a factor of" in report.sensitivity
    assert report.sensitivity in report.text()


def test_text_of_a_failure_shows_place_numbers_and_map():
    text = check_function(WrongCube, (_x(4, 4),)).text()
    assert f"{__file__}:" in text
    assert "GC101" in text
    assert "ratio 0.666667" in text
    assert "where input `x` is wrong" in text


class WrongWeight(Function):
    @staticmethod
    def forward(ctx, x, weight, *rest, scale=1.0):
        ctx.save_for_backward(x, weight)
        return x * weight

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        grad_x = g * weight
        grad_weight = g * x
        grad_weight[0] *= 2
        return grad_x, grad_weight


def test_arguments_are_called_by_their_names_and_the_row_of_the_gradient_is_shown():
    report = check_function(WrongWeight, (_x(3, 3), (_x(3, 3) + 5).detach().requires_grad_()))
    finding = next(f for f in report.findings if f.code == "GC101")
    assert finding.message.startswith("the gradient of input `weight` is wrong")
    assert finding.evidence["name"] == "weight"
    rows = Path(__file__).read_text().splitlines()
    assert rows[finding.evidence["row"] - 1].strip() == "grad_weight[0] *= 2"
    text = report.text()
    assert f"{finding.evidence['row']}: grad_weight[0] *= 2" in text
    assert "input `x`: ok" in text
    assert "input `weight` at [0, " in text


def test_names_take_the_place_of_numbers_that_are_known():
    names = ("x", None, "xs[0]", "flag")
    told = named("inputs 0 and 1, input 2, inputs [0, 2], argument 3 = True, argument 7", names, (0, 1, 2))
    assert told == "inputs `x` and 1, input `xs[0]`, inputs `x`, `xs[0]`, argument `flag` = True, argument 7"


def test_evaluations_are_counted():
    calls = [0]

    class Counted(Function):
        @staticmethod
        def forward(ctx, x):
            calls[0] += 1
            ctx.save_for_backward(x)
            return torch.from_numpy(x.detach().numpy() * 2)

        @staticmethod
        def backward(ctx, g):
            return 2 * g

    report = check_function(Counted, (_x(3),))
    assert report.ok
    assert report.evaluations.forwards >= calls[0] > 0
    assert report.evaluations.total == report.evaluations.forwards + report.evaluations.backwards


@pytest.mark.parametrize("words", ["# gradlint: surrogate: hard threshold", "# straight-through estimator"])
def test_comment_declares_a_surrogate(words, tmp_path, monkeypatch):
    source = (
        "import torch\nfrom torch.autograd import Function\n\n\nclass Quantise(Function):\n"
        f"    {words}\n    @staticmethod\n    def forward(ctx, x):\n        return x.round()\n\n"
        "    @staticmethod\n    def backward(ctx, g):\n        return g\n"
    )
    (tmp_path / "declared_by_comment.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "declared_by_comment", raising=False)
    import declared_by_comment

    report = check_function(declared_by_comment.Quantise, (_x(4),))
    assert report.findings == ()
    assert any("as declared" in note for note in report.notes)


def test_decorator_and_configuration_declare_a_surrogate():
    def quantise():
        class Quantise(Function):
            @staticmethod
            def forward(ctx, x):
                return x.round()

            @staticmethod
            def backward(ctx, g):
                return g

        return Quantise

    assert [f.code for f in check_function(quantise(), (_x(4),)).findings] == ["GC190"]
    assert check_function(surrogate(reason="quantiser")(quantise()), (_x(4),)).findings == ()
    klass = quantise()
    assert check_function(klass, (_x(4),), surrogates={klass.__qualname__: "quantiser"}).findings == ()
    with pytest.raises(ValueError, match="reason"):
        surrogate(reason=" ")


def test_reference_judges_when_it_is_given():
    class Kernel(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return torch.from_numpy(x.detach().numpy() ** 2)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * x

    report = check_function(Kernel, (_x(4),), reference=lambda x: x**2)
    assert report.oracle == "reference"
    assert report.findings[0].evidence["ratio"] == pytest.approx(0.5)
    ignored = check_function(Kernel, (_x(4),), reference=lambda x: x**3)
    assert ignored.oracle == "finite differences"
    assert any("reference" in note for note in ignored.notes)


def test_manifold_can_be_declared():
    class TraceLog(Function):
        @staticmethod
        def forward(ctx, a):
            w, v = torch.linalg.eigh(a.detach())
            ctx.save_for_backward(w, v)
            return torch.from_numpy(w.log().numpy())

        @staticmethod
        def backward(ctx, g):
            w, v = ctx.saved_tensors
            return v @ torch.diag(g / w) @ v.T

    base = torch.randn(3, 3, dtype=D, generator=torch.Generator().manual_seed(2))
    a = (base @ base.T + 3 * torch.eye(3, dtype=D)).requires_grad_()
    assert check_function(TraceLog, (a,), manifold={0: "symmetric"}).ok
    assert check_function(TraceLog, (a,)).ok


def test_detach_inside_the_body_does_not_fool_the_oracle():
    class Detached(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x.detach()

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * x

    report = check_function(Detached, (_x(4),))
    assert report.oracle == "finite differences"
    assert report.findings[0].evidence["ratio"] == pytest.approx(0.5)


def test_samples_are_registered_in_order():
    @samples(Sine)
    def _(device, dtype):
        yield Sample(torch.ones(2, dtype=dtype, device=device, requires_grad=True))

    (generator,) = registered(Sine)
    (sample,) = generator("cpu", D)
    assert check_function(Sine, sample).ok


def test_public_names_of_the_package():
    assert gradcheck_tool.check_function is check_function
    assert gradcheck_tool.Sample is Sample
    assert gradcheck_tool.gradcheck(torch.sin, (_x(3),))


def test_every_code_is_named_and_documented():
    assert all(code == entry.code and entry.doc for code, entry in CODES.items())
    assert len({entry.name for entry in CODES.values()}) == len(CODES)


def test_forward_that_raises_is_a_finding():
    class Raises(Function):
        @staticmethod
        def forward(ctx, x):
            raise RuntimeError("bad size")

        @staticmethod
        def backward(ctx, g):
            return g

    (finding,) = check_function(Raises, (_x(2),)).findings
    assert (finding.code, finding.predicts) == ("GC302", "bad size")


def test_nothing_to_check_is_said():
    report = check_function(Sine, (torch.tensor([1, 2]),))
    assert [f.code for f in report.findings] == ["GC303"]
    assert report.inputs == ()


def test_sensitivity_sentence():
    assert InputVerdict(0, "ok", "forward body").sensitivity == ""
    assert "2e-07" in InputVerdict(0, "ok", "forward body", 2e-7, 7e-6).sensitivity


def test_caller_state_is_left_alone():
    x = _x(4)
    before, state = x.detach().clone(), torch.get_rng_state()
    check_function(Sine, (x,))
    assert torch.equal(x, before)
    assert x.grad is None
    assert torch.equal(torch.get_rng_state(), state)


def test_a_backward_that_needs_the_gradient_of_a_sparse_output_cannot_be_checked():
    class Spikes(Function):
        @staticmethod
        def forward(ctx, x):
            return x.to_sparse(), x * 2

        @staticmethod
        def backward(ctx, g, h):
            if g.layout != torch.strided:
                raise RuntimeError("only dense gradients")
            return g + 2 * h

    report = check_function(Spikes, (_x(3, 3),))
    assert [f.code for f in report.findings] == ["GC303"]
    assert [v.verdict for v in report.inputs] == ["not checked"]


def test_documentation_lists_every_code():
    from pathlib import Path

    page = (Path(__file__).parents[2] / "docs" / "gradcheck" / "codes.md").read_text()
    for entry in CODES.values():
        assert f"## {entry.code} {entry.name} ({entry.severity.value})\n\n{entry.doc}\n" in page

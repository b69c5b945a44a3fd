"""Saved values that are changed behind the version counter, and how wrong the gradients are then."""

import pytest
import torch

import gradcheck_tool
from tests.sanitizer.programs import check_left_alone, check_told, watched


def _error(text):
    told, raised = watched(text)
    assert raised is None
    (one,) = told
    assert one.code == "GL205"
    return one.evidence.get("error"), one


# How a program changes what was saved, and how wrong its gradients are.
WRONG = {
    "doubled": (
        """
        w = torch.rand(3, requires_grad=True)
        y = w.exp()
        y.data.mul_(2)
        y.sum().backward()
        """,
        "wrong by 100% of its norm",
    ),
    "for one of two nodes": (
        """
        w = torch.full((3,), 1.0, requires_grad=True)
        h = w * 1
        first = h.square().sum()
        h.data.mul_(0.5)
        second = h.square().sum()
        (first + second).backward()
        """,
        "wrong by 33.3% of its norm",
    ),
    "through hooks and custom Functions": (
        """
        class Twice(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2
            @staticmethod
            def backward(ctx, g):
                return 2 * g
        w = torch.rand(3, requires_grad=True)
        calls = []
        w.register_hook(lambda g: calls.append(1))
        w.register_hook(lambda g: g * 3)
        y = Twice.apply(w).exp()
        y.data.mul_(1.5)
        y.sum().backward()
        assert len(calls) == 1
        """,
        "wrong by 50% of its norm",
    ),
    "added to what was there": (
        """
        w = torch.ones(3, requires_grad=True)
        w.grad = torch.ones(3)
        y = w * 1
        z = y * y
        y.data.fill_(2)
        z.sum().backward()
        """,
        "wrong by 66.7% of its norm",
    ),
    "given to the program": (
        """
        w = torch.rand(3, requires_grad=True)
        y = w.exp()
        y.data.mul_(21)
        torch.autograd.grad(y.sum(), w, create_graph=True)
        """,
        "wrong by 20 times its norm",
    ),
    "of several leaves": (
        """
        layer = torch.nn.Linear(2, 2)
        y = layer(torch.ones(1, 2)).exp()
        y.data.mul_(2)
        y.sum().backward()
        """,
        "wrong by up to 100% of its norm",
    ),
    "zero": (
        """
        w, mask = torch.rand(3, requires_grad=True), torch.zeros(3)
        y = (w * mask).sum()
        mask.data.fill_(1)
        y.backward()
        """,
        "not zero, as it would be",
    ),
    "no number": (
        """
        w = torch.rand(3, requires_grad=True)
        y = w.exp()
        y.data.log_().log_().sub_(10).log_()
        y.sum().backward()
        """,
        "not a number",
    ),
    "other memory, of another size": (
        """
        w = torch.ones(6)[:3].requires_grad_()
        y = (w * w).sum()
        w.data = torch.full((3,), 2.0)
        y.backward()
        """,
        "wrong by 100% of its norm",
    ),
    "an array": (
        """
        w, values = torch.rand(3, requires_grad=True), np.ones(3, dtype="float32")
        y = (w * torch.from_numpy(values)).sum()
        values[:] = 3
        y.backward()
        """,
        "wrong by 200% of its norm",
    ),
    "after many writes": (
        """
        w, mask = torch.rand(3, requires_grad=True), torch.ones(3)
        first = (w * mask).sum()
        for _ in range(100):
            mask.data.mul_(1)
        second = (w * mask).sum()
        mask.data.fill_(2)
        second.backward()
        """,
        "wrong by 100% of its norm",
    ),
    "in a checkpoint, where versions are not compared": (
        """
        from torch.utils.checkpoint import checkpoint
        def part(x):
            h = x * 1
            y = h.square()
            h.mul_(0.5)
            return y + h.detach() * x.sin().detach()
        w = torch.ones(3, requires_grad=True)
        checkpoint(part, w, use_reentrant=False).sum().backward()
        """,
        "wrong by 50% of its norm",
    ),
    "random numbers, which are drawn a second time": (
        """
        class Dropped(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.clone()
            @staticmethod
            def backward(ctx, g):
                return torch.nn.functional.dropout(g) * torch.bernoulli(g.sigmoid() * 0 + 0.9)
        w = torch.rand(64, requires_grad=True)
        y = Dropped.apply(w).exp()
        y.data.mul_(2)
        y.sum().backward()
        """,
        "wrong by 100% of its norm",
    ),
    "random numbers while another thread may draw": (
        """
        import threading
        w = torch.rand(64, requires_grad=True)
        h = w * 1
        h.register_hook(torch.nn.functional.dropout)
        y = h.exp()
        y.data.mul_(2)
        ended = threading.Event()
        other = threading.Thread(target=ended.wait)
        other.start()
        y.sum().backward()
        ended.set()
        other.join()
        """,
        "not known, as `bernoulli_` draws random numbers while another thread runs",
    ),
    "gradients that are taken away": (
        """
        w = torch.rand(3, requires_grad=True)
        w.register_post_accumulate_grad_hook(lambda p: setattr(p, "grad", None))
        y = w.exp()
        y.data.mul_(2)
        y.sum().backward()
        """,
        "not known, as a gradient is gone when the backward ends",
    ),
    "gradients that only a hook has": (
        """
        kept = []
        w = torch.rand(3, requires_grad=True)
        y = w * 0
        y.register_hook(lambda g: kept.append(g * 1))
        z = y.exp()
        z.data.mul_(2)
        z.sum().backward()
        """,
        "not known, as something else than gradients has what comes of it",
    ),
    "through a node that is not watched": (
        """
        w = torch.rand(3, requires_grad=True)
        y = w.prod().exp()
        y.data.mul_(2)
        y.sum().backward()
        """,
        "not known, as it is not seen what `ProdBackward0` computes",
    ),
    "through an operation of the program's own": (
        """
        @torch.library.custom_op("gradlint_tests::twice", mutates_args=())
        def twice(x: torch.Tensor) -> torch.Tensor:
            return x * 2
        twice.register_autograd(lambda ctx, gradient: twice(gradient))
        w = torch.rand(3, requires_grad=True)
        y = twice(w).exp()
        y.data.mul_(2)
        y.sum().backward()
        """,
        "not known, as `gradlint_tests.twice` may be called once only",
    ),
    "more than is kept": (
        """
        w = torch.rand((1 << 24) + (1 << 22), requires_grad=True)
        y = w.exp()
        y.data[::2] = 0
        y.sum().backward()
        """,
        "not known, as there is no room to keep the saved values",
    ),
}

HARMLESS = {
    "elements that get no gradient": """
        w = torch.rand(3, requires_grad=True)
        y = w.exp()
        y.data[0] = 7
        y[1:].sum().backward()
        """,
    "a factor of zero": """
        w = torch.rand(3, requires_grad=True)
        y = (w * 0).exp()
        y.data.mul_(2)
        y.sum().backward()
        """,
    "there and back": """
        model = torch.nn.Linear(3, 3)
        x = torch.rand(2, 3)
        loss = model(x).square().sum()
        for p in model.parameters():
            p.data.add_(1e-3)
            model(x)
            p.data.sub_(1e-3)
        loss.backward()
        """,
    "other parameters for a while": """
        w = torch.nn.Parameter(torch.rand(3))
        loss = (w * w).sum()
        trained = w.data
        w.data = torch.ones(3)
        (w * w).sum()
        w.data = trained
        loss.backward()
        """,
    "the same values elsewhere": """
        w = torch.rand(6)[:3].requires_grad_()
        loss = (w * w).sum()
        w.data = w.data.clone()
        loss.backward()
        """,
    "what a node has saved is read": """
        w = torch.rand(3, requires_grad=True)
        y = w.exp()
        y.data.mul_(2)
        y.grad_fn._saved_result
        """,
    "checkpoints": """
        from torch.utils.checkpoint import checkpoint
        first = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4), torch.nn.ReLU(inplace=True))
        net = torch.nn.Sequential(first, torch.nn.Dropout(0.5), torch.nn.Linear(4, 4))
        optimizer = torch.optim.Adam(net.parameters())
        def part(x):
            h = net(x)
            h += x
            y = h.sin()
            h.clamp_(-100, 100)
            return y.tanh() * h
        for _ in range(3):
            optimizer.zero_grad()
            h = checkpoint(part, torch.rand(5, 4), use_reentrant=False)
            h = checkpoint(part, h, use_reentrant=False).sum()
            h.backward(retain_graph=True)
            h.backward()
            optimizer.step()
        """,
    "types that cannot be compared": """
        w = torch.rand(3, requires_grad=True)
        class Scaled(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, scale):
                ctx.save_for_backward(scale)
                return x.clone()
            @staticmethod
            def backward(ctx, g):
                return g + 0 * ctx.saved_tensors[0].float(), None
        scale = torch.ones(3).to(torch.float8_e4m3fn)
        y = Scaled.apply(w, scale)
        scale.data.copy_(torch.full((3,), 2.0).to(torch.float8_e4m3fn))
        y.sum().backward()
        """,
    "a change before anything is saved": """
        w = torch.rand(3, requires_grad=True)
        y = w * 1
        y.data.clamp_(0, 0.5)
        y.square().sum().backward()
        """,
}


@pytest.mark.parametrize("name", WRONG)
def test_how_wrong_gradients_are_is_told(name):
    text, expected = WRONG[name]
    assert _error(text)[0] == expected


@pytest.mark.parametrize("name", HARMLESS)
def test_what_makes_no_gradient_wrong_is_no_mistake(name):
    check_left_alone(HARMLESS[name])


def test_why_there_is_no_figure_stands_in_the_message():
    _, told = _error(WRONG["through a node that is not watched"][0])
    assert told.message.endswith(
        "; by how much gradients are wrong is not known, as it is not seen what `ProdBackward0` computes"
    )


def test_memory_of_which_a_checksum_is_made_may_be_written_where_nothing_needs_it():
    check_left_alone(
        """
        w = torch.rand((1 << 24) + (1 << 22), requires_grad=True)
        y = w.exp()
        y.data.add_(0)
        y.sum().backward()
        """
    )


def test_the_gradients_are_named():
    _, told = _error(WRONG["of several leaves"][0])
    assert "the gradients of `Linear." in told.message
    assert "are wrong by up to 100% of its norm" in told.message
    assert told.evidence["gradients"] == 2


def test_only_the_write_that_does_harm_is_told():
    check_told(
        """
        w, v = torch.rand(3, requires_grad=True), torch.rand(3, requires_grad=True)
        y, z = w.exp(), v.exp()
        y.data[0] = 7
        z.data[1] = 7
        (y[1:].sum() + z.sum()).backward()
        """,
        "GL205",
        [3, 5, 6],
    )


def test_each_step_in_which_it_happens_counts():
    _, told = _error(
        """
        w = torch.rand(3, requires_grad=True)
        for _ in range(40):
            y = w.exp()
            y.data.mul_(1.1)
            y.sum().backward()
        """
    )
    assert told.evidence["seen"] == 40


def _trained_with_changed_values():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.GELU(), torch.nn.Dropout(0.5))
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(12):
        hidden = model(torch.randn(3, 4))
        loss = hidden.square().sum() + hidden.sigmoid().sum()
        hidden.data.mul_(torch.rand(()))
        model[0].weight.data = model[0].weight.data * 0.9
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return [*model.parameters(), torch.rand(3)]


def test_wrong_gradients_stay_what_they_are_bit_for_bit():
    expected = _trained_with_changed_values()
    with gradcheck_tool.watch(quiet=True) as seen:
        result = _trained_with_changed_values()
    assert {finding.code for finding in seen.findings} == {"GL205"}
    assert all(torch.equal(one, other) for one, other in zip(result, expected, strict=True))


def test_the_class_of_tensors_has_the_attribute_that_it_has():
    alone, names = torch.Tensor.data, vars(torch.Tensor).keys()
    with gradcheck_tool.watch(quiet=True), gradcheck_tool.watch(quiet=True):
        assert torch.Tensor.data is alone
        assert torch.nn.Parameter.data is alone
        tensor = torch.rand(3)
        with pytest.raises(RuntimeError):
            del tensor.data
    assert vars(torch.Tensor).keys() == names


def test_data_can_be_compiled():
    def halved(x, y):
        x.data.mul_(0.5)
        y = y * x.data
        return y.sum()

    x, y = torch.ones(3), torch.ones(3, requires_grad=True)
    with gradcheck_tool.watch(quiet=True):
        torch.compile(halved, backend="eager", fullgraph=True)(x, y).backward()
    assert torch.equal(y.grad, torch.full((3,), 0.5))


def test_lists_of_inference_tensors_are_written_as_without_the_watch():
    check_left_alone(
        """
        with torch.inference_mode():
            values = [torch.rand(3), torch.rand(2)]
            torch._foreach_mul_(values, 0.9)
        """
    )

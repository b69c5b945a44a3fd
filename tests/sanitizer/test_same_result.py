"""A watched program computes what it would compute, bit for bit, and frees its memory as before."""

import threading
import warnings
import weakref

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils._per_sample_grad import call_for_per_sample_grads
from torch.overrides import TorchFunctionMode
from torch.utils.checkpoint import checkpoint

import gradcheck_tool


def _classifier(steps=4, optimizer=torch.optim.Adam, **options):
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(inplace=True), nn.Dropout(0.3), nn.Linear(8, 3)
    )
    trained = optimizer(model.parameters(), lr=0.05, **options)
    for _ in range(steps):
        trained.zero_grad()
        nn.functional.cross_entropy(model(torch.randn(5, 6)), torch.randint(3, (5,))).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        trained.step()
    return [*model.parameters(), *model.buffers(), torch.rand(3)]


def _lbfgs():
    torch.manual_seed(1)
    weight = torch.randn(3, requires_grad=True)
    optimizer = torch.optim.LBFGS([weight], max_iter=5)

    def closure():
        optimizer.zero_grad()
        loss = (weight.exp() - 2).square().sum()
        loss.backward()
        return loss

    for _ in range(3):
        optimizer.step(closure)
    return [weight]


def _recurrent():
    torch.manual_seed(2)
    net = nn.GRU(4, 5, num_layers=2, batch_first=True)
    out, state = net(torch.randn(3, 6, 4))
    (out.sum() + state.square().sum()).backward()
    return [p.grad for p in net.parameters()]


def _checkpointed(reentrant):
    torch.manual_seed(3)
    block = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Dropout(0.5), nn.Linear(4, 4))
    x = torch.randn(2, 4, requires_grad=True)
    checkpoint(block, x, use_reentrant=reentrant).sum().backward()
    return [x.grad, *(p.grad for p in block.parameters())]


def _functional():
    torch.manual_seed(4)
    weight = torch.randn(4)
    gradients = torch.func.vmap(torch.func.grad(lambda w, x: (w * x).sin().sum()), (None, 0))(
        weight, torch.randn(3, 4)
    )
    return [
        gradients,
        torch.func.jacrev(lambda w: w.exp())(weight),
        torch.func.hessian(lambda w: w.exp().sum())(weight),
    ]


def _second_order():
    torch.manual_seed(5)
    weight = torch.randn(4, requires_grad=True)
    (first,) = torch.autograd.grad(weight.sin().square().sum(), weight, create_graph=True)
    first.square().sum().backward()
    return [weight.grad]


def _edges():
    torch.manual_seed(5)
    weight = torch.randn(4, requires_grad=True)
    hidden = weight.sin()
    edge = torch.autograd.graph.get_gradient_edge(hidden)
    (first,) = torch.autograd.grad(hidden.square().sum(), edge, create_graph=True)
    first.square().sum().backward()
    return [first, weight.grad]


def _attention():
    torch.manual_seed(6)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    layer(torch.randn(2, 5, 8)).square().mean().backward()
    return [p.grad for p in layer.parameters()]


def _mixed_precision():
    torch.manual_seed(7)
    model = nn.Linear(4, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = model(torch.randn(3, 4)).float().square().mean()
    loss.backward()
    return [p.grad for p in model.parameters()]


def _own_hooks():
    torch.manual_seed(8)
    weight = torch.randn(4, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        y = weight.exp()
    with torch.autograd.graph.save_on_cpu():
        z = y.sin()
    z.sum().backward()
    return [weight.grad]


def _mutation_allowed():
    torch.manual_seed(9)
    weight = torch.randn(4, requires_grad=True)
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        y = weight.clone()
        z = y.sin().sum()
        y.zero_()
        z.backward()
    return [weight.grad]


def _views_and_convolutions():
    torch.manual_seed(10)
    layer = nn.Conv2d(2, 3, 3, padding=1)
    x = layer(torch.randn(2, 2, 6, 6)) * 1
    x[:, 0].mul_(2)
    x.unfold(2, 2, 2).amax(-1).logsumexp(1).sum().backward()
    return [p.grad for p in layer.parameters()]


def _thread():
    torch.manual_seed(11)
    weight = torch.randn(4, requires_grad=True)
    worker = threading.Thread(target=lambda: weight.exp().sum().backward())
    worker.start()
    worker.join()
    return [weight.grad]


def _compiled():
    torch.manual_seed(12)
    weight = torch.randn(4, requires_grad=True)
    torch.compile(lambda w: (w.sin() * w).relu().sum(), backend="aot_eager")(weight).backward()
    return [weight.grad]


def _sparse():
    torch.manual_seed(13)
    indices = torch.from_numpy(np.array([[0, 1, 2], [1, 2, 0]]))
    adjacency = torch.sparse_coo_tensor(indices, torch.rand(3), (3, 3), check_invariants=False)
    weight = torch.randn(3, 3, requires_grad=True)
    torch.sparse.mm(adjacency, weight.exp()).sum().backward()
    return [weight.grad]


def _per_sample():
    torch.manual_seed(14)
    layer = nn.Linear(4, 2)
    x = torch.randn(3, 4)
    call_for_per_sample_grads(layer, batch_size=3, loss_reduction="sum")(x).square().sum().backward()
    return [p.grad_sample for p in layer.parameters()]


def _on_a_device():
    torch.manual_seed(15)
    weight, factors = torch.randn(2, requires_grad=True), torch.randn(4)
    y = (weight * factors[::2]).sum()
    with torch.device("meta"):
        factors.data[1::2].fill_(1.0)
        y.backward()
    return [weight.grad]


def _traced():
    torch.manual_seed(16)

    class Shifted(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 1)

        def forward(self, x):
            return self.layer(x) + 0.5

    model = Shifted()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced = torch.jit.trace(model, torch.rand(3, 2))
        traced(torch.rand(3, 2)).square().sum().backward()
    return [p.grad for p in model.parameters()]


def _checkpoints_of_inference_mode():
    torch.manual_seed(3)
    layer = nn.Linear(3, 3)
    with torch.inference_mode():
        mask = torch.rand(3)
        shown = [checkpoint(layer, mask, use_reentrant=way) for way in (True, False)]
    x = torch.rand(3, requires_grad=True)
    checkpoint(lambda a: layer(a).exp() + mask, x, use_reentrant=True).sum().backward()
    return [*shown, x.grad]


PROGRAMS = {
    "traced": _traced,
    "sparse": _sparse,
    "per-sample gradients": _per_sample,
    "on a device": _on_a_device,
    "compiled": _compiled,
    "adam": _classifier,
    "foreach": lambda: _classifier(foreach=True),
    "fused": lambda: _classifier(fused=True),
    "sgd": lambda: _classifier(optimizer=torch.optim.SGD, momentum=0.9, nesterov=True),
    "adamw": lambda: _classifier(optimizer=torch.optim.AdamW, amsgrad=True),
    "rmsprop": lambda: _classifier(optimizer=torch.optim.RMSprop, centered=True),
    "adagrad": lambda: _classifier(optimizer=torch.optim.Adagrad),
    "lbfgs": _lbfgs,
    "recurrent": _recurrent,
    "checkpoint": lambda: _checkpointed(False),
    "reentrant checkpoint": lambda: _checkpointed(True),
    "func": _functional,
    "second order": _second_order,
    "edges of the graph": _edges,
    "attention": _attention,
    "autocast": _mixed_precision,
    "checkpoints of inference mode": _checkpoints_of_inference_mode,
    "hooks of the program": _own_hooks,
    "mutation of saved tensors": _mutation_allowed,
    "views and convolutions": _views_and_convolutions,
    "thread": _thread,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_result_is_the_same(name):
    program = PROGRAMS[name]
    expected = program()
    with gradcheck_tool.watch(quiet=True) as seen:
        result = program()
    assert seen.findings == []
    assert len(result) == len(expected)
    for one, other in zip(result, expected, strict=True):
        assert torch.equal(one, other)


SENSITIVE = {
    "max": lambda x: x.exp().max() * torch.inf,
    "min": lambda x: x.exp().min() * torch.inf,
    "median": lambda x: x.exp().median() * torch.inf,
    "nanmedian": lambda x: x.exp().nanmedian() * torch.inf,
    "prod": lambda x: x.exp().prod(),
    "prod of rows": lambda x: x.exp().prod(1).sum(),
    "cumprod": lambda x: x.exp().cumprod(0).sum(),
    "det": lambda x: (torch.linalg.det(x.view(3, 4, 4) + 3 * torch.eye(4)) / 7).sum(),
    "a filled tensor": lambda x: (
        torch.ones(99, 99).masked_fill(torch.rand(99, 99) > 0.5, x.sum()).exp().sum()
    ),
    "in a checkpoint": lambda x: checkpoint(torch.prod, x.exp(), use_reentrant=False),
    "in a reentrant checkpoint": lambda x: checkpoint(torch.prod, x.exp(), use_reentrant=True),
}


def _gradients(function, *, create_graph):
    torch.manual_seed(2)
    x = torch.rand(4, 12).div_(3).requires_grad_()
    (x.exp().sin().sum() + function(x.exp().sin())).backward(create_graph=create_graph)
    gradient = x.grad.detach().clone()
    if create_graph:
        x.grad.sin().sum().backward()
    return [gradient, x.grad.detach()]


@pytest.mark.filterwarnings("ignore:Using backward")
@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", SENSITIVE)
def test_derivatives_that_look_for_modes_are_the_same(name, create_graph):
    if create_graph and name == "in a reentrant checkpoint":
        return
    expected = _gradients(SENSITIVE[name], create_graph=create_graph)
    with gradcheck_tool.watch(quiet=True):
        result = _gradients(SENSITIVE[name], create_graph=create_graph)
    for one, other in zip(result, expected, strict=True):
        assert torch.equal(one.nan_to_num(7), other.nan_to_num(7))


def test_what_follows_such_a_derivative_is_watched_again():
    with gradcheck_tool.watch(quiet=True) as seen:
        x = torch.rand(4, requires_grad=True)
        y = x.exp()
        loss = y.prod()
        y.data.mul_(2)
        loss.backward()
    assert {one.code for one in seen.findings} == {"GL205"}


def test_what_a_backward_frees_is_freed_at_once():
    with gradcheck_tool.watch(quiet=True):
        x = torch.randn(1000, requires_grad=True)
        hidden = x.exp()
        loss = hidden.sigmoid().square().sum()
        memory = weakref.ref(hidden.untyped_storage())
        del hidden
        assert memory() is not None
        loss.backward()
        assert memory() is None


def test_a_graph_that_is_dropped_is_freed_at_once():
    alive = []
    with gradcheck_tool.watch(quiet=True):
        for _ in range(3):
            x = torch.randn(1000, requires_grad=True)
            y = x.exp().sigmoid() * x
            alive.append(weakref.ref(y.untyped_storage()))
            del x, y
    assert [ref() for ref in alive] == [None] * len(alive)


def _patched():
    return (
        torch.autograd._engine_run_backward,
        threading.Thread._bootstrap_inner,
        torch.optim.Optimizer.add_param_group,
    )


def test_watching_ends_with_the_block():
    modes, before = torch._C._len_torch_dispatch_stack(), _patched()
    with pytest.raises(ZeroDivisionError), gradcheck_tool.watch(quiet=True):
        raise ZeroDivisionError
    assert _patched() == before
    assert torch._C._len_torch_dispatch_stack() == modes
    assert torch._C._autograd._top_saved_tensors_default_hooks(True) is None


def test_what_is_compiled_first_under_the_watch_compiles():
    class Model(nn.Module):
        def forward(self, x):
            return x.sin() * 2

    with gradcheck_tool.watch(quiet=True):
        x = torch.ones(3, requires_grad=True)
        torch.compile(Model(), backend="eager", fullgraph=True)(x).sum().backward()
    assert torch.equal(x.grad, 2 * torch.ones(3).cos())


def test_what_is_compiled_has_nothing_of_ours():
    from torch._dynamo.convert_frame import input_codes

    torch._dynamo.reset()
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    @torch.compile(backend="eager")
    def step(values):
        optimizer.zero_grad()
        model(values).square().mean().backward()
        optimizer.step()

    with warnings.catch_warnings(record=True) as warned, gradcheck_tool.watch(quiet=True):
        warnings.simplefilter("always")
        for _ in range(3):
            step(torch.rand(2, 3))
    compiled = [code.co_filename for reference in input_codes.seen if (code := reference()) is not None]
    assert __file__ in compiled
    assert not [name for name in compiled if "gradcheck_tool" in name]
    assert not [one for one in warned if "_getframe" in str(one.message)]


def test_modules_list_what_they_have():
    alone = dir(nn.Linear(1, 1))
    with gradcheck_tool.watch(quiet=True):
        module = nn.Linear(1, 1)
        assert dir(module) == alone
        module.requires_grad = True
        assert "requires_grad" in dir(module)


def _seen_by_torch_functions():
    """What a subclass of tensors and a mode are told of a few steps of training."""
    seen = []

    class Counting(nn.Parameter):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            seen.append(("subclass", getattr(function, "__name__", str(function))))
            return super().__torch_function__(function, types, args, kwargs or {})

    class Mode(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            seen.append(("mode", getattr(function, "__name__", str(function))))
            return function(*args, **(kwargs or {}))

    net = nn.Linear(3, 2)
    net.weight = Counting(torch.ones(2, 3))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        with Mode():
            optimizer.zero_grad()
            y = net(torch.ones(4, 3)).exp()
            loss = (y * torch.from_numpy(y.detach().numpy())).sum() + torch.tensor(y.sum().item())
            loss.backward()
            (inner,) = torch.autograd.grad(net.weight.exp().sum(), [net.weight], create_graph=True)
            (net.weight.detach() - 0.1 * inner).sum()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            net.weight.register_hook(lambda _: None).remove()
            optimizer.step()
            net.eval()
            net.train()
    return seen


def test_torch_functions_of_the_program_see_nothing_of_ours():
    alone = _seen_by_torch_functions()
    with gradcheck_tool.watch(quiet=True):
        watched = _seen_by_torch_functions()
    assert watched == alone


def test_what_a_checkpoint_keeps_goes_when_it_is_used():
    kept = []

    class Last(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            kept.append(weakref.ref(x.untyped_storage()))
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            alive.append([ref() is not None for ref in kept])
            return gradient

    alive = []
    with gradcheck_tool.watch(quiet=True):
        x = torch.randn(1000, requires_grad=True)
        checkpoint(lambda x: Last.apply(x.exp()).sin().cos(), x, use_reentrant=False).sum().backward()
    assert [ref() for ref in kept] == [None, None]
    assert len(alive) == 1

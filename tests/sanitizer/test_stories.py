"""Stories of what PyTorch refuses: from which lines the other end comes, and by which calls."""

import pytest
import torch

import gradcheck_tool
from tests.sanitizer.programs import raised_by, story, watched

# Program, code, rows of the story.
PROGRAMS = {
    "switched off by a with": (
        """
        w = torch.rand(3, requires_grad=True)
        with torch.no_grad():
            with torch.no_grad():
                loss = w.sum()
        loss.backward()
        """,
        "GL501",
        [3, 5, 6],
    ),
    "switched off by one of several decorators": (
        """
        def same(function):
            return function
        @same
        @torch.no_grad()
        def loss(w):
            return w.sum()
        loss(torch.rand(3, requires_grad=True)).backward()
        """,
        "GL501",
        [5, 7, 8, 8],
    ),
    "switched off by a decorator without parentheses": (
        """
        @torch.inference_mode
        def loss(w):
            return w.sum()
        loss(torch.rand(3, requires_grad=True)).backward()
        """,
        "GL501",
        [2, 4, 5, 5],
    ),
    "switched off by a call": (
        """
        w = torch.rand(3, requires_grad=True)
        torch.set_grad_enabled(False)
        try:
            loss = w.sum()
        finally:
            torch.set_grad_enabled(True)
        loss.backward()
        """,
        "GL501",
        [3, 5, 8],
    ),
    "switched off again when a block ends": (
        """
        w = torch.rand(3, requires_grad=True)
        with torch.no_grad():
            with torch.enable_grad():
                w.sum().backward()
            loss = w.sum()
        loss.backward()
        """,
        "GL501",
        [3, 6, 7],
    ),
    "inference mode, whatever is switched on in it": (
        """
        w = torch.rand(3, requires_grad=True)
        with torch.inference_mode():
            with torch.enable_grad():
                loss = w.sum()
        loss.backward()
        """,
        "GL501",
        [3, 5, 6],
    ),
    "Function that returns a list": (
        """
        class Both(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return [x * 2, x.sum() * 1]
            @staticmethod
            def backward(ctx, one, other):
                return one * 2 + other
        def loss(x):
            double, total = Both.apply(x)
            return double.sum() + total
        loss(torch.rand(3, requires_grad=True)).backward()
        """,
        "GL501",
        [10, 5, 12, 12],
    ),
    "backward that records nothing": (
        """
        class Inner(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x.tanh()
            @staticmethod
            def backward(ctx, gradient):
                x = ctx.saved_tensors[0].detach().requires_grad_()
                inner = x.tanh().sum()
                return torch.autograd.grad(inner, x)[0] * gradient
        Inner.apply(torch.rand(2, requires_grad=True)).sum().backward()
        """,
        "GL501",
        [12, 10, 12, 11],
    ),
    "shared part of a called function": (
        """
        w = torch.rand(3, requires_grad=True)
        def gram(features):
            return features.square() / 3
        def targets():
            return [gram(w)]
        def fit():
            (target,) = targets()
            for _ in range(2):
                loss = (w * 2 - target).square().sum()
                loss.backward()
        fit()
        """,
        "GL102",
        [8, 6, 4, 10, 11],
    ),
    "one backward, called twice": (
        """
        def update(loss):
            loss.backward()
        shared = torch.rand(3, requires_grad=True).exp()
        update(shared.sum())
        update(shared.mean())
        """,
        "GL102",
        [4, 5, 3, 6, 6, 3],
    ),
    "saved in one function and written in another": (
        """
        class Memory(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.state = None
            def forward(self, x):
                self.state = x.tanh()
                return self.state.exp()
            def reset(self):
                self.state.zero_()
        def rollout(memory, x):
            total = memory(x).sum()
            memory.reset()
            return total
        loss = rollout(Memory(), torch.rand(3, requires_grad=True))
        loss.backward()
        """,
        "GL201",
        [15, 12, 7, 13, 10, 16],
    ),
    "what a checkpoint is given": (
        """
        from torch.utils.checkpoint import checkpoint
        x = torch.rand(3, requires_grad=True) * 1
        y = checkpoint(lambda h: h.exp(), x, use_reentrant=False)
        x += 1
        y.sum().backward()
        """,
        "GL201",
        [4, 5, 6],
    ),
    "views whose base is written to": (
        """
        base = torch.rand(6, requires_grad=True) * 2
        first, second = base.split(3)
        base.add_(1)
        first + second
        """,
        "GL204",
        [3, 4, 5],
    ),
    "view that a Function returns": (
        """
        class Flat(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.view(-1)
            @staticmethod
            def backward(ctx, gradient):
                return gradient.view(2, 2)
        flat = Flat.apply(torch.rand(2, 2, requires_grad=True) * 1)
        flat += 1
        """,
        "GL204",
        [9, 5, 10],
    ),
    "item of a tuple": (
        """
        class Shift(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.mark_dirty(x)
                return x.add_(1)
            @staticmethod
            def backward(ctx, gradient):
                return gradient
        halves = (torch.rand(4, requires_grad=True) * 2).chunk(2)
        Shift.apply(halves[0])
        """,
        "GL204",
        [10, 11],
    ),
    "field of a node": (
        """
        gain = torch.rand(2, requires_grad=True).exp()
        node = gain.grad_fn
        gain.sum().backward()
        node._saved_result
        """,
        "GL104",
        [2, 4, 5],
    ),
    "input that does not require grad": (
        """
        w = torch.rand(3, requires_grad=True)
        x = torch.rand(3)
        y = (w * x).sum()
        torch.autograd.grad(y, x)
        """,
        "GL801",
        [3, 4, 5],
    ),
    "no inputs": (
        """
        net = torch.nn.Linear(2, 1)
        chosen = [one for one in net.parameters() if one.dim() > 2]
        net(torch.rand(1, 2)).sum().backward(inputs=chosen)
        """,
        "GL105",
        [3, 4],
    ),
    "hook that returns something": (
        """
        w = torch.rand(2, requires_grad=True)
        w.register_post_accumulate_grad_hook(lambda leaf: leaf.grad)
        w.sum().backward()
        """,
        "GL814",
        [3, 4],
    ),
    "hook that returns another size": (
        """
        w = torch.rand(2, requires_grad=True)
        w.register_hook(lambda gradient: gradient[:1])
        w.sum().backward()
        """,
        "GL815",
        [3, 4],
    ),
    "result that a copied module keeps": (
        """
        import copy
        net = torch.nn.Linear(2, 2)
        net.last = net(torch.rand(1, 2))
        copy.deepcopy(net)
        """,
        "GL307",
        [4, 5],
    ),
    "gradient of inference mode": (
        """
        w = torch.rand(3, requires_grad=True)
        first = w.square().sum()
        w.sum().backward()
        w.grad = None
        with torch.inference_mode():
            first.backward()
        w.square().sum().backward()
        """,
        "GL207",
        [7, 8],
    ),
    "view of a view that was made without gradients": (
        """
        @torch.no_grad()
        def window(values):
            return values[1:]
        part = window(torch.rand(4)).requires_grad_()
        last = part[1:]
        last.zero_()
        """,
        "GL204",
        [5, 6, 7],
    ),
    "result of a differentiable backward that is linear": (
        """
        x = torch.rand(3, requires_grad=True)
        w = torch.rand(3, requires_grad=True)
        (slope,) = torch.autograd.grad((w * x).sum(), x, create_graph=True)
        torch.autograd.grad(slope.sum(), x)
        """,
        "GL801",
        [2, 4, 5],
    ),
    "tensor of inference mode, through a call": (
        """
        head = torch.nn.Linear(2, 1)
        with torch.inference_mode():
            features = torch.rand(3, 2)
        head(features.detach())
        """,
        "GL207",
        [4, 5],
    ),
    "Function that saves a list": (
        """
        class Pair(torch.autograd.Function):
            @staticmethod
            def forward(ctx, *parts):
                ctx.save_for_backward(parts)
                return parts[0] * parts[1]
            @staticmethod
            def backward(ctx, gradient):
                return gradient, gradient
        Pair.apply(torch.rand(2, requires_grad=True), torch.rand(2))
        """,
        "GL703",
        [5, 6, 10],
    ),
    "Function that does not return what it writes": (
        """
        class Bump(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                x.add_(1)
                ctx.mark_dirty(x)
                return x.clone()
            @staticmethod
            def backward(ctx, gradient):
                return gradient
        Bump.apply(torch.rand(2, requires_grad=True) * 1)
        """,
        "GL704",
        [6, 7, 11],
    ),
    "operation without a derivative": (
        """
        bins = torch.rand(4, requires_grad=True) // 0.25
        bins.sum().backward()
        """,
        "GL508",
        [2, 3],
    ),
    "hooks on saved tensors": (
        """
        x = torch.rand(3, requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t.mean().item(), lambda value: value):
            y = x.sin()
        y.sum().backward()
        """,
        "GL816",
        [3, 5],
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_story_has_both_ends_and_the_calls_between(name):
    text, code, rows = PROGRAMS[name]
    told, raised = watched(text)
    assert raised == raised_by(text)
    assert [one.code for one in told] == [code]
    assert story(told[0]) == rows


def test_of_several_roots_it_is_told_which_has_no_graph():
    (told,) = watched(
        """
        policy, target = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1).requires_grad_(False)
        x = torch.rand(3, 2)
        losses = [policy(x).mean(), target(x).mean()]
        torch.autograd.backward(losses)
        """
    )[0]
    assert "from root 1" in told.message
    assert story(told) == [4, 5]


def test_what_leaves_a_function_without_a_graph_on_purpose_is_no_mistake():
    told, raised = watched(
        """
        class Counted(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                share = x.abs().mean() * 1
                ctx.mark_non_differentiable(share)
                return x * 2, share
            @staticmethod
            def backward(ctx, gradient, _):
                return gradient * 2
        w = torch.nn.Parameter(torch.rand(3))
        optimizer = torch.optim.SGD([w], lr=0.1)
        for _ in range(4):
            optimizer.zero_grad()
            double, share = Counted.apply(w)
            loss = double.square().sum()
            print(share * 2 + 1)
            loss.backward()
            optimizer.step()
        """
    )
    assert (told, raised) == ([], None)


def test_what_ends_a_watched_part_is_told_with_its_whole_story():
    loss = torch.ones(3, requires_grad=True).exp().sum()

    def differentiate():
        loss.backward()
        loss.backward()

    with pytest.raises(RuntimeError), gradcheck_tool.watch(quiet=True) as seen:
        differentiate()
    (found,) = seen.findings
    assert "again, whose graph `loss.backward()` has freed" in found.message
    assert [step.kind for step in found.trace] == ["freed", "raised"]

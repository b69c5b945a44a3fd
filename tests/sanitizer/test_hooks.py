"""Hooks that lose what they compute, or change a gradient that is not theirs alone."""

import copy
import pickle

import pytest
import torch

import gradcheck_tool
from tests.sanitizer.programs import check_left_alone, check_told, story, watched

# The program, its code, and the rows of the story.
MISTAKES = {
    "another leaf has the same gradient": (
        """
        w, v = (torch.rand(3, requires_grad=True) for _ in range(2))
        w.register_hook(lambda g: g.mul_(0.5))
        for _ in range(3):
            (w + v).square().sum().backward()
        """,
        "GL806",
        [3, 3],
    ),
    "another node has the same gradient": (
        """
        def halve(gradient):
            gradient *= 0.5
        w, v = (torch.rand(3, requires_grad=True) for _ in range(2))
        for _ in range(3):
            first = v.exp()
            h = w * 1
            h.register_hook(halve)
            (h + first).square().sum().backward()
        """,
        "GL806",
        [8, 3, 6],
    ),
    "a residual has the same gradient": (
        """
        layer = torch.nn.Linear(3, 3)
        for _ in range(3):
            h = layer(torch.rand(2, 3))
            r = h.tanh()
            r.register_hook(lambda g: g.clamp_(-0.01, 0.01))
            (h + r).square().sum().backward()
        """,
        "GL806",
        [6, 6, 4],
    ),
    "a hook of a module changes what another one has, too": (
        """
        first, second = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)
        def halve(module, grad_input, grad_output):
            for gradient in grad_input:
                gradient.mul_(0.5)
        act = torch.nn.Identity()
        act.register_full_backward_hook(halve)
        for _ in range(3):
            x = torch.rand(2, 3)
            h, r = first(x).tanh(), second(x).tanh()
            (act(h) + r).square().sum().backward()
        """,
        "GL806",
        [7, 5, 10],
    ),
    "a hook on a forward returns nothing": (
        """
        net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 3))
        def scale(module, args, output):
            output = output * 0.5
        net[0].register_forward_hook(scale)
        for _ in range(3):
            net(torch.rand(2, 3)).sum().backward()
        """,
        "GL809",
        [5, 4],
    ),
    "a hook before a forward returns nothing": (
        """
        net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 3))
        def scale(module, args):
            args = tuple(0.5 * one for one in args)
        net[1].register_forward_pre_hook(scale)
        for _ in range(3):
            net(torch.rand(2, 3)).sum().backward()
        """,
        "GL809",
        [5, 4],
    ),
    "a hook of a module returns nothing": (
        """
        net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 3))
        def halve(module, grad_input, grad_output):
            grad_input = tuple(0.5 * g for g in grad_input)
        net[1].register_full_backward_hook(halve)
        for _ in range(3):
            net(torch.rand(2, 3)).sum().backward()
        """,
        "GL809",
        [5, 4],
    ),
}

RIGHT = {
    "nothing else has the gradient": """
        w, v = (torch.rand(3, requires_grad=True) for _ in range(2))
        w.register_hook(lambda g: g.mul_(0.5))
        for _ in range(3):
            (w * v).square().sum().backward()
        """,
    "a write that changes nothing": """
        w, v = (torch.rand(3, requires_grad=True) for _ in range(2))
        w.register_hook(lambda g: g.clamp_(-100, 100))
        for _ in range(3):
            (w + v).square().sum().backward()
        """,
    "what comes after the node is to change": """
        w, v = (torch.rand(3, requires_grad=True) for _ in range(2))
        for _ in range(3):
            h = w + v
            h.register_hook(lambda g: g.mul_(0.5))
            torch.add(h.exp(), h).sum().backward(retain_graph=True)
        """,
    "what is read before the hook": """
        w, v = (torch.rand(3, requires_grad=True) for _ in range(2))
        for _ in range(3):
            h = w * 1
            h.register_hook(lambda g: g.mul_(0.5))
            (h + v.exp()).square().sum().backward()
        """,
    "another tensor is returned": """
        w, v = (torch.rand(3, requires_grad=True) for _ in range(2))
        def halve(gradient):
            gradient = gradient.clone()
            return gradient.mul_(0.5)
        w.register_hook(halve)
        for _ in range(3):
            (w + v).square().sum().backward()
        """,
    "operations on lists, and gradients that are not there": """
        w, v = (torch.rand(3, requires_grad=True) for _ in range(2))
        def scale(gradient):
            scaled = [gradient.clone(), gradient.clone()]
            torch._foreach_mul_(scaled, 0.5)
            return scaled[0]
        class Two(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.set_materialize_grads(False)
                return x * 2, x * 3
            @staticmethod
            def backward(ctx, one, other):
                return one
        w.register_hook(scale)
        for _ in range(3):
            one, other = Two.apply(w)
            other.register_hook(lambda g: g)
            (one + v).square().sum().backward()
        """,
    "hooks on forwards that only look": """
        net, seen = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)), []
        def norms(module, args, output):
            output = output.detach().abs()
            seen.append(output.mean().item())
        def largest(module, args, output):
            output = output * 2
            print(output.detach().numpy().shape)
        def scaled(module, args, output):
            output = output * 2
            return output
        for hook in (norms, largest, scaled):
            net[0].register_forward_hook(hook)
        net[1].register_forward_pre_hook(lambda module, args: (args[0] * 2,))
        for _ in range(3):
            net(torch.rand(2, 3)).sum().backward()
    """,
    "hooks of modules": """
        net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 3))
        seen = []
        def halve(module, grad_input, grad_output):
            grad_input = tuple(0.5 * g for g in grad_input)
            return grad_input
        def log(module, grad_input, grad_output):
            grad_input = grad_input[0].norm()
            seen.append(float(grad_input))
        class Kept:
            def keep(self, module, grad_input, grad_output):
                self.last = grad_input
        net[1].register_full_backward_hook(halve)
        net[1].register_full_backward_hook(log, prepend=True)
        net[0].register_full_backward_hook(Kept().keep)
        for _ in range(3):
            net(torch.rand(2, 3)).sum().backward()
        assert len(seen) == 3
        """,
}

MASKED = """
words = torch.nn.Embedding(4, 2)
mask, start = (torch.arange(4) > 2)[:, None].float(), words.weight.detach().clone()
optimizer = torch.optim.AdamW(words.parameters(), lr=0.1, weight_decay={decay})
{hook}
for i in range(5):
    optimizer.zero_grad()
    words(torch.tensor([0, 3])).square().sum().backward()
    {mask}
    optimizer.step()
    {restore}
"""
ASSIGNED = "words.weight.grad = words.weight.grad * mask"


def masked(mask="pass", hook="pass", decay=0.1, restore="pass"):
    return MASKED.format(mask=mask, hook=hook, decay=decay, restore=restore)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MISTAKES)
def test_the_mistake_is_told(name):
    check_told(*MISTAKES[name])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", RIGHT)
def test_the_right_program_is_left_alone(name):
    check_left_alone(RIGHT[name])


@pytest.mark.parametrize(
    "mask",
    [
        ASSIGNED,
        "words.weight.grad = torch.where(mask > 0, words.weight.grad, 0)",
        "words.weight.grad = words.weight.grad.masked_fill(mask == 0, 0.0)",
        "words.weight.grad.data = words.weight.grad.data * mask",
        "words.weight.grad = words.weight.grad.clone() * mask",
        "words.weight.grad = (words.weight.grad * mask).detach().clone()",
        "g = words.weight.grad.clone(); words.weight.grad = g.mul_(mask)",
        "g = words.weight.grad * mask; norm = g.clone().norm(); words.weight.grad = g",
        "g = words.weight.grad.detach().clone(); g[:3] = 0; words.weight.grad = g",
        "words.weight.grad.copy_(words.weight.grad.clone() * mask)",
    ],
)
def test_gradients_that_are_masked_elsewhere_are_followed(mask):
    check_told(masked(mask), "GL415", [4, 9, 10])


@pytest.mark.parametrize("hook", ["lambda g: g * mask", "lambda g: g.mul_(mask)"])
def test_gradients_that_a_hook_masks_are_followed(hook):
    check_told(masked(hook=f"words.weight.register_hook({hook})"), "GL415", [4, 5, 10])


@pytest.mark.parametrize(
    "text",
    [
        masked(ASSIGNED, decay=0),
        masked(ASSIGNED, restore="words.weight.data[:3] = start[:3]"),
        masked("(words.weight.grad * mask).norm()"),
        masked("words.weight.grad.clone()[:3] = 0"),
        masked("g = words.weight.grad.clone(); g[:3] = 0"),
        masked("words.weight.grad = words.weight.grad.clone()"),
        masked("words.weight.grad = words.weight.grad * 0.5"),
        masked(hook="words.weight.register_hook(lambda g: g * 2)"),
        masked(hook="words.weight.register_hook(lambda g: g * mask)", decay=0),
        masked(hook="words.weight.register_hook(lambda g: g * torch.tensor([[i > 1], [i < 2], [1], [1]]))"),
    ],
)
def test_masks_that_lose_nothing_are_left_alone(text):
    told, raised = watched(text)
    assert (told, raised) == ([], None)


def _with_hooks():
    torch.manual_seed(0)
    w, v = (torch.rand(3, requires_grad=True) for _ in range(2))
    net = torch.nn.Linear(3, 3)
    calls = []

    def halve(gradient):
        calls.append(gradient.sum())
        return gradient.mul_(0.5)

    w.register_hook(halve)
    net.register_full_backward_hook(lambda module, given, taken: (2 * given[0],))
    for _ in range(5):
        (net(w + v) + w).square().sum().backward()
    return [w.grad, v.grad, torch.stack(calls), *(p.grad for p in net.parameters())]


def test_hooks_do_what_they_do_without_the_watch():
    expected = _with_hooks()
    with gradcheck_tool.watch(quiet=True):
        result = _with_hooks()
    assert all(torch.equal(one, other) for one, other in zip(result, expected, strict=True))


def _doubles(module, grad_input, grad_output):
    grad_input = tuple(2 * g for g in grad_input)


def _halves(module, args, output):
    output = output * 0.5
    return output  # noqa: RET504 - as hooks that are looked at do


def test_a_copy_of_a_module_has_its_hooks_on_the_forward():
    with gradcheck_tool.watch(quiet=True):
        net = torch.nn.Linear(2, 2)
        handle = net.register_forward_hook(_halves)
        copies = [copy.deepcopy(net), pickle.loads(pickle.dumps(net))]
        for one in copies:
            assert list(one._forward_hooks.values()) == [_halves]
            assert torch.equal(one(torch.ones(2)), net(torch.ones(2)))
        handle.remove()
        assert not net._forward_hooks


def test_modules_keep_the_hooks_that_they_are_given():
    with gradcheck_tool.watch(quiet=True) as seen:
        net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 3))
        net[1].register_full_backward_hook(_doubles)
        copy = pickle.loads(pickle.dumps(net))
        for _ in range(2):
            net(torch.rand(2, 3)).sum().backward()
    assert [*copy[1]._backward_hooks.values()] == [*net[1]._backward_hooks.values()] == [_doubles]
    assert [one.code for one in seen.findings] == ["GL809"]


@pytest.mark.parametrize(("write", "code"), [("out.mul_(2)", "GL201"), ("out.data.mul_(2)", "GL205")])
def test_what_a_hook_on_a_forward_writes_is_told(write, code):
    text = f"""
        net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Sigmoid())
        def change(module, args, out):
            {write}
        net[1].register_forward_hook(change)
        net(torch.rand(2, 3)).sum().backward()
        """
    told, raised = watched(text)
    assert (raised is None) == (code == "GL205")
    assert [one.code for one in told] == [code]
    assert story(told[0]) == [6, 6, 4, 6]

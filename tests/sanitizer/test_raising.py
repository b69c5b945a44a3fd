"""Mistakes that raise: the text is PyTorch's own, the code the static rules', and both ends are told."""

import pytest

from gradcheck_tool.predictions import is_said
from gradcheck_tool.rulebook.ruleset import RuleSet
from tests.sanitizer.programs import raised_by, story, watched

# Program, code, rows of the story.
PROGRAMS = {
    "input of pow": (
        """
        x = torch.rand(3, requires_grad=True) * 1
        y = x**2
        x += 1
        y.sum().backward()
        """,
        "GL201",
        [3, 4, 5],
    ),
    "result of exp, through a view": (
        """
        x = torch.rand(3, requires_grad=True)
        y = x.exp()
        first = y[:1]
        first.zero_()
        y.sum().backward()
        """,
        "GL201",
        [3, 5, 6],
    ),
    "result through a view that was written to": (
        """
        x = torch.rand(3, requires_grad=True) * 1
        part = x[:2].exp_()
        x.add_(1)
        x.sum().backward()
        """,
        "GL201",
        [3, 4, 5],
    ),
    "mask": (
        """
        x = torch.rand(3, requires_grad=True)
        keep = torch.tensor([True, False, True])
        y = x.masked_fill(keep, 0.0)
        keep.logical_not_()
        y.sum().backward()
        """,
        "GL201",
        [4, 5, 6],
    ),
    "in a called function": (
        """
        def normalise(w):
            with torch.no_grad():
                w.div_(w.norm())
        w = torch.rand(3, requires_grad=True)
        y = (w * torch.rand(3)).sum() * w.sum()
        z = w.sin().sum()
        normalise(w)
        z.backward()
        """,
        "GL203",
        [7, 8, 4, 9],
    ),
    "list of tensors": (
        """
        ws = [torch.rand(3, requires_grad=True), torch.rand(2, requires_grad=True)]
        decay = sum(w.square().sum() for w in ws)
        with torch.no_grad():
            torch._foreach_mul_(ws, 0.9)
        decay.backward()
        """,
        "GL203",
        [3, 5, 6],
    ),
    "optimizer between": (
        """
        w = torch.nn.Linear(2, 2)
        head = torch.nn.Linear(2, 1)
        optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
        out = head(w(torch.ones(1, 2)).tanh())
        out.sum().backward(retain_graph=True)
        optimizer.step()
        out.mean().backward()
        """,
        "GL202",
        [5, 7, 8],
    ),
    "function that saves its input": (
        """
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x
            @staticmethod
            def backward(ctx, g):
                (x,) = ctx.saved_tensors
                return 2 * x * g
        x = torch.rand(3, requires_grad=True) * 1
        y = Square.apply(x)
        x.add_(1)
        y.sum().backward()
        """,
        "GL201",
        [12, 13, 14, 9],
    ),
    "freed by another": (
        """
        x = torch.rand(3, requires_grad=True)
        shared = x.exp()
        shared.sum().backward()
        shared.mean().backward()
        """,
        "GL101",
        [3, 4, 5],
    ),
    "carried over": (
        """
        w = torch.rand(3, requires_grad=True)
        state = torch.zeros(3)
        for _ in range(2):
            state = (state * w).tanh()
            loss = state.pow(2).sum()
            loss.backward()
        """,
        "GL102",
        [5, 5, 7],
    ),
    "leaf": ("w = torch.rand(3, requires_grad=True)\nw.mul_(2)", "GL301", [1, 2]),
    "several elements": (
        "w = torch.rand(3, requires_grad=True)\ny = w * 2\ny.backward()",
        "GL103",
        [2, 3],
    ),
    "scaler without update": (
        """
        w = torch.rand(3, requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.1)
        scaler = torch.amp.GradScaler("cpu")
        for _ in range(2):
            scaler.scale(w.sum()).backward()
            scaler.step(optimizer)
        """,
        "GL413",
        [7],
    ),
    "unused input": (
        """
        x = torch.rand(3, requires_grad=True)
        y = x * 2
        z = x * 3
        torch.autograd.grad(z.sum(), y)
        """,
        "GL801",
        [3, 4, 5],
    ),
    "gradient of what is no leaf": (
        """
        w = torch.rand(3, requires_grad=True)
        v = w - 0.1
        v.sum().backward()
        step = 0.1 * v.grad
        """,
        "GL302",
        [3, 5],
    ),
    "parameter in a function": (
        """
        net = torch.nn.Linear(2, 2)
        def jitter(tensor):
            return tensor.add_(1)
        jitter(net.weight)
        """,
        "GL301",
        [5, 4],
    ),
    "one of several views": (
        """
        def clip(values):
            values.clamp_(-1, 1)
        first, second = (torch.rand(2, 4, requires_grad=True) * 1).chunk(2, -1)
        clip(second)
        """,
        "GL204",
        [4, 5, 3],
    ),
    "view made without gradients": (
        """
        x = torch.rand(4, requires_grad=True) * 1
        with torch.no_grad():
            part = x[:2]
        part.mul_(2).add_(1)
        """,
        "GL204",
        [4, 5],
    ),
    "version of an inference tensor": (
        """
        with torch.autograd.graph.allow_mutation_on_saved_tensors():
            with torch.inference_mode():
                x = torch.ones(3)
                x.add_(1)
        """,
        "GL207",
        [4, 5],
    ),
    "flag of an inference tensor": (
        """
        with torch.inference_mode():
            t = torch.rand(3)
        t.requires_grad = True
        """,
        "GL207",
        [3, 4],
    ),
    "array of a result": (
        """
        def show(maps):
            return {"maps": maps.cpu().numpy()}
        maps = torch.rand(3, requires_grad=True) * 2
        show(maps)
        """,
        "GL502",
        [4, 5, 3],
    ),
    "parameter that is not used": (
        """
        net = torch.nn.Bilinear(2, 2, 1)
        torch.autograd.grad(net.weight.sum(), list(net.parameters()))
        """,
        "GL801",
        [2, 3],
    ),
    "what a result is computed from": (
        """
        def show(maps):
            return maps.reshape(-1).numpy()
        show(torch.rand(3, requires_grad=True) * 2)
        """,
        "GL502",
        [4, 4, 3],
    ),
    "view that is detached": (
        """
        states = [torch.rand(3, 2, requires_grad=True) * 1]
        states[0] = states[0][:2]
        states[0].detach_()
        """,
        "GL210",
        [3, 4],
    ),
    "output of a module with a hook": (
        """
        net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(inplace=True))
        net[0].register_full_backward_hook(lambda *_: None)
        net(torch.ones(1, 2))
        """,
        "GL807",
        [3, 4],
    ),
    "Function with a gradient too few": (
        """
        class Scaled(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, factor):
                return x * 2
            @staticmethod
            def backward(ctx, gradient):
                return gradient * 2
        y = Scaled.apply(torch.rand(3, requires_grad=True), 2)
        y.sum().backward()
        """,
        "GL701",
        [9, 8, 10],
    ),
    "gradient that was made without a graph": (
        """
        def slope(y, x):
            return torch.autograd.grad(y, x, torch.ones_like(y))[0]
        x = torch.rand(3, requires_grad=True)
        first = slope(x**3, x)
        right = x.detach() * 2
        slope(first, x)
        """,
        "GL501",
        [3, 5, 7, 3],
    ),
}
# What PyTorch says in other words than those that stand for the rule.
OTHER_TEXTS = {"view made without gradients", "flag of an inference tensor", "version of an inference tensor"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PROGRAMS)
def test_both_ends_are_told_and_the_text_is_pytorchs(name):
    text, code, rows = PROGRAMS[name]
    told, raised = watched(text)
    assert raised == raised_by(text)
    assert [one.code for one in told] == [code]
    assert story(told[0]) == rows


@pytest.mark.parametrize("text", ["x[0] = 1.0", "x[0] += 1.0"])
def test_an_item_that_is_assigned_is_quoted_with_its_assignment(text):
    told, _ = watched(
        f"x = torch.rand(3, requires_grad=True) * 1\ny = x.exp() * x\n{text}\ny.sum().backward()"
    )
    assert f"`{text}` changed it before" in told[0].message


def test_detach_in_place_is_refused_as_pytorch_does():
    text = "x = torch.rand(2, requires_grad=True) * 1\ny = x.sin()\nx.detach_()\ny.sum().backward()"
    assert watched(text)[1] == raised_by(text)


def test_texts_that_are_explained_are_those_that_the_rules_predict():
    rules = {rule.code: rule for rule in RuleSet.load().known}
    for name in PROGRAMS.keys() - OTHER_TEXTS:
        text, code, _ = PROGRAMS[name]
        assert is_said(rules[code].predicts, raised_by(text) or "") or code == "GL302", name


def test_what_the_program_catches_is_no_mistake():
    told, _ = watched(
        """
        w = torch.rand(3, requires_grad=True)
        try:
            w.numpy()
        except RuntimeError:
            w.detach().numpy()
        """
    )
    assert told == []


def test_the_module_is_named():
    told, _ = watched(
        """
        net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(inplace=True), torch.nn.ReLU(inplace=True))
        hidden = torch.nn.Sequential(net)
        hidden(torch.randn(1, 2)).sum().backward()
        """
    )
    assert [step.message for step in told[0].trace][:2] == [
        "`ReluBackward0` saves its result here, in version 1 (in `0.1`)",
        "`relu_` changes its memory here (in `0.2`)",
    ]


def test_the_tensor_that_is_told_is_the_one_that_is_meant():
    told, _ = watched(
        """
        x = torch.rand(3, requires_grad=True) * 2
        x.reshape(-1).numpy()
        """
    )
    assert [step.message for step in told[0].trace][:1] == [
        "what it is computed from comes out of `MulBackward0` here"
    ]

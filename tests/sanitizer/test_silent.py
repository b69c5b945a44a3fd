"""Mistakes that raise nothing: each program shows one, and its right twin shows none."""

import pytest

from tests.sanitizer.programs import check_left_alone, check_told, story, watched

LOOP = """
def train():
    torch.manual_seed(0)
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        {before}
        loss = model(torch.randn(4, 2)).square().mean()
        {between}
        loss.backward()
        {after}
        optimizer.step()
train()
"""


def loop(before="pass", between="pass", after="pass"):
    return LOOP.format(before=before, between=between, after=after)


# The program, its code, the rows of the story, and the program made right.
PROGRAMS = {
    "never cleared": (loop(), "GL401", [12, 10, 12], loop("optimizer.zero_grad()")),
    "cleared by hand": (loop(), "GL401", [12, 10, 12], loop("for p in model.parameters(): p.grad = None")),
    "cleared by zero": (
        loop(),
        "GL401",
        [12, 10, 12],
        loop("for p in model.parameters(): (p.grad is not None) and p.grad.data.zero_()"),
    ),
    "closure": (
        """
        w = torch.ones(2, requires_grad=True)
        optimizer = torch.optim.LBFGS([w], max_iter=4)
        def closure():
            loss = (w.exp() - 2).square().sum()
            loss.backward()
            return loss
        for _ in range(3):
            optimizer.zero_grad()
            optimizer.step(closure)
        """,
        "GL401",
        [10, 6, 10],
        """
        w = torch.ones(2, requires_grad=True)
        optimizer = torch.optim.LBFGS([w], max_iter=4)
        def closure():
            optimizer.zero_grad(set_to_none=False)
            loss = (w.exp() - 2).square().sum()
            loss.backward()
            return loss
        for _ in range(3):
            optimizer.step(closure)
        """,
    ),
    "cleared before the step": (
        """
        model = torch.nn.Linear(2, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for i in range(6):
            optimizer.zero_grad()
            model(torch.ones(4, 2)).sum().backward()
            if i % 2:
                optimizer.step()
                optimizer.zero_grad()
        """,
        "GL402",
        [6, 5, 8],
        """
        model = torch.nn.Linear(2, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for i in range(6):
            model(torch.ones(4, 2)).sum().backward()
            if i % 2:
                optimizer.step()
                optimizer.zero_grad()
        """,
    ),
    "behind the version counter": (
        """
        w = torch.rand(3, requires_grad=True)
        y = w.exp()
        y.data.mul_(2)
        y.sum().backward()
        """,
        "GL205",
        [3, 4, 5],
        """
        w = torch.rand(3, requires_grad=True)
        y = w.exp()
        y.data.mul_(2).mul_(0.5)
        z = torch.zeros(2, 3)
        rows = [(w * z[0]).sum()]
        z.data[1].fill_(1)
        (y.sum() + rows[0]).backward()
        """,
    ),
    "fused step": (
        """
        w = torch.rand(3, requires_grad=True)
        optimizer = torch.optim.Adam([w], fused=True)
        first, second = w.square().sum(), w.exp().sum() + w.pow(3).sum()
        first.backward()
        optimizer.step()
        second.backward()
        """,
        "GL202",
        [4, 6, 7],
        """
        w = torch.rand(3, requires_grad=True)
        optimizer = torch.optim.Adam([w], fused=True)
        first, second = w.square().sum(), w.exp().sum() + w.pow(3).sum()
        first.backward()
        second.backward()
        optimizer.step()
        """,
    ),
    "cut off": (
        """
        def train(detached):
            encoder, head = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
            optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
            for _ in range(3):
                optimizer.zero_grad()
                h = encoder(torch.randn(4, 2))
                h = h.detach() if detached else h
                head(h).square().mean().backward()
                optimizer.step()
        train(True)
        """,
        "GL504",
        [4, 8, 10],
        """
        def train():
            encoder, head = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
            optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
            for _ in range(3):
                optimizer.zero_grad()
                h = encoder(torch.randn(4, 2))
                loss = head(h).square().mean()
                print(loss.item(), h.detach().mean().item(), end="")
                loss.backward()
                optimizer.step()
        train()
        """,
    ),
    "no optimizer": (
        """
        def train():
            encoder, head = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
            optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
            for _ in range(3):
                optimizer.zero_grad()
                head(encoder(torch.randn(4, 2))).square().mean().backward()
                optimizer.step()
        train()
        """,
        "GL319",
        [3, 4, 7],
        """
        def train():
            encoder, head = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
            encoder.requires_grad_(False)
            optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
            for _ in range(3):
                optimizer.zero_grad()
                head(encoder(torch.randn(4, 2))).square().mean().backward()
                optimizer.step()
        train()
        """,
    ),
    "constant term": (
        """
        w = torch.rand(3, requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            y = w.sin()
            hard = (y > 0.2).float() + w.detach()
            loss = y.sum() + 0.1 * hard.mean()
            loss.backward()
            optimizer.step()
        """,
        "GL515",
        [7, 8],
        """
        w = torch.rand(3, requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.1)
        loss = torch.zeros(())
        for _ in range(3):
            optimizer.zero_grad()
            y = w.sin()
            baseline = y.detach().mean()
            loss = torch.zeros(()) + y.sum() + ((y.mean() - baseline) * y).sum()
            loss.backward()
            optimizer.step()
        """,
    ),
    "clipping nothing": (
        """
        model = torch.nn.Linear(2, 1)
        parameters = filter(None.__ne__, model.parameters())
        optimizer = torch.optim.SGD(parameters, lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.ones(4, 2)).sum().backward()
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
        """,
        "GL317",
        [8],
        """
        model = torch.nn.Linear(2, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.ones(4, 2)).sum().backward()
            torch.nn.utils.clip_grad_norm_((p for p in model.parameters()), 1.0)
            optimizer.step()
        """,
    ),
    "flag of a module": (
        """
        model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
        model[0].requires_grad = False
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.ones(4, 2)).sum().backward()
            optimizer.step()
        """,
        "GL316",
        [3],
        """
        model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
        model[0].requires_grad_(False)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.ones(4, 2)).sum().backward()
            optimizer.step()
        """,
    ),
    "evaluation mode": (
        """
        model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout(0.5))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for i in range(6):
            optimizer.zero_grad()
            model(torch.ones(4, 2)).sum().backward()
            optimizer.step()
            if i == 2:
                model.eval()
        """,
        "GL516",
        [9, 7],
        """
        model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout(0.5))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for i in range(6):
            model.train()
            optimizer.zero_grad()
            model(torch.ones(4, 2)).sum().backward()
            optimizer.step()
            if i % 2:
                model.eval()
        """,
    ),
    "no gradient for an input": (
        """
        class Affine(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, b):
                return x + b
            @staticmethod
            def backward(ctx, g):
                return g, None
        x, b = (torch.nn.Parameter(torch.rand(2)) for _ in range(2))
        optimizer = torch.optim.SGD([x, b], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            Affine.apply(x, b).square().sum().backward()
            optimizer.step()
        """,
        "GL720",
        [13, 8],
        """
        x = torch.nn.Parameter(torch.rand(2))
        optimizer = torch.optim.SGD([x], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            x.square().sum().backward()
            optimizer.step()
        """,
    ),
    "hook that returns nothing": (
        """
        w = torch.ones(3, requires_grad=True)
        def halve(gradient):
            gradient = gradient * 0.5
        w.register_hook(halve)
        for _ in range(3):
            w.exp().sum().backward()
        """,
        "GL809",
        [5, 4],
        """
        kept = []
        w = torch.ones(3, requires_grad=True)
        def keep(gradient):
            gradient = gradient * 0.5
            kept.append(gradient)
        def show(gradient):
            gradient = gradient * 0.5
            print(gradient.sum().item(), end="")
        def halve(gradient):
            gradient = gradient * 0.5
            return gradient
        for hook in (keep, show, halve):
            w.register_hook(hook)
        for _ in range(3):
            w.exp().sum().backward()
        """,
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_mistake_is_told(name):
    text, code, rows, _ = PROGRAMS[name]
    check_told(text, code, rows)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_right_program_is_left_alone(name):
    check_left_alone(PROGRAMS[name][3])


def test_what_happens_once_is_no_mistake():
    told, _ = watched(loop("(_ != 2) and optimizer.zero_grad()"))
    assert told == []


@pytest.mark.filterwarnings("ignore")
def test_a_flag_of_a_module_is_what_it_is_without_the_watch():
    told, raised = watched(
        """
        import gradcheck_tool
        with gradcheck_tool.watch(quiet=True):
            model = torch.nn.Linear(2, 1)
            assert not hasattr(model, "requires_grad")
            model.requires_grad = True
            assert model.requires_grad is True and vars(model)["requires_grad"] is True
            del model.requires_grad
            assert getattr(model, "requires_grad", None) is None
        assert not hasattr(model, "requires_grad")
        """
    )
    assert raised is None
    assert told == []


def test_a_gradient_that_is_read_of_a_result_leads_to_what_computes_it():
    told, _ = watched(
        """
        x = torch.rand(3, requires_grad=True).double()
        x.sum().backward()
        saliency = x.grad
        """
    )
    assert [one.code for one in told] == ["GL302"]
    assert story(told[0]) == [2, 4]


def test_one_parameter_is_told_in_the_singular():
    told, _ = watched(
        """
        class Anchored(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = torch.nn.Linear(2, 2)
                self.anchor = torch.nn.Parameter(torch.zeros(2))
            def forward(self, x):
                return self.inner(x) + self.anchor
        model = Anchored()
        optimizer = torch.optim.SGD(model.inner.parameters(), lr=0.1)
        for _ in range(4):
            optimizer.zero_grad()
            model(torch.ones(3, 2)).square().sum().backward()
            optimizer.step()
        """
    )
    assert [one.code for one in told] == ["GL319"]
    assert told[0].message.endswith(
        " gets a gradient in every backward, but no optimizer has it: it stays as it is"
    )
    assert [step.message for step in told[0].trace] == [
        "it is made here",
        "SGD is given others",
        "it is used here",
    ]


def test_an_optimizer_in_the_place_of_another_one_does_not_hide_it(monkeypatch):
    monkeypatch.setattr("gradcheck_tool.sanitizer.steps.id", lambda _: 1, raising=False)
    check_left_alone(
        """
        class Growing(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.head = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
            def forward(self, x):
                return self.head(self.body(x))
        def train(model):
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(4):
                optimizer.zero_grad()
                model(torch.ones(3, 2)).square().sum().backward()
                optimizer.step()
        model = Growing()
        train(model)
        before = model.head
        model.head = torch.nn.Linear(2, 2)
        train(model)
        """
    )

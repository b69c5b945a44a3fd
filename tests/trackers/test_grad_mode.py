"""Switches of grad mode that have no effect, or that are never switched back."""

from __future__ import annotations

from tests.cases import (
    HEAD,
    TRAINING,
    Mistake,
    check_correction,
    check_mistake,
    check_right,
    each,
)
from tests.running import events, happened

# Silent mistakes, and what corrects them.
MISTAKES = {
    "a grad mode that nothing enters": Mistake(
        HEAD
        + """
net = nn.Linear(2, 1)
torch.no_grad()  # <- GL511 GradModeMisuse
out = net(torch.ones(1, 2))
symptom = out.requires_grad
""",
        """torch.no_grad()  # <- GL511 GradModeMisuse
out = net""",
        """with torch.no_grad():
    out = net""",
    ),
    "of two that are joined one is entered": Mistake(
        HEAD
        + """
import contextlib
net = nn.Linear(2, 1)
with torch.no_grad() and contextlib.nullcontext():  # <- GL511 GradModeMisuse
    out = net(torch.ones(1, 2))
symptom = out.requires_grad
""",
        "torch.no_grad() and contextlib",
        "torch.no_grad(), contextlib",
    ),
    "a manager gives another one out": Mistake(
        HEAD
        + """
import contextlib
net = nn.Linear(2, 1)

@contextlib.contextmanager
def quiet():
    yield torch.no_grad()  # <- GL511 GradModeMisuse

with quiet():
    out = net(torch.ones(1, 2))
symptom = out.requires_grad
""",
        "    yield torch.no_grad()",
        "    with torch.no_grad():\n        yield",
    ),
    "autocast that nothing enters": Mistake(
        HEAD
        + """
net = nn.Linear(2, 1)
torch.autocast("cpu", dtype=torch.bfloat16)  # <- GL511 GradModeMisuse
symptom = net(torch.ones(1, 2)).dtype == torch.float32
""",
        """torch.autocast("cpu", dtype=torch.bfloat16)  # <- GL511 GradModeMisuse
symptom""",
        """with torch.autocast("cpu", dtype=torch.bfloat16):
    symptom""",
    ),
    "a function that switches gradients off": Mistake(
        HEAD
        + """
net = nn.Linear(2, 1)

def score(x):
    torch.set_grad_enabled(False)  # <- GL512 GradModeMisuse
    return net(x).mean().item()

score(torch.ones(1, 2))
symptom = not net(torch.ones(1, 2)).requires_grad
""",
        """    torch.set_grad_enabled(False)  # <- GL512 GradModeMisuse
    return""",
        """    with torch.set_grad_enabled(False):
        return""",
    ),
    "gradients are switched on in inference mode": Mistake(
        HEAD
        + """
net = nn.Linear(2, 1)
with torch.inference_mode():
    with torch.enable_grad():  # <- GL513 GradModeMisuse
        out = net(torch.ones(1, 2))
symptom = not out.requires_grad
""",
        "torch.inference_mode()",
        "torch.no_grad()",
    ),
}

# Right programs.
RIGHT = {
    "a switch that is entered is restored, and what is evaluated elsewhere is of no concern": HEAD
    + """
net = nn.Linear(2, 1)

def score(x):
    with torch.set_grad_enabled(False):
        return net(x).mean().item()

score(torch.ones(1, 2))
with torch.no_grad():
    print(net(torch.ones(1, 2)))
net(torch.ones(1, 2)).sum().backward()
""",
}


@each(RIGHT)
def test_nothing_is_found_in_right_programs(program: str) -> None:
    check_right(program)


@each(MISTAKES)
def test_a_silent_mistake_is_reported(program: Mistake) -> None:
    check_mistake(program)


@each(MISTAKES)
def test_its_correction_is_not_reported(program: Mistake) -> None:
    check_correction(program)


def test_a_grad_mode_that_is_not_called_raises_and_is_reported() -> None:
    source = TRAINING + "with torch.no_grad:\n    net(torch.ones(2))\n"
    assert happened(source)[0] == source.count("\n") - 1
    assert [event.kind for event in events(source, "GradModeMisuse")] == ["not-called"]


def test_gradients_are_synchronised_where_nothing_enters() -> None:
    program = """
from contextlib import contextmanager, nullcontext

class Strategy:
    @contextmanager
    def quiet(self):
        yield self.model.no_sync()

    def manager(self, is_last):
        return nullcontext() if is_last else self.model.no_sync()

    def step(self, batch, is_last):
        context = self.model.no_sync() if self.many else nullcontext()
        with context:
            self.model(batch).backward()
        with is_last and self.model.no_sync() or nullcontext():
            self.model(batch).backward()
        self.model.no_sync()
        self.no_grad()
        batch.no_sync(self.model)

def managers(net):
    yield net.no_sync()
"""
    assert [e.site.node.func.value.value.value for e in events(HEAD + program, "GradModeMisuse")] == [
        "self"
    ] * 2

"""Switches of grad mode that have no effect, or that are never switched back."""

from __future__ import annotations

from tests.cases import (
    HEAD,
    TRAINING,
    Mistake,
    check_correction,
    check_mistake,
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

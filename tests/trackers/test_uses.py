"""What the text of a program does with names, methods and grad modes."""

from __future__ import annotations

import pytest

from gradcheck_tool import MethodUse, NameUse
from tests.cases import HEAD, TRAINING, Mistake, check_correction, check_mistake, each
from tests.running import events, happened

# Silent mistakes, and what corrects them.
MISTAKES = {
    "a parameter is compared with a flag": Mistake(
        HEAD
        + """
net = nn.Linear(2, 1)
for p in net.parameters():
    p.requires_grad == False  # <- GL316 FlagWrite
symptom = net.weight.requires_grad
""",
        "==",
        "=",
    ),
    "a misspelt flag": Mistake(
        HEAD
        + """
net = nn.Linear(2, 1)
for p in net.parameters():
    p.require_grad = False  # <- GL316 FlagWrite
symptom = net.weight.requires_grad
""",
        "require_grad",
        "requires_grad",
    ),
    "a flag of a module": Mistake(
        HEAD
        + """
net = nn.Linear(2, 1)
net.requires_grad = False  # <- GL316 FlagWrite
symptom = net.weight.requires_grad
""",
        "net.requires_grad = False",
        "net.requires_grad_(False)",
    ),
    "a clearing that is not called": Mistake(
        HEAD
        + """
net = nn.Linear(2, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.ones(1, 2)).sum().backward()
optimizer.zero_grad  # <- GL408 UncalledMethod
symptom = net.weight.grad is not None
""",
        "zero_grad ",
        "zero_grad() ",
    ),
    "a detach whose result is dropped": Mistake(
        HEAD
        + """
net = nn.Linear(2, 1)
target = net(torch.ones(1, 2))
target.detach()  # <- GL509
symptom = target.requires_grad
""",
        "target.detach()",
        "target.detach_()",
    ),
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


def test_a_name_is_reported_once_for_each_place_with_its_keywords() -> None:
    source = "import torch\nfor _ in range(3):\n    torch.zeros(2, dtype=torch.float32)\n"
    assert [(e.name, e.keywords) for e in events(source, NameUse)] == [("torch.zeros", ("dtype",))]


@pytest.mark.parametrize(
    ("iterator", "used_up"),
    [
        ("net.parameters()", True),
        ("(p for p in net.parameters())", True),
        ("filter(lambda p: p.requires_grad, net.parameters())", True),
        ("list(net.parameters())", False),
    ],
)
def test_an_iterator_of_parameters_is_used_up_by_an_optimizer(iterator: str, used_up: bool) -> None:
    source = TRAINING + f"it = {iterator}\ntorch.optim.SGD(it, lr=0.1)\nnn.utils.clip_grad_norm_(it, 1.0)\n"
    assert [e.iterator for e in events(source, "ExhaustedParameters")] == ["it"] * used_up


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("net.zero_grad()", "module"),
        ("opt.zero_grad()", "optimizer"),
        ("net.weight.sum()", "tensor"),
        ("torch.amp.GradScaler('cpu').update()", "scaler"),
        ("torch.optim.lr_scheduler.StepLR(opt, 1).step()", "scheduler"),
        ("library.make().zero_grad()", "unknown"),
    ],
)
def test_a_method_is_reported_with_the_kind_of_its_receiver(expression: str, kind: str) -> None:
    found = events(TRAINING + f"import library\nvalue = {expression}\n", MethodUse)
    assert kind in {
        event.receiver for event in found if event.name == expression.rsplit(".", maxsplit=1)[-1][:-2]
    }


@pytest.mark.parametrize(
    ("statement", "count"),
    [
        ("out.detach()", 1),
        ("print(out.detach())", 0),
        ("out = out.detach()", 0),
        ("library.wrap(out).detach()", 0),
    ],
)
def test_only_the_result_of_a_method_of_a_tensor_is_reported_as_dropped(statement: str, count: int) -> None:
    source = TRAINING + f"import library\nout = net(torch.ones(2))\n{statement}\n"
    assert len(events(source, "DroppedResult")) == count


def test_a_grad_mode_that_is_not_called_raises_and_is_reported() -> None:
    source = TRAINING + "with torch.no_grad:\n    net(torch.ones(2))\n"
    assert happened(source)[0] == source.count("\n") - 1
    assert [event.kind for event in events(source, "GradModeMisuse")] == ["not-called"]


@pytest.mark.parametrize(
    ("store", "count"),
    [("net.weight.my_mark = 1", 1), ("net.weight.requires_grad = False", 0), ("net.weight.grad = None", 0)],
)
def test_an_attribute_that_tensors_do_not_have_is_reported(store: str, count: int) -> None:
    assert len(events(TRAINING + store + "\n", "FlagWrite")) == count


def test_a_method_that_is_read_to_be_called_later_is_not_reported() -> None:
    assert not events(TRAINING + "clear = opt.zero_grad\nclear()\n", "UncalledMethod")

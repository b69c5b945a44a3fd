"""Subscripts of containers: reading, writing and deleting items."""

from __future__ import annotations

from tests.cases import Fact, check_known, each
from tests.open_programs import HEAD, told
from tests.running import happened

FACTS = {
    "an index from the end": Fact("a = [1, 2, 3]", "a[-1] == 3 and a[0] == 1"),
    "a slice": Fact(
        "a = [1, 2, 3, 4]", "len(a[1:3]) == 2 and a[1:3][0] == 2 and a[:-1][-1] == 3 and a[::2][1] == 3"
    ),
    "a key": Fact(
        """\
a = {'x': 1}
a['y'] = 2""",
        "a['y'] == 2 and len(a) == 2",
    ),
    "an item is deleted": Fact(
        """\
a = {'x': 1, 'y': 2}
del a['x']""",
        "'x' not in a and len(a) == 1",
    ),
    "an item of a list is replaced": Fact(
        """\
a = [1, 2]
b = a
a[0] = 5""",
        "b[0] == 5",
    ),
    "a class of the program": Fact(
        """\
class Row:
    def __getitem__(self, at):
        return at * 2""",
        "Row()[4] == 8",
    ),
    "nested containers": Fact("a = {'x': [(1, 2)]}", "a['x'][0][1] == 2"),
}


@each(FACTS)
def test_the_model_knows_what_python_computes(program: Fact) -> None:
    check_known(program)


# What is stored under a mask or a slice is copied: what is read there again is no view, whatever was stored.
STEPS = (
    HEAD
    + """
def step(model, inputs):
    inputs.requires_grad_(True)
    slope = torch.autograd.grad(model(inputs).sum(), inputs)[0].flatten(1)
    inputs.detach_()
    return slope.view_as(inputs).add_(inputs)


def attack(model: nn.Module, images: torch.Tensor):
    shown, at = images.clone(), torch.ones(len(images), dtype=torch.bool)
    for _ in range(3):
        shown[at] = step(model, shown[at])
    return shown
"""
)


def test_what_a_mask_stores_is_copied() -> None:
    assert told(STEPS) == []
    assert happened(f"{STEPS}\nattack(nn.Linear(2, 2), torch.ones(3, 2))\n") == (None, "")

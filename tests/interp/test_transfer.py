"""Instructions: assignments, deletions, assertions and patterns do to a state what they do in Python."""

from __future__ import annotations

from tests.cases import Fact, check_agreement, check_known, each

FACTS = {
    "an assignment to several names": Fact("a = b = []\na.append(1)", "len(b) == 1"),
    "an augmented assignment to an attribute": Fact(
        "class Box: pass\nbox = Box()\nbox.n = 1\nbox.n += 2", "box.n == 3"
    ),
    "an augmented assignment to an item": Fact("a = {'x': 1}\na['x'] *= 5", "a['x'] == 5"),
    "an assignment expression": Fact("if (n := len([1, 2])) > 1:\n    pass", "n == 2"),
    "an f-string": Fact("n = 3\nname = f'layer{n}'", "name == 'layer3'"),
    "a name that is deleted": Fact("a = 1\ndel a\na = 2", "a == 2"),
    "an attribute that is deleted": Fact(
        "class Box: pass\nbox = Box()\nbox.n = 1\ndel box.n", "not hasattr(box, 'n')"
    ),
    "a pattern": Fact(
        "match 'b':\n    case 'a':\n        n = 1\n    case 'b':\n        n = 2\n    case _:\n        n = 3",
        "n == 2",
    ),
    "an assertion that holds": Fact("n = 1\nassert n == 1\nafter = True", "after"),
    "a class body": Fact("class A:\n    n = 1\n    m = n + 1", "A.m == 2"),
}
# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "an assertion that fails ends the program": """
import torch
w = torch.ones(2, requires_grad=True)
loss = w.exp().sum()
loss.backward()
try:
    assert loss is None
    loss.backward()
except AssertionError:
    pass
loss.backward()  # raises
""",
}


@each(FACTS)
def test_the_model_knows_what_python_computes(program: Fact) -> None:
    check_known(program)


@each(PROGRAMS)
def test_model_and_pytorch_agree(program: str) -> None:
    check_agreement(program)

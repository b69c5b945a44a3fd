"""What a constructor chooses is seen on objects that have it, whatever else it chooses."""

from __future__ import annotations

from gradcheck_tool.analysis.made_objects import most_different
from gradcheck_tool.domain.state import State
from gradcheck_tool.domain.values import FALSE, NONE, TRUE, LibraryObject, Tup, Value
from tests.cases import each
from tests.open_programs import HEAD, Open, check_open

ACT = (
    HEAD
    + """
class Act(nn.Module):
    def __init__(self, n, act=True):
        super().__init__()
        self.layer = nn.Linear(n, n)
        self.act = nn.ReLU() if act else nn.Identity()

    def forward(self, x):
        return self.act(self.layer(x))
"""
)

OPEN = {
    "one of two sequences ends with an activation, behind a loop that makes layers": Open(
        ACT
        + """
class Block(nn.Module):
    def __init__(self, n, depth, residual=False, mix="linear"):
        super().__init__()
        self.residual = residual
        self.layers = nn.ModuleList()
        for _ in range(depth):
            self.layers.append(Act(n))
        if mix == "act":
            self.mix = nn.Sequential(Act(n), Act(n))
        else:
            self.mix = nn.Sequential(Act(n), nn.Linear(n, n))

    def forward(self, x):
        identity = x
        for layer in self.layers:
            x = layer(x)
        x = self.mix(x)
        if self.residual:
            x += identity  # <- GL201
        return x
""",
        "x += identity",
        "x = x + identity",
        'Block(3, 2, True, "act")(torch.randn(2, 3)).sum().backward()',
        ("the result of `Block.forward` is differentiated",),
    ),
    "the third of three choices": Open(
        HEAD
        + """
class Block(nn.Module):
    def __init__(self, n, norm="batch", drop=None, act="relu"):
        super().__init__()
        self.layer = nn.Linear(n, n)
        if norm == "batch":
            self.norm = nn.BatchNorm1d(n)
        else:
            self.norm = nn.LayerNorm(n)
        if drop == "all":
            self.drop = nn.Dropout(0.5)
        else:
            self.drop = nn.Identity()
        if act == "relu":
            self.act = nn.ReLU()
        else:
            self.act = nn.Sigmoid()

    def forward(self, x):
        y = self.act(self.drop(self.norm(self.layer(x))))
        y *= 2  # <- GL201
        return y
""",
        "y *= 2",
        "y = y * 2",
        "Block(3, act='sigmoid')(torch.randn(4, 3)).sum().backward()",
        ("the result of `Block.forward` is differentiated",),
    ),
}


@each(OPEN)
def test_open_programs(program: Open) -> None:
    check_open(program)


def chosen(*objects: Value) -> list[Value]:
    return [value for _, value in most_different([(State(), value) for value in objects])]


def test_those_are_chosen_that_have_what_the_others_have_not() -> None:
    first, on, none, both = (
        Tup(parts) for parts in ((TRUE,), (FALSE,), (NONE,), (FALSE, LibraryObject("torch.exp")))
    )
    assert chosen(first, on, none, both) == [first, both, none]


def test_parts_of_parts_count() -> None:
    first, same, other = (Tup((Tup((part,)),)) for part in (TRUE, TRUE, FALSE))
    assert chosen(first, same, other) == [first, other]

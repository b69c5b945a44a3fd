"""A list of parameters makes new Parameters of the tensors that it is given."""

from __future__ import annotations

from tests.open_programs import HEAD, told
from tests.running import happened

TRAINED = (
    HEAD
    + """
scale = torch.ones(3, requires_grad=True)
held = nn.ParameterList({items})
{more}
optimizer = torch.optim.SGD(held.parameters(), lr=0.1)
for x in torch.ones(2, 3):
    optimizer.zero_grad()
    ({trained} * x).mean().backward()
    optimizer.step()
"""
)
MOVED = 'assert any((each != 1).any() for each in held), "not trained"\n'


def test_the_tensor_itself_is_not_trained() -> None:
    for program in (
        TRAINED.format(items="[scale]", more="", trained="scale"),
        TRAINED.format(items="", more="held.append(scale)", trained="scale"),
    ):
        assert [finding.code for finding in told(program)] == ["GL404"]
        assert happened(program + MOVED)[1] == "not trained"


def test_what_the_list_has_is_trained() -> None:
    for program in (
        TRAINED.format(items="[scale.detach()]", more="", trained="held[0]"),
        TRAINED.format(items="", more="held.extend([torch.ones(3)])", trained="sum(held)"),
        TRAINED.format(items="[nn.Parameter(scale)]", more="", trained="held[0]"),
    ):
        assert told(program) == []
        assert happened(program + MOVED) == (None, "")

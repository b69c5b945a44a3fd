"""What the text of a class says of a list that an attribute holds."""

from __future__ import annotations

import pytest

from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.ir.lower import lower_module
from gradcheck_tool.library.torch.function_text import FunctionBody
from gradcheck_tool.trackers.plain_lists import calls_elements, comprehension, gone_through, origins
from tests.cases import HEAD
from tests.running import findings, happened


def body_of(text: str) -> FunctionBody:
    source = f"def run(self, x, y):\n    {text}\n"
    return FunctionBody(lower_module(source, "program.py").functions[0])


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("for layer in self.layers: x = layer(x)", True),
        ("for i, layer in enumerate(self.layers): x = layer(x)", True),
        ("return [layer(x) for layer in self.layers]", True),
        ("return self.layers[y](x)", True),
        ("layer = self.layers[y]; return layer(x)", True),
        ("for layer in self.others: x = layer(x)", False),
        ("for layer in self.layers: x = x + layer.size", False),
        ("return self.layers[y].size(x)", False),
        ("return self.layers(x)", False),
    ],
)
def test_elements_are_called_in_loops_and_by_index(text: str, calls: bool) -> None:
    assert calls_elements(body_of(text), "layers") is calls


def test_a_value_may_come_from_each_part_of_a_conditional_expression() -> None:
    body = body_of("self.layers = x if y else []")
    store = next(i for i in body.instrs if isinstance(i, ir.SetAttr))
    assert [type(made) for made in origins(body, store.src)] == [ir.LoadName, ir.BuildList]


def test_a_comprehension_is_known_with_what_it_goes_through() -> None:
    body = body_of("self.layers = [make(a, b) for a, b in zip(x, y)]")
    store = next(i for i in body.instrs if isinstance(i, ir.SetAttr))
    listed = comprehension(body, body.made[store.src])
    assert listed is not None
    parts = gone_through(body, listed[1])
    assert [part.name for part in parts if isinstance(part, ir.LoadName)] == ["x", "y"]


ADAPTERS = (
    HEAD
    + """
class Adapters(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.first = [nn.Linear(n, 2) for n in sizes]
        self.second = [nn.Linear(n, 2) for n in sizes]

    def apply_to(self):
        for number, layer in enumerate(self.first + self.second):
            {body}
"""
)


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        ('self.add_module(f"adapter{number}", layer)', []),
        ('setattr(self, f"adapter{number}", layer)', []),
        ("self._modules[str(number)] = layer", []),
        ("layer.reset_parameters()", ["GL311", "GL311"]),
    ],
)
def test_what_a_method_registers_later_is_registered(body: str, codes: list[str]) -> None:
    source = ADAPTERS.replace("{body}", body)
    assert [code for _, code in findings(source)] == codes
    count = 0 if codes else 8
    run = "net = Adapters([2, 3])\nnet.apply_to()\n"
    assert happened(f"{source}{run}assert len(list(net.parameters())) == {count}\n") == (None, "")


def test_a_class_that_lists_its_parameters_itself_trains_what_it_lists() -> None:
    program = f"""{HEAD}
class Critics(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.critics = [nn.Linear(3, 1) for _ in range(count)]

    def forward(self, x):
        return torch.cat([critic(x) for critic in self.critics], dim=1)

    def NAME(self):
        return [weight for critic in self.critics for weight in critic.parameters()]
"""
    assert [code for _, code in findings(program.replace("NAME", "parameters"))] == []
    assert [code for _, code in findings(program.replace("NAME", "weights"))] == ["GL311"]


def test_a_list_that_only_others_read_is_theirs_to_register() -> None:
    program = f"""{HEAD}
class Parts(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = []
        for size in (2, 3):
            self.layers.append(nn.Linear(size, size + 1))

class Net(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.body = nn.ModuleList(layers)

    def forward(self, x):
        return self.body[1](self.body[0](x))

net = Net(Parts().layers)
"""
    assert [code for _, code in findings(program)] == []

"""The conditions of triggers: a function of which each holds, and one of which it does not."""

from __future__ import annotations

import textwrap

import pytest

from gradcheck_tool.ir.outline import outline
from gradcheck_tool.triage.triage import Triage
from gradcheck_tool.trigger import Condition, Trigger

HEAD = "import torch\nfrom torch import nn\n\n\n"
CASES = [
    (Condition.IN_TRAINING_FILE, "optimizer.step()", "optimizer.zero_grad()"),
    (Condition.WRITES_TO_SHARED, "self.weight.mul_(2)", "x.mul_(2)"),
    (
        Condition.WRITES_TO_SHARED,
        "w = model.weight.view(-1)\nw[0] = 1",
        "w = model.weight.view(-1)\nv = w[0]",
    ),
    (
        Condition.WRITES_TO_SHARED,
        "for row in x.unbind():\n    row += 1",
        "for row in x.rows():\n    row += 1",
    ),
    (Condition.GIVES_TO_NUMPY, "y = nn.Linear(2, 2)(x)\nnp.mean(y)", "y = nn.Linear(2, 2)(x)\nnp.mean(x)"),
    (Condition.GIVES_TO_NUMPY, "nn.Linear(2, 2)(x).numpy()", "nn.Linear(2, 2)(x).detach().numpy()"),
    (Condition.COPIES_COMPUTED, "y = self.weight * 2\ndeepcopy(y)", "deepcopy(model)"),
    (Condition.DROPS_COPY, "y = x * 2\ny.detach()", "y = x * 2\nz = y.detach()"),
    (
        Condition.GATHERS_IN_LOOP,
        "model.eval()\nfor x in data:\n    total += model(x)",
        "for x in data:\n    total += model(x)",
    ),
]


def holds(condition: Condition, source: str) -> bool:
    outlined = outline(source)
    assert outlined is not None
    return bool(Triage([Trigger(where=condition)]).candidates(outlined).functions)


def function(body: str, head: str = "def f(self, x, model):\n") -> str:
    return HEAD + head + textwrap.indent(body, "    ") + "\n"


@pytest.mark.parametrize(("condition", "hit", "miss"), CASES)
def test_a_condition_holds_of_one_function_and_not_of_another(
    condition: Condition, hit: str, miss: str
) -> None:
    assert holds(condition, function(hit))
    assert not holds(condition, function(miss))


def test_a_function_under_no_grad_records_no_graph() -> None:
    assert holds(Condition.RECORDS_GRAPH, function("return x.grad"))
    assert not holds(Condition.RECORDS_GRAPH, HEAD + "@torch.no_grad()\ndef f(x):\n    return x.grad\n")


CLASS = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        {}
"""


def test_modules_may_be_kept_in_a_list_and_are_not_in_a_module_list() -> None:
    assert holds(Condition.KEEPS_IN_CONTAINER, HEAD + CLASS.format("self.layers = [nn.Linear(2, 2)]"))
    right = "self.layers = nn.ModuleList([nn.Linear(2, 2)])"
    assert not holds(Condition.KEEPS_IN_CONTAINER, HEAD + CLASS.format(right))


@pytest.mark.parametrize("made", ["return [nn.Linear(2, 2)]", "a = []\n    a.append(Layer())\n    return a"])
def test_modules_may_be_kept_in_a_list_that_a_function_of_the_file_gives(made: str) -> None:
    maker = f"def build():\n    {made}\n\n\n"
    assert holds(Condition.KEEPS_IN_CONTAINER, HEAD + maker + CLASS.format("self.layers = build()"))
    for other in ("self.layers = other()", "self.layers = nn.ModuleList(build())"):
        assert not holds(Condition.KEEPS_IN_CONTAINER, HEAD + maker + CLASS.format(other))
    scalar = maker.replace(made, "return nn.Linear(2, 2)")
    assert not holds(Condition.KEEPS_IN_CONTAINER, HEAD + scalar + CLASS.format("self.layers = build()"))


def test_what_is_given_to_a_function_that_writes() -> None:
    writer = "def write(x):\n    x.add_(1)\n\n\n"
    caller = "def f(model):\n    for p in model.parameters():\n        write(p)\n"
    assert holds(Condition.CALLS_WRITER, HEAD + writer + caller)
    assert not holds(Condition.CALLS_WRITER, HEAD + writer.replace("add_", "add") + caller)
    assert not holds(Condition.CALLS_WRITER, HEAD + writer + caller.replace("(p)", "(torch.ones(2))"))


def test_methods_of_function_classes_and_what_names_them() -> None:
    source = HEAD + "class Double(torch.autograd.Function):\n    def forward(ctx, x):\n        return x\n"
    assert holds(Condition.IN_FUNCTION_CLASS, source)
    assert holds(Condition.IN_FUNCTION_CLASS, source + "\n\ndef f(x):\n    return Double.apply(x)\n")
    assert not holds(Condition.IN_FUNCTION_CLASS, source.replace("autograd.Function", "nn.Module"))


def test_a_view_that_goes_through_a_layer_that_writes() -> None:
    layer = CLASS.format("self.act = nn.ReLU(inplace=True)")
    forward = "\n    def forward(self, x):\n        a, b = x.chunk(2)\n        return self.{}(a)\n"
    assert holds(Condition.CALLS_INPLACE_LAYER, HEAD + layer + forward.format("act"))
    assert not holds(Condition.CALLS_INPLACE_LAYER, HEAD + layer + forward.format("other"))


def test_the_forward_of_a_module_and_not_that_of_a_function() -> None:
    source = HEAD + "class Net(nn.Module):\n    def forward(self, x):\n        return x\n"
    assert holds(Condition.IN_FORWARD, source)
    assert not holds(Condition.IN_FORWARD, source.replace("forward", "encode"))
    assert not holds(Condition.IN_FORWARD, source.replace("nn.Module", "torch.autograd.Function"))


CUT = """class Part(nn.Module):
    def forward(self, x):
        return x.argmax(1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))
        self.part = Part()

    def factor(self):
        return self.scale.data

    def forward(self, x):
        return self.part(x) * self.factor()
"""


def test_a_forward_that_may_cut_parameters_off() -> None:
    assert holds(Condition.CUTS_FORWARD, HEAD + CUT)
    assert holds(Condition.CUTS_FORWARD, HEAD + CUT.replace(".data", ""))
    assert holds(Condition.CUTS_FORWARD, HEAD + CUT.replace("argmax", "sum"))
    assert not holds(Condition.CUTS_FORWARD, HEAD + CUT.replace("argmax", "sum").replace(".data", ""))
    without = CUT.replace("argmax", "sum").replace("nn.Parameter(torch.ones(1))", "torch.ones(1)")
    assert not holds(Condition.CUTS_FORWARD, HEAD + without)


def test_a_forward_that_calls_a_method_which_writes() -> None:
    source = (
        HEAD
        + "class Net(nn.Module):\n    def keep(self, x):\n        {}\n\n"
        + "    def forward(self, x):\n        self.keep(x)\n        return x\n"
    )
    assert holds(Condition.HELPS_FORWARD_WRITE, source.format("self.queue[0] = x"))
    assert not holds(Condition.HELPS_FORWARD_WRITE, source.format("self.queue = x"))
    unnamed = source.format("self.queue[0] = x").replace("self.keep(x)", "x.sum()")
    assert not holds(Condition.HELPS_FORWARD_WRITE, unnamed)


def test_a_forward_that_calls_a_function_which_writes() -> None:
    source = (
        HEAD
        + "def swish(x):\n    return scaled(x)\n\n"
        + "def scaled(x):\n    y = x.sigmoid()\n    {}\n    return y\n\n"
        + "class Net(nn.Module):\n    def forward(self, x):\n        return swish(x)\n"
    )
    assert holds(Condition.HELPS_FORWARD_WRITE, source.format("y *= x"))
    assert not holds(Condition.HELPS_FORWARD_WRITE, source.format("y = y * x"))
    method = source.format("y *= x").replace("return swish(x)", "return x.swish(x)")
    assert not holds(Condition.HELPS_FORWARD_WRITE, method)


def test_a_forward_that_calls_a_method_of_a_class_below_which_writes() -> None:
    source = (
        HEAD
        + "class Net(nn.Module):\n    def forward(self, x):\n        return self.features(x)\n\n"
        + "class Small({}):\n    def features(self, x):\n        x += 1\n        return x\n"
    )
    assert holds(Condition.HELPS_FORWARD_WRITE, source.format("Net"))
    assert not holds(Condition.HELPS_FORWARD_WRITE, source.format("nn.Module"))


def test_a_method_that_binds_a_buffer() -> None:
    source = (
        HEAD
        + CLASS.format('self.register_buffer("mean", x)')
        + "\n    def update(self, x):\n        self.{} = x\n"
    )
    assert holds(Condition.BINDS_BUFFER, source.format("mean"))
    assert not holds(Condition.BINDS_BUFFER, source.format("last"))


def test_a_method_that_binds_a_parameter_to_something_else() -> None:
    source = HEAD + CLASS.format("self.scale = nn.Parameter(x)") + "\n    def update(self, x):\n        {}\n"
    assert holds(Condition.BINDS_PARAMETER, source.format("self.scale = x * 2"))
    for other in (
        "self.last = x",
        "self.scale = None",
        "self.scale = torch.nn.Parameter(x)",
        "self.scale == x",
    ):
        assert not holds(Condition.BINDS_PARAMETER, source.format(other))


LOSS = (
    HEAD
    + """class PairLoss(nn.Module):
    def _gate(self, x):
        return x.detach()

    @torch.no_grad()
    def report_loss(self, x):
        return x.item()

    def forward(self, x):
        return self._gate(x).mean()
"""
)


def test_a_loss_that_may_be_cut_off() -> None:
    assert holds(Condition.COMPUTES_LOSS, LOSS)
    assert holds(Condition.CUTS_LOSS, LOSS)
    assert not holds(Condition.CUTS_LOSS, LOSS.replace("x.detach()", "x * 2"))
    assert not holds(Condition.COMPUTES_LOSS, LOSS.replace("PairLoss", "Pair"))


def test_a_function_that_computes_tensors_from_tensors() -> None:
    source = HEAD + "def gate(x):\n    y = x.sigmoid()\n    y *= x\n    return y\n"
    assert holds(Condition.IN_OPERATION, source)
    for old, new in (
        ("def gate", "def load_gate"),
        ("x.sigmoid()", "x.detach().sigmoid()"),
        ("return y", "pass"),
        ("def gate(x)", "@torch.no_grad()\ndef gate(x)"),
    ):
        assert old in source
        assert not holds(Condition.IN_OPERATION, source.replace(old, new))
    assert not holds(Condition.IN_OPERATION, HEAD + "class A:\n    def gate(self, x):\n        return x\n")


def test_every_condition_is_tried() -> None:
    tried = {condition for condition, _, _ in CASES} | {
        Condition.IN_FORWARD,
        Condition.COMPUTES_LOSS,
        Condition.CUTS_LOSS,
        Condition.RECORDS_GRAPH,
        Condition.KEEPS_IN_CONTAINER,
        Condition.IN_FUNCTION_CLASS,
        Condition.CALLS_INPLACE_LAYER,
        Condition.CALLS_WRITER,
        Condition.BINDS_BUFFER,
        Condition.BINDS_PARAMETER,
        Condition.CUTS_FORWARD,
        Condition.HELPS_FORWARD_WRITE,
        Condition.IN_OPERATION,
    }
    assert tried == set(Condition)

"""What the text of a program does with names and methods."""

from __future__ import annotations

import pytest

from gradcheck_tool import MethodUse, NameUse
from gradcheck_tool.analysis.plans import ExecutionPlan
from tests.cases import (
    HEAD,
    TRAINING,
    Mistake,
    check_correction,
    check_mistake,
    each,
)
from tests.open_programs import check_quiet, told
from tests.running import Analysis, events

# Silent mistakes, and what corrects them.
MISTAKES = {
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
        ("out.detach().cpu()", 1),
        ("out.relu_().cpu()", 0),
        ("torch.zeros(1).cpu()", 0),
        ("net.weight.detach()", 1),
        ("nets[0](out).detach()", 0),
    ],
)
def test_only_the_result_of_a_method_of_a_tensor_is_reported_as_dropped(statement: str, count: int) -> None:
    source = TRAINING + f"import library\nout, nets = net(torch.ones(2)), [net]\n{statement}\n"
    assert len(events(source, "DroppedResult")) == count


@pytest.mark.parametrize("made", ["meter.item()", "meter.mean()", "meter.mean() + 2 * meter.std()"])
def test_what_has_a_method_of_tensors_need_not_be_one(made: str) -> None:
    """Meters and queues have such methods, too, and what is added to them is not discarded."""
    program = f"""
def clip(net, meter):
    largest = {made}
    norm = torch.nn.utils.clip_grad_norm_(net.parameters(), max_norm=largest)
    if float(norm) > largest:
        meter.add(float(largest))
    else:
        meter.add(float(norm))
    return norm
"""
    assert told(HEAD + program) == []


def test_a_method_that_is_read_to_be_called_later_is_not_reported() -> None:
    assert not events(TRAINING + "clear = opt.zero_grad\nclear()\n", "UncalledMethod")


# Names of libraries in functions that the work limit cuts short need no execution.
CUT_SHORT = """
import torch
from torch.autograd import Variable
from somewhere import rename
def long(x):
{body}
    return Variable(rename(x), volatile=True)
"""


def names(source: str, limit: int) -> list[tuple[str, tuple[str, ...]]]:
    analysis = Analysis(source, ExecutionPlan(limit=limit, single=0, starts=frozenset({"long"})))
    assert analysis.unfinished == (["long"] if limit < 1000 else [])
    return [(event.name, event.keywords) for event in analysis.of(NameUse) if event.name.startswith("torch")]


def test_a_function_that_is_cut_short_reports_the_names_that_an_executed_one_does() -> None:
    source = CUT_SHORT.format(body="    x = x + 1\n" * 200)
    whole = names(source, limit=60_000)
    assert whole == [("torch.autograd.Variable", ("volatile",))]
    assert names(source, limit=100) == whole


def test_a_name_that_the_function_binds_itself_is_not_taken_for_the_one_of_the_module() -> None:
    source = CUT_SHORT.format(body="    Variable = dict\n" + "    x = x + 1\n" * 200)
    assert names(source, limit=100) == []


def test_what_has_no_graph_is_the_same_detached() -> None:
    check_quiet(
        """
for rows in torch.utils.data.DataLoader(torch.load("rows.pt")):
    rows.log()
    rows.detach()
"""
    )


def test_what_may_have_no_graph_may_be_the_same_detached() -> None:
    check_quiet(
        """
def product(net, x, p):
    p.detach()
    grads = torch.autograd.grad(net(x).mean(), net.parameters(), create_graph=True)
    return (grads[0].flatten() * p).sum()
"""
    )


def test_a_copy_of_the_same_values_that_is_dropped_does_nothing() -> None:
    check_quiet(
        """
mask = torch.ones(3) > 0.1
mask.to("cpu")
count = mask.sum()
"""
    )


FROZEN = """
import argparse
import torch
def main():
    options = argparse.ArgumentParser().parse_args()
    part = options.pipeline.part
    part.requires_grad_({flag})
    part.double()
main()
"""


def test_what_is_frozen_is_a_module() -> None:
    """It is moved in place; what is asked for gradients is data, which is not."""
    assert told(FROZEN.format(flag="False")) == []
    assert [finding.code for finding in told(FROZEN.format(flag="True"))] == ["GL509"]


def test_an_old_name_rests_on_no_assumption_about_the_unit_around_it() -> None:
    program = """
from torch import nn
from torch.autograd import Variable
class Net(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder
    def forward(self, x):
        return Variable(self.encoder(x))
"""
    (finding,) = told(program)
    assert (finding.code, finding.assumes) == ("GL901", ())

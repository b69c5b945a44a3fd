"""`GradScaler`."""

from __future__ import annotations

import pytest

from gradcheck_tool.analysis.program import check_source
from tests.cases import check_right, each
from tests.running import RULES, findings, happened

# Right programs.
RIGHT = {
    "a scaler that another method of its object has used": """
import torch
class Scaled:
    def __init__(self, optimizer):
        self.optimizer = optimizer
        self._scaler = torch.amp.GradScaler()
    @property
    def scaler(self):
        return self._scaler
    def backward(self, loss):
        self.scaler.scale(loss).backward()
    def step(self):
        self.optimizer.zero_grad()
        self.scaler.step(self.optimizer)
        self.scaler.update()
""",
    "a scaler of the module that another function has used": """
import torch
scaler = torch.amp.GradScaler()
def backward(loss):
    scaler.scale(loss).backward()
def step(optimizer):
    optimizer.zero_grad()
    scaler.step(optimizer)
    scaler.update()
""",
    "a scale that has fallen is raised, which it cannot have before a loss was scaled": """
import torch
net = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
scaler = torch.amp.GradScaler()
for _ in range(3):
    if scaler.get_scale() < 1:
        scaler.update(1.0)
    optimizer.zero_grad()
    scaler.scale(net(torch.rand(4, 2)).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
""",
}


@each(RIGHT)
def test_nothing_is_found_in_right_programs(program: str) -> None:
    check_right(program)


AMP = """
import torch
from torch.nn.utils import clip_grad_norm_

class Trainer:
    def __init__(self, model, optimizer, uses_amp):
        self.model, self.optimizer = model, optimizer
        self.scaler = torch.amp.GradScaler(enabled=uses_amp)

    def loss(self, batch):
        raise NotImplementedError

    def step(self, batch):
        self.scaler.scale(self.loss(batch)).backward()
        self.clip()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()

    def clip(self):
        clip_grad_norm_(self.model.parameters(), 1.0)
"""


def test_gradients_of_an_unknown_model_carry_the_scale_until_it_is_taken_off() -> None:
    found = check_source(AMP, "program.py", RULES)
    assert [(finding.code, finding.location.start.row) for finding in found] == [("GL411", 21)]
    right = AMP.replace(
        "        self.clip()\n", "        self.scaler.unscale_(self.optimizer)\n        self.clip()\n"
    )
    assert check_source(right, "program.py", RULES) == []


def test_a_scaler_that_is_switched_off_scales_nothing() -> None:
    assert check_source(AMP.replace("enabled=uses_amp", "enabled=False"), "program.py", RULES) == []


ALIKE = """
import torch
class Trainer:
    def __init__(self, model, optimizer, criterion, uses_amp):
        self.model, self.optimizer, self.criterion = model, optimizer, criterion
        self.scaler = torch.amp.GradScaler(enabled=uses_amp)

    def step(self, x, y):
        self.optimizer.zero_grad()
        loss = self.criterion(self.model(x), y)
        self.scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.scaler.step(self.optimizer)
        self.scaler.update()
"""


def test_a_scaler_is_taken_for_enabled_where_the_code_does_the_same_in_any_case() -> None:
    (found,) = check_source(ALIKE, "program.py", RULES)
    assert (found.code, found.location.start.row) == ("GL411", 12)
    assert "`self.scaler` is enabled" in found.assumes
    tested = ALIKE.replace(
        "        torch.nn", "        if self.scaler.is_enabled():\n            print()\n        torch.nn"
    )
    assert check_source(tested, "program.py", RULES) == []


CHOSEN = """
import torch
from nets import build
def main(args):
    net = build(args)
    optimizer = torch.optim.AdamW(net.parameters(), lr=args.lr)
    scaler = torch.amp.GradScaler(enabled=args.amp)
    for images, labels in args.loader:
        optimizer.zero_grad()
        loss = net(images, labels)["loss"]
        if args.amp:
            scaler.scale(loss).backward()
            torch.nn.utils.clip_grad_norm_([p for p in net.parameters() if p.requires_grad], args.clip)
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
            optimizer.step()
"""


def test_a_scaler_is_on_where_what_switches_it_on_is_true() -> None:
    found = check_source(CHOSEN, "program.py", RULES)
    assert [(finding.code, finding.location.start.row) for finding in found] == [("GL411", 13)]
    assert check_source(CHOSEN.replace("if args.amp", "if not args.amp"), "program.py", RULES) == []


SOMETIMES = """
import torch
class Trainer:
    def __init__(self, modules, make_optimizer, options):
        for name in ("mixed", "clip", "debug"):
            if options is not None and name in options:
                setattr(self, name, options[name])
            else:
                setattr(self, name, False)
        self.modules = torch.nn.ModuleDict(modules)
        self.optimizer = make_optimizer(self.modules.parameters())
        if self.mixed:
            self.scaler = torch.amp.GradScaler()

    def fit_batch(self, batch):
        loss = self.modules.net(batch).mean()
        if self.mixed:
            self.scaler.scale(loss).backward()
            torch.nn.utils.clip_grad_norm_(self.modules.parameters(), 1.0)
            self.scaler.step(self.optimizer)
            self.scaler.update()
        self.optimizer.zero_grad()
"""


def test_an_object_is_judged_with_what_only_some_of_its_kind_have() -> None:
    found = check_source(SOMETIMES, "program.py", RULES)
    assert [(finding.code, finding.location.start.row) for finding in found] == [("GL411", 19)]


OWN = """
import torch

class Scaler(torch.amp.GradScaler):
    def unscale_(self, optimizer):
        super().unscale_(optimizer)
        return True

def train(model, optimizer, loader):
    scaler = Scaler()
    for x in loader:
        scaler.scale(model(x).mean()).backward()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
"""


def test_of_a_subclass_nothing_is_known() -> None:
    assert check_source(OWN, "program.py", RULES) == []


RESTORED = """
import torch
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu")
scaler.load_state_dict(torch.amp.GradScaler("cpu").state_dict())
for _ in range(2):
    optimizer.zero_grad()
    loss = model(torch.ones(1, 2)).sum()
    {backward}
    scaler.step(optimizer)
    {update}
"""
PROTOCOLS = {
    "all": ("scaler.scale(loss).backward()", "scaler.update()", []),
    "no update": ("scaler.scale(loss).backward()", "pass", ["GL413"]),
    "no scaled loss": ("loss.backward()", "scaler.update()", ["GL413"]),
}


@pytest.mark.parametrize(("backward", "update", "codes"), PROTOCOLS.values(), ids=PROTOCOLS)
def test_a_state_that_is_loaded_leaves_the_protocol_as_it_is(
    backward: str, update: str, codes: list[str]
) -> None:
    source = RESTORED.format(backward=backward, update=update)
    assert [code for _, code in findings(source)] == codes
    assert bool(happened(source)[1]) is bool(codes)


def test_what_an_expression_chooses_beside_a_flag_is_no_test_of_it() -> None:
    source = """
import torch
def train(net, loader, device, amp=False):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler(enabled=amp)
    for x in loader:
        with torch.autocast(device.type if device.type != "mps" else "cpu", enabled=amp):
            loss = net(x).sum()
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""
    found = check_source(source, "program.py", RULES)
    assert [(finding.code, finding.location.start.row) for finding in found] == [("GL411", 11)]
    chosen = source.replace(
        "            loss = net(x).sum()", "            loss = net(x).sum() if amp else net(x).mean()"
    )
    assert check_source(chosen, "program.py", RULES) == []


GIVEN = """
import torch
class Trainer:
    def __init__(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer, clip=None):
        self.model, self.optimizer, self.clip = model, optimizer, clip
        self.scaler = torch.amp.GradScaler()
    def optimize(self, loss):
        self.optimizer.zero_grad()
        self.scaler.scale(loss).backward()
        if self.clip is not None:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.scaler.step(self.optimizer)
        self.scaler.update()
"""


def test_a_loss_that_is_given_is_scaled() -> None:
    found = check_source(GIVEN, "program.py", RULES)
    assert [(finding.code, finding.location.start.row) for finding in found] == [("GL411", 11)]
    unscaled = GIVEN.replace("if self.clip", "self.scaler.unscale_(self.optimizer)\n        if self.clip")
    assert check_source(unscaled, "program.py", RULES) == []


SEVERAL = """
import torch
class Trainer:
    def __init__(self, net, encoder, args):
        self.parameters = net.parameters()
        self.optimizers = []
        made = None if args.frozen else torch.optim.Adam(self.parameters)
        self.optimizers.append(made) if made is not None else None
        self.scaler = torch.amp.GradScaler(enabled=args.amp)
    def step(self, loss):
        self.scaler.scale(loss).backward()
        for optimizer in self.optimizers:
            self.scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(self.parameters, 1.0)
        for optimizer in self.optimizers:
            self.scaler.step(optimizer)
        self.scaler.update()
        for optimizer in self.optimizers:
            optimizer.zero_grad()
"""


def test_where_no_optimizer_is_left_nothing_is_said_of_the_scale() -> None:
    """What the generator of parameters has given to the optimizer is told."""
    codes = [finding.code for finding in check_source(SEVERAL, "program.py", RULES)]
    assert "GL411" not in codes


ELSEWHERE = """
import torch
def main(make, loader):
    model = torch.nn.Linear(2, 1)
    optimizer, scaler = make(model)
    run(model, optimizer, scaler, loader)
def run(model, optimizer, scaler, loader):
    for x in loader:
        scaler.scale(model(x).sum()).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
"""


def test_an_optimizer_that_is_not_known_may_have_any_gradients_unscaled() -> None:
    codes = [finding.code for finding in check_source(ELSEWHERE, "program.py", RULES)]
    assert "GL411" not in codes
    scaled = ELSEWHERE.replace("        scaler.unscale_(optimizer)\n", "")
    assert "GL411" in [finding.code for finding in check_source(scaled, "program.py", RULES)]

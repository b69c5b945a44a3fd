"""What bases out of sight give an object that trains."""

from __future__ import annotations

import pytest

from gradcheck_tool.analysis import inherited
from gradcheck_tool.interp.budget import BudgetExhausted
from tests.cases import each
from tests.open_programs import HEAD, Open, check_open, check_quiet, told
from tests.running import findings

# What stands for the file with the base.
BASE = (
    HEAD
    + """
import sys, types
class Base:
    def __init__(self):
        self.netG, self.netD = nn.Linear(2, 3), nn.Sequential(nn.Linear(3, 3), nn.Tanh())
        self.optD = torch.optim.SGD(self.netD.parameters(), 0.1)
        self.optG = torch.optim.SGD(self.netG.parameters(), 0.1)
elsewhere = types.ModuleType("elsewhere")
elsewhere.Base = Base
sys.modules["elsewhere"] = elsewhere
"""
)

OPEN = {
    "the networks and their optimizers": Open(
        HEAD
        + """
from elsewhere import Base
class GAN(Base):
    def step(self, real):
        fake = self.netG(torch.randn(8, 2))
        loss_d = self.netD(fake).mean() - self.netD(real).mean()
        self.optD.zero_grad()
        loss_d.backward()
        loss_g = -self.netD(fake).mean()
        self.optG.zero_grad()
        loss_g.backward()  # <- GL101
        self.optD.step()
        self.optG.step()
""",
        "self.netD(fake).mean() - ",
        "self.netD(fake.detach()).mean() - ",
        "GAN().step(torch.ones(8, 3))",
        ("`netG` has parameters that require a gradient", "`optD` holds the parameters of `netD`"),
    ),
}


@each(OPEN)
def test_it_is_read_off_what_the_methods_do(program: Open) -> None:
    check_open(program, BASE)


TRAINER = (
    HEAD
    + """
from elsewhere import Base
class Trainer(Base):
    def train(self):
        self.model.train()
        total = 0
        for data, target in self.data_loader:
            data, target = data.to(self.device), target.to(self.device)
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(data), target)
            loss.backward()
            self.optimizer.step()
            total += loss
        return {"loss": total / len(self.data_loader)}
"""
)


def test_a_trainer_has_a_model_a_criterion_and_data_of_its_base() -> None:
    assert [(f.code, f.location.start.row) for f in told(TRAINER)] == [("GL601", 17)]
    assert told(TRAINER.replace("total += loss", "total += loss.item()")) == []


FIELDS = (
    HEAD
    + """
import attr
from dataclasses import dataclass
{decorator}
class Trainer:
    model: nn.Module
    optimizer: torch.optim.Optimizer
    criterion: nn.Module
    rate: float = 0.1

    def fit(self, loader):
        for x, y in loader:
            loss = self.criterion(self.model(x), y)
            loss.backward()
            self.optimizer.step()
"""
)


@pytest.mark.parametrize("decorator", ["@dataclass", "@attr.s(auto_attribs=True)"])
def test_the_fields_of_a_dataclass_are_what_its_methods_use_them_as(decorator: str) -> None:
    source = FIELDS.format(decorator=decorator)
    (found,) = told(source)
    assert (found.code, found.location.start.row) == ("GL401", 18)
    assert told(source.replace("loss.backward()", "self.optimizer.zero_grad(); loss.backward()")) == []


QUIET = {
    "a class that does not train itself": """
from elsewhere import Base
class Net(Base):
    def forward(self, x):
        h = self.encoder(x)
        h.add_(1)
        return self.decoder(h).detach().numpy()
""",
    "what another method assigns is that": """
from elsewhere import Base
class Trainer(Base):
    def set_up(self):
        self.model = self.build()
        self.optimizer = None

    def train(self, loader):
        for x in loader:
            self.model(x).backward()
            self.optimizer.zero_grad()
""",
    "the base may clear the gradients between two calls": """
from elsewhere import Base
class Trainer(Base):
    def step(self, x):
        self.model(x).mean().backward()
        self.optimizer.step()
""",
}


@each(QUIET)
def test_nothing_is_said_of_what_others_may_do(program: str) -> None:
    check_quiet(program)


def test_where_making_what_a_base_gives_reaches_the_work_limit_the_rest_is_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def provide(*_: object) -> None:
        raise BudgetExhausted

    monkeypatch.setattr(inherited, "provide", provide)
    source = (
        HEAD
        + """
from elsewhere import Base
class GAN(Base):
    def step(self, real):
        self.optG.zero_grad()
        self.netG(real).sum().backward()
        self.optG.step()
w = torch.ones(2, requires_grad=True)
loss = w.exp().sum()
loss.backward()
loss.backward()
"""
    )
    assert [code for _, code in findings(source)] == ["GL101"]

"""What is read out of configurations, and numbers that are known by their names, are constants."""

from __future__ import annotations

import pytest

from tests.open_programs import HEAD, told

PENALTY = (
    HEAD
    + """
def penalty(judge, x, lambda_gp):
    x = x.detach().requires_grad_(True)
    slope = torch.autograd.grad(judge(x).sum(), x, create_graph={create})[0]
    return ((slope.norm(2, dim=1) - 1) ** 2).mean() * lambda_gp

def train(judge, optimizer, real, {options}):
    loss = judge(real).mean()
    loss = loss + penalty(judge, real, {number})
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
)


@pytest.mark.parametrize(
    ("options", "number", "expected"),
    [
        ("cfg", "cfg.lambda_gp", ["GL803"]),
        ("args", "args.weights.gp", ["GL803"]),
        ("cfg", "cfg['lambda_gp']", ["GL803"]),
        ("lambda_gp", "lambda_gp", ["GL803"]),
        ("other", "other.factor", []),
    ],
)
def test_a_term_that_an_option_scales_is_a_constant(options: str, number: str, expected: list[str]) -> None:
    source = PENALTY.format(create="False, retain_graph=True", options=options, number=number)
    assert [finding.code for finding in told(source)] == expected
    assert told(PENALTY.format(create="True", options=options, number=number)) == []


PARTS = (
    HEAD
    + """
class Agent:
    def __init__(self, nets, cfg):
        self.nets = nets
        self.actor_optimizer = torch.optim.Adam(self.nets{actor}.parameters(), lr=cfg.lr)
        self.critic_optimizer = torch.optim.Adam(self.nets{critic}.parameters(), lr=cfg.lr)

    def update(self, state, value):
        critic_loss = (self.nets{critic}(state) - value).pow(2).mean()
        actor_loss = -self.nets{critic}(self.nets{actor}(state)).mean()
        self.critic_optimizer.zero_grad()
        critic_loss.backward()
        {early}
        self.actor_optimizer.zero_grad()
        actor_loss.backward()
        self.actor_optimizer.step()
        {late}
"""
)


@pytest.mark.parametrize(("actor", "critic"), [(".actor", ".critic"), ("['actor']", "['critic']")])
def test_what_is_asked_for_its_parameters_is_a_module(actor: str, critic: str) -> None:
    step = "self.critic_optimizer.step()"
    wrong = PARTS.format(actor=actor, critic=critic, early=step, late="")
    assert [finding.code for finding in told(wrong)] == ["GL202"]
    assert told(PARTS.format(actor=actor, critic=critic, early="", late=step)) == []


DISTILLED = (
    HEAD
    + """
class Distiller:
    def __init__(self, student, teacher, optimizer, T):
        self.student, self.teacher, self.optimizer, self.T = student, teacher, optimizer, T

    def step(self, x):
        with torch.no_grad():
            target = self.teacher(x)
            {inside}
        {outside}
        loss = F.kl_div(F.log_softmax(out / self.T, -1), F.softmax(target / self.T, -1))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
"""
)


def test_a_teacher_is_a_module_that_is_not_trained() -> None:
    out = "out = self.student(x)"
    assert [finding.code for finding in told(DISTILLED.format(inside=out, outside=""))] == ["GL501"]
    assert told(DISTILLED.format(inside="pass", outside=out)) == []

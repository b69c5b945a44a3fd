"""Where calls in a loop clear gradients and step, the ways there tell what happens in each round."""

from __future__ import annotations

from tests.open_programs import told


def _found(source: str) -> list[tuple[str, int]]:
    return [(finding.code, finding.location.start.row) for finding in told(source)]


CALLBACKS = """
import torch

class Callback:
    def before(self, runner): ...
    def after(self, runner): ...

class Stepping(Callback):
    def __init__(self, every):
        self.every = every

    def before(self, runner):
        CLEAR

    def after(self, runner):
        if (runner.step + 1) % self.every == 0:
            runner.optimizer.step()

class Runner:
    def __init__(self, model, criterion, optimizer, every=4):
        self.model, self.criterion, self.optimizer = model, criterion, optimizer
        self.callbacks = [Stepping(every)]
        self.every = every

    def fit(self, loader):
        for self.step, (x, y) in enumerate(loader):
            for each in self.callbacks:
                each.before(self)
            loss = self.criterion(self.model(x), y) / self.every
            loss.backward()
            for each in self.callbacks:
                each.after(self)
"""


def test_call_backs_clear_and_step() -> None:
    assert _found(CALLBACKS.replace("CLEAR", "runner.optimizer.zero_grad()")) == [("GL405", 13)]


def test_call_backs_clear_once_for_a_window() -> None:
    clear = "if runner.step % self.every == 0:\n            runner.optimizer.zero_grad()"
    assert _found(CALLBACKS.replace("CLEAR", clear)) == []


METHODS = """
import torch

class Runner:
    def __init__(self, model, optimizer, every=4):
        self.model, self.optimizer, self.every = model, optimizer, every

    def begin(self, step):
        BEGIN

    def end(self, step):
        if (step + 1) % self.every == 0:
            self.optimizer.step()

    def fit(self, loader):
        for step, (x, y) in enumerate(loader):
            self.begin(step)
            loss = (self.model(x) - y).pow(2).mean() / self.every
            loss.backward()
            self.end(step)
"""


def test_methods_clear_and_step() -> None:
    assert _found(METHODS.replace("BEGIN", "self.optimizer.zero_grad()")) == [("GL405", 9)]


def test_methods_clear_and_step_for_one_window() -> None:
    begin = "if step % self.every == 0:\n            self.optimizer.zero_grad()"
    assert _found(METHODS.replace("BEGIN", begin)) == []


def test_a_loop_of_the_step_that_the_clearing_is_not_in() -> None:
    assert (
        _found(
            """
import torch

def train(model, optimizer, loader, epochs):
    for epoch in range(epochs):
        optimizer.zero_grad()
        for i, (x, y) in enumerate(loader):
            loss = (model(x) - y).pow(2).mean() / 4
            loss.backward()
            if (i + 1) % 4 == 0:
                optimizer.step()
                optimizer.zero_grad()
"""
        )
        == []
    )


def test_a_comprehension_trains() -> None:
    assert (
        _found(
            """
import torch

class Runner:
    def __init__(self, model, optimizer, every=4):
        self.model, self.optimizer, self.every, self.steps = model, optimizer, every, 0

    def step(self, x, y):
        loss = (self.model(x) - y).pow(2).mean() / self.every
        loss.backward()
        self.steps += 1
        if self.steps >= self.every:
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.steps = 0
        return loss.item()

    def fit(self, loader, epochs):
        for _ in range(epochs):
            losses = [self.step(x, y) for x, y in loader]
            print(sum(losses))
"""
        )
        == []
    )

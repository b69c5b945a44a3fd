"""Short files are executed to their end, however often each of their methods runs a whole training."""

from gradcheck_tool.analysis.import_context import ImportContext
from gradcheck_tool.analysis.program import check_source
from tests.running import RULES

LEARNER = """
import torch
from torch import nn

class Learner:
    def __init__(self, model, loader, criterion, callbacks, lr=1e-3):
        self.model, self.loader, self.criterion, self.lr = model, loader, criterion, lr
        self.callbacks = list(callbacks)
        for each in self.callbacks:
            each.learner = self
            setattr(self, each.name, each)

    def __call__(self, event):
        for each in sorted(self.callbacks, key=lambda c: c.order):
            method = getattr(each, event, None)
            if method is not None:
                method()

    def fit(self, epochs):
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=self.lr)
        self("before_fit")
        for self.epoch in range(epochs):
            self.one_epoch(True)
            with torch.no_grad():
                self.one_epoch(False)
        self("after_fit")

    def one_epoch(self, train):
        self.model.train(train)
        self("before_epoch")
        for self.number, self.batch in enumerate(self.loader):
            self("before_batch")
            self.one_batch(train)
            self("after_batch")
        self("after_epoch")

    def one_batch(self, train):
        x, y = self.batch
        self.pred = self.model(x)
        self("after_pred")
        self.loss = self.criterion(self.pred, y)
        self("after_loss")
        if train:
            self("before_backward")
            self.loss.backward()
            self("before_step")
            self.optimizer.step()
            self("after_step")
            self.optimizer.zero_grad()
"""
WAY = """
    def fit_{number}(self, epochs, warmup=None, clip=None):
        self.fit(1)
        for group in self.optimizer.param_groups:
            if warmup is not None and group["lr"] > warmup:
                group["lr"] = warmup
        self.fit(epochs)
        if clip:
            nn.utils.clip_grad_norm_(self.model.parameters(), clip)
"""


def test_many_methods_that_train_are_executed_to_their_end() -> None:
    program = LEARNER + "".join(WAY.format(number=number) for number in range(16))
    around = ImportContext()
    assert check_source(program, "program.py", RULES, around) == []
    assert not around.extent.unfinished

"""Values that are expressions over others."""

from __future__ import annotations

import pytest

from gradcheck_tool.domain.values import MAX_EXPRESSION, Symbol
from tests.open_programs import HEAD, told


def test_expressions_end_somewhere_and_the_attributes_of_the_deepest_are_known() -> None:
    value = Symbol(0)
    for _ in range(MAX_EXPRESSION):
        value = Symbol(("op", "+", value, value))
    assert isinstance(value.key, tuple)
    assert Symbol(("attr", value, "backward")).key == ("attr", value, "backward")
    assert Symbol(("tensor", value)) == Symbol(("tensor", value))
    assert isinstance(Symbol(("op", "+", value, value)).key, int)
    assert isinstance(Symbol(("attr", Symbol(("attr", value, "a")), "b")).key, int)


TRAINER = """
from elsewhere import losses

class Trainer:
    def __init__(self, config):
        self.config = config

    def fit(self, batch):
        model = self.make_model()
        optimizer = torch.optim.RMSprop(model.parameters(), lr=self.config["lr"])
        while True:
            found = losses(batch)
            first = self.config["first"] * found["first"]
            second = self.config["second"] * found["second"]
            third = self.config["third"] * found["third"]
            fourth = self.config["fourth"] * found["fourth"]
            loss = first - second - third - fourth
            {clear}
            loss.backward()
            optimizer.step()
"""


@pytest.mark.parametrize(("clear", "codes"), [("optimizer.zero_grad()", []), ("pass", ["GL401"])])
def test_a_loss_of_many_terms_is_differentiated(clear: str, codes: list[str]) -> None:
    assert [finding.code for finding in told(HEAD + TRAINER.format(clear=clear))] == codes

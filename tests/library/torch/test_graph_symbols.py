"""Parts of what networks that are not known return: each has the graph of the whole."""

from __future__ import annotations

import pytest

from tests.open_programs import HEAD, Open, check_open

TRAINER = (
    HEAD
    + """
def train(model, loader):
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for images, labels in loader:
        optimizer.zero_grad()
        with torch.no_grad():
            outputs = model(images)
{loss}
        loss.backward()  # <- GL501
        optimizer.step()
"""
)
LOSSES = {
    "a loop over all": """
        loss = 0.0
        for out in outputs:
            loss = loss + F.mse_loss(out, labels)
""",
    "a numbered loop": """
        loss = 0.0
        for i, out in enumerate(outputs):
            loss = loss + 0.5 ** i * F.mse_loss(out, labels)
""",
    "a comprehension": """
        loss = sum(F.mse_loss(out, labels) for out in outputs)
""",
    "one of them": """
        loss = F.mse_loss(outputs[0], labels)
""",
}
DRIVER = """
class Both(nn.Linear):
    def forward(self, x):
        return super().forward(x), super().forward(x) * 2

train(Both(2, 2), [(torch.ones(3, 2), torch.zeros(3, 2))] * 2)
"""


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_parts_have_the_graph_of_the_whole(loss: str) -> None:
    wrong = TRAINER.format(loss=loss.strip("\n"))
    assumes = ("`model` has parameters that require a gradient",)
    check_open(Open(wrong, "torch.no_grad()", "torch.enable_grad()", DRIVER, assumes))

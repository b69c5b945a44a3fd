"""Losses whose two sides have different sizes."""

from __future__ import annotations

import pytest

from tests.cases import HEAD, Mistake, check_correction, check_mistake, each
from tests.running import findings

# Silent mistakes, and what corrects them.
MISTAKES = {
    "a vector of targets from a split of a data set": Mistake(
        HEAD
        + """
from torch.utils.data import DataLoader, TensorDataset, random_split

def table(samples=12):
    x = torch.randn(samples, 3)
    return TensorDataset(x, x.sum(dim=1))

net = nn.Linear(3, 1)
training, checks = random_split(table(), [8, 4])
for x, y in DataLoader(training, batch_size=4):
    loss = F.mse_loss(net(x), y)  # <- GL517
    loss.backward()
symptom = net(x).shape != y.shape
""",
        "    loss = F.mse_loss(net(x), y)",
        "    y = y.unsqueeze(1)\n    loss = F.mse_loss(net(x), y)",
    ),
    "a number for each sample of a data set of the program": Mistake(
        HEAD
        + """
from torch.utils.data import DataLoader, Dataset

class Table(Dataset):
    def __init__(self):
        self.x = torch.randn(8, 3)

    def __len__(self):
        return 8

    def __getitem__(self, index):
        row = self.x[index]
        return {"x": row, "y": row.sum()}

net = nn.Linear(3, 1)
for batch in DataLoader(Table(), batch_size=4):
    out = net(batch["x"])
    loss = F.mse_loss(out, batch["y"])  # <- GL517
    loss.backward()
symptom = out.shape != batch["y"].shape
""",
        '    out = net(batch["x"])\n',
        '    out = net(batch["x"]).squeeze(1)\n',
    ),
    "a column of outputs is subtracted from the targets of a loader": Mistake(
        HEAD
        + """
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __init__(self):
        self.inputs, self.targets = torch.randn(12, 3), torch.randn(12)

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, i):
        return self.inputs[i], self.targets[i]

model = nn.Linear(3, 1)
for inputs, targets in DataLoader(Rows(), batch_size=4):
    error = targets - model(inputs)  # <- GL517
    error.abs().mean().backward()
symptom = error.shape == (4, 4)
""",
        "model(inputs)",
        "model(inputs).squeeze(1)",
    ),
    "batches of one sample are broadcast without harm": Mistake(
        HEAD
        + """
from torch.utils.data import DataLoader, TensorDataset

model = nn.Linear(3, 1)
for inputs, targets in DataLoader(TensorDataset(torch.randn(4, 3), torch.randn(4)), batch_size=2):
    error = targets - model(inputs)  # <- GL517
    error.abs().mean().backward()
symptom = error.numel() == 4
""",
        ", batch_size=2",
        "",
    ),
}


def test_sizes_that_pytorch_refuses_to_broadcast_are_not_reported() -> None:
    loss = "F.mse_loss(torch.ones(2, 4, requires_grad=True), torch.ones(3, 4))"
    with pytest.raises(RuntimeError, match="must match"):
        exec(HEAD + loss, {})
    assert findings(f"{HEAD}\n{loss}.backward()\n") == []


@pytest.mark.parametrize(
    ("output", "target", "expected"),
    [
        ((8, 6), (1, 8, 6), []),
        ((6,), (8, 6), []),
        ((4, 3, 1), (4, 1, 3), []),
        ((8, 1), (8,), ["GL517"]),
        ((8, 1), (8, 6), ["GL517"]),
    ],
)
def test_a_loss_is_broadcast_where_elements_meet_more_than_their_own(
    output: tuple[int, ...], target: tuple[int, ...], expected: list[str]
) -> None:
    program = f"""{HEAD}
loss = F.smooth_l1_loss(torch.ones{output}.requires_grad_(), torch.ones{target}, reduction="none")
loss.mean().backward()
"""
    assert [code for _, code in findings(program)] == expected


@each(MISTAKES)
def test_a_silent_mistake_is_reported(program: Mistake) -> None:
    check_mistake(program)


@each(MISTAKES)
def test_its_correction_is_not_reported(program: Mistake) -> None:
    check_correction(program)

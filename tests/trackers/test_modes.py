"""Training and evaluation mode."""

from __future__ import annotations

from tests.cases import HEAD, Mistake, check_correction, check_mistake, each

# Silent mistakes, and what corrects them.
MISTAKES = {
    "labels are guessed before the first step, in evaluation mode": Mistake(
        HEAD
        + """
model = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

def guess(inputs):
    model.eval()  # <- GL516
    with torch.no_grad():
        labels = model(inputs).argmax(1)
    return labels

model.train()
modes = []
for _ in range(3):
    labels = guess(torch.randn(4, 3))
    modes.append(model.training)
    optimizer.zero_grad()
    F.cross_entropy(model(torch.randn(4, 3)), labels).backward()
    optimizer.step()
symptom = not any(modes)
""",
        "    return labels\n",
        "    model.train()\n    return labels\n",
    ),
}


@each(MISTAKES)
def test_a_silent_mistake_is_reported(program: Mistake) -> None:
    check_mistake(program)


@each(MISTAKES)
def test_its_correction_is_not_reported(program: Mistake) -> None:
    check_correction(program)

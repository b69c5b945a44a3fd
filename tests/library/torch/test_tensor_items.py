"""Subscripts of tensors, and writes through them."""

from __future__ import annotations

from tests.cases import HEAD, Mistake, check_correction, check_mistake, each

# Silent mistakes, and what corrects them.
MISTAKES = {
    "rows of a parameter's data, one by one": Mistake(
        HEAD
        + """
embed = nn.Linear(3, 2)
prototypes = torch.randn(4, 2)
labels = torch.tensor([0, 2, 0])
features = embed(torch.rand(3, 3))
logits = features @ prototypes.t()
for label in labels.unique():
    prototypes.data[label].mul_(0.5)  # <- GL205
before = prototypes.clone()
F.cross_entropy(logits, labels).backward()
again = F.cross_entropy(embed(torch.rand(3, 3)) @ prototypes.t(), labels)
symptom = logits.detach().ne(features.detach() @ prototypes.t()).any()
""",
        "F.cross_entropy(logits, labels)",
        "logits = features @ prototypes.t()\nF.cross_entropy(logits, labels)",
    ),
}


@each(MISTAKES)
def test_a_silent_mistake_is_reported(program: Mistake) -> None:
    check_mistake(program)


@each(MISTAKES)
def test_its_correction_is_not_reported(program: Mistake) -> None:
    check_correction(program)

"""Subscripts of tensors, and writes through them."""

from __future__ import annotations

from tests.cases import HEAD, Mistake, check_correction, check_mistake, each
from tests.open_programs import Open, check_open, told

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


WRITTEN = Open(
    HEAD
    + """
class Net(nn.Module):
    def __init__(self, vocabulary):
        super().__init__()
        self.embed = nn.Embedding(9, 3)
        self.embed.weight[vocabulary.padding].zero_()  # <- GL301
""",
    "weight[",
    "weight.data[",
    """
import types
Net(types.SimpleNamespace(padding=0))
""",
)


def test_what_a_statement_only_writes_to_is_a_part() -> None:
    check_open(WRITTEN)


def test_what_is_used_after_the_write_may_be_a_copy() -> None:
    copied = WRITTEN.wrong.replace("        self.embed.weight[", "        self.copy = self.embed.weight[")
    assert told(copied.replace("  # <- GL301", "")) == []

"""What somebody types into the training script, one key at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# A line of the script, and what is typed behind it, where `<` deletes a character.
_TYPED = (
    ("            loss.backward()", "\n            # gradients of both halves"),
    ("            loss.backward()", "\n            norm = model.head.weight.grad.norm()"),
    ("        weights = scores.softmax(-1)", "\n        weights.clamp_(mim=1e-4)<<<<<<<<<<<(min=1e-4)"),
    ("    value = F.cross_entropy(flat, wanted, label_smoothing=smoothing)", "\n    value = value * 2"),
    (
        "        self.dropout = nn.Dropout(options.dropout)",
        "\n        self.gate = nn.Parameter(torch.zeros(1))",
    ),
    ("    model.eval()", "  # no dropout"),
)


def edits(text: str, count: int = 200) -> Iterator[str]:
    """The texts after each of the first keys.

    Raises:
        ValueError: there are not so many keys.
    """
    made = 0
    for line, typed in _TYPED:
        at = text.index(f"{line}\n") + len(line)
        for key in typed:
            text = text[: at - 1] + text[at:] if key == "<" else text[:at] + key + text[at:]
            at += -1 if key == "<" else 1
            yield text
            made += 1
            if made == count:
                return
    raise ValueError(f"there are only {made} keys")

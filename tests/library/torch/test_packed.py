"""Packed sequences."""

from __future__ import annotations

from tests.cases import check_agreement, each

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "a state that is carried over through packed sequences": """
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
embed, rnn = nn.Linear(3, 4), nn.LSTM(4, 4, batch_first=True)
for cut in (True, False):
    state = None
    for _ in range(2):
        packed = pack_padded_sequence(embed(torch.rand(2, 5, 3)), torch.tensor([5, 3]), batch_first=True)
        out, state = rnn(packed, state)
        if cut:
            state = [part.detach() for part in state]
        padded, lengths = pad_packed_sequence(out, batch_first=True)
        padded.sum().backward()  # raises
""",
}


@each(PROGRAMS)
def test_model_and_pytorch_agree(program: str) -> None:
    check_agreement(program)

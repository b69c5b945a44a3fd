"""Options of a forward with which nothing is trained."""

from __future__ import annotations

import pytest

from tests.open_programs import HEAD, told

GENERATING = """
class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(4, 4)
        self.out = nn.Linear(4, 4)

    def forward(self, x, OPTION=None):
        if OPTION is not None:
            state = OPTION.get(self)
            if OPTION.offset > 0:
                return self.step(x, state)
        return self.out(self.proj(x))

    def step(self, x, state):
        state.copy_(state * torch.exp(self.proj(x)) + x)
        return self.out(state)
"""


@pytest.mark.parametrize(
    ("option", "codes"), [("inference_params", []), ("state_cache", []), ("memory", ["GL201"])]
)
def test_what_only_inference_gives_is_given_to_no_forward_that_trains(option: str, codes: list[str]) -> None:
    assert [each.code for each in told(HEAD + GENERATING.replace("OPTION", option))] == codes

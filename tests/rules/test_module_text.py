"""What the text of a module's class says, and what it does not say."""

from __future__ import annotations

import pytest

from gradcheck_tool.analysis.program import check_source
from tests.running import RULES

HEAD = """
import torch
from torch import nn
"""

QUIET = {
    "another class of the file reads the parameter": """
class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = nn.Parameter(torch.ones(1))

    def forward(self, x):
        return x * 2

class Twice(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, x):
        return x * self.scale.factor
""",
    "the base class may read the parameter": """
class Scale(nn.Linear):
    def __init__(self):
        super().__init__(3, 3)
        self.bias = nn.Parameter(torch.ones(3))

    def forward(self, x):
        return super().forward(x)
""",
    "the parameter is read by its name as a text": """
class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = nn.Parameter(torch.ones(1))

    def forward(self, x):
        return x * getattr(self, "factor")
""",
    "the parameter is not to be trained": """
class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = nn.Parameter(torch.ones(1), requires_grad=False)

    def forward(self, x):
        return x * 2
""",
    "the parameter stands in for others": """
class MockModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.Parameter(torch.ones(1))

    def forward(self, x):
        return torch.ones_like(x)
""",
    "the hook of a forward is removed": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        handle = self.layer.register_forward_hook(print)
        y = self.layer(x)
        handle.remove()
        return y
""",
    "a hook is registered in the first call only": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.has_hook = False

    def forward(self, x):
        if not self.has_hook:
            self.layer.register_forward_hook(print)
            self.has_hook = True
        return self.layer(x)
""",
    "each result has a hook of its own": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        y = self.layer(x)
        y.register_hook(print)
        return y
""",
}


@pytest.mark.parametrize("name", QUIET)
def test_what_is_right_is_quiet(name: str) -> None:
    assert check_source(HEAD + QUIET[name], "program.py", RULES) == []

"""Built-in functions, `dataclasses` and `pickle`: what they give back keeps its graph."""

from __future__ import annotations

from tests.cases import check_agreement, each

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "a generator decides as far as it is asked": """
import torch
w = torch.ones(3, requires_grad=True)
y = w * w
def positive(numbers):
    for number in numbers:
        if number is None:
            raise ValueError("no number")
        yield number > 0
if any(isinstance(each, list) for each in (w, y)) or not all(torch.is_tensor(each) for each in [w, y]):
    y.sum().backward()
if any(positive([1, None])) and all(number for number in []):
    y.sum().backward()
y.sum().backward()  # raises
""",
    "fields and variables that are read by name, replaced and stored": """
import dataclasses, pickle
import torch
from torch.utils.data import DataLoader, Dataset
w = torch.ones(3, requires_grad=True)
globals()["w"].sum().backward()
pickle.loads(pickle.dumps(w)).sum().backward()
@dataclasses.dataclass(frozen=True)
class State:
    hidden: torch.Tensor
    age: int = 0
state = State(torch.zeros(3))
vars(State(w))["hidden"].sum().backward()
dataclasses.replace(state, hidden=w * 2).hidden.sum().backward()
class Scaled(Dataset):
    def __len__(self):
        return 2
    def __getitem__(self, index):
        return w * index
for batch in DataLoader(Scaled(), batch_size=2):
    batch.sum().backward()
""",
    "a state that is replaced field by field carries its graph": """
import dataclasses
import torch
w = torch.ones(3, requires_grad=True)
@dataclasses.dataclass
class State:
    hidden: torch.Tensor
    age: int = 0
state = State(torch.zeros(3))
for segment in range(2):
    state = dataclasses.replace(state, hidden=state.hidden + w * w)
    state.hidden.sum().backward()  # raises
""",
    "a state that is replaced by fields of which the names are not known": """
import dataclasses
import torch
w = torch.ones(3, requires_grad=True)
@dataclasses.dataclass
class State:
    hidden: torch.Tensor
state = State(torch.zeros(3))
for segment in range(2):
    state = dataclasses.replace(state, hidden=state.hidden + w * w)
    state.hidden.sum().backward()
    kept = {field.name: getattr(state, field.name).detach() for field in dataclasses.fields(state)}
    state = dataclasses.replace(state, **kept)
""",
}


@each(PROGRAMS)
def test_model_and_pytorch_agree(program: str) -> None:
    check_agreement(program)

"""Parameters that a module keeps in a dictionary, beside what is to be kept there."""

from __future__ import annotations

from tests.cases import HEAD, Mistake, check_correction, check_mistake, each

MISTAKES = {
    "parameters beside numbers in a dictionary of settings": Mistake(
        HEAD
        + """
class Scaled(nn.Module):
    def __init__(self, rates, trained=("step",)):
        super().__init__()
        self.layer, self.settings = nn.Linear(2, 2), {"rounds": 3, **rates}  # <- GL312 ModuleAttribute
        for name in trained:
            self.settings[name] = nn.Parameter(torch.tensor(1.0))

    def forward(self, x):
        return self.layer(x) * self.settings["step"]

net = Scaled({"decay": 0.5})
symptom = len(list(net.parameters())) == 2
""",
        """            self.settings[name] = nn.Parameter(torch.tensor(1.0))
""",
        """            setattr(self, name, nn.Parameter(torch.tensor(1.0)))
            self.settings[name] = getattr(self, name)
""",
    ),
    "parameters in a list of Parameters that a plain dictionary holds": Mistake(
        HEAD
        + """
class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.settings = {"rounds": 3}  # <- GL311 ModuleAttribute
        self.settings["steps"] = nn.ParameterList([nn.Parameter(torch.tensor(1.0)) for _ in range(3)])

    def forward(self, x):
        for step in self.settings["steps"]:
            x = self.layer(x) * step
        return x

net = Scaled()
symptom = len(list(net.parameters())) == 2
""",
        "nn.ParameterList([nn.Parameter(torch.tensor(1.0)) for _ in range(3)])",
        "self.steps = nn.ParameterList([nn.Parameter(torch.tensor(1.0)) for _ in range(3)])",
    ),
}


@each(MISTAKES)
def test_a_silent_mistake_is_reported(program: Mistake) -> None:
    check_mistake(program)


@each(MISTAKES)
def test_its_correction_is_not_reported(program: Mistake) -> None:
    check_correction(program)

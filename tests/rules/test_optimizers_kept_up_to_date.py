"""Optimizers whose lists the program changes itself, as the network that they train grows."""

from __future__ import annotations

from tests.cases import HEAD, check_right, each

RIGHT = {
    "new parameters take the places of old ones": HEAD
    + """

class Grow(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Linear(4, 4)
        self.classifier = nn.Linear(4, 1)

    def adapt(self, classes):
        old = self.classifier.out_features
        new = max(old, max(classes) + 1)
        if old == new:
            return
        w, b = self.classifier.weight, self.classifier.bias
        self.classifier = nn.Linear(4, new)
        with torch.no_grad():
            self.classifier.weight[:old] = w
            self.classifier.bias[:old] = b

    def forward(self, x):
        return self.classifier(self.features(x))


def update(optimizer, new, old):
    changed, added = [], []
    for n, p in new.items():
        found = False
        search = id(old[n]) if n in old else id(p)
        for gi, group in enumerate(optimizer.param_groups):
            for pi, po in enumerate(group["params"]):
                if id(po) == search:
                    found = True
                    if search != id(p):
                        changed.append((n, gi, pi))
                    break
            if found:
                break
        if not found:
            added.append(n)
    for name, gi, pi in changed:
        group = optimizer.param_groups[gi]
        group["params"][pi] = new[name]
        optimizer.state.pop(old[name], None)
    for name in added:
        optimizer.param_groups[0]["params"].append(new[name])
    return new


class Dynamic:
    def __init__(self, optim, model):
        self.optim = optim
        self.known = update(optim, dict(model.named_parameters()), {})

    def zero_grad(self):
        self.optim.zero_grad()

    def step(self):
        self.optim.step()

    def adapt(self, model):
        self.known = update(self.optim, dict(model.named_parameters()), self.known)


model = Grow()
opt = Dynamic(torch.optim.SGD(model.parameters(), lr=0.1), model)
for classes in ([0, 1], [1, 2], [3, 4]):
    model.adapt(classes)
    opt.adapt(model)
    for _ in range(3):
        x, y = torch.randn(8, 4), torch.randint(0, 2, (8,))
        opt.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        opt.step()
""",
    "a function fills the list anew": HEAD
    + """

def reset_optimizer(optimizer, model):
    optimizer.state.clear()
    optimizer.param_groups[0]["params"] = list(model.parameters())


model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for task in range(3):
    if task:
        model[1] = nn.Linear(4, 2 + task)
        reset_optimizer(opt, model)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).sum().backward()
        opt.step()
""",
}


@each(RIGHT)
def test_what_they_are_given_is_trained(program: str) -> None:
    check_right(program)

"""Histories of views: who reads them, and when a write makes them wrong."""

from __future__ import annotations

from tests.cases import check_raises, check_runs, each

# Programs that raise.
RAISING = {
    "a write in one of two branches matters to a view": """
p, q, r = w
if flag:
    nn.init.constant_(w, 0.3)
p * 2.0
""",
    "a view made under no_grad borrows requires_grad and has no history": """
with torch.no_grad():
    v = s.view(1)
v.backward()
""",
    "a view made in inference mode forbids writes to its base": """
with torch.inference_mode():
    v = w.view(3)
with torch.no_grad():
    w.add_(1.0)
v.exp()
""",
    "a write under no_grad through a view made there counts": """
with torch.no_grad():
    v = w.unsqueeze(0)[0]
    v.zero_()
v.diag()
""",
    "backward asks a view made under no_grad for its history in any mode": """
h = w.clone()
with torch.no_grad():
    v = h[:2]
h.mul_(2.0)
with torch.no_grad():
    v.backward(torch.ones(2))
""",
}

# Programs that run.
RUNNING = {
    "operations under no_grad ask a view made there for none": """
h = w.clone()
with torch.no_grad():
    v = h[:2]
h.mul_(2.0)
with torch.no_grad():
    v.sum()
""",
    "a view that only borrows requires_grad receives no gradient": """
with torch.no_grad():
    v = w.view(3)
h = v
for step in range(2):
    h = h * 0.9 + w
    loss = h.exp().mean()
    loss.backward()
""",
}


@each(RAISING)
def test_what_raises_is_predicted(program: str) -> None:
    check_raises(program)


@each(RUNNING)
def test_nothing_is_predicted_for_what_runs(program: str) -> None:
    check_runs(program)

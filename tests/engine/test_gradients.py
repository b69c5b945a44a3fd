"""What a backward pass adds to `.grad`, and the gradients that it gives."""

from __future__ import annotations

from tests.cases import check_raises, check_runs, each

# Programs that raise.
RAISING = {
    "adding to .grad writes to the tensor it holds": """
u = torch.rand(3, requires_grad=True)
w.sum().backward()
loss = (w.grad * u).sum()
(w * 2.0).sum().backward()
loss.backward()
""",
    "a gradient made in inference mode is added to in place": """
with torch.inference_mode():
    s.backward()
s.backward()
""",
    "the gradient of a sum is an expanded scalar": """
g = torch.autograd.grad(m.t().sum(), m)[0]
g += 1.0
""",
    "a row of an expanded gradient is expanded, too": """
g = torch.autograd.grad(m.sum(), m)[0]
g[0].add_(1.0)
""",
}

# Programs that run.
RUNNING = {
    "the mixed derivative of a product has no graph": """
slope = (w * s).sum()
for leaf in (w, s, w):
    if slope.requires_grad:
        slope = torch.autograd.grad(slope.sum(), leaf, create_graph=True)[0]
""",
    "the last derivative of a polynomial has no graph": """
slope = w**2 + s
for _ in range(4):
    if slope.grad_fn is None:
        break
    slope = torch.autograd.grad(slope.sum(), w, create_graph=True)[0]
if slope.grad_fn is not None:
    torch.autograd.grad(slope.sum(), s)
""",
    "a gradient has no graph where create_graph is a flag that is off": """
(w * w).sum().backward(create_graph=bool(os.environ.get("SET_NOWHERE")))
w.grad.numpy()
""",
    "a gradient has no graph because what it is multiplied by has one": """
w.backward(m[0])
w.grad.numpy()
""",
    "what may have no graph is saved for a gradient of a gradient": """
labels = (torch.rand(3).requires_grad_(bool(os.environ.get("SET_NOWHERE"))) - 1).abs()
for _ in range(2):
    inner = F.binary_cross_entropy_with_logits(w.sin() * s, labels)
    torch.autograd.grad(inner, s, create_graph=True)[0].pow(2).backward()
""",
    "the gradient of a cross-entropy depends on the scores": """
labels = torch.zeros(3, dtype=torch.long)
(grad,) = torch.autograd.grad(F.cross_entropy(w.diag(), labels), w, create_graph=True)
torch.autograd.grad(grad.sum(), w)
""",
    "so do those for the last bias of a network": """
net = nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.Linear(2, 2))
loss = nn.CrossEntropyLoss(torch.ones(2))(net(torch.ones(4, 3)), torch.zeros(4, dtype=torch.long))
grads = torch.autograd.grad(loss, net.parameters(), create_graph=True)
product = torch.cat([grad.reshape(-1) for grad in grads])
torch.autograd.grad(product, net.parameters(), grad_outputs=torch.ones_like(product))
""",
    "with create_graph a gradient is added out of place": """
with torch.inference_mode():
    s.backward()
s.backward(create_graph=True)
s.backward()
""",
}


@each(RAISING)
def test_what_raises_is_predicted(program: str) -> None:
    check_raises(program)


@each(RUNNING)
def test_nothing_is_predicted_for_what_runs(program: str) -> None:
    check_runs(program)

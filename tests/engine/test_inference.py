"""Inference tensors: which operations refuse them."""

from __future__ import annotations

from tests.cases import check_raises, check_runs, each
from tests.open_programs import check_quiet

# Programs that raise.
RAISING = {
    "an inference tensor is not saved for a gradient": """
with torch.inference_mode():
    scale = torch.rand(3)
(w + scale).sum().backward()
(w * scale).sum().backward()
""",
    "what inference tensors alone give has no graph": """
with torch.inference_mode():
    m.data = m.data * 0.5
m[0].sum().backward()
""",
}

# Programs that run.
RUNNING = {
    "autograd does not see a call on inference tensors alone, parameters among them": """
with torch.inference_mode():
    w.data = w.data * 0.5
torch.clamp(w, 0, 1, out=w)
""",
    "inference tensors among themselves are not saved": """
with torch.inference_mode():
    m.data = m.data * 0.5
y = m[0].gather(0, torch.tensor([0, 0, 1])) + m.sum(0)
""",
    "out= in inference mode loses no gradient": """
with torch.inference_mode():
    with torch.enable_grad():
        torch.mul(s, s, out=torch.rand(()))
""",
    "several operations on inference tensors may be seen by autograd": """
with torch.inference_mode():
    w.data = w.data * 0.5
for step in range(2):
    (F.cosine_similarity(w, w, dim=0) + w.sum()).backward()
""",
    "inference mode resizes what requires grad": """
with torch.inference_mode():
    w.resize_(w.shape)
""",
    "a tensor with the memory of an inference tensor can be written": """
c = torch.rand(3)
with torch.inference_mode():
    c.data = c.detach().clone()
F.relu(c, inplace=True)
""",
}


@each(RAISING)
def test_what_raises_is_predicted(program: str) -> None:
    check_raises(program)


@each(RUNNING)
def test_nothing_is_predicted_for_what_runs(program: str) -> None:
    check_runs(program)


def test_what_is_changed_in_inference_mode_may_have_been_made_before() -> None:
    check_quiet(
        "from library import make_layer\n"
        "layer = make_layer(4, 3)\n"
        "with torch.inference_mode():\n"
        "    layer.weight.copy_(nn.Linear(4, 3).weight)\n"
        "F.linear(torch.randn(2, 4, requires_grad=True), layer.weight).sum().backward()\n"
    )

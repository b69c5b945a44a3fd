"""Values that operations take for tensors."""

from __future__ import annotations

from tests.cases import Fact, check_known, each
from tests.open_programs import HEAD, Open, check_open, told

FACTS = {
    "a number beside a tensor": Fact("x = torch.add(w, 1)", "x.requires_grad and x.shape == (2,)"),
    "a list of tensors": Fact("x = torch.stack([w, w])", "x.shape == (2, 2) and x.requires_grad"),
    "tensors in a tuple, one of them with a history": Fact(
        "x = torch.cat((torch.ones(1), w))", "x.shape == (3,) and x.requires_grad"
    ),
    "a sum of a list": Fact("x = sum([w, w])", "x.requires_grad"),
}


@each(FACTS)
def test_the_model_knows_what_python_computes(program: Fact) -> None:
    check_known(program)


STYLIZED = Open(
    HEAD
    + """
def stylize(content, network, steps):
    image = content.clone().requires_grad_(True)
    optimizer = torch.optim.Adam([image], lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.mse_loss(network(image), content)
        loss.backward()  # <- GL102
        optimizer.step()
        image = image.clamp(0, 1)
    return image
""",
    "image = image.clamp(0, 1)",
    "image.data.clamp_(0, 1)",
    "stylize(torch.rand(3), nn.Sequential(nn.Linear(3, 3), nn.Tanh()), 3)",
)


def test_what_is_cloned_and_asked_for_a_gradient_is_a_tensor() -> None:
    check_open(STYLIZED)
    apart = STYLIZED.wrong.replace(".requires_grad_(True)", "\n    image.requires_grad_()")
    assert [finding.code for finding in told(apart)] == ["GL102"]


def test_a_gradient_with_respect_to_a_clone_goes_no_further() -> None:
    attack = """
def attack(x, y, model, steps):
    image = x.clone().requires_grad_(True)
    for _ in range(steps):
        loss = F.cross_entropy(model(image), y)
        (grad,) = torch.autograd.grad(loss, image)
        image = (image + 0.1 * grad.sign()).clamp(0, 1)
    return image.detach()
"""
    assert told(HEAD + attack) == []

"""GL403: gradients are clipped that the next step does not apply, and that are cleared then."""

from __future__ import annotations

from tests.cases import each
from tests.open_programs import HEAD, check_quiet, told

MADE = (
    HEAD
    + """
model, critic = nn.Linear(2, 1), nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
"""
)
LOOP = """
for i in range(5):
    optimizer.zero_grad()
    critic.zero_grad()
    critic(model(torch.ones(4, 2))).sum().backward()
    {clip}
    optimizer.step()
"""
CLIP = "nn.utils.clip_grad_norm_(critic.parameters(), 1.0)"
OF_CRITIC = "of_critic = torch.optim.SGD(critic.parameters(), lr=1.0)\n"

QUIET = {
    "the parameters of the optimizer are among those that are clipped": MADE
    + LOOP.format(clip="nn.utils.clip_grad_norm_([*model.parameters(), *critic.parameters()], 1.0)"),
    "another optimizer applies them": MADE + OF_CRITIC + LOOP.format(clip=CLIP) + "    of_critic.step()\n",
    "another optimizer applies them now and then": MADE
    + OF_CRITIC
    + LOOP.format(clip=CLIP)
    + "    if critic.weight.sum() > 0:\n        of_critic.step()\n",
    "they are applied by hand": MADE
    + LOOP.format(clip=CLIP)
    + "    with torch.no_grad():\n        critic.weight -= 0.1 * critic.weight.grad\n",
    "they are shown": MADE + LOOP.format(clip=CLIP) + "    print(critic.weight.grad)\n",
    "their norm alone is asked for": MADE
    + LOOP.format(clip="nn.utils.clip_grad_norm_(critic.parameters(), float('inf'))"),
    "who holds them is not in sight": HEAD
    + "from elsewhere import make_optimizer\n\nmodel, critic = nn.Linear(2, 1), nn.Linear(1, 1)\n"
    + "optimizer = make_optimizer(model, critic)\n"
    + LOOP.format(clip=CLIP),
    "who calls may apply them": HEAD
    + """
class Trainer:
    def __init__(self):
        self.model, self.critic = nn.Linear(2, 1), nn.Linear(1, 1)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1.0)
        self.of_critic = torch.optim.SGD(self.critic.parameters(), lr=1.0)

    def update(self, batch):
        self.optimizer.zero_grad()
        self.of_critic.zero_grad()
        self.critic(self.model(batch)).sum().backward()
        nn.utils.clip_grad_norm_(self.critic.parameters(), 1.0)
        self.optimizer.step()

    def finish(self):
        self.of_critic.step()
""",
}

GENERATION = (
    HEAD
    + """
class Generation:
    def __init__(self, net, images):
        self.net = net
        self.net.eval()
        self.image = images.clone().requires_grad_()

    def run(self):
        optimizer = torch.optim.SGD([self.image], lr=6.0)
        for _ in range(3):
            optimizer.zero_grad()
            self.net.zero_grad()
            self.net(self.image).sum().backward()
            nn.utils.clip_grad_norm_(self.net.parameters(), 0.1)
            optimizer.step()
        return self.image.detach()
"""
)


def test_what_is_clipped_and_cleared_is_reported() -> None:
    (finding,) = told(MADE + LOOP.format(clip=CLIP))
    assert finding.code == "GL403"
    assert "`optimizer` does not have these parameters" in finding.message


CALLED_AGAIN = (
    HEAD
    + """
class Trainer:
    def __init__(self):
        self.model, self.critic = nn.Linear(2, 1), nn.Linear(1, 1)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1.0)

    def update(self, batch):
        self.optimizer.zero_grad()
        self.critic.zero_grad()
        self.critic(self.model(batch)).sum().backward()
        nn.utils.clip_grad_norm_(self.critic.parameters(), 1.0)
        self.optimizer.step()
"""
)


def test_a_method_clears_what_its_last_call_has_clipped() -> None:
    assert [finding.code for finding in told(CALLED_AGAIN)] == ["GL403"]


def test_an_image_is_trained_and_its_network_clipped() -> None:
    assert [finding.code for finding in told(GENERATION)] == ["GL403"]
    assert told(GENERATION.replace("self.net.parameters()", "[self.image]")) == []


@each(QUIET)
def test_nothing_is_reported_where_clipped_gradients_may_be_used(program: str) -> None:
    check_quiet(program)

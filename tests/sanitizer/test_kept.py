"""Graphs that outlive their backward, and the names that keep them."""

import pytest

from tests.sanitizer.programs import check_left_alone, check_told, watched

LOOP = """
class Meter:
    def __init__(self):
        self.total, self.history = torch.zeros(()), []
    def update(self, value):
        {put}
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)
        self.register_buffer("mean", torch.zeros(()))
    def forward(self, x):
        y = self.layer(x)
        {absorb}
        return y
def train():
    net, meter, total = Net(), Meter(), 0.0
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(7):
        optimizer.zero_grad()
        loss = net(torch.ones(4, 2)).square().mean()
        loss.backward()
        optimizer.step()
        meter.update(loss)
        {more}
train()
"""


def loop(put="pass", absorb="pass", more="pass"):
    return LOOP.format(put=put, absorb=absorb, more=more)


# The program, its code, the rows of the story, and the program made right.
PROGRAMS = {
    "list": (
        loop(put="self.history.append(value)"),
        "GL602",
        [21, 6],
        loop(put="self.history.append(value.item())"),
    ),
    "attribute": (
        loop(put="self.total = self.total + value"),
        "GL603",
        [6],
        loop(put="self.total = self.total + value.detach()"),
    ),
    "buffer": (
        loop(absorb="self.mean = torch.lerp(self.mean, y.mean(), 0.1)"),
        "GL604",
        [14],
        loop(absorb="self.mean = torch.lerp(self.mean, y.mean().detach(), 0.1)"),
    ),
    "variable": (loop(more="total += loss"), "GL601", [25], loop(more="total += loss.item()")),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_who_keeps_them_is_told(name):
    text, code, rows, _ = PROGRAMS[name]
    check_told(text, code, rows)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_right_program_is_left_alone(name):
    check_left_alone(PROGRAMS[name][3])


def test_a_clearing_that_never_runs_is_told():
    check_told(
        """
        model = torch.nn.Linear(2, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        steps = 0
        for _ in range(4):
            model(torch.ones(4, 2)).sum().backward()
            optimizer.step()
            if steps == 2:
                optimizer.zero_grad()
        """,
        "GL401",
        [7, 6, 7, 9],
    )


def test_what_is_made_for_a_loop_of_passes_goes_after_it():
    check_left_alone(
        """
        def train():
            policy = torch.nn.Linear(2, 2)
            optimizer = torch.optim.SGD(policy.parameters(), lr=0.1)
            for _ in range(3):
                episode = [policy(torch.randn(2)).softmax(0)[0] for _ in range(6)]
                optimizer.zero_grad()
                for probability in episode:
                    (-probability.log()).backward()
                optimizer.step()
        train()
        """
    )


QUEUE = """
import collections
def train():
    layer = torch.nn.Linear(2, 4)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    kept = {container}
    for i in range(20):
        optimizer.zero_grad()
        y = layer(torch.ones(8, 2)).tanh()
        y.sum().backward()
        optimizer.step()
        kept{put}
train()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("container", "put"),
    [("[]", ".append((i, y))"), ("{}", "[i] = y"), ("collections.deque()", ".append({'y': [y]})")],
)
def test_containers_of_containers_keep_graphs_too(container, put):
    told, _ = watched(QUEUE.format(container=container, put=put))
    assert [(one.code, one.location.start.row) for one in told] == [("GL602", 13)]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_queue_of_the_last_results_does_not_grow():
    check_left_alone(QUEUE.format(container="collections.deque(maxlen=5)", put=".append(y)"))
    assert watched(QUEUE.format(container="collections.deque(maxlen=19)", put=".append(y)"))[0]


def test_what_grows_with_each_step_is_counted():
    told, _ = watched(QUEUE.format(container="[]", put=".append(y)"))
    # TanhBackward0, AddmmBackward0 and TBackward0; 8 times 4 numbers.
    assert dict(told[0].evidence).items() >= {"nodes_a_step": 3, "bytes_a_step": 128}.items()
    assert "by 3 nodes and 128 bytes of tensors" in told[0].message


@pytest.mark.slow
def test_what_a_graph_that_no_backward_frees_has_saved_counts():
    told, _ = watched(QUEUE.format(container="[]", put=".append((y, y.sum() * y.exp()))"))
    # y, its sum and its exponential, which is saved, and the product.
    assert told[0].evidence["bytes_a_step"] == 3 * 128 + 4

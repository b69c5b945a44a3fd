"""Parameters that the loss does not reach: each program shows one way, and its right twin none."""

import pytest

from tests.sanitizer.programs import check_left_alone, check_told

# The program, its code, the rows of the story, and the program made right.
PROGRAMS = {
    "constant through NumPy": (
        """
        def rounded(y):
            return torch.from_numpy(y.detach().numpy().round(1))
        w = torch.rand(3, requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            y = w.sin()
            loss = y.sum() + rounded(y).mean()
            loss.backward()
            optimizer.step()
        """,
        "GL515",
        [3, 9],
        """
        import numpy as np
        def weights():
            return torch.from_numpy(np.random.rand(3))
        w = torch.rand(3, requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            y = w.sin()
            print(y.detach().numpy().sum(), end="")
            loss = (y * weights()).sum()
            loss.backward()
            optimizer.step()
        """,
    ),
    "inner update through .data": (
        """
        w = torch.nn.Parameter(torch.rand(3))
        optimizer = torch.optim.SGD([w], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            inner, = torch.autograd.grad(w.sin().sum(), [w], create_graph=True)
            (w.data - 0.1 * inner.data).requires_grad_().square().sum().backward()
            optimizer.step()
        """,
        "GL504",
        [3, 7, 8],
        """
        w = torch.nn.Parameter(torch.rand(3))
        optimizer = torch.optim.SGD([w], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            inner, = torch.autograd.grad(w.sin().sum(), [w], create_graph=True)
            (w - 0.1 * inner).square().sum().backward()
            optimizer.step()
        """,
    ),
    "optimizer of another model": (
        """
        model = torch.nn.Linear(2, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        model = torch.nn.Linear(2, 1)
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.randn(4, 2)).sum().backward()
            optimizer.step()
        """,
        "GL504",
        [3, 7, 8],
        """
        import copy
        model = copy.deepcopy(torch.nn.Linear(2, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.randn(4, 2)).sum().backward()
            optimizer.step()
        """,
    ),
    "all that is trained does not require grad": (
        """
        model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 1))
        optimizer = torch.optim.Adam(model[2].parameters())
        for name, parameter in model.named_parameters():
            parameter.requires_grad = name.startswith("1")
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.randn(4, 2)).sum().backward()
            optimizer.step()
        """,
        "GL504",
        [3, 8, 9],
        """
        model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 1))
        resting, other = (torch.optim.Adam(model[index].parameters()) for index in (2, 1))
        for name, parameter in model.named_parameters():
            parameter.requires_grad = name.startswith("1")
        for _ in range(3):
            model.zero_grad()
            model(torch.randn(4, 2)).sum().backward()
            resting.step()
            other.step()
        """,
    ),
    "evaluated without a graph": (
        """
        def train():
            encoder, head = torch.nn.GRUCell(2, 2), torch.nn.Linear(2, 1)
            optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
            for _ in range(3):
                optimizer.zero_grad()
                with torch.no_grad():
                    h = encoder(torch.randn(4, 2))
                head(h).square().mean().backward()
                optimizer.step()
        train()
        """,
        "GL504",
        [4, 7, 8, 10],
        """
        def train():
            unused, head = torch.nn.GRUCell(2, 2), torch.nn.Linear(2, 1)
            optimizer = torch.optim.SGD([*unused.parameters(), *head.parameters()], lr=0.1)
            for _ in range(3):
                optimizer.zero_grad()
                head(torch.randn(4, 2)).square().mean().backward()
                optimizer.step()
        train()
        """,
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_mistake_is_told(name):
    text, code, rows, _ = PROGRAMS[name]
    check_told(text, code, rows)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_right_program_is_left_alone(name):
    check_left_alone(PROGRAMS[name][3])


def test_sequences_are_cut_off_for_a_reason():
    check_left_alone(
        """
        def train():
            encoder, cell, head = torch.nn.Linear(2, 2), torch.nn.GRUCell(2, 2), torch.nn.Linear(2, 1)
            parameters = [*encoder.parameters(), *cell.parameters(), *head.parameters()]
            optimizer = torch.optim.SGD(parameters, lr=0.1)
            for _ in range(2):
                h = encoder(torch.randn(4, 2))
                for _ in range(3):
                    optimizer.zero_grad()
                    h = cell(torch.randn(4, 2), h.detach())
                    head(h).square().mean().backward()
                    optimizer.step()
        train()
        """
    )


def test_what_several_passes_use_is_cut_off_for_a_reason():
    check_left_alone(
        """
        def train():
            encoder, head = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
            optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
            for _ in range(2):
                with torch.no_grad():
                    context = encoder(torch.randn(4, 2))
                for _ in range(2):
                    optimizer.zero_grad()
                    head(context).square().mean().backward()
                    optimizer.step()
        train()
        """
    )


def test_what_another_optimizer_trains_is_not_cut_off():
    check_left_alone(
        """
        def train():
            body, real, kind = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1), torch.nn.Linear(2, 3)
            parameters = [*body.parameters(), *real.parameters(), *kind.parameters()]
            one, other = (torch.optim.Adam(parameters) for _ in range(2))
            for _ in range(3):
                one.zero_grad()
                is_real = real(body(torch.randn(4, 2))).square().mean()
                is_real.backward()
                one.step()
                other.zero_grad()
                of_kind = kind(body(torch.randn(4, 2))).square().mean()
                of_kind.backward()
                other.step()
                print(is_real.item(), of_kind.item(), end="")
        train()
        """
    )

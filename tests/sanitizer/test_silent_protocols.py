"""Mistakes that raise nothing, of scalers and of what is written without PyTorch: each program and its right twin."""

import pytest

from tests.sanitizer.programs import check_left_alone, check_told


def scaled(before, applied):
    return f"""
        w = torch.ones(2, requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=1e-3)
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
        for _ in range(3):
            optimizer.zero_grad()
            loss = w.square().sum() + w.sum()
            (scaler.scale(loss) / 2).backward()
            {before}
            {applied}
            scaler.update() if scaler._per_optimizer_states else None
        """


# The program, its code, the rows of the story, and the program made right.
PROGRAMS = {
    "a derivative that is infinite": (
        """
        w = torch.nn.Parameter(torch.tensor([0.0, 4.0]))
        optimizer = torch.optim.SGD([w], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            root = torch.where(w > 0, w.sqrt(), 0.0)
            root.sum().backward()
            optimizer.step()
        """,
        "GL521",
        [6, 7, 8],
        """
        w = torch.nn.Parameter(torch.tensor([0.0, 4.0]))
        optimizer = torch.optim.SGD([w], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            (w.norm() + torch.where(w > 0, torch.where(w > 0, w, 1.0).sqrt(), 0.0).sum()).backward()
            optimizer.step()
            optimizer.zero_grad()
            torch.where(w > 0, w.sqrt(), 0.0).sum().backward()
            if w.grad.isfinite().all():
                optimizer.step()
        """,
    ),
    "a result that is infinite": (
        """
        net = torch.nn.Sequential(torch.nn.Linear(2, 2, bias=False))
        torch.nn.init.constant_(net[0].weight, 1.0)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for i in range(3):
            optimizer.zero_grad()
            out = net(torch.full((1, 2), float(i != 1)))
            loss = (2 * out.log()).square().mean()
            loss.backward()
            optimizer.step()
        """,
        "GL521",
        [8, 9, 10],
        """
        w = torch.nn.Parameter(torch.tensor([0.5, 4.0]))
        optimizer = torch.optim.SGD([w], lr=0.1)
        scaler = torch.amp.GradScaler("cpu")
        for i in range(3):
            optimizer.zero_grad()
            scaler.scale((w.log() * (float("inf") if i == 1 else 1.0)).sum()).backward()
            scaler.step(optimizer)
            scaler.update()
        """,
    ),
    "other memory": (
        """
        w = torch.ones(3, requires_grad=True)
        loss = (w * w).sum()
        torch.nn.utils.vector_to_parameters(torch.full((3,), 2.0), [w])
        loss.backward()
        """,
        "GL205",
        [3, 4, 5],
        """
        w = torch.ones(3, requires_grad=True)
        loss = (w * w).sum()
        w.data = w.data.clone()
        loss.backward()
        w.data = torch.full((3,), 2.0)
        (w * w).sum().backward()
        """,
    ),
    "a list of numbers": (
        """
        first, last = torch.nn.Linear(2, 3), torch.nn.Linear(3, 1)
        optimizer = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            hidden = first(torch.rand(5, 2))
            numbers = hidden.tolist()
            last(torch.tensor(numbers)).sum().backward()
            optimizer.step()
        """,
        "GL503",
        [3, 7, 9],
        """
        first, last = torch.nn.Linear(2, 3), torch.nn.Linear(3, 1)
        optimizer = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            hidden = first(torch.rand(5, 2))
            numbers = hidden.tolist()
            last(hidden).sum().backward()
            optimizer.step()
        """,
    ),
    "added with the scale to what is unscaled": (
        scaled("scaler.unscale_(optimizer); scaler.scale(w.sum()).backward()", "scaler.step(optimizer)"),
        "GL412",
        [9, 10],
        scaled("scaler.scale(w.sum()).backward(); scaler.unscale_(optimizer)", "scaler.step(optimizer)"),
    ),
    "decay of what a mask keeps": (
        """
        words = torch.nn.Embedding(4, 2)
        optimizer = torch.optim.AdamW(words.parameters(), lr=0.1)
        for i in range(4):
            optimizer.zero_grad()
            words(torch.tensor([0, 3])).square().sum().backward()
            words.weight.grad[:3] = 0
            optimizer.step()
        """,
        "GL415",
        [3, 7, 8],
        """
        words = torch.nn.Embedding(4, 2)
        start = words.weight.detach().clone()
        optimizer = torch.optim.AdamW(words.parameters(), lr=0.1)
        for i in range(4):
            optimizer.zero_grad()
            words(torch.tensor([0, 3])).square().sum().backward()
            words.weight.grad *= (torch.arange(4) > 2)[:, None]
            optimizer.step()
            with torch.no_grad():
                words.weight[:3] = start[:3]
        """,
    ),
    "decay of what a mask of ones and zeros keeps": (
        """
        words = torch.nn.Embedding(4, 2)
        optimizer = torch.optim.SGD(words.parameters(), lr=0.1, weight_decay=0.1)
        for i in range(4):
            optimizer.zero_grad()
            words(torch.tensor([0, 3])).square().sum().backward()
            words.weight.grad *= (torch.arange(4) > 2)[:, None]
            optimizer.step()
        """,
        "GL415",
        [3, 7, 8],
        """
        words = torch.nn.Embedding(4, 2)
        optimizer = torch.optim.SGD(words.parameters(), lr=0.1)
        pruned = torch.nn.Linear(2, 2)
        decayed = torch.optim.SGD(pruned.parameters(), lr=0.1, weight_decay=0.1)
        with torch.no_grad():
            pruned.weight[0] = 0
        for i in range(4):
            optimizer.zero_grad(set_to_none=False)
            decayed.zero_grad(set_to_none=False)
            pruned(words(torch.tensor([0, 3]))).square().sum().backward()
            words.weight.grad[:3] = 0
            pruned.weight.grad[0] = 0
            pruned.weight.grad *= 0.5
            optimizer.step()
            decayed.step()
        """,
    ),
    "inner update": (
        """
        w = torch.nn.Parameter(torch.rand(3))
        optimizer = torch.optim.SGD([w], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            (slope,) = torch.autograd.grad(w.exp().sum(), w, create_graph=True)
            adapted = w.data - 0.1 * slope
            adapted.square().sum().backward()
            optimizer.step()
        """,
        "GL818",
        [6, 7],
        """
        w = torch.nn.Parameter(torch.rand(3))
        optimizer = torch.optim.SGD([w], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            (slope,) = torch.autograd.grad(w.exp().sum(), w, create_graph=True)
            (w - 0.1 * slope).square().sum().backward()
            optimizer.step()
            (slope,) = torch.autograd.grad(w.exp().sum(), w, create_graph=True)
            w.data = w.data - 0.1 * slope
        """,
    ),
    "step before backward": (
        """
        model = torch.nn.Linear(2, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            loss = model(torch.ones(4, 2)).sum()
            optimizer.step()
            loss.backward()
            optimizer.zero_grad()
        """,
        "GL404",
        [7, 8, 6],
        """
        model = torch.nn.Linear(2, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            loss = model(torch.ones(4, 2)).sum()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        """,
    ),
    "cleared to zero after backward": (
        """
        model = torch.nn.Linear(2, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            model(torch.ones(4, 2)).sum().backward()
            model.zero_grad(set_to_none=False)
            optimizer.step()
        """,
        "GL404",
        [5, 6, 7],
        """
        model, other = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        of_other = torch.optim.SGD(other.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            of_other.zero_grad()
            (model(torch.ones(4, 2)).sum() + other(torch.ones(4, 2)).sum()).backward()
            optimizer.step()
            of_other.step()
            for p in model.parameters():
                p.grad = torch.ones_like(p)
            optimizer.step()
        """,
    ),
    "scaled gradients clipped": (
        scaled("torch.nn.utils.clip_grad_norm_([w], 1.0)", "scaler.step(optimizer)"),
        "GL411",
        [8, 9],
        scaled(
            "torch.nn.utils.clip_grad_norm_([w], float('inf')); scaler.unscale_(optimizer); "
            "torch.nn.utils.clip_grad_norm_([w], 1.0)",
            "scaler.step(optimizer)",
        ),
    ),
    "scaled gradients applied": (
        scaled("pass", "optimizer.step()"),
        "GL412",
        [8, 10],
        scaled("scaler.unscale_(optimizer)", "optimizer.step()"),
    ),
    "behind it by NumPy": (
        """
        w = torch.rand(3, requires_grad=True)
        buffer = np.ones(3, dtype="float32")
        rows = torch.from_numpy(buffer)
        loss = (w * rows).sum()
        buffer[:] = 7
        loss.backward()
        """,
        "GL205",
        [4, 5, 7],
        """
        w = torch.rand(3, requires_grad=True)
        buffer = np.ones(3, dtype="float32")
        rows = torch.from_numpy(buffer)
        loss = (w * rows).sum() + (w * torch.from_numpy(buffer.copy())).sum()
        (w * rows).detach().numpy()[:] = 3
        states = np.zeros((3, 3), dtype="float32")
        for i in range(2):
            loss = loss + (w * torch.from_numpy(states)[i]).sum()
            states[i + 1] = loss.item()
        loss.backward()
        buffer[:] = 7
        """,
    ),
    "behind it by an array of a result": (
        """
        w = torch.rand(3, requires_grad=True)
        y = w.exp()
        values = y.detach().numpy()
        values *= 2
        y.sum().backward()
        """,
        "GL205",
        [4, 3, 6],
        """
        w = torch.rand(3, requires_grad=True)
        y = w.exp()
        values = y.detach().numpy().copy()
        values *= 2
        y.sum().backward()
        """,
    ),
    "a reentrant checkpoint whose inputs require nothing": (
        """
        import warnings
        from torch.utils.checkpoint import checkpoint
        warnings.simplefilter("always")
        layer, x = torch.nn.Linear(2, 2), torch.ones(2)
        checkpoint(layer, x, use_reentrant=True)
        """,
        "GL808",
        [6],
        """
        import warnings
        from torch.utils.checkpoint import checkpoint
        warnings.simplefilter("always")
        layer, x = torch.nn.Linear(2, 2), torch.ones(2)
        with torch.no_grad():
            checkpoint(layer, x, use_reentrant=True)
        with torch.inference_mode():
            checkpoint(layer, x, use_reentrant=True)
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

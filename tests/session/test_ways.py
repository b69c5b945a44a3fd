"""A finding is reported at the file where the mistake stands, once, whichever files led there."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcheck_tool.config import Overrides
from gradcheck_tool.session import repository
from gradcheck_tool.session.session import Options, Session
from gradcheck_tool.sources.baseline import write_baseline
from gradcheck_tool.sources.lines import SourceLines

LIBRARY = """import torch


def fit(net, optimizer, data):
    for x in data:
        loss = net(x).pow(2).mean()
        loss.backward()
        optimizer.step()
"""
SCRIPT = """import torch
from library import fit

net = torch.nn.Linear(2, 2)
fit(net, torch.optim.SGD(net.parameters(), lr=0.1), [torch.ones(1, 2)] * 3)
"""
CLEARED = LIBRARY.replace(
    "        loss.backward()\n", "        optimizer.zero_grad()\n        loss.backward()\n"
)
CODE = "GL401"
TRAINER = """class Trainer:
    def __init__(self, net):
        self.net = net

    def fit(self, data):
        for x in data:
            loss = self.net(x).pow(2).sum()
            loss.backward()
            loss.backward()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("[tool.gradlint]\n", encoding="utf-8")
    (tmp_path / "library.py").write_text(LIBRARY, encoding="utf-8")
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    (tmp_path / "second.py").write_text(SCRIPT.replace("0.1", "0.2"), encoding="utf-8")
    return tmp_path


def found(session: Session, *names: str) -> list[tuple[str, str]]:
    outcome = session.check([Path(name) for name in names or (".",)])
    return [(Path(finding.location.filename).name, finding.code) for finding in outcome.findings]


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text, encoding="utf-8")


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("cache", [False, True])
def test_it_is_reported_once(folder: Path, jobs: int, cache: bool) -> None:
    for _ in range(2):
        session = Session(folder, Options(jobs=jobs, cache=cache))
        assert found(session) == [("library.py", CODE)]


def test_a_named_file_leads_to_what_stands_in_others(folder: Path) -> None:
    assert found(Session(folder, Options()), "script.py") == [("library.py", CODE)]


@pytest.mark.parametrize("cache", [False, True])
def test_it_follows_changes_of_the_file_that_led_there(folder: Path, cache: bool) -> None:
    right = SCRIPT.replace("] * 3", "]")
    assert found(Session(folder, Options(cache=cache)), "script.py") == [("library.py", CODE)]
    write(folder, "script.py", right)
    assert found(Session(folder, Options(cache=cache)), "script.py") == []


@pytest.mark.parametrize("cache", [False, True])
def test_an_editor_changes_either_file(folder: Path, cache: bool) -> None:
    session = Session(folder, Options(cache=cache))
    assert found(session, "script.py") == [("library.py", CODE)]
    session.update(folder / "library.py", CLEARED)
    assert found(session, "script.py") == []
    session.forget(folder / "library.py")
    assert found(session, "script.py") == [("library.py", CODE)]
    session.update(folder / "script.py", SCRIPT.replace("] * 3", "]"))
    assert found(session, "script.py") == []


@pytest.mark.parametrize("cache", [False, True])
def test_comments_of_its_own_file_suppress_it(folder: Path, cache: bool) -> None:
    write(folder, "library.py", LIBRARY.replace("loss.backward()", f"loss.backward()  # noqa: {CODE}"))
    overrides = Overrides(report_unused_suppressions=True)
    for _ in range(2):
        assert found(Session(folder, Options(overrides, cache=cache))) == []
    write(folder, "library.py", CLEARED.replace("loss.backward()", f"loss.backward()  # noqa: {CODE}"))
    assert found(Session(folder, Options(overrides, cache=cache))) == [("library.py", "GL001")]


@pytest.mark.parametrize(
    "setting", ['per-file-ignores = {"library.py" = ["GL401"]}', 'extend-exclude = ["library.py"]']
)
def test_the_configuration_of_its_own_file_leaves_it_out(folder: Path, setting: str) -> None:
    write(folder, "pyproject.toml", f"[tool.gradlint]\n{setting}\n")
    assert found(Session(folder, Options())) == []


def test_a_configuration_below_holds_for_the_files_there(folder: Path) -> None:
    (folder / "lib").mkdir()
    (folder / "library.py").rename(folder / "lib" / "library.py")
    write(folder, "lib/gradlint.toml", f'ignore = ["{CODE}"]\n')
    for name in ("script.py", "second.py"):
        write(folder, name, SCRIPT.replace("from library", "from lib.library"))
    assert found(Session(folder, Options())) == []
    write(folder, "lib/gradlint.toml", "")
    assert found(Session(folder, Options())) == [("library.py", CODE)]


def test_a_comment_is_added_where_it_stands(folder: Path) -> None:
    session = Session(folder, Options())
    (change,) = session.add_noqa(session.check([Path("script.py")]))
    assert change.path == folder / "library.py"
    assert change.after.decode() == LIBRARY.replace(
        "loss.backward()", f"loss.backward()  # gradlint: ignore[{CODE}]"
    )


def test_a_baseline_knows_it(folder: Path) -> None:
    outcome = Session(folder, Options()).check([Path()])
    write_baseline(folder / "baseline.json", outcome.findings, SourceLines())
    session = Session(folder, Options(Overrides(baseline=folder / "baseline.json")))
    assert session.check([Path()]).known == 1


def test_a_script_without_a_word_of_autograd_is_executed(tmp_path: Path) -> None:
    write(tmp_path, "nets.py", "from torch import nn\n\n\nclass Release(nn.Linear):\n    pass\n")
    write(tmp_path, "fit.py", TRAINER)
    script = "from fit import Trainer\nfrom nets import Release\n\nTrainer(Release(1, 1)).fit([1.0])\n"
    write(tmp_path, "train.py", script)
    assert found(Session(tmp_path, Options())) == [("fit.py", "GL101")]


EXPENSIVE = "def explore(net):\n    count = 0\n" + "    count += 1\n" * 16_000 + "    return net\n"


def test_code_of_another_file_may_take_a_part_of_the_work_only(folder: Path) -> None:
    write(folder, "expensive.py", EXPENSIVE)
    body = LIBRARY.partition("):\n")[2].replace("\n    ", "\n").removeprefix("    ")
    script = SCRIPT.replace("from library import fit", "from expensive import explore")
    script = script.partition("fit(")[0] + "net = explore(net)\n"
    script += "optimizer = torch.optim.SGD(net.parameters(), lr=0.1)\ndata = [torch.ones(1, 2)] * 3\n" + body
    write(folder, "script.py", script)
    outcome = Session(folder, Options()).check([Path("script.py")])
    assert [finding.code for finding in outcome.findings] == [CODE]
    assert not outcome.unfinished


NET = """import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.context = torch.zeros(2, requires_grad=True)
        self.gain = nn.Parameter(torch.zeros(2))

    def forward(self, x):
        return x + self.context
"""
ELSEWHERE = {
    "nothing": ("", {"GL313", "GL325"}),
    "what others keep under the same name": (
        "class Other:\n    def __init__(self):\n        self.context, self.gain = 1, 2\n",
        {"GL313", "GL325"},
    ),
    "another version of the class": (
        NET.replace(
            "super().__init__()", "super().__init__()\n        self.optimizer = [self.context, self.gain]"
        ),
        {"GL313", "GL325"},
    ),
    "an inner loop": ("def adapt(net, g):\n    net.context = net.context - g\n", {"GL325"}),
    "a name in a text": ("def names():\n    return ['gain']\n", {"GL313"}),
    "a class that derives from it": (
        "from net import Net\n\n\nclass Wide(Net):\n    def extra(self):\n        return self.gain\n",
        {"GL313"},
    ),
    "a class that derives from one that does": (
        (
            "from net import Net\n\n\nclass Wide(Net):\n    pass\n\n\n"
            "class Wider(Wide):\n    def extra(self):\n        return [self.context]\n"
        ),
        {"GL325"},
    ),
}


@pytest.mark.parametrize("cache", [False, True])
@pytest.mark.parametrize(("text", "expected"), ELSEWHERE.values(), ids=ELSEWHERE)
def test_what_is_missing_is_missing_in_the_whole_repository(
    tmp_path: Path, text: str, expected: set[str], cache: bool
) -> None:
    write(tmp_path, "net.py", NET)
    (tmp_path / "tools").mkdir()
    for _ in range(2):
        session = Session(tmp_path, Options(cache=cache))
        assert {code for _, code in found(session, "net.py")} == {"GL313", "GL325"}
        write(tmp_path, "tools/other.py", text)
        session = Session(tmp_path, Options(cache=cache))
        assert {code for _, code in found(session, "net.py")} == expected
        write(tmp_path, "tools/other.py", "")


@pytest.mark.parametrize(
    ("marker", "most", "expected"),
    [
        ("", 10, {"GL325"}),
        ("", 1, {"GL313", "GL325"}),
        ("pyproject.toml", 1, {"GL325"}),
    ],
)
def test_a_large_folder_that_nothing_marks_is_no_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, marker: str, most: int, expected: set[str]
) -> None:
    write(tmp_path, "net.py", NET)
    write(tmp_path, "loop.py", "def adapt(net, g):\n    net.context = net.context - g\n")
    if marker:
        write(tmp_path, marker, "")
    monkeypatch.setattr(repository, "MOST_ENTRIES", most)
    assert {code for _, code in found(Session(tmp_path, Options()), "net.py")} == expected


def test_files_that_are_edited_count_as_they_are(tmp_path: Path) -> None:
    write(tmp_path, "net.py", NET)
    write(tmp_path, "loop.py", "")
    session = Session(tmp_path, Options())
    assert {code for _, code in found(session, "net.py")} == {"GL313", "GL325"}
    session.update(tmp_path / "loop.py", "def adapt(net, g):\n    net.context = net.context - g\n")
    assert {code for _, code in found(session, "net.py")} == {"GL325"}


INITIAL = """import torch
from torch import nn


class Bias(nn.Module):
    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(3))

    def refill(self):
        self.bias.uniform_(-1, 1)
"""
CALLERS = {
    "nobody": ("", ["GL301"]),
    "who trains": ("def again(layer):\n    layer.refill()\n", ["GL301"]),
    "who records nothing": (
        "import torch\n\n\n@torch.no_grad()\ndef again(layer):\n    layer.refill()\n",
        [],
    ),
    "one of both": (
        "import torch\n\n\ndef again(layer):\n    with torch.no_grad():\n        layer.refill()\n    layer.refill()\n",
        ["GL301"],
    ),
    "who hands it on": (
        "import torch\n\n\ndef again(layer):\n    with torch.no_grad():\n        layer.refill()\n    return layer.refill\n",
        ["GL301"],
    ),
    "who switches recording off": (
        "import torch\n\n\ndef again(layer):\n    with torch.set_grad_enabled(False):\n        layer.refill()\n",
        [],
    ),
    "who calls another method of that name": (
        "import torch\n\n\ndef again(layer, bottle):\n    with torch.no_grad():\n        layer.refill()\n    bottle.refill(2)\n    bottle.refill(to=3)\n",
        [],
    ),
    "what cannot be parsed": ("def again(layer):\n    layer.refill(\n", ["GL301"]),
}


@pytest.mark.parametrize(("text", "expected"), CALLERS.values(), ids=CALLERS)
def test_a_function_is_judged_as_its_callers_use_it(tmp_path: Path, text: str, expected: list[str]) -> None:
    write(tmp_path, "layer.py", INITIAL)
    write(tmp_path, "caller.py", text)
    assert [code for _, code in found(Session(tmp_path, Options()), "layer.py")] == expected


SWAPS = """from torch import nn


class Swap:
    def __init__(self, saved):
        self.net, self.saved = nn.Linear(1, 1), saved

    def _restore(self):
        for name, parameter in self.net.named_parameters():
            parameter.copy_(self.saved[name])

    def __call__(self, x):
        self._restore()
        return self.net(x)
"""
PIPELINE = """from swap import Swap


class Pipeline:
    def __init__(self, saved):
        swap = Swap(saved)
        self.swap = swap

    def _again(self, x, count):
        return self._again(self.swap(x), count - 1) if count else x

    def sample(self, x):
        return self._again(x, 3)
"""
SCRIPTS = {
    "nobody": ("", ["GL301"]),
    "main under no_grad": (
        "def main(p, x):\n    p.sample(x)\n\n\ndef start(p, x):\n    with torch.no_grad():\n        main(p, x)\n",
        [],
    ),
    "handed on under no_grad": (
        "@torch.no_grad()\ndef run(p, xs):\n    return list(map(p.sample, xs))\n",
        [],
    ),
    "handed on in training": ("def fit(p, trainer):\n    trainer.run(p.sample)\n", ["GL301"]),
    "switched off for the script": ("torch.set_grad_enabled(False)\nprint(load().sample(1))\n", []),
    "a hook that frameworks call without gradients": (
        "class Task(Module):\n    def validation_step(self, batch):\n        return self.p.sample(batch)\n",
        [],
    ),
    "an object of the same name": (
        "with torch.no_grad():\n    load().sample(1)\nbatch.sample.shape\n",
        [],
    ),
    "one script of two": (
        "with torch.no_grad():\n    load().sample(1)\nload().sample(2)\n",
        ["GL301"],
    ),
}


@pytest.mark.parametrize(("text", "expected"), SCRIPTS.values(), ids=SCRIPTS)
def test_callers_are_followed_to_the_scripts(tmp_path: Path, text: str, expected: list[str]) -> None:
    write(tmp_path, "swap.py", SWAPS)
    write(tmp_path, "pipeline.py", PIPELINE)
    write(tmp_path, "script.py", f"import torch\n\n{text}")
    assert [code for _, code in found(Session(tmp_path, Options()), "swap.py")] == expected


TRAINS_A_PART = """import torch
from torch import nn


class Run:
    def __init__(self):
        self.net, self.head = nn.Linear(1, 1), nn.Linear(1, 1)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)

    def train(self, batches):
        for x in batches:
            self.optimizer.zero_grad()
            self.head(self.net(x)).sum().backward()
            self.optimizer.step()
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", ["GL319"]), ("def more(run):\n    return Adam(run.head.parameters())\n", [])],
    ids=["nobody", "another optimizer"],
)
def test_what_another_file_trains_is_trained(tmp_path: Path, text: str, expected: list[str]) -> None:
    write(tmp_path, "run.py", TRAINS_A_PART)
    write(tmp_path, "more.py", text)
    assert [code for _, code in found(Session(tmp_path, Options()), "run.py")] == expected


CONSTANT_TERM = """import torch


def frechet_distance(a, b):
    with torch.no_grad():
        root = a.mul(b).sqrt()
    return (a - b).pow(2).sum() - 2 * root.sum()
"""
READERS = {
    "nobody": ("", ["GL515"]),
    "a number": ("def score(a, b):\n    return frechet_distance(a, b).item()\n", []),
    "a number in the same way later": (
        "def score(a, b):\n    d = frechet_distance(a, b)\n    d = float(d.cpu().numpy())\n    return d\n",
        [],
    ),
    "a number in each iteration": (
        "def score(pairs):\n    for a, b in pairs:\n        d = 100 * frechet_distance(a, b)\n        print(f'{d:.3f}')\n",
        [],
    ),
    "who differentiates the one of two": (
        "def score(pairs):\n    for a, b in pairs:\n        d = frechet_distance(a, b)\n        print(d)\n        d.backward()\n",
        ["GL515"],
    ),
    "who differentiates the one before": (
        "def score(pairs):\n    d = None\n    for a, b in pairs:\n        if d is not None:\n            d.backward()\n        d = frechet_distance(a, b)\n        print(d)\n",
        ["GL515"],
    ),
    "who hands it on": ("def score(a, b):\n    return frechet_distance(a, b)\n", ["GL515"]),
    "one reader of two": (
        "def score(a, b):\n    return frechet_distance(a, b).item()\n\n\ndef loss(a, b):\n    return frechet_distance(a, b)\n",
        ["GL515"],
    ),
}


@pytest.mark.parametrize(("text", "expected"), READERS.values(), ids=READERS)
def test_a_loss_of_which_callers_read_the_number_alone_is_not_differentiated(
    tmp_path: Path, text: str, expected: list[str]
) -> None:
    write(tmp_path, "distances.py", CONSTANT_TERM)
    write(tmp_path, "reader.py", f"from distances import frechet_distance\n\n\n{text}")
    assert [code for _, code in found(Session(tmp_path, Options()), "distances.py")] == expected


def test_what_raises_is_told_whatever_becomes_of_the_result(tmp_path: Path) -> None:
    write(
        tmp_path,
        "distances.py",
        CONSTANT_TERM.replace(
            "    return", "    w = torch.ones(2, requires_grad=True)\n    w.add_(1)\n    return"
        ),
    )
    write(tmp_path, "reader.py", f"from distances import frechet_distance\n\n\n{READERS['a number'][0]}")
    assert [code for _, code in found(Session(tmp_path, Options()), "distances.py")] == ["GL301"]

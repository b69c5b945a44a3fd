"""A framework of one's own: a model pack of ten lines, named in the configuration."""

from __future__ import annotations

import json
import re
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from gradcheck_tool.config import Config, ConfigError
from gradcheck_tool.library.model_packs import ModelPacks, modelled_names
from gradcheck_tool.session.files import FileChecker
from gradcheck_tool.sources.prefilter import mentions_torch

PACK = '''
    """colossalai/booster.py"""
    import contextlib

    class Booster:
        def boost(self, model, optimizer=None, criterion=None, dataloader=None):
            return model, optimizer, criterion, dataloader
        def backward(self, loss, optimizer):
            loss.backward()
        def no_sync(self, model=None, optimizer=None):
            return contextlib.nullcontext()
'''
PROGRAM = """
    import torch
    {imports}

    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    booster = {booster}()
    model, optimizer, _, _ = booster.boost(model, optimizer)
    for _ in range(3):
        {clear}loss = model(torch.ones(8, 4)).mean()
        booster.backward(loss, optimizer)
        {again}optimizer.step()
"""
SPELLINGS = {
    "import colossalai.booster": "colossalai.booster.Booster",
    "from colossalai.booster import Booster": "Booster",
    "import colossalai.booster as b": "b.Booster",
    "from colossalai import booster as module": "module.Booster",
    "from colossalai import Booster": "Booster",
    "from colossalai.api import Booster": "Booster",
}


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    folder = tmp_path / "tools" / "models"
    (folder / "colossalai").mkdir(parents=True)
    (folder / "colossalai" / "booster.py").write_text(dedent(PACK), encoding="utf-8")
    (folder / "colossalai" / "__init__.py").write_text("from .booster import Booster\n", encoding="utf-8")
    (folder / "colossalai" / "api.py").write_text("from colossalai.booster import *\n", encoding="utf-8")
    return folder


def program(
    imports: str = "from colossalai.booster import Booster",
    booster: str = "Booster",
    clear: str = "",
    again: str = "",
) -> str:
    return dedent(PROGRAM).format(imports=imports, booster=booster, clear=clear, again=again).lstrip()


def findings(root: Path, source: str, *packs: Path) -> list[Any]:
    path = root / "train.py"
    path.write_text(source, encoding="utf-8")
    result = FileChecker().check_file(path, Config(root, model_packs=packs))
    assert result.problem is None
    return list(result.findings)


def places(found: list[Any]) -> list[tuple[str, int]]:
    return [(finding.code, finding.location.start.row) for finding in found]


def test_nothing_is_known_of_it_without_a_pack(tmp_path: Path) -> None:
    assert not findings(tmp_path, program())


def test_the_page_on_models_shows_what_happens(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "models.md").read_text(encoding="utf-8")
    model, source, base = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    folder = tmp_path / "models"
    (folder / "colossalai").mkdir(parents=True)
    (folder / "colossalai" / "booster.py").write_text(model, encoding="utf-8")
    (folder / "own.py").write_text(base, encoding="utf-8")
    (finding,) = findings(tmp_path, source, folder)
    assert (finding.code, finding.location.start.row) == ("GL401", 10)
    assert finding.message.startswith(re.search(r"GL401\]: (.*)\n", page)[1])  # type: ignore[index]
    derived = "import own\nimport torch\nclass M(own.LightningModule):\n"
    derived += "    def training_step(self, batch):\n        return torch.ones(2).sum()\n"
    assert places(findings(tmp_path, derived, folder)) == [("GL501", 5)]


@pytest.mark.parametrize("imports", SPELLINGS)
def test_findings_and_their_stories_name_lines_of_the_user(tmp_path: Path, pack: Path, imports: str) -> None:
    (finding,) = findings(tmp_path, program(imports, SPELLINGS[imports]), pack)
    assert (finding.code, finding.location.start.row) == ("GL401", 10)
    assert {step.location.filename for step in finding.trace} <= {str(tmp_path / "train.py")}
    assert not findings(tmp_path, program(imports, SPELLINGS[imports], clear="optimizer.zero_grad(); "), pack)


def test_an_error_is_foretold_at_the_call(tmp_path: Path, pack: Path) -> None:
    twice = program(
        clear="optimizer.zero_grad(); ",
        again="with booster.no_sync(): booster.backward(loss, optimizer)\n    ",
    )
    (finding,) = findings(tmp_path, twice, pack)
    assert (finding.code, finding.location.start.row) == ("GL101", 11)
    assert "`booster.backward(loss, optimizer)`" in finding.message
    assert {step.location.start.row for step in finding.trace} <= {9, 10, 11}


def test_what_is_not_modelled_may_do_anything(tmp_path: Path, pack: Path) -> None:
    unclear = program(again="booster.finish(model, optimizer)\n    ")
    assert not findings(tmp_path, unclear, pack)


def test_the_module_of_the_repository_wins(tmp_path: Path, pack: Path) -> None:
    own = tmp_path / "colossalai"
    own.mkdir()
    (own / "__init__.py").write_text("", encoding="utf-8")
    quiet = dedent(PACK).replace("loss.backward()", "optimizer.zero_grad(); loss.backward()")
    (own / "booster.py").write_text(quiet, encoding="utf-8")
    assert not findings(tmp_path, program(), pack)


def test_a_pack_wins_over_a_model_that_is_built_in(tmp_path: Path) -> None:
    source = program("from accelerate import Accelerator", "Accelerator").replace(
        "model, optimizer, _, _ =", "_ ="
    )
    source = source.replace("boost(", "prepare(").replace("loss, optimizer)", "loss)")
    assert places(findings(tmp_path, source)) == [("GL401", 10)]
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "accelerate.py").write_text("class Accelerator:\n    pass\n", encoding="utf-8")
    assert not findings(tmp_path, source, folder)


def test_a_native_function_wins_over_a_model(tmp_path: Path) -> None:
    folder = tmp_path / "models" / "torch"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("def square(x):\n    return x.detach()\n", encoding="utf-8")
    source = "import torch\nw = torch.ones(2, requires_grad=True)\ntorch.square(w).sum().backward()\n"
    assert not findings(tmp_path, source, tmp_path / "models")


def test_models_that_are_written_wrongly_break_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "bad.py").write_text(
        "from gradlint_model import *\nimport gradlint_model as g\n"
        "def step(*a):\n    g.differentiate(); g.complete(); g.driver()(); g.either(); g.saves()\n    return g.rounds(1)\n",
        encoding="utf-8",
    )
    source = "import torch\nimport bad\nw = torch.ones(2, requires_grad=True)\nbad.step(w)\n"
    assert not findings(tmp_path, source + "w.sum().backward()\n", folder)


def test_a_model_is_never_imported(tmp_path: Path, pack: Path) -> None:
    with (pack / "colossalai" / "booster.py").open("a", encoding="utf-8") as file:
        file.write(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    assert findings(tmp_path, program(), pack)
    assert not (tmp_path / "ran").exists()


def test_a_base_class_of_a_pack_drives_what_derives_from_it(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "loops.py").write_text(
        dedent("""
        from gradlint_model import data, differentiate, driver, rounds

        class Task:
            @driver("loss")
            def run(self):
                for _ in rounds():
                    differentiate(self.loss, self.loss(data()))
        """),
        encoding="utf-8",
    )
    source = dedent("""
        import loops
        import torch

        class Mine(loops.Task):
            def __init__(self):
                self.weight = torch.ones(3, requires_grad=True)

            def loss(self, batch):
                return (self.weight * 2).sum().detach()
    """).lstrip()
    assert places(findings(tmp_path, source, folder)) == [("GL501", 9)]


def test_a_file_that_imports_a_modelled_framework_is_looked_at(tmp_path: Path, pack: Path) -> None:
    source = b"from colossalai import Booster\n"
    assert not mentions_torch(source, modelled_names())
    assert mentions_torch(source, modelled_names([pack]))


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (None, "is not a folder"),
        ({}, "has no Python files"),
        ({"broken.py": "def ("}, "broken.py cannot be read"),
    ],
)
def test_a_pack_that_cannot_be_used_is_refused(
    tmp_path: Path, files: dict[str, str] | None, words: str
) -> None:
    folder = tmp_path / "models"
    if files is not None:
        folder.mkdir()
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=words):
        FileChecker().ruleset(Config(tmp_path, model_packs=(folder,)))


def test_names_that_are_modelled(pack: Path) -> None:
    assert {"accelerate", "einops", "timm", "torchvision"} <= modelled_names()
    assert modelled_names([pack]) - modelled_names() == {"colossalai"}
    assert ModelPacks([pack]).names == modelled_names([pack])


def test_editing_a_pack_invalidates_results(gradlint_in: Any, tmp_path: Path, pack: Path) -> None:
    (tmp_path / "gradlint.toml").write_text('model-packs = ["tools/models"]\n', encoding="utf-8")
    (tmp_path / "train.py").write_text(program(), encoding="utf-8")
    assert [item["code"] for item in json.loads(gradlint_in(tmp_path))] == ["GL401"]
    booster = pack / "colossalai" / "booster.py"
    clearing = "optimizer.zero_grad(); loss.backward()"
    booster.write_text(dedent(PACK).replace("loss.backward()", clearing), encoding="utf-8")
    assert json.loads(gradlint_in(tmp_path)) == []
    assert json.loads(gradlint_in(tmp_path, "--isolated")) == []


@pytest.fixture
def gradlint_in(monkeypatch: pytest.MonkeyPatch) -> Any:
    from typer.testing import CliRunner

    from gradcheck_tool.cli.app import app

    def run(folder: Path, *options: str) -> str:
        monkeypatch.chdir(folder)
        result = CliRunner().invoke(
            app, ["check", "--trust", "--output-format", "json", *options, "train.py"]
        )
        assert result.exit_code in (0, 1), result.output
        return result.stdout

    return run

"""A session keeps what it knows of files, and forgets it when they change: an editor needs that."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcheck_tool.session.session import Options, Session

TRAIN = """
import torch
from losses import distance

weight = torch.ones(2, requires_grad=True)
distance(weight).backward()
"""
LOSSES = "from parts import part\n\n\ndef distance(w):\n    return part(w).sum()\n"
RIGHT = "def part(w):\n    return w * w\n"
WRONG = "def part(w):\n    return (w * w).detach()\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(TRAIN, encoding="utf-8")
    (tmp_path / "losses.py").write_text(LOSSES, encoding="utf-8")
    (tmp_path / "parts.py").write_text(RIGHT, encoding="utf-8")
    return tmp_path


def found(session: Session, name: str = "train.py") -> list[str]:
    return [finding.code for finding in session.check([Path(name)]).findings]


@pytest.mark.parametrize("cache", [False, True])
def test_findings_follow_the_text_of_a_module_that_an_import_leads_to(folder: Path, cache: bool) -> None:
    session = Session(folder, Options(cache=cache))
    assert found(session) == []
    session.update(Path("parts.py"), WRONG)
    assert found(session) == ["GL501"]
    session.update(Path("parts.py"), RIGHT)
    assert found(session) == []
    session.update(Path("losses.py"), "def distance(w):\n    return w.detach().sum()\n")
    assert found(session) == ["GL501"]
    session.forget(Path("losses.py"))
    assert found(session) == []


def test_a_file_that_has_changed_on_disk_is_read_again(folder: Path) -> None:
    session = Session(folder, Options())
    assert found(session) == []
    (folder / "parts.py").write_text(WRONG, encoding="utf-8")
    session.forget(folder / "parts.py")
    assert found(session) == ["GL501"]


def test_the_checked_file_itself_has_the_text_of_the_editor(folder: Path) -> None:
    session = Session(folder, Options())
    session.update(folder / "train.py", TRAIN + "distance(weight.detach()).backward()\n")
    assert found(session) == ["GL501"]
    assert session.check([Path("train.py")]).findings[0].location.start.row == 7
    session.forget(folder / "train.py")
    assert found(session) == []


def test_fixes_and_suppressions_are_made_in_the_text_of_the_editor(folder: Path) -> None:
    session = Session(folder, Options())
    edited = TRAIN + "torch.nn.utils.clip_grad_norm([weight], 1)\n"
    session.update(folder / "train.py", edited)
    outcome = session.check([Path("train.py")])
    (code,) = [finding.code for finding in outcome.findings]
    (change,) = session.fix(outcome, unsafe=True)
    assert (change.before, change.after) == (edited.encode(), edited.replace("norm(", "norm_(").encode())
    (suppressed,) = session.add_noqa(outcome)
    assert f"clip_grad_norm([weight], 1)  # gradlint: ignore[{code}]" in suppressed.after.decode()


def test_a_module_that_only_the_editor_has_is_imported(folder: Path) -> None:
    (folder / "losses.py").unlink()
    session = Session(folder, Options())
    assert found(session) == []
    session.update(folder / "losses.py", "def distance(w):\n    return w.detach().sum()\n")
    assert found(session) == ["GL501"]
    session.forget(folder / "losses.py")
    assert found(session) == []


def test_a_module_that_is_made_later_is_found(folder: Path) -> None:
    (folder / "losses.py").unlink()
    session = Session(folder, Options())
    assert found(session) == []
    (folder / "losses.py").write_text("def distance(w):\n    return w.detach().sum()\n", encoding="utf-8")
    session.forget(folder / "losses.py")
    assert found(session) == ["GL501"]

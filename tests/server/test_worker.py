"""The process that analyses, without the process: what is checked again, and what need not be."""

import pytest

from gradcheck_tool.analysis.pace import Outdated
from gradcheck_tool.server.reading import read
from gradcheck_tool.server.tasks import Check, FixAll, Forget, Know, Reload, Settings
from gradcheck_tool.server.worker import Worker
from gradcheck_tool.session.session import Options, Session
from tests.server.long_program import LONG

HEAD = "import torch\n\nx = torch.ones(3, requires_grad=True)\ny = x.exp()\n"
WRONG = f"{HEAD}y.mul_(2)\ny.sum().backward()\n"


@pytest.fixture
def counted(tmp_path, monkeypatch):
    """A worker, and the number of checks that it has carried out."""
    worker, checks = Worker(Settings()), []
    checked = worker._checked

    def count(session, task, pace):
        checks.append(task.path.name)
        return checked(session, task, pace)

    monkeypatch.setattr(worker, "_checked", count)
    (tmp_path / "gradlint.toml").write_text("")
    for name in ("a.py", "net.py"):
        (tmp_path / name).write_text("")
    return worker, checks


def check(worker, folder, text, name="a.py"):
    *_, answer = worker.carry_out(Check(1, folder, folder / name, text))
    return [one.code for one in answer.findings], answer.is_broken


def test_what_reads_the_same_is_not_checked_again(counted, tmp_path):
    worker, checks = counted
    for comment in ("", "# a", "# ab", "  # abc"):
        assert check(worker, tmp_path, f"{WRONG}{comment}") == (["GL201"], False)
    assert len(checks) == 1
    assert check(worker, tmp_path, f"\n{WRONG}") == (["GL201"], False)
    assert len(checks) == 2


def test_comments_that_suppress_count(counted, tmp_path):
    worker, checks = counted
    assert check(worker, tmp_path, WRONG) == (["GL201"], False)
    suppressed = WRONG.replace("backward()", "backward()  # gradlint: ignore[GL201]")
    assert check(worker, tmp_path, suppressed) == ([], False)
    assert check(worker, tmp_path, WRONG.replace("backward()", "backward()  # noqa")) == ([], False)
    assert len(checks) == 3


def test_what_is_no_program_yet_is_broken_at_once(counted, tmp_path):
    worker, checks = counted
    assert check(worker, tmp_path, WRONG) == (["GL201"], False)
    assert check(worker, tmp_path, f"{WRONG}y.") == ([], True)
    assert check(worker, tmp_path, WRONG) == (["GL201"], False)
    assert checks == ["a.py"]


def test_half_a_character_is_no_program_yet(counted, tmp_path):
    worker, _ = counted
    half = f"{WRONG}z = '\ud800'\n"
    assert check(worker, tmp_path, half) == ([], True)
    *_, fixed = worker.carry_out(FixAll(2, tmp_path, tmp_path / "a.py", half))
    assert fixed.text == half
    assert check(worker, tmp_path, WRONG) == (["GL201"], False)


@pytest.mark.parametrize("between", ["know", "forget", "reload"])
def test_changes_elsewhere_count(counted, tmp_path, between):
    worker, checks = counted
    text = f"from net import spoil\n{HEAD}spoil(y)\ny.sum().backward()\n"
    (tmp_path / "net.py").write_text("def spoil(y):\n    pass\n")
    assert check(worker, tmp_path, text) == ([], False)
    wrong = "def spoil(y):\n    y.mul_(2)\n"
    path = tmp_path / "net.py"
    if between == "know":
        assert not [*worker.carry_out(Know(0, tmp_path, path, wrong))]
    else:
        path.write_text(wrong)
        task = Forget(0, tmp_path, path) if between == "forget" else Reload(0, tmp_path, tmp_path)
        assert not [*worker.carry_out(task)]
    assert check(worker, tmp_path, text) == (["GL201"], False)
    assert len(checks) == 2


def test_a_quick_answer_comes_first_and_the_last_is_that_of_the_command(counted, tmp_path):
    worker, checks = counted
    task = Check(1, tmp_path, tmp_path / "a.py", LONG)
    first, last = worker.carry_out(task)
    assert (first.is_first, first.findings) == (True, ())
    assert (last.is_first, last.quick) == (False, ())
    (tmp_path / "a.py").write_text(LONG)
    assert [*last.findings] == Session(tmp_path, Options()).check([tmp_path / "a.py"]).findings
    assert [one.code for one in last.findings] == ["GL201"]
    # What reads the same is known, with what the quick check has missed.
    (same,) = worker.carry_out(Check(2, tmp_path, tmp_path / "a.py", f"{LONG}# why"))
    assert (same.findings, same.quick) == (last.findings, ())
    assert len(checks) == 2


def test_a_check_that_is_outdated_stops(tmp_path):
    paused = []

    def pause():
        paused.append(1)
        if len(paused) == 3:
            raise Outdated

    worker, task = Worker(Settings(), pause), Check(1, tmp_path, tmp_path / "a.py", LONG)
    (answer,) = worker.carry_out(task)
    assert (answer.is_stopped, len(paused)) == (True, 3)
    assert [one.code for one in [*worker.carry_out(task)][-1].findings] == ["GL201"]


def test_the_quick_check_of_one_that_was_stopped_is_not_made_again(counted, tmp_path):
    worker, checks = counted
    first = next(worker.carry_out(Check(1, tmp_path, tmp_path / "a.py", LONG)))
    again, last = worker.carry_out(Check(2, tmp_path, tmp_path / "a.py", f"{LONG}# why"))
    assert (again.is_first, again.findings, len(checks)) == (True, first.findings, 2)
    assert [one.code for one in last.findings] == ["GL201"]


def test_what_cannot_be_used_is_told(counted, tmp_path):
    worker, _ = counted
    (tmp_path / "gradlint.toml").write_text("nonsense = 1")
    (answer,) = worker.carry_out(Check(7, tmp_path, tmp_path / "a.py", WRONG))
    assert answer.number == 7
    assert "nonsense" in answer.error


def test_places_and_comments_decide():
    assert read("x = 1") == read("x = 1  # why")
    assert read("x = 1") != read(" \nx = 1")
    assert read("x = 1") != read("x = 1  # noqa: GL201")


def test_values_that_are_equal_and_another_text_are_told_apart():
    assert read("x = 100") != read("x = 1e2")
    assert read("x = 'a'") != read("x = 'b'")
    assert read("f(x, y)") != read("f(x)(y)")
    assert read("x = 1  # noqa") != read("x = 1\n# noqa")
    assert read("x = (") is None

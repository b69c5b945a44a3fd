"""The queue in front of the process that analyses: newest texts, and nothing that is outdated."""

import threading
import time

import pytest

from gradcheck_tool.server.engine import Engine
from gradcheck_tool.server.tasks import Check, FixAll, Forget, Page

PATIENCE = 120
HEAD = "import torch\n\nx = torch.ones(3, requires_grad=True)\ny = x.exp()\n"
WRONG = f"{HEAD}y.mul_(2)\ny.sum().backward()\n"
OLD = """\
import torch


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_variables
        return grad * 2 * torch.ones_like(x)
"""
LONG = HEAD + "".join(f"def f{n}(y):\n    return (y * x).exp().sum().backward()\n" for n in range(400))


class Answers:
    """Collects final answers, which come in other threads."""

    def __init__(self):
        self.by_number = {}
        self.order = []
        self._heard = threading.Condition()

    def __call__(self, answer):
        with self._heard:
            self.order.append(answer.number)
            if not answer.is_first:
                self.by_number[answer.number] = answer
            self._heard.notify_all()

    def until_first(self):
        with self._heard:
            assert self._heard.wait_for(lambda: self.order, PATIENCE)

    def of(self, number):
        with self._heard:
            assert self._heard.wait_for(lambda: number in self.by_number, PATIENCE)
            return self.by_number[number]


@pytest.fixture
def answers():
    return Answers()


@pytest.fixture
def engine(request):
    engine = Engine(**getattr(request, "param", {}))
    yield engine
    engine.close()


def check(engine, folder, text, name="a.py"):
    return Check(engine.number(), folder, folder / name, text)


def test_checks_and_questions_are_answered(engine, answers, tmp_path):
    wrong = check(engine, tmp_path, WRONG)
    engine.check(wrong, answers)
    assert [one.code for one in answers.of(wrong.number).findings] == ["GL201"]
    broken = check(engine, tmp_path, "import torch\nx = torch.(\n")
    engine.check(broken, answers)
    assert answers.of(broken.number).is_broken
    page = Page(engine.number(), tmp_path, tmp_path, "GL201")
    engine.ask(page, answers)
    assert "## Use instead" in answers.of(page.number).text
    fix = FixAll(engine.number(), tmp_path, tmp_path / "b.py", OLD)
    engine.ask(fix, answers)
    assert "ctx.saved_tensors" in answers.of(fix.number).text


def test_texts_that_wait_take_the_place_of_each_other(engine, answers, tmp_path):
    first, between, last = (check(engine, tmp_path, f"{WRONG}\n# {n}\n") for n in range(3))
    for task in (first, between, last):
        engine.check(task, answers)
    assert answers.of(last.number).findings
    assert between.number not in answers.by_number


def test_a_check_that_is_outdated_stops_in_its_process(engine, answers, tmp_path):
    outdated, newest = check(engine, tmp_path, LONG), check(engine, tmp_path, WRONG)
    engine.check(outdated, answers)
    answers.until_first()
    process = engine._process
    engine.check(newest, answers)
    assert answers.of(newest.number).findings
    assert outdated.number not in answers.by_number
    assert engine._process is process


def test_an_urgent_check_comes_first_and_what_it_puts_off_comes_later(engine, answers, tmp_path):
    other, waiting = check(engine, tmp_path, LONG, "b.py"), check(engine, tmp_path, WRONG, "c.py")
    engine.check(other, answers)
    engine.check(waiting, answers)
    answers.until_first()
    urgent = check(engine, tmp_path, WRONG)
    engine.check(urgent, answers, is_urgent=True)
    for task in (other, waiting, urgent):
        assert answers.of(task.number).findings or task is other
    finals = list(answers.by_number)
    assert finals[0] == urgent.number
    assert answers.order.count(other.number) >= 2


@pytest.mark.parametrize("engine", [{"patience": 0.0}], indirect=True)
def test_an_outdated_check_is_ended(engine, answers, tmp_path):
    outdated, newest = check(engine, tmp_path, LONG), check(engine, tmp_path, WRONG)
    engine.check(outdated, answers)
    engine.check(newest, answers)
    assert answers.of(outdated.number).is_broken
    assert [one.code for one in answers.of(newest.number).findings] == ["GL201"]


@pytest.mark.parametrize("engine", [{"longest": 0.0}], indirect=True)
def test_no_check_goes_on_for_ever(engine, answers, tmp_path):
    task = check(engine, tmp_path, LONG)
    engine.check(task, answers)
    assert answers.of(task.number).is_broken


def test_a_process_that_dies_is_replaced_and_its_task_tried_once_more(engine, answers, tmp_path):
    first, second = check(engine, tmp_path, LONG, "long.py"), check(engine, tmp_path, WRONG)
    engine.check(first, answers)
    dying = engine._process
    dying.kill()
    engine.check(second, answers)
    assert answers.of(second.number).findings
    assert answers.of(first.number).error is None
    assert engine._process is not dying


def test_what_ends_two_processes_is_left(engine, answers, tmp_path):
    task = check(engine, tmp_path, LONG)
    engine.check(task, answers)
    dying = engine._process
    dying.kill()
    while engine._process in (dying, None):
        time.sleep(0.01)
    engine._process.kill()
    assert "ended unexpectedly" in answers.of(task.number).error


def test_another_process_knows_what_is_open(engine, answers, tmp_path):
    spoil = check(engine, tmp_path, "def spoil(y):\n    y.mul_(2)\n", "net.py")
    (tmp_path / "net.py").write_text("def spoil(y):\n    pass\n")
    engine.check(spoil, answers)
    answers.of(spoil.number)
    text = f"from net import spoil\n{HEAD}spoil(y)\ny.sum().backward()\n"
    first = check(engine, tmp_path, text)
    engine.check(first, answers)
    assert answers.of(first.number).findings
    engine._process.kill()
    again = check(engine, tmp_path, f"{text}\n")
    engine.check(again, answers)
    assert answers.of(again.number).findings
    engine.forget(Forget(0, tmp_path, tmp_path / "net.py"))
    saved = check(engine, tmp_path, text)
    engine.check(saved, answers)
    assert answers.of(saved.number).findings == ()


def test_nothing_is_answered_once_it_is_closed(engine, answers, tmp_path):
    engine.close()
    task = check(engine, tmp_path, WRONG)
    engine.check(task, answers)
    assert engine._process is None
    assert answers.by_number == {}

"""Whether the machine's verdict on a program is PyTorch's."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from gradcheck_tool.autograd.events import BackwardCall, EngineError
from gradcheck_tool.interp import analyze
from gradcheck_tool.ir.lower import lower_module
from gradcheck_tool.ir.positions import Positions
from tests.differential.generator import FLAG
from tests.differential.mend import program
from tests.differential.oracle import FILENAME, Raise, run

# A write that a view forbids is told as a use of it where a method refuses before it writes.
SAME_ERROR = {("ViewWrite", "InvalidTensorUse")}


@dataclass(frozen=True)
class Prediction:
    """A raise that the machine predicts."""

    line: int
    event: str
    text: str


@dataclass
class Verdict:
    """What PyTorch and the machine say about one program.

    `invalid` tells of a raise that is not autograd's: the program says nothing about the machine.
    `crashed` is the exception that ended the analysis, which nothing in a program may do.
    `seen` tells whether the machine had a verdict on every backward that was executed.
    """

    seed: int
    source: str
    raises: list[Raise] = field(default_factory=list)
    predicted: list[Prediction] = field(default_factory=list)
    false_alarms: list[Prediction] = field(default_factory=list)
    misses: list[Raise] = field(default_factory=list)
    invalid: str = ""
    crashed: str = ""
    seen: bool = True

    def cause(self, miss: Raise) -> str:
        """Why a raise counts as missed."""
        if any(p.line == miss.line for p in self.predicted):
            return f"{miss.event}: another class"
        return f"{miss.event}: {'another line' if self.predicted else 'silent'}"


def predict(source: str) -> tuple[list[Prediction], set[int]]:
    """The raises that the machine predicts, and the lines of the backward calls that it followed."""
    module = lower_module(source, FILENAME)
    positions = Positions(module)
    predicted: dict[Prediction, None] = {}
    followed: set[int] = set()
    for event in analyze(module):
        if isinstance(event, (EngineError, BackwardCall)):
            line = positions.locate(event.site.node).start.row
            followed.add(line)
            if isinstance(event, EngineError):
                predicted[Prediction(line, type(event).__name__, event.text)] = None
    return list(predicted), followed


def judge(seed: int) -> Verdict:
    """Run and analyse the program of a seed."""
    return judge_source(program(seed), seed)


def judge_source(source: str, seed: int = -1) -> Verdict:
    """Run and analyse a program; one that asks for the flag runs with each of its values."""
    verdict = Verdict(seed, source)
    runs = [run(source, flag=flag) for flag in ((False, True) if FLAG in source else (False,))]
    executed = frozenset().union(*(r.lines for r in runs))
    verdict.raises = list(dict.fromkeys(r.raised for r in runs if r.raised is not None))
    verdict.invalid = next((r.message for r in verdict.raises if not r.event), "")
    if verdict.invalid:
        return verdict
    try:
        verdict.predicted, followed = predict(source)
    except Exception as error:  # noqa: BLE001
        verdict.crashed = repr(error)
        return verdict
    verdict.misses = [r for r in verdict.raises if not any(_agree(p, r) for p in verdict.predicted)]
    # Only what was executed can be wrong: PyTorch never came to the code after its raise.
    places = {r.line for r in verdict.raises}
    verdict.false_alarms = [
        p
        for p in verdict.predicted
        if p.line in executed and p.line not in places and not any(_agree(p, r) for r in verdict.raises)
    ]
    backwards = {n for n, text in enumerate(source.splitlines(), 1) if ".backward(" in text and n in executed}
    verdict.seen = backwards <= followed | places
    return verdict


def _told_elsewhere(prediction: Prediction) -> bool:
    """Mistakes that are told where they are made, not where PyTorch notices them.

    These are those in the class of a custom Function, and the write to the base of a view that forbids it.
    """
    return prediction.event == "FunctionError" or (
        prediction.event == "ViewWrite" and "its base" in prediction.text
    )


def _agree(prediction: Prediction, raised: Raise) -> bool:
    same = prediction.event == raised.event or (raised.event, prediction.event) in SAME_ERROR
    return same and (prediction.line == raised.line or _told_elsewhere(prediction))


@dataclass
class Summary:
    """Counts over many verdicts."""

    programs: int = 0
    invalid: Counter[str] = field(default_factory=Counter)
    raising: int = 0
    raises: int = 0
    misses: Counter[str] = field(default_factory=Counter)
    false_alarms: int = 0
    unseen: int = 0
    crashes: list[int] = field(default_factory=list)

    def add(self, verdict: Verdict) -> None:
        self.programs += 1
        if verdict.invalid:
            self.invalid[verdict.invalid[:90]] += 1
            return
        if verdict.crashed:
            self.crashes.append(verdict.seed)
        self.raising += bool(verdict.raises)
        self.raises += len(verdict.raises)
        self.misses.update(verdict.cause(miss) for miss in verdict.misses)
        self.false_alarms += bool(verdict.false_alarms)
        self.unseen += not verdict.seen

    @property
    def recall(self) -> float:
        """The share of raises predicted at their line with their class."""
        return 1 - self.misses.total() / max(self.raises, 1)

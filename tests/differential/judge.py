"""Whether the model's verdict on a program is PyTorch's."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from gradcheck_tool import BackwardCall, EngineError, UnversionedWrite
from tests.differential.generator import FLAG
from tests.differential.mend import program
from tests.differential.oracle import Raise, changed_unseen, run, uses_changed
from tests.running import Analysis

# A write that a view forbids is reported as a use of it where a method refuses before it writes.
SAME_ERROR = {("ViewWrite", "InvalidTensorUse")}
# What a program that changes values unseen by autograd has in its text.
UNSEEN = (".data", ".numpy()", "vector_to_parameters", "assign=True", "half()", "float16()", "fused=True")


@dataclass(frozen=True)
class Prediction:
    """A raise that the model predicts, and the lines of what leads to it."""

    line: int
    event: str
    text: str
    story: tuple[int, ...] = ()


@dataclass
class Verdict:
    """What PyTorch and the model say about one program.

    `invalid` is a raise that is not autograd's: the program says nothing about the model.
    `crashed` is the exception that ended the analysis, which nothing in a program may do.
    `seen` tells whether the model had a verdict on every backward that was executed.
    `silent` are the lines where backward used values that were changed unseen, as PyTorch shows; of these
    the model does not report `silent_misses`, and it reports `silent_alarms` where no value that was used had
    been changed.
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
    silent: set[int] = field(default_factory=set)
    silent_misses: set[int] = field(default_factory=set)
    silent_alarms: set[int] = field(default_factory=set)

    def cause(self, miss: Raise) -> str:
        """Why a raise counts as missed."""
        if any(p.line == miss.line for p in self.predicted):
            return f"{miss.event}: another class"
        return f"{miss.event}: {'another line' if self.predicted else 'silent'}"


@dataclass
class Seen:
    """What the model says of a program: raises, backward calls it followed, and those with unseen changes."""

    predicted: dict[Prediction, None] = field(default_factory=dict)
    followed: set[int] = field(default_factory=set)
    silent: set[int] = field(default_factory=set)


def predict(source: str) -> Seen:
    """Analyse a program."""
    analysis = Analysis(source)
    found = Seen()
    for event in analysis.events:
        if isinstance(event, UnversionedWrite):
            found.silent.add(analysis.row(event.story[-1]))
        elif isinstance(event, (EngineError, BackwardCall)) and not event.assumes:
            # What a result would do if a caller differentiated it, the program does not tell.
            line = analysis.row(event)
            found.followed.add(line)
            if isinstance(event, EngineError):
                steps = tuple(analysis.row(step) for step in event.story if step.site is not None)
                found.predicted[Prediction(line, type(event).__name__, event.text, steps)] = None
    return found


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
    verdict.invalid = verdict.invalid or next((r.foreign for r in runs if r.foreign), "")
    if verdict.invalid:
        return verdict
    try:
        analysis = predict(source)
    except Exception as error:  # noqa: BLE001
        verdict.crashed = repr(error)
        return verdict
    verdict.predicted = list(analysis.predicted)
    verdict.misses = [r for r in verdict.raises if not any(_agree(p, r) for p in verdict.predicted)]
    # Only what was executed can be wrong: PyTorch never reached the code after its raise, nor to a handler of
    # what was not raised.
    # What PyTorch raised and the program caught is no false alarm either.
    places = {r.line for r in verdict.raises}.union(*(r.caught for r in runs))
    verdict.false_alarms = [
        p
        for p in verdict.predicted
        if executed.issuperset((p.line, *p.story))
        and p.line not in places
        and not any(_agree(p, r) for r in verdict.raises)
    ]
    backwards = {n for n, text in enumerate(source.splitlines(), 1) if ".backward(" in text and n in executed}
    verdict.seen = backwards <= analysis.followed | places
    if any(word in source for word in UNSEEN):
        _judge_unseen(verdict, analysis)
    return verdict


def _judge_unseen(verdict: Verdict, analysis: Seen) -> None:
    """Compare where values changed unseen; what comes after the first such place is not compared."""
    flags = (False, True) if FLAG in verdict.source else (False,)
    found = [changed_unseen(verdict.source, flag=flag) for flag in flags]
    verdict.silent = {line for line, _ in found if line is not None}
    verdict.silent_misses = verdict.silent - analysis.silent
    if not verdict.silent:
        fine = frozenset().union(*(before for _, before in found))
        verdict.silent_alarms = analysis.silent & fine
    if verdict.silent_alarms:
        # That a gradient does not depend on a changed value shows in its numbers only: the value is used.
        used = [uses_changed(verdict.source, flag=flag) for flag in flags]
        verdict.silent_alarms -= frozenset().union(*(lines if lines is not None else fine for lines in used))


def _reported_elsewhere(prediction: Prediction) -> bool:
    """Mistakes that are reported where they are made, not where PyTorch notices them.

    These are those in the class of a custom Function, and the write to the base of a view that forbids it.
    """
    return prediction.event == "FunctionError" or (
        prediction.event == "ViewWrite" and "its base" in prediction.text
    )


def _agree(prediction: Prediction, raised: Raise) -> bool:
    same = prediction.event == raised.event or (raised.event, prediction.event) in SAME_ERROR
    return same and (prediction.line == raised.line or _reported_elsewhere(prediction))


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
    silent: int = 0
    silent_misses: int = 0
    silent_alarms: int = 0
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
        self.silent += bool(verdict.silent)
        self.silent_misses += bool(verdict.silent_misses)
        self.silent_alarms += bool(verdict.silent_alarms)

    @property
    def recall(self) -> float:
        """The share of raises predicted at their line with their class."""
        return 1 - self.misses.total() / max(self.raises, 1)

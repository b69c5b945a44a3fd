"""Which way a condition goes, and remembering it: the same unchanged condition goes the same way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Class, Dict, Func, Generator, Instance, Iter, List
from gradcheck_tool.domain.values import Const, Ref, Symbol, Value, truth
from gradcheck_tool.interp import counting

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter

# Under which an exception keeps the variables that were found to be true before it was raised.
TRUE_NAMES = "#true_names"


def known(s: State, value: Value) -> bool | None:
    """`bool(value)` as far as the state tells."""
    answer = truth(value)
    if answer is not None:
        return answer
    if isinstance(value, Symbol):
        if isinstance(value.key, tuple) and value.key[0] == "not":
            inner = known(s, value.key[1])
            return None if inner is None else not inner
        known_fact = s.path_condition.get(value)
        return counting.answer(s, value) if known_fact is None else known_fact
    if isinstance(value, Ref):
        return _record_truth(s, value)
    return None


def _record_truth(s: State, ref: Ref) -> bool | None:
    record = s.heap[ref.id]
    if isinstance(record, (List, Dict)):
        return True if record.items else (None if record.open else False)
    if isinstance(record, (Func, Class, Generator, Iter)):
        return True
    if isinstance(record, Instance) and not record.open and "#truth" not in record.attrs:
        return True
    if isinstance(record, (Instance, Tensor)):
        return s.path_condition.get(Symbol(("truth", ref)))
    return None


def decide(m: Interpreter, s: State, value: Value) -> list[tuple[State, bool]]:
    """Both ways where nothing decides, each remembering its assumption."""
    answer = known(s, value)
    if answer is None and counting.pin(s, value):
        answer = known(s, value)
    if answer is not None:
        return [(s, answer)]
    key, positive = value, True
    while isinstance(key, Symbol) and isinstance(key.key, tuple) and key.key[0] == "not":
        key, positive = key.key[1], not positive
    if isinstance(key, Ref):
        key = Symbol(("truth", key))
    other = s.fork()
    s.path_condition[key] = positive
    other.path_condition[key] = not positive
    return [(s, True), (other, False)]


def true_names(s: State) -> Const:
    """The variables of the functions under way that were found to be true where the run decides."""
    true = {test for test, outcome in s.path_condition.items() if outcome}
    held = ((name, value) for frame in s.frames for name, value in s[frame].locals.items() if value in true)
    return Const(tuple(name for name, _ in held if isinstance(name, str)) if true else ())

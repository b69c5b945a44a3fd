"""Breaks of the interpreter."""

from __future__ import annotations

from benchmarks.breaks.base import Break

_INTERP = "gradcheck_tool/interp"

BREAKS = [
    Break(
        "closures of one definition count as one function",
        f"{_INTERP}/recursion.py",
        "    same = sum(_is_same(owners, s.fixed(frame), around[0]) for frame in around)\n",
        "    same = len(around)\n",
        ("tests/interp/test_recursion.py",),
    ),
    Break(
        "a loop is executed once",
        f"{_INTERP}/loops.py",
        "MAX_UNROLLED = 5",
        "MAX_UNROLLED = 1",
        ("tests/interp/test_loops.py",),
    ),
    Break(
        "a loop does not forget the numbers that it changes",
        f"{_INTERP}/loops.py",
        '            _forget(s, number, "locals", old.locals, record.locals)\n',
        "            pass\n",
        ("tests/interp/test_loops.py", "tests/interp/test_counting.py"),
    ),
    Break(
        "a decided condition is decided again",
        f"{_INTERP}/conditions.py",
        "    s.path_condition[key] = positive\n",
        "",
        ("tests/interp/test_conditions.py",),
    ),
    Break(
        "both ways of a condition remember the same",
        f"{_INTERP}/conditions.py",
        "    other.path_condition[key] = not positive\n",
        "    other.path_condition[key] = positive\n",
        ("tests/interp/test_conditions.py",),
    ),
    Break(
        "an empty list is true",
        f"{_INTERP}/conditions.py",
        "return True if record.items else (None if record.open else False)",
        "return True",
        ("tests/interp/test_conditions.py",),
    ),
    Break(
        "a manager of which nothing is known leaves gradients on",
        f"{_INTERP}/managers.py",
        "            s.grad, s.doubts = s.doubts[-1], s.doubts[:-1]\n",
        "            pass\n",
        ("tests/interp/test_managers.py",),
    ),
    Break(
        "a manager that swallows an exception does not",
        f"{_INTERP}/managers.py",
        "            (state, value if exc is not None else FALSE)\n",
        "            (state, FALSE)\n",
        ("tests/interp/test_managers.py",),
    ),
    Break(
        "an except clause catches everything",
        f"{_INTERP}/exceptions.py",
        "            return TRUE\n    return FALSE\n",
        "            return TRUE\n    return TRUE\n",
        ("tests/interp/test_exceptions.py",),
    ),
    Break(
        "a default is forgotten",
        f"{_INTERP}/functions.py",
        "        return func.defaults[p.name]\n",
        "        return unknown()\n",
        ("tests/interp/test_functions.py",),
    ),
    Break(
        "star arguments are lost",
        f"{_INTERP}/functions.py",
        "bound[p.name] = Tup(tuple(rest), open=call.unsure)",
        "bound[p.name] = Tup((), open=call.unsure)",
        ("tests/interp/test_functions.py",),
    ),
    Break(
        "an exception of a called function is dropped",
        f"{_INTERP}/functions.py",
        "    return out + _different_first(raised)[:MAX_RESULTS]\n",
        "    return out\n",
        ("tests/interp/test_exceptions.py", "tests/interp/test_functions.py"),
    ),
    Break(
        "decorators' managers are not left",
        f"{_INTERP}/functions.py",
        "            for after, _ in m.leave(state, manager, None, site):\n",
        "            for after in [state]:\n",
        ("tests/library/torch/test_settings.py", "tests/interp/test_managers.py"),
    ),
    Break(
        "an attribute is looked up in the last base first",
        f"{_INTERP}/attributes.py",
        "    for entry in mro:\n        if type(entry) is Ref:",
        "    for entry in reversed(mro):\n        if type(entry) is Ref:",
        ("tests/interp/test_classes.py", "tests/interp/test_attributes.py"),
    ),
    Break(
        "super() finds the method of the class itself",
        f"{_INTERP}/attributes.py",
        "mro = mro[mro.index(after) + 1 :] if after in mro else ()",
        "mro = mro[mro.index(after) :] if after in mro else ()",
        ("tests/interp/test_classes.py", "tests/interp/test_attributes.py"),
    ),
    Break(
        "a class method gets the object",
        f"{_INTERP}/attributes.py",
        "return Bound(owner.cls if owner is not None else state_value, wrapper.attrs",
        "return Bound(state_value, wrapper.attrs",
        ("tests/interp/test_classes.py", "tests/interp/test_attributes.py"),
    ),
    Break(
        "a generator begins again at each element",
        f"{_INTERP}/generators.py",
        "            mine.block, mine.index = end.block, end.index\n",
        "",
        ("tests/interp/test_generators.py",),
    ),
    Break(
        "a summary is used whatever the records that it has read are",
        f"{_INTERP}/summaries.py",
        "            and all(_alike(record, s.heap.get(number)) for number, record in self.records.items())\n",
        "",
        ("tests/interp/test_summaries.py",),
    ),
    Break(
        "a summary is used whatever was decided",
        f"{_INTERP}/summaries.py",
        "            and all(s.path_condition.get(names(key)) is fact for key, fact in self.path_condition.items())\n",
        "",
        ("tests/interp/test_summaries.py",),
    ),
    Break(
        "an unknown call leaves what it is given as it was",
        f"{_INTERP}/calls.py",
        "    havoc(\n        s,\n        given,\n",
        "    havoc(\n        s,\n        [],\n",
        ("tests/interp/test_havoc.py",),
    ),
    Break(
        "an open list ends after its first element",
        f"{_INTERP}/iteration.py",
        "if not is_open or len(items) >= SEVERAL or _stands_for_all(s, items):",
        "if True:",
        ("tests/interp/test_iteration.py", "tests/interp/test_loops.py"),
    ),
    Break(
        "iterators of a short cycle leave numbers out",
        f"{_INTERP}/counting.py",
        "SHORT_CYCLE = 4",
        "SHORT_CYCLE = 0",
        ("tests/interp/test_counting.py",),
    ),
]

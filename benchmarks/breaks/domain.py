"""Breaks of states and their join."""

from __future__ import annotations

from benchmarks.breaks.base import Break

_JOIN = "gradcheck_tool/domain/join.py"
_ISOMORPHISM = "gradcheck_tool/domain/isomorphism.py"
_RECLAIM = "gradcheck_tool/domain/reclaim.py"

BREAKS = [
    Break(
        "a join keeps the facts of one state only",
        _JOIN,
        "                _forget_differing(stays, goes)\n",
        "",
        ("tests/domain/test_join.py",),
    ),
    Break(
        "states in other grad modes are equivalent",
        _JOIN,
        "        a.grad is not b.grad\n        or a.inference is not b.inference\n        or a.doubts",
        "        a.doubts",
        ("tests/domain/test_join.py", "tests/interp/test_managers.py"),
    ),
    Break(
        "records that differ do not keep states apart",
        _JOIN,
        "        if not naming.records(record, other, (number, number)):\n            return True\n    return False",
        "        naming.records(record, other, (number, number))\n    return False",
        ("tests/domain/test_join.py",),
    ),
    Break(
        "the longest way through a comprehension knows what only it decided",
        _JOIN,
        "        if any(dict.get(other.path_condition, key) is not fact for other in others):\n"
        "            del kept.path_condition[key]\n",
        "        pass\n",
        ("tests/domain/test_join.py", "tests/interp/test_choices.py"),
    ),
    Break(
        "a way that is left out is not noted",
        _JOIN,
        "            state.is_partial = True\n",
        "            pass\n",
        ("tests/domain/test_join.py",),
    ),
    Break(
        "a saved version may be renamed",
        _ISOMORPHISM,
        "if self.exact and VERSION in (a.kind, b.kind) and not {a, b}.isdisjoint(self.saved()):",
        "if False:",
        ("tests/domain/test_isomorphism.py",),
    ),
    Break(
        "a map of states is not one to one",
        _ISOMORPHISM,
        "        if b in self._back:\n            return False\n",
        "",
        ("tests/domain/test_isomorphism.py",),
    ),
]

"""Lists, sets, dictionaries, tuples and texts: constructors and methods."""

from __future__ import annotations

from tests.cases import Fact, check_known, each

FACTS = {
    "a list": Fact(
        """\
a = list((1, 2))
a.append(3)
a.extend([4])
a.insert(0, 0)""",
        "len(a) == 5 and a[0] == 0 and a[3] == 3 and a.pop() == 4 and len(a) == 4",
    ),
    "equal lists": Fact(
        "a = [1, 'x']\nb = [1, 2]", "a == [1, 'x'] and a != b and not a == b and a[:1] == b[:1]"
    ),
    "a dictionary": Fact(
        """\
a = dict(x=1)
a.update({'y': 2})""",
        "a.get('y') == 2 and a.get('z') is None and len(list(a)) == 2",
    ),
    "setdefault and pop": Fact(
        """\
a = {}
a.setdefault('x', []).append(1)
b = a.pop('x')""",
        "len(b) == 1 and b[0] == 1 and not a",
    ),
    "items": Fact(
        """\
a = {'x': 1, 'y': 2}
keys = [k for k, v in a.items() if v > 1]""",
        "len(keys) == 1 and keys[0] == 'y'",
    ),
    "a set": Fact(
        """\
a = set()
a.add(1)""",
        "1 in a and len(a) == 1",
    ),
    "a copy": Fact(
        """\
a = [1]
b = a.copy()
b.append(2)""",
        "len(a) == 1 and len(b) == 2",
    ),
    "a text": Fact(
        "a = 'layer.weight'", "a.endswith('weight') and a.split('.')[0] == 'layer' and a.startswith('layer')"
    ),
    "a deque": Fact(
        """\
from collections import deque
a = deque([1, 2])
a.append(3)""",
        "a.popleft() == 1 and len(a) == 2",
    ),
    "a defaultdict": Fact(
        """\
from collections import defaultdict
a = defaultdict(list)
a['x'].append(1)""",
        "a['x'][0] == 1 and len(a) == 1",
    ),
    "clear": Fact(
        """\
a = [1]
b = a
a.clear()""",
        "not b",
    ),
}


@each(FACTS)
def test_the_model_knows_what_python_computes(program: Fact) -> None:
    check_known(program)

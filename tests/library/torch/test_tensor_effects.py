"""Views and writes of items, which no op table describes."""

from __future__ import annotations

from tests.cases import check_raises, check_runs, each

# Bodies that raise.
RAISING = {
    "a write through a row changes what the whole was saved as": """
h = m * 1.0
y = h.exp() * h
h[0].add_(1.0)
y.sum().backward()
""",
    "an item of a leaf is written": "w[0] = 1.0\n",
    "rows that unbind gives are written": "h = m * 1.0\na, b = h.unbind()\na.add_(1.0)\n",
    "a write of an item changes what was saved": "h = w * 1.0\ny = h * h\nh[1] = 0.0\ny.sum().backward()\n",
}
# Bodies that run.
RUNNING = {
    "a row is read": "m[0].sum().backward()\n",
    "a row of a result is written": "h = m * 1.0\nh[0].add_(1.0)\nh.sum().backward()\n",
    "an item of a constant is written": "c = torch.zeros(3)\nc[0] = w[0]\nc.sum().backward()\n",
    "rows that a mask picks are a copy": "h = w * 1.0\ny = h * h\nh[w > 0].add_(1.0)\ny.sum().backward()\n",
    "an item of a leaf is written under no_grad": "with torch.no_grad():\n    w[0] = 1.0\nw.sum().backward()\n",
}


@each(RAISING)
def test_what_raises_is_predicted(program: str) -> None:
    check_raises(program)


@each(RUNNING)
def test_nothing_is_predicted_for_what_runs(program: str) -> None:
    check_runs(program)

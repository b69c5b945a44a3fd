"""Pages of rules on a terminal."""

import re

import pytest

from gradcheck_tool.report.markdown import Page
from gradcheck_tool.report.style import columns

PAGE = """\
# GL201

**inplace-on-saved** · error

A paragraph with `code = of it` and a [link to `PyTorch`](https://pytorch.org/a_(b) that goes
on in another line.

- first item that is long enough to go on in a second line
- second item
  goes on

```python
x = 1

y = x  # <- GL201
```

| code | name |
|---|---|
| [GL1](#gl1) | one |
"""
PLAIN = """\
GL201

inplace-on-saved · error

A paragraph with `code =
of it` and a link

- first item that is long
  enough to go on in a
  second line
- second item goes on

    x = 1

    y = x  # <- GL201

code  name
GL1   one
"""


def test_blocks_in_a_width():
    page = re.sub(r"a \[link.*\n.*line\.", "a link", PAGE)
    assert Page(26, color=False, links=False).render(page) == PLAIN


def test_addresses_are_shown_where_nothing_opens_them():
    page = "[docs](https://pytorch.org/docs), [here](#gl1)"
    assert Page(80, color=False, links=False).render(page) == "docs <https://pytorch.org/docs>, here\n"
    opened = Page(80, color=False, links=True).render(page)
    assert opened == "\x1b]8;;https://pytorch.org/docs\x1b\\docs\x1b]8;;\x1b\\, here\n"


def test_what_is_painted_goes_on_in_the_next_line():
    shown = Page(10, color=True, links=False).render("see `one two three` and **four five**")
    lines = [re.sub(r"\x1b\[[\d;]*m", "|", line) for line in shown.splitlines()]
    assert lines == ["see |one|", "|two three|", "and |four|", "|five|"]


def test_a_link_goes_on_in_the_next_line():
    shown = Page(10, color=False, links=True).render("[one two three](https://a.b) [four](https://c.d)")
    opened = re.findall(r"\x1b\]8;;(h[^\x1b]*)\x1b\\([^\x1b]*)", shown)
    assert opened == [("https://a.b", "one two"), ("https://a.b", "three"), ("https://c.d", "four")]


@pytest.mark.parametrize("width", [40, 60, 80])
def test_every_page_keeps_to_the_width_and_loses_no_word(width):
    from gradcheck_tool.rulebook.documentation import render
    from gradcheck_tool.rulebook.ruleset import RuleSet

    for rule in RuleSet.load().known:
        page = render(rule)
        shown = Page(width, color=False, links=True).render(page)
        words = re.sub(r"\x1b\]8;;[^\x1b]*\x1b\\", "", shown)
        prose = [line for line in words.splitlines() if not line.startswith("    ")]
        assert max(map(columns, prose)) <= width, rule.code
        for word in re.findall(r"[a-z]{4,}", re.sub(r"```.*?```|\]\(\S+\)", "", page, flags=re.DOTALL)):
            assert word in words, (rule.code, word)

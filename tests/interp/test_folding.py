"""What is computed of constants stays small, and what it is stays known as long as it does."""

from __future__ import annotations

import resource

import pytest

from tests.running import findings

START = "import torch\nx = torch.ones(2, requires_grad=True)\n"
END = "\nloss = x.exp().sum()\nloss.backward()\nloss.backward()\n"
# What doubles in each of forty lines, or is large at once.
GROWING = {
    "sums of texts": ('s = "a"', "s = s + s"),
    "texts that are added to": ('s = "a"', "s += s"),
    "formatted texts": ('s = "a"', 's = f"{s}{s}"'),
    "texts in a format": ('s = "a"', 's = "{}{}".format(s, s)'),
    "texts behind a percent sign": ('s = "a"', 's = "%s%s" % (s, s)'),
    "texts that are joined": ('s = "a"', "s = s.join((s, s, s))"),
    "parts that are replaced": ('s = "aa"', 's = s.replace("a", s)'),
    "a width": ("s = 1", 's = "{:>900000000}".format(1)'),
    "a width that is an argument": ("s = 1", 's = "%*d" % (900000000, 1)'),
    "sums of lists": ("s = [1]", "s = s + s"),
    "lists that are added to": ("s = [1]", "s += s"),
    "lists that are extended": ("s = [1]", "s.extend(s)"),
    "lists that are written into themselves": ("s = [1]", "s[:0] = s"),
    "lists in lists": ("s = [1]", "s = [*s, *s]"),
    "sums of tuples": ("s = (1,)", "s = s + s"),
    "tuples in tuples": ("s = (1,)", "s = (*s, *s)"),
    "tuples of tuples": ("s = (1,)", "s = (s, s)"),
    "products": ("s = 3", "s = s * s"),
    "products in place": ("s = 3", "s *= s"),
    "squares": ("s = 3", "s = s ** 2"),
    "shifts": ("s = 3", "s = s << 60"),
    "a place far to the left": ("s = 3", "s = round(3, -10**9)"),
    "expressions of what is not known": ("s = unknown()", "s = s * s + s"),
}


@pytest.mark.parametrize(("start", "line"), GROWING.values(), ids=GROWING)
def test_what_grows_is_not_followed(start: str, line: str) -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    source = f"{START}{start}\n" + f"{line}\n" * 40 + END
    assert [code for _, code in findings(source)] == ["GL101"]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 100_000  # kilobytes


@pytest.mark.parametrize(
    "test",
    [
        "'a' + 'b' == 'ab'",
        "'%d-' % 3 == '3-'",
        "'{}{}'.format('a', 1) == 'a1'",
        "f'{1}b' == '1b'",
        "'-'.join(('a', 'b')) == 'a-b'",
        "'aba'.replace('a', 'c') == 'cbc'",
        "3 ** 4 == 81",
        "1 << 10 == 1024",
        "round(3.14159, 2) == 3.14",
        "len([1] + [2]) == 2",
        "len((1, 2) + (3,)) == 3",
        "'ab' * 3 == 'ababab'",
        "-(-3) == 3",
    ],
)
def test_what_is_small_is_computed(test: str) -> None:
    source = f"{START}loss = x.exp().sum()\nif not ({test}):\n    loss.backward()\nloss.backward()\n"
    assert not findings(source)

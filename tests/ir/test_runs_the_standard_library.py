"""Modules of the standard library, lowered and run from the IR, compute what they compute in CPython."""

from __future__ import annotations

import importlib
import inspect
import sys

import pytest

from tests.ir.concrete import run

TEXT = inspect.getsource(inspect.Signature)

USES = {
    "textwrap": "fill(TEXT, 60)[:2000], dedent('  a\\n   b'), indent('a\\nb', '> '), shorten(TEXT, 50)",
    "difflib": "list(unified_diff(TEXT.split(), TEXT[::2].split())), get_close_matches('appel', ['ape', 'apple'])",
    "ast": "unparse(parse(TEXT)), dump(parse('x = [y async for y in z if y]')), literal_eval('{1: [2, (3,)]}')",
    "tokenize": "[tuple(t) for t in generate_tokens(iter(TEXT.splitlines(True)).__next__)]",
    "shlex": "split('a \"b c\" d\\\\ e # f', comments=True), join(['a b', 'c']), quote('a b')",
    "string": "Template('$a ${b} $$').substitute(a=1, b=2), Formatter().format('{0!r:>{1}} {x[k]}', 'a', 6, x={'k': 3})",
    "calendar": "TextCalendar(6).formatyear(2024), isleap(2100), HTMLCalendar().formatmonth(2024, 2)",
    "pprint": "pformat({'k' * i: list(range(i)) for i in range(30)}, width=50), pformat(TEXT)",
    "fractions": "Fraction(3, 4) + 2 * Fraction('0.125') ** 2, Fraction(7, 3) // 1, Fraction(3.5).limit_denominator(2)",
    "statistics": "mean([1, 2, 3.5]), median([3, 1, 2]), stdev([1, 2, 4]), multimode('aabb'), quantiles([1, 2, 3, 4, 5])",
    "configparser": "(lambda c: (c.read_string('[a]\\nx = %(y)s!\\ny: 2'), c['a']['x'], c.sections()))(ConfigParser())",
    "colorsys": "rgb_to_hsv(0.2, 0.4, 0.6), hls_to_rgb(0.1, 0.5, 0.9), rgb_to_yiq(1, 0, 0)",
    "graphlib": "list(TopologicalSorter({'d': {'b', 'c'}, 'b': {'a'}, 'c': {'a'}, 'e': {'d'}}).static_order())[::4]",
    "argparse": "ARGS(ArgumentParser(prog='p', description='d')), ArgumentParser(prog='p').format_help()",
    "html.parser": "(lambda p: (p.feed('<a href=x>b &amp; c</a><br/>'), p.getpos(), p.rawdata))(HTMLParser())",
    "copy": "deepcopy([1, {2: (3, [4])}, {5}]), copy({1: [2]})",
    "reprlib": "repr(list(range(100))), repr({'k' * 50: 'v' * 99})",
    "urllib.parse": "urlsplit('http://u:p@h:80/p;x?q=1#f'), urlencode({'a b': [1, 2]}, True), urljoin('http://a/b/c', '../d')",
    "zipfile": "ZipInfo('a/b').filename, is_zipfile('no such file')",
    "dis": "[i.opname for i in get_instructions('x = 1 if y else [z for z in w]')]",
}


def parse_arguments(parser):
    parser.add_argument("-x", type=int, default=3, help="the x (default: %(default)s)")
    parser.add_argument("names", nargs="*", choices=["a", "b"])
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--on", action="store_true")
    group.add_argument("--off", action="store_false")
    return vars(parser.parse_args(["-x", "5", "a", "b", "--on"])), parser.format_usage()


@pytest.mark.parametrize("name", USES)
def test_module_computes_the_same(name, monkeypatch):
    if name == "calendar" and sys.version_info >= (3, 12):
        pytest.skip("its enumeration puts names into sys.modules, which are those of the real module")
    module = importlib.import_module(name)
    package = name if hasattr(module, "__path__") else name.rpartition(".")[0]
    lowered = run(inspect.getsource(module), name, package)
    given = {"TEXT": TEXT, "ARGS": parse_arguments}
    expected = eval(USES[name], {**vars(module), **given})
    assert repr(eval(USES[name], {**lowered, **given})) == repr(expected)

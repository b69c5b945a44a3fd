"""A page for each code, and the index of all of them by family."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gradcheck_tool.codes import CODES
from gradcheck_tool.links import rule_page
from gradcheck_tool.rulebook.documentation import FAMILIES, described, family, render, render_code
from gradcheck_tool.rulebook.selection import UNUSED_SUPPRESSION
from gradcheck_tool.session.unused_suppressions import DOCUMENTATION, NAME

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gradcheck_tool.rulebook.rule import Rule

INDEX = "rules/index.md"
# Where the playground is on the site, if it has been built.
PLAYGROUND = "play/index.html"
# Where the picture goes, when the rest of the page has become HTML.
PICTURE = "<!-- picture -->"

_SENTENCE = re.compile(r"(.+?[.:])(?=\s|$)", re.DOTALL)
_HIDE = "---\nhide: [toc]\n---\n\n"


def source(code: str) -> str:
    """The file that the page of a code is made from, if there were one, from the root of the pages."""
    return f"{rule_page(code).removesuffix('/')}.md"


def page_of(rule: Rule, *, drawn: bool, playground: bool = False) -> str:
    """The documentation of a rule, with its name in the heading and the picture behind the example.

    Args:
        rule: a built-in rule.
        drawn: whether there is a picture of its example.
        playground: whether the site has a playground, which knows the examples of rules that are on by default.
    """
    text = _headed(render(rule), rule.code, rule.name)
    shown = ""
    if playground and rule.default:
        shown += f"[Change it in the playground](../{PLAYGROUND}#rule={rule.code}).\n\n"
    if drawn:
        shown += (
            "## How it comes about\n\n"
            "What [`gradlint explain`](../guides/pictures.md) draws of the first example above.\n\n"
            f"{PICTURE}\n\n"
        )
    text = text.replace("\n## Use instead\n", f"\n{shown}## Use instead\n", 1)
    return f"{_HIDE}{text}\n{_switched_off(rule.code)}"


def page_of_code(code: str) -> str:
    """The page of a code of the run-time engine."""
    entry = CODES[code]
    more = (
        "## More\n\n"
        "[What is checked and how](../gradcheck/index.md), [from a Function to CI](../gradcheck/guide.md), "
        "[all codes of the run-time engine](../gradcheck/codes.md).\n"
    )
    return f"{_HIDE}{_headed(render_code(entry), code, entry.name)}\n{more}\n{_switched_off(code)}"


def page_of_unused() -> str:
    """The page of the one code that no rule reports."""
    return f"{_HIDE}{_headed(DOCUMENTATION, UNUSED_SUPPRESSION, NAME)}"


def _headed(text: str, code: str, name: str) -> str:
    return text.replace(f"# {code}\n", f"# {code} {name}\n", 1)


def _switched_off(code: str) -> str:
    return (
        f"## Switch it off\n\nIn one place, with the comment `# gradlint: ignore[{code}]`; "
        f'everywhere, with `ignore = ["{code}"]` in the configuration. '
        "[More about suppression](../guides/suppressions.md).\n"
    )


def by_family(rules: Sequence[Rule]) -> dict[str, list[str]]:
    """All codes that have a page, by the title of their family."""
    codes = [*(rule.code for rule in rules), *CODES]
    listed: dict[str, list[str]] = {title: [] for title in FAMILIES.values()}
    for code in codes:
        listed[family(code)].append(code)
    return {**listed, "Suppressions": [UNUSED_SUPPRESSION]}


def index(rules: Sequence[Rule]) -> str:
    """The index: a table for each family."""
    return "\n".join(_index(rules))


def _index(rules: Sequence[Rule]) -> Iterator[str]:
    on = sum(rule.default for rule in rules)
    yield f"{_HIDE}# Rules\n\n`gradlint check` and `gradlint run` have {len(rules)} rules, of which {on} are on by default;"
    yield f"the others are selected by code or family. `gradlint gradcheck` has {len(CODES)} codes of its own (`GC`)."
    yield "Each page of a rule has a wrong program and a right one, which the test suite runs in PyTorch.\n"
    known = {rule.code: rule for rule in rules}
    for title, codes in by_family(rules).items():
        yield f"\n## {title}\n"
        if codes[0] in known:
            yield "| code | what it reports | effect |\n|---|---|---|"
            yield from (_row(known[code]) for code in codes)
        elif codes[0] in CODES:
            yield "| code | what it reports | severity |\n|---|---|---|"
            yield from (_row_of_code(code) for code in codes)
        else:
            yield f"[{codes[0]}]({codes[0].lower()}.md): comments that suppress nothing."


def _row(rule: Rule) -> str:
    what = _first_sentence(described(type(rule)).summary)
    effect = rule.effect if rule.default else f"{rule.effect}, opt-in"
    return f"| {_linked(rule.code)} | **{rule.name}**: {what} | {effect} |"


def _row_of_code(code: str) -> str:
    entry = CODES[code]
    return f"| {_linked(code)} | **{entry.name}**: {_first_sentence(entry.doc)} | {entry.severity.value} |"


def _linked(code: str) -> str:
    return f"[{code}]({code.lower()}.md)"


def _first_sentence(text: str) -> str:
    found = _SENTENCE.match(" ".join(text.split()))
    return (found[1] if found else text).replace("|", "\\|").rstrip(":")

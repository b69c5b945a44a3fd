"""A rule's documentation: read from its docstring, and rendered for people."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gradcheck_tool.links import rule_link
from gradcheck_tool.predictions import alternatives

if TYPE_CHECKING:
    from gradcheck_tool.codes import Code
    from gradcheck_tool.rulebook.rule import Rule

HEADINGS = ("What it detects", "Why it is wrong", "Example", "Use instead", "Fix safety", "References")
REQUIRED = tuple(heading for heading in HEADINGS if heading != "Fix safety")

FAMILIES = {
    "GL1": "Graph lifetime",
    "GL2": "In-place operations and versions",
    "GL3": "Leaves and parameters",
    "GL4": "Gradient accumulation and the optimizer protocol",
    "GL5": "Graph breaks and grad mode",
    "GL6": "Memory",
    "GL7": "The contract of autograd.Function",
    "GL8": "Higher order, hooks, checkpoint and distributed",
    "GL9": "Deprecated API",
    "GC1": "Wrong gradients (run time)",
    "GC2": "Broken contracts (run time)",
    "GC3": "Environment (run time)",
}

_FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
_MARK = re.compile(r"#\s*<-\s*([A-Z]{2,}\d{3}|raises)\s*$")

# A mark for the line where PyTorch raises, where that is not the line that a rule reports.
RAISES = "raises"

_EFFECT_LABELS = {"raises": "PyTorch raises", "silent": "Silent effect", "warns": "PyTorch says"}


@dataclass(frozen=True, slots=True)
class Mark:
    """A line (1-based) of a program that a rule must report, or (`raises`) where PyTorch raises."""

    row: int
    code: str


@dataclass(frozen=True, slots=True)
class Program:
    """A runnable program of the documentation and the lines that it expects findings on."""

    source: str
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class RuleDoc:
    """The text before the first heading, the sections by heading, and the programs in two of them."""

    summary: str
    sections: dict[str, str]
    wrong: tuple[Program, ...]
    right: tuple[Program, ...]


def read_marks(source: str) -> tuple[Mark, ...]:
    """The `# <- CODE` and `# <- raises` marks at the ends of lines."""
    found = []
    for row, line in enumerate(source.splitlines(), start=1):
        match = _MARK.search(line)
        if match:
            found.append(Mark(row, match.group(1)))
    return tuple(found)


def read_doc(rule: type[Rule]) -> RuleDoc:
    """Parse the docstring of a rule class.

    Raises:
        ValueError: a heading is missing, unknown, repeated or out of order, or a program is.
    """
    text = _docstring(rule)
    starts = list(_HEADING.finditer(text))
    names = [match.group(1).strip() for match in starts]
    if names != [heading for heading in HEADINGS if heading in names]:
        raise ValueError(
            f"{rule.code}: the headings must be {', '.join(HEADINGS)}, in this order; found {names}"
        )
    missing = [heading for heading in REQUIRED if heading not in names]
    if missing:
        raise ValueError(f"{rule.code}: no heading {missing[0]!r} in the docstring")
    ends = [match.start() for match in starts[1:]] + [len(text)]
    sections = {
        name: text[match.end() : end].strip() for name, match, end in zip(names, starts, ends, strict=True)
    }
    wrong = _programs(sections["Example"])
    right = _programs(sections["Use instead"])
    if not wrong or not right:
        raise ValueError(f"{rule.code}: Example and Use instead each need a ```python block")
    summary = text[: starts[0].start()].strip()
    return RuleDoc(summary, sections, wrong, right)


def described(rule: type[Rule]) -> RuleDoc:
    """As `read_doc`, but a docstring without the headings is a summary: packs of a team may be brief."""
    try:
        return read_doc(rule)
    except ValueError:
        return RuleDoc(_docstring(rule), {}, (), ())


def _docstring(rule: type[Rule]) -> str:
    """The docstring without the indentation that the class body gives it."""
    lines = (rule.__doc__ or "").expandtabs().splitlines()
    margin = min((len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()), default=0)
    return "\n".join(
        [line.strip() for line in lines[:1]] + [line[margin:].rstrip() for line in lines[1:]]
    ).strip()


def _programs(section: str) -> tuple[Program, ...]:
    return tuple(Program(source, read_marks(source)) for source in _FENCE.findall(section))


def family(code: str) -> str:
    """The family's title; packs of other letters are families of their own."""
    return FAMILIES.get(code[:3], f"{code[:-2]}00")


def render(rule: Rule | type[Rule]) -> str:
    """One rule as Markdown: what `gradlint rule CODE` prints and the catalogue lists."""
    kind = rule if isinstance(rule, type) else type(rule)
    doc = described(kind)
    lines = [f"# {kind.code}", "", f"**{kind.name}** · {_facts(kind)}", ""]
    lines += [doc.summary, ""]
    if kind.predicts:
        lines += [f"{_EFFECT_LABELS[kind.effect]}: {_quoted(kind)}", ""]
    for heading, body in doc.sections.items():
        lines += [f"## {heading}", "", body, ""]
    return "\n".join(lines).rstrip() + "\n"


def _when(rule: Rule | type[Rule]) -> str:
    if rule.preview:
        return "preview"
    return "on by default" if rule.default else "opt-in"


def as_data(rule: Rule) -> dict[str, Any]:
    """One rule for programs: what `gradlint rule --output-format json` prints."""
    doc = described(type(rule))
    return {
        "code": rule.code,
        "name": rule.name,
        "family": family(rule.code),
        "severity": rule.severity.value,
        "default": rule.default,
        "preview": rule.preview,
        "effect": rule.effect,
        "predicts": rule.predicts,
        "since": rule.since,
        "until": rule.until,
        "fix": "Fix safety" in doc.sections,
        "summary": " ".join(doc.summary.split()),
        "explanation": render(rule),
        "url": rule_link(rule.code),
    }


def render_code(entry: Code) -> str:
    """One code of the run-time engine as Markdown."""
    facts = f"{family(entry.code)} · {entry.severity.value} · reported by `gradlint gradcheck`"
    return f"# {entry.code}\n\n**{entry.name}** · {facts}\n\n{entry.doc}\n"


def _quoted(rule: type[Rule]) -> str:
    """What PyTorch says is code; a silent effect is prose."""
    if rule.effect == "silent":
        return rule.predicts or ""
    *others, last = [_as_code(text) for text in alternatives(rule.predicts)]
    return f"{', '.join(others)} or {last}" if others else last


def _as_code(text: str) -> str:
    """A text as Markdown's code, which may hold backticks itself."""
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _facts(rule: type[Rule]) -> str:
    facts = [family(rule.code), rule.severity.value, _when(rule)]
    if rule.since:
        facts.append(f"since torch {rule.since}")
    if rule.until:
        facts.append(f"until torch {rule.until}")
    return " · ".join(facts)


def render_catalogue(rules: list[Rule]) -> str:
    """All rules on one page: a table by family, then each rule's documentation."""
    lines = ["# Rules", "", f"{len(rules)} rules; those marked ● are on by default.", ""]
    for title in dict.fromkeys(family(rule.code) for rule in rules):
        lines += [f"**{title}**", "", "| code | name | effect | default |", "|---|---|---|---|"]
        lines += [_row(rule) for rule in rules if family(rule.code) == title]
        lines.append("")
    body = "\n".join(_demoted(render(rule)) for rule in rules)
    return "\n".join(lines) + "\n" + body


def _row(rule: Rule) -> str:
    mark = "●" if rule.default else ""
    return f"| [{rule.code}](#{rule.code.lower()}) | {rule.name} | {rule.effect} | {mark} |"


def _demoted(markdown: str) -> str:
    """Headings one level deeper, code blocks left alone."""
    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.MULTILINE | re.DOTALL)
    return "".join(
        part if part.startswith("```") else re.sub(r"^#", "##", part, flags=re.MULTILINE) for part in parts
    )

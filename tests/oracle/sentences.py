"""What the documentation of rules says of errors, sentence by sentence."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from gradcheck_tool.rulebook.documentation import read_doc

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.rulebook.rule import Rule

_OF_ERRORS = re.compile(r"\b(?:raises?|raised|refuse[sd]?|warns?)\b")
_END = re.compile(r"(?<=[.:])\s+(?=[A-Z`])|\n\n")
_CODE = re.compile(r"```.*?```", re.DOTALL)

# What the examples of a page show, by the effect of the rule: they raise what it predicts, or nothing, or warn ...
_SHOWN = {
    "raises": re.compile(r"\braises\b"),
    "silent": re.compile(r"^Nothing is raised\b"),
    "warns": re.compile(r"\bwarns\b"),
}
# ... and do not show where it is otherwise.
_CONDITION = re.compile(
    r"\b(?:again|allowed|also|even|except|first|if|instead|later|more|not|otherwise|other|second|unless|when|where|whether|"
    r"while|with|without)\b"
)
# That it is backward which raises, the examples mark.
_IN_BACKWARD = re.compile(r" (?:when backward (?:is called|reaches it)|in the first backward)")


class Sentence(NamedTuple):
    """A sentence about errors in the documentation of a rule."""

    code: str
    text: str


def to_be_shown(rule: Rule) -> Iterator[Sentence]:
    """The sentences of a rule's documentation about errors which its examples do not show by themselves."""
    doc = read_doc(type(rule))
    parts = (
        text for name, text in doc.sections.items() if name not in ("Example", "Use instead", "References")
    )
    for part in (doc.summary, *parts):
        for sentence in _END.split(_CODE.sub("", part)):
            text = " ".join(sentence.split())
            is_shown = _SHOWN[rule.effect].search(text) and not _CONDITION.search(_IN_BACKWARD.sub("", text))
            if _OF_ERRORS.search(text) and not is_shown:
                yield Sentence(rule.code, text)

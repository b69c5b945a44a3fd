"""The domain that a Function's documentation states: what a call outside of it shows is no mistake."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from gradcheck_tool.gradcheck.prose import documentation, sentences, words_of_name

if TYPE_CHECKING:
    from collections.abc import Iterator

_SIGNS = ("signs", "large values of both signs", "huge values of both signs")
_SIZES = ("large", "huge")
_ZEROS = ("zeros", "a zero row")

_DEMANDS = (
    (
        (
            r"full[- ](?:column |row )?rank|invertible|non-?singular|regular matri|well[- ]conditioned"
            r"|positive[- ](?:semi-?)?definite"
        ),
        (*_SIGNS, *_SIZES, *_ZEROS, "ties"),
    ),
    (r"(?:strictly )?positive|greater than (?:0|zero)|> ?0(?![.\d])", (*_SIGNS, *_ZEROS)),
    (r"non-?negative|>= ?0(?![.\d])", _SIGNS),
    (r"probabilit|\[0, ?1\]|\(0, ?1\)|between 0 and 1|unit interval|sums? to (?:1|one)", (*_SIGNS, *_SIZES)),
    (r"\[-1, ?1\]|\(-1, ?1\)|between -1 and 1", _SIZES),
    (r"non-?zero", _ZEROS),
    # A denominator that is kept away from zero shows where everything is small or nearly equal.
    (
        (
            r"(?:backward|gradient|derivative)s?\b[^.;]{0,40} numerical(?:ly)? stab\w+"
            r"|safe (?:inv\w*|div\w*|reciprocal|sqrt|log|norm\w*)"
        ),
        ("small", "tiny", *_ZEROS, "ties"),
    ),
    (r"distinct|no ties|no duplicates|unique|without repetition", ("ties", "repeated")),
    (
        r"sorted|(?:in|de)creasing|(?:a|de)scending|monoton",
        (*_SIGNS, *_SIZES, *_ZEROS, "ties", "repeated"),
    ),
    (
        r"normali[sz]ed|unit[- ](?:norm|length|vector|quaternion)",
        (*_SIZES, *_ZEROS, "signs", "small", "tiny", "ties"),
    ),
)
"""Words for what arguments have to be, and the variations (how their labels begin) that need not be it."""

_TABLE = tuple((re.compile(rf"\b(?:{words})|{words}(?=\W)", re.IGNORECASE), out) for words, out in _DEMANDS)


_SQUARE = re.compile(
    r"\b(?:square|symmetric|triangular|definite|orthogonal|rotation|covariance|SPD)(?: \w+)? matri(?:x|ces)\b"
    r"|[(\[](?:\.{3}|\*|\w+), ?(\w+), ?\1[)\]]",
    re.IGNORECASE,
)


def speaks_of_square(klass: Any) -> bool:
    """Whether the documentation speaks of square matrices, of which there are no more or fewer rows."""
    return klass is not None and any(_SQUARE.search(text) for text in documentation(klass))


def outside(klass: Any, label: str) -> str | None:
    """The words that demand of arguments what a variation does not keep; None where nothing is demanded."""
    if klass is None:
        return None
    return next((said for said, out in _demands(klass) if label.startswith(out)), None)


def _demands(klass: Any) -> Iterator[tuple[str, tuple[str, ...]]]:
    for text in (*documentation(klass), *_called(klass)):
        for sentence in sentences(text):
            for words, out in _TABLE:
                if match := words.search(sentence):
                    yield match.group(0), out


def _called(klass: Any) -> Iterator[str]:
    """The names that backward reads, as words: `safe_inverse` speaks of what it is given, too."""
    code = getattr(getattr(klass, "backward", None), "__code__", None)
    yield from (words_of_name(name) for name in getattr(code, "co_names", ()))

"""What is written about a gradient that is no derivative, and whether the numbers are what is written.

Words excuse what they speak of. "Straight-through" speaks of a forward without a useful derivative, "clipped"
of a gradient that is too small, "fixed-point" of one that is near the derivative; none of them speaks of a
factor that was forgotten. So every word stands for a look at the numbers, and excuses nothing that does not
look so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from gradcheck_tool.gradcheck.prose import UNCHECKED, callers, comments, docstrings, sentences, words_of_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gradcheck_tool.gradcheck.evidence import Evidence

_ALIKE = 0.3
"""Cosine of two gradients that point the same way."""


@dataclass(frozen=True)
class Claim:
    """Words about a gradient: where they stand, and what the numbers have to look like."""

    text: str
    kind: str

    def fits(self, evidence: Sequence[Evidence]) -> bool:
        """Whether the wrong gradients, one piece of evidence an input, look as the words say."""
        return _LOOKS[self.kind](evidence)

    def explains(self, evidence: Sequence[Evidence]) -> bool:
        """Whether the numbers are what the words say and nothing else: then they may be anybody's words."""
        return self.kind in _EXACT and self.fits(evidence)


def _is_flat(evidence: Sequence[Evidence]) -> bool:
    """Some input has a gradient where it has no influence, or is handed the incoming gradient."""
    return any(_without_influence(e) or _is_handed_on(e) for e in evidence)


def _without_influence(e: Evidence) -> bool:
    off = e.off
    return bool(off.any()) and bool((e.reference.abs() <= e.tolerance)[off].all())


def _is_handed_on(e: Evidence) -> bool:
    """Whether every row of the gradient is an incoming gradient, or zero where it is not."""
    for row, cotangent in zip(e.analytic, e.cotangents, strict=True):
        sent = [v.detach().to(row.dtype).reshape(-1) for v in cotangent if v is not None]
        if not any(v.shape == row.shape and bool(((row == v) | (row == 0)).all()) for v in sent):
            return False
    return True


def _is_clipped(evidence: Sequence[Evidence]) -> bool:
    """Every wrong entry has the right sign and is too small."""
    return all(
        not e.analytic.is_complex()
        and bool(
            ((e.analytic * e.reference >= 0) & (e.analytic.abs() <= e.reference.abs() + e.tolerance))[
                e.off
            ].all()
        )
        for e in evidence
    )


def _is_gated(evidence: Sequence[Evidence]) -> bool:
    """Every entry is that of the derivative, or zero; not all are zero."""
    return all(bool((~e.off | (e.analytic == 0)).all()) and bool(e.analytic.any()) for e in evidence)


def _is_rectified(e: Evidence) -> bool:
    """Whether every row of the gradient is what is positive of an incoming gradient."""
    for row, cotangent in zip(e.analytic, e.cotangents, strict=True):
        sent = [v.detach().to(row.dtype).reshape(-1) for v in cotangent if v is not None]
        if row.is_complex() or not any(torch.equal(row, v.clamp(min=0)) for v in sent):
            return False
    return True


def _is_alike(evidence: Sequence[Evidence]) -> bool:
    """The gradients point the way of the derivatives."""
    return all(_cosine(e) >= _ALIKE for e in evidence)


def _is_scaled(evidence: Sequence[Evidence]) -> bool:
    """The gradients are multiples of the derivatives, or none at all."""
    return all(abs(_cosine(e)) >= 0.999 or not bool(e.analytic.any()) for e in evidence)


def _cosine(e: Evidence) -> float:
    a = torch.nan_to_num(e.analytic) * e.known
    r = torch.nan_to_num(e.reference) * e.known
    size = float(a.abs().square().sum().sqrt() * r.abs().square().sum().sqrt())
    return float((a.conj() * r).real.sum()) / size if size else 0.0


_LOOKS: dict[str, Callable[[Sequence[Evidence]], bool]] = {
    "another": lambda _: True,
    "flat": _is_flat,
    "scaled": _is_scaled,
    "clipped": _is_clipped,
    "gated": _is_gated,
    "rectified": lambda evidence: all(map(_is_rectified, evidence)),
    "handed on": lambda evidence: all(map(_is_handed_on, evidence)),
    "alike": _is_alike,
    "written": lambda evidence: all(map(_without_influence, evidence)),
    "near": lambda evidence: all(_ALIKE <= _cosine(e) < 1 - 1e-6 for e in evidence),
}

_EXACT = ("gated", "rectified", "handed on")
"""Kinds whose looks no other mistake has."""

_GRADIENT = r"(?:gradients?|grads?|derivatives?)"
_WORDS = (
    (
        "another",
        (
            rf"not (?:the|a|its) (?:true |exact |real |actual )?{_GRADIENT}"
            rf"|{_GRADIENT} (?:is|are) (?:replaced|modified|set|overridden)"
            rf"|fake[- ]{_GRADIENT}|substitut\w+ (?:the )?{_GRADIENT}"
            # Backward carries something else by way of the gradient: what explains a prediction.
            r"|\bLRP\b|relevance propagation"
            r"|(?:comput|propagat|distribut)\w+ (?:the )?relevances?\b(?! (?:labels?|scores?))"
        ),
    ),
    (
        "flat",
        (
            r"straight[- ]?through|\bSTE\b|surrogate|pseudo[- ]?(?:gradient|derivative)"
            r"|(?:sign|gradient) estimator"
            r"|(?:as|like|for) (?:if it were )?(?:the |an? )?identity"
            r"|identity (?:in|for|during|on) (?:the )?backward"
            rf"|{_GRADIENT} (?:is|are)? ?(?:pass(?:es|ed)|handed|sent|flows?) "
            r"(?:\w+ ){0,2}(?:unchanged|through|on)"
            rf"|pass(?:es|ed|ing)? (?:the |on )?(?:\w+ )?{_GRADIENT} (?:\w+ )?(?:unchanged|through|on)"
            r"|(?:round|quanti[sz]|threshold|binari[sz])\w* (?:is|are) ignored"
            r"|(?:bogus|dummy|fake) (?:values?|outputs?|forward)"
        ),
    ),
    (
        "scaled",
        (
            rf"{_GRADIENT}[- ](?:revers|scal|multipl|flip)\w*"
            rf"|(?:scal|revers|multipl|flip)\w* (?:of )?(?:the )?{_GRADIENT}"
        ),
    ),
    (
        "clipped",
        (
            rf"{_GRADIENT}[- ](?:clipping|clamping)"
            r"|(?:without|avoid\w*|prevent\w*|no) (?:a )?(?:dividing|divisions?) by (?:0|zero)"
            rf"|{_GRADIENT}[^.;]{{0,20}} (?:clipped|clamped|capped|truncated|bounded|limited|saturated)"
            rf"|(?:clip|clamp|cap|limit|bound)(?:s|ped|ping|ing|ed)? (?:of )?(?:the )?{_GRADIENT}"
        ),
    ),
    (
        "handed on",
        (
            r"(?:round|quanti[sz]|binari[sz])\w* [^.;]{0,40}\bforward(?: pass)? only"
            r"|\bset\w* [^.;]{0,60}\bfor (?:the )?(?:loss|forward)(?: calc\w*| comput\w*| pass)? only"
        ),
    ),
    ("gated", rf"guided back-?\s?prop\w*|rectif\w+ (?:the )?{_GRADIENT}"),
    ("rectified", rf"\bde-?conv\w*net|rectif\w+ (?:the )?{_GRADIENT}"),
    (
        "alike",
        (
            rf"\binexact|{_GRADIENT} (?:is|are) (?:only )?(?:an? )?approxim"
            rf"|approx(?:imat\w*|\.)? (?:the )?{_GRADIENT}|{_GRADIENT} based on (?:the |an? )?approximation"
            rf"|(?:synthetic|natural|preconditioned|damped|phantom) {_GRADIENT}|jacobian[- ]free"
        ),
    ),
    ("written", UNCHECKED),
    (
        "near",
        (
            r"adjoint of (?:the |a )?discret|discret\w+ adjoint|fixed[- ]point|implicit(?:ly)? differenti"
            r"|lineari[sz]ed?\b"
        ),
    ),
)
_TABLE = tuple((kind, re.compile(words, re.IGNORECASE)) for kind, words in _WORDS)

_OF_ANOTHER = re.compile(
    r"\b(?:variants?|versions?(?!\W(?:check|count))|counterparts?|sibling|elsewhere|unlike|instead of"
    r"|rather than)\b"
    r"|another (?:module|class|function)|\bsee\b",
    re.IGNORECASE,
)
"""Words of a sentence that speaks of something else."""

_DENIED = re.compile(r"\b(?:no|not|never|without|isn't|nor)\W+(?:\w+\W+){0,2}$", re.IGNORECASE)
"""What stands before a word that is denied."""


def claims(klass: Any) -> list[Claim]:
    """What the docstrings, the comments and the name of a Function say of its gradient."""
    if klass is None:
        return []
    found = [claim for text in docstrings(klass) for claim in _in_text(text, "the docstring says")]
    found += [claim for text in comments(klass) for claim in _in_text(text, "a comment says")]
    return found


def claims_of_name(klass: Any) -> list[Claim]:
    """What the name of a Function says of its gradient."""
    return [] if klass is None else list(_in_text(words_of_name(klass.__name__), "the name says"))


def claims_of_callers(klass: Any) -> list[Claim]:
    """What the docstrings of functions and classes that call a Function say of its gradient."""
    if klass is None:
        return []
    return [c for name, text in callers(klass) for c in _in_text(text, f"the docstring of {name} says")]


def _in_text(text: str, where: str) -> Iterator[Claim]:
    for sentence in sentences(text):
        if _OF_ANOTHER.search(sentence):
            continue
        for kind, words in _TABLE:
            match = words.search(sentence)
            if match and (kind == "another" or not _DENIED.search(sentence[: match.start()])):
                yield Claim(f"{where} {match.group(0)!r}", kind)

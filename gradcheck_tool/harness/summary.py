"""The closing lines of a run: how many Functions were checked by what, and which were not, and why."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.harness.outcomes import Outcome

ORDER = ("ok", "wrong", "warned", "intended", "inconclusive", "crashed", "not checked")
_SOURCES = ("declared", "recorded", "synthesised")


def summarise(outcomes: Sequence[Outcome], *, verbose: bool) -> list[str]:
    """The summary, a line each. Functions that were not checked are always listed.

    Args:
        outcomes: of every Function asked for.
        verbose: also print what each check reported, as that of one Function alone, and all stubs of samples
            instead of the first one.
    """
    alone = len(outcomes) == 1 and outcomes[0].is_checked
    told = outcomes if verbose or alone else ()
    lines = [line for outcome in told for line in outcome.text().splitlines()]
    lines += [counts(outcomes), *_sources(outcomes)]
    unchecked = [outcome for outcome in outcomes if not outcome.is_checked]
    if unchecked:
        lines.append("Not checked:")
        lines += [f"  {outcome.unit.name}: {outcome.cause}" for outcome in unchecked]
    stubs = [outcome.stub for outcome in unchecked if outcome.stub]
    if stubs and not verbose:
        more = f" ({len(stubs)} of them with --verbose)" if len(stubs) > 1 else ""
        lines += [f"To check them, put samples into a file gradcheck_samples.py{more}:", ""]
        lines += stubs[0].splitlines()
    return lines


def counts(outcomes: Sequence[Outcome]) -> str:
    """How many Functions there are, and how many of each status, in a sentence.

    With several devices or dtypes each of them is a check of its own.
    """
    if not outcomes:
        return "No autograd Functions found."
    count = Counter(outcome.status for outcome in outcomes)
    kept = sum(outcome.cached for outcome in outcomes)
    parts = [f"{count[status]} {status}" for status in ORDER if count[status]]
    functions = len({outcome.unit.ref for outcome in outcomes})
    noun = f"{functions} Function" + ("s" if functions > 1 else "")
    head = noun if functions == len(outcomes) else f"{len(outcomes)} checks of {noun}"
    tail = f" ({kept} from the cache)" if kept else ""
    return f"{head}: {', '.join(parts)}{tail}."


def _sources(outcomes: Sequence[Outcome]) -> list[str]:
    count = Counter(outcome.source for outcome in outcomes if outcome.cases)
    parts = [f"{count[source]} by {source} inputs" for source in _SOURCES if count[source]]
    return [f"Checked: {', '.join(parts)}."] if parts else []

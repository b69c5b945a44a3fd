"""The story of an event among the moments that were recorded on the way to it.

Which way that is, the story tells: it is the shortest that comes through most of its places in order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.events import StoryStep

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gradcheck_tool.domain.events import Event, Site
    from gradcheck_tool.findings import StepKind
    from gradcheck_tool.trackers.recording import Moment

# So many steps are drawn at most: what comes between those of the story itself is left out first.
MOST = 24
# What the story is about, by the kinds of its steps: gradients, or what switches them.
_OF_GRADIENTS = frozenset({"backward", "applied", "cleared"})
_OF_MODES = frozenset({"cut", "switched"})
_NAMING = frozenset({"alias", "made"})


def told_with(moments: Sequence[Moment], event: Event) -> tuple[StoryStep, ...]:
    """The steps of an event's story, and between them what else happened to the same memory and gradients.

    Args:
        moments: all that was recorded in the run, in the order of recording.
        event: what was found in it.
    """
    story = [*event.story]
    if all(step.site.node is not event.site.node for step in story):
        story.append(StoryStep(event.site, "the finding is here", _last_kind(moments, event)))
    way = _way(moments, story)
    merged = _merged(way, story)
    return tuple(_shortened(_with_calls(merged), story))


def _last_kind(moments: Sequence[Moment], event: Event) -> StepKind:
    """What kind of step the place of the event is itself, where the story does not come to it."""
    kinds = [one.step.kind for one in moments if one.step.site.node is event.site.node]
    if "raised" in kinds:
        return "raised"
    return kinds[0] if kinds else "note"


def _way(moments: Sequence[Moment], story: Sequence[StoryStep]) -> list[Moment]:
    """The moments of the way that the story takes, in order."""
    passed: dict[int, int] = {}
    length: dict[int, int] = {}
    best: Moment | None = None
    for moment in moments:
        before = id(moment.before)
        count = passed.get(before, 0)
        if count < len(story) and story[count].site.node is moment.step.site.node:
            count += 1
        passed[id(moment)], length[id(moment)] = count, length.get(before, 0) + 1
        if best is None or (count, -length[id(moment)]) > (passed[id(best)], -length[id(best)]):
            best = moment
    way: list[Moment] = []
    while best is not None:
        way.append(best)
        best = best.before
    return way[::-1]


def _merged(way: Sequence[Moment], story: Sequence[StoryStep]) -> Iterator[tuple[StoryStep, Moment | None]]:
    """The steps in order, with the moments that are known of them."""
    storages = {step.storage for step in story if step.storage is not None}
    kinds = {step.kind for step in story}
    about = {
        *(_OF_GRADIENTS if kinds & {"applied", "cleared"} else ()),
        *(_OF_MODES if kinds & _OF_MODES else ()),
    }
    told = 0
    named: set[tuple[object, str]] = set()
    for moment in way:
        step = moment.step
        if told < len(story) and story[told].site.node is step.site.node:
            named.add((story[told].storage, str(story[told].tensor)))
            yield story[told], moment
            told += 1
        elif told == len(story) or (told == 0 and step.kind not in _NAMING | _OF_GRADIENTS):
            continue
        elif step.storage in storages if step.storage is not None else step.kind in about:
            name = (step.storage, str(step.tensor))
            if step.kind != "alias" or name not in named:
                yield (step if step.kind != "alias" or _is_named(step, named) else _made(step)), moment
            named.add(name)
    for step in story[told:]:
        yield step, None


def _is_named(step: StoryStep, named: set[tuple[object, str]]) -> bool:
    """Has the memory of a step another name already?"""
    return any(storage == step.storage for storage, _ in named)


def _made(step: StoryStep) -> StoryStep:
    return StoryStep(step.site, f"`{step.tensor}` is made", "made", step.tensor, step.storage, step.version)


def _with_calls(steps: Iterator[tuple[StoryStep, Moment | None]]) -> Iterator[StoryStep]:
    """The steps, and before each the calls that are entered on the way to it."""
    running: tuple[tuple[Site, str], ...] = ()
    for step, moment in steps:
        if moment is not None:
            parting = next(
                (
                    n
                    for n, (a, b) in enumerate(zip(running, moment.calls, strict=False))
                    if a[0].node is not b[0].node
                ),
                min(len(running), len(moment.calls)),
            )
            for site, name in moment.calls[parting:]:
                if site.node is not step.site.node:
                    yield StoryStep(site, f"calls `{name}`", "called")
            running = moment.calls
        yield step


def _shortened(steps: Iterator[StoryStep], story: Sequence[StoryStep]) -> list[StoryStep]:
    """The steps, each place and kind once unless the story tells it again, and no more than can be drawn."""
    own = {id(step) for step in story}
    places = {(id(step.site.node), step.kind) for step in story if step.kind not in _OF_GRADIENTS}
    kept: list[StoryStep] = []
    room = MOST - len(story)
    for step in steps:
        if id(step) not in own:
            place = (id(step.site.node), step.kind)
            if place in places or room <= 0:
                continue
            places.add(place)
            room -= 1
        kept.append(step)
    return kept

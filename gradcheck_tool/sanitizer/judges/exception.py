"""An exception that leaves the program, as judges look at it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from traceback import walk_stack
from typing import TYPE_CHECKING, Any

from gradcheck_tool.findings import TraceStep
from gradcheck_tool.sanitizer.logs import log_here
from gradcheck_tool.sanitizer.sites import only_return
from gradcheck_tool.sanitizer.told import Told

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from gradcheck_tool.findings import Location, StepKind
    from gradcheck_tool.sanitizer.cuts import Cut
    from gradcheck_tool.sanitizer.nodes import NodeLog
    from gradcheck_tool.sanitizer.records import Records
    from gradcheck_tool.sanitizer.sites import Site


@dataclass(frozen=True)
class Raised:
    """An exception and what was recorded before it.

    Attributes:
        site: the user's frames that it came through.
    """

    error: BaseException
    records: Records
    site: Site

    @cached_property
    def text(self) -> str:
        """What it says."""
        return str(self.error)

    @cached_property
    def log(self) -> NodeLog | None:
        """The nodes that the thread made which it ends."""
        return log_here()

    @property
    def frames(self) -> Iterator[FrameType]:
        """The frames that it came through, the outermost first; those that run where nothing was raised."""
        traceback = self.error.__traceback__
        if traceback is None:
            yield from reversed([frame for frame, _ in walk_stack(None)])
        while traceback is not None:
            yield traceback.tb_frame
            traceback = traceback.tb_next

    @property
    def frame(self) -> FrameType | None:
        """The innermost frame of the program itself."""
        code = self.site.frames[0][0]
        return next((frame for frame in reversed(list(self.frames)) if frame.f_code is code), None)

    def local(self, function: str, *names: str) -> Any:
        """The value of the first of these names in the innermost frame of this function."""
        for frame in reversed(list(self.frames)):
            if frame.f_code.co_name == function:
                for name in names:
                    if name in frame.f_locals:
                        return frame.f_locals[name]
        return None

    def made(self, tensor: Any) -> Site | None:
        """Where the operation stands that a tensor comes out of."""
        node = getattr(tensor, "grad_fn", None)
        return self.log.site(node._sequence_nr()) if node is not None and self.log is not None else None

    def is_in(self, site: Site | None) -> bool:
        """Does a place stand in the expression that raises?"""
        if site is None or site.location.filename != self.site.location.filename:
            return False
        one, whole = site.location, self.site.location
        return whole.start <= one.start and one.end <= whole.end

    def told(
        self, code: str, message: str, *steps: TraceStep | None, location: Location | None = None
    ) -> Told:
        """The verdict; it is told where the program raises, unless another place is given."""
        place = location or self.site.location
        known = placed(*steps)
        if known and known[-1].location != place:
            known = (*known, TraceStep(place, "PyTorch raises here", "raised"))
        return Told(code, place, message, known, self.text)


def step(
    site: Site | None,
    message: str,
    kind: StepKind = "note",
    storage: int | None = None,
    version: int | None = None,
) -> TraceStep | None:
    """One step of a story, where its place is known; within a model it says in which module."""
    if site is None:
        return None
    return TraceStep(site.location, f"{message}{_in_module(site)}", kind, None, storage, version)


def _in_module(site: Site) -> str:
    return f" (in `{site.module}`)" if site.module else ""


def cut_off(cut: Cut) -> Iterator[TraceStep]:
    """Where values lose their graph, and because of what."""
    if cut.switch is not None and not cut.tracked:
        yield TraceStep(cut.switch.location, "gradients are switched off here", "switched")
    yield TraceStep(cut.site.location, f"{cut.message}{_in_module(cut.site)}", "cut")
    forward = getattr(getattr(cut.function, "forward", None), "__code__", None)
    end = None if forward is None else only_return(forward)
    if end is not None:
        yield TraceStep(end, "of what its forward returns, a tensor gets a graph, or those of a tuple")


def placed(*steps: TraceStep | None) -> tuple[TraceStep, ...]:
    """The steps of which the place is known."""
    return tuple(one for one in steps if one is not None)


def calls_of(site: Site, other: Site | None) -> Iterator[TraceStep]:
    """The calls that led to a place: the one in the function that led to the other place, and the nearest."""
    calls = list(site.calls)
    parting = None if other is None else site.parts_from(other)
    nearest = calls[0][0] if calls else 0
    for index, location in reversed(calls):
        if index in (parting, nearest) and (parting is None or index <= parting):
            yield TraceStep(location, "called here", "called")


def caller_of(site: Site) -> TraceStep | None:
    """The call of the function that a place is in; of a module it is the import that runs it."""
    return None if site.function == "<module>" else next(calls_of(site, None), None)


def quoted(site: Site | None, otherwise: str) -> str:
    """The source text of a place."""
    return f"`{site.text}`" if site is not None and site.text else otherwise

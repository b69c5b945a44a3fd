"""An exception that leaves the program, as judges look at it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from traceback import walk_stack
from typing import TYPE_CHECKING, Any

from gradcheck_tool.findings import TraceStep
from gradcheck_tool.sanitizer.logs import log_here
from gradcheck_tool.sanitizer.told import Told

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from gradcheck_tool.findings import Location
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

    def told(
        self, code: str, message: str, *steps: TraceStep | None, location: Location | None = None
    ) -> Told:
        """The verdict; it is told where the program raises, unless another place is given."""
        place = location or self.site.location
        known = placed(*steps)
        if known and known[-1].location != place:
            known = (*known, TraceStep(place, "PyTorch raises here"))
        return Told(code, place, message, known, self.text)


def step(site: Site | None, message: str) -> TraceStep | None:
    """One step of a story, where its place is known; within a model it says in which module."""
    if site is None:
        return None
    return TraceStep(site.location, f"{message} (in `{site.module}`)" if site.module else message)


def placed(*steps: TraceStep | None) -> tuple[TraceStep, ...]:
    """The steps of which the place is known."""
    return tuple(one for one in steps if one is not None)


def call_of(site: Site, reader: Site | None) -> TraceStep | None:
    """The nearest call that led to a place in another function than the one that `reader` is in."""
    if reader is not None and site.frames[0][0] is reader.frames[0][0]:
        return None
    location = next(site.callers, None)
    return None if location is None else TraceStep(location, "called here")


def caller_of(site: Site) -> TraceStep | None:
    """The call of the function that a place is in; of a module it is the import that runs it."""
    return None if site.function == "<module>" else call_of(site, None)


def quoted(site: Site | None, otherwise: str) -> str:
    """The source text of a place."""
    return f"`{site.text}`" if site is not None and site.text else otherwise

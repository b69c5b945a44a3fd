"""What a judge says: a finding before the rules have given it a name and a severity."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from gradcheck_tool.findings import Location, Position, TraceStep

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Told:
    """One mistake that a run shows.

    Attributes:
        code: the rule that says the same of code that is not run.
        location: where it happens.
        message: what happens there.
        trace: the story, in program order.
        raised: what PyTorch raised; None where it said nothing.
        evidence: what was measured.
    """

    code: str
    location: Location
    message: str
    trace: tuple[TraceStep, ...] = ()
    raised: str | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def key(self) -> tuple[str, Location]:
        """What makes it the same mistake when it happens again."""
        return self.code, self.location

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Told:
        """What `to_json` gave."""
        trace = tuple(
            TraceStep(**{**step, "location": location_of(step["location"])}) for step in data["trace"]
        )
        return cls(**{**data, "location": location_of(data["location"]), "trace": trace})


def location_of(data: dict[str, Any]) -> Location:
    """A place from plain data."""
    return Location(data["filename"], Position(**data["start"]), Position(**data["end"]), data["cell"])

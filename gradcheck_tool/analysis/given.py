"""What other files of the repository show about the parameters of a unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


@dataclass(frozen=True, slots=True)
class Given:
    """What all callers in sight pass for one parameter, or what it must be.

    Attributes:
        kind: `object` of a class of modules of the repository, `module`, `optimizer`, `criterion`, `data`, or
            `other`.
        module: the dotted name of the module that has the class.
        name: the class.
        of: the parameter that gets the module whose parameters an optimizer has.
    """

    kind: str
    module: str = ""
    name: str = ""
    of: str = ""


class Surroundings(Protocol):
    """The other files of the repository."""

    def given(self, filename: str, name: str, params: Sequence[str]) -> Mapping[str, Given]:
        """What they pass to a function of a file, or to the constructor of a class, by parameter."""

    def having(self, filename: str, names: Iterable[str]) -> Given | None:
        """The one class of modules among them whose methods and attributes of `self` have all these names."""

    def outside_networks(self, filename: str, name: str) -> bool:
        """Is a function called in methods of classes that are no modules, and nowhere else?"""

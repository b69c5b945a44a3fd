"""What makes a function worth executing: declared by rules, looked for in the text of files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum


class Condition(Enum):
    """What must hold of a function as a whole; nothing is executed to find out."""

    IN_TRAINING_FILE = "the file back-propagates, takes steps or reads gradients"
    RECORDS_GRAPH = "no decorator switches the recording of gradients off"
    IN_FUNCTION_CLASS = "it belongs to a subclass of torch.autograd.Function, or names one"
    CALLS_INPLACE_LAYER = "it calls a layer that the file makes with `inplace=True`"
    COMPUTES_LOSS = "it computes a loss, by its name"
    CUTS_LOSS = (
        "it computes a loss, by its name, and it or what it may call cuts tensors off from their graph"
    )
    IN_FORWARD = "it is the `forward` of a class that derives from another"
    CUTS_FORWARD = (
        "it is the `forward` of a class, and it or what it calls cuts parameters off from their graph"
    )
    HELPS_FORWARD_WRITE = (
        "it is the `forward` of a class, and a method or function of the file that it calls writes in place"
    )
    IN_OPERATION = "it is a function of its own that computes tensors from tensors"
    BINDS_BUFFER = "it is no constructor and binds an attribute that the file registers as a buffer"
    BINDS_PARAMETER = "it binds an attribute that the file makes a Parameter to something else"
    WRITES_TO_SHARED = "it writes in place to what may be a parameter or share memory with another tensor"
    CALLS_WRITER = "it calls a function of the file that writes in place to what it is given"
    GIVES_TO_NUMPY = "what the file computes with gradients may reach NumPy"
    COPIES_COMPUTED = "what is computed in it with gradients may be deep-copied"
    DROPS_COPY = "it makes a changed copy of a tensor and drops it"
    KEEPS_IN_CONTAINER = "a list, tuple or dict that `self` keeps may hold modules or parameters"
    GATHERS_IN_LOOP = "a loop may gather what a module returns"


@dataclass(frozen=True, slots=True)
class Trigger:
    """A pattern in the code of a function that makes the function worth executing.

    Functions that nothing in a file calls are executed only where a trigger of a rule in force finds
    something in them. Comments and texts do not count.

    Attributes:
        word: a fixed text that is in all that is found, or several of which one is; looked for first, and in
            whole files. '' where only the pattern says.
        pattern: a regular expression; '' where the fixed text is enough.
        ignoring: a regular expression; what it matches is no part of the code that is looked at.
        in_file: fixed texts, one of which the file must have somewhere.
        where: what must hold of the function, too.
        callers: whether the functions of the file that call the function are worth executing as well. Where
            they are not, the pattern is but a quick look, at comments, too.
        imported_from: modules; calls of what the file imports from them are found, too.
        mentions: names that are enough in a file that runs by itself, where values are known in detail.
        is_name: the pattern is the name of something in a library, which matters in top-level code, too,
            and under another name that an import gives it.
    """

    word: str | tuple[str, ...] = ""
    pattern: str = ""
    ignoring: str = ""
    in_file: tuple[str, ...] = ()
    where: Condition | None = None
    callers: bool = True
    imported_from: tuple[str, ...] = ()
    mentions: tuple[str, ...] = ()
    is_name: bool = False

    @classmethod
    def of_name(cls, name: str) -> Trigger:
        """Uses of a name of a library, such as `torch.autograd.set_detect_anomaly`."""
        last = name.rpartition(".")[2]
        return cls(last, rf"\b{re.escape(last)}\b", is_name=True)

    @property
    def words(self) -> tuple[str, ...]:
        """The fixed texts, of which one is needed; none where only the pattern says."""
        if isinstance(self.word, tuple):
            return self.word
        return (self.word,) if self.word else ()

    def is_near(self, present: frozenset[str]) -> bool:
        """Does a file have the fixed texts, of which these are `present` in it?"""
        return (not self.word or not present.isdisjoint(self.words)) and (
            not self.in_file or not present.isdisjoint(self.in_file)
        )

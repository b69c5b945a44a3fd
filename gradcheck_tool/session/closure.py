"""Whether other files of the repository let a finding stand, judged by their texts.

That nothing trains a tensor, or that nothing reads a Parameter, is said only where everybody who could is in
sight. What a function shows when it is executed on its own is judged as its callers use it: under `no_grad`
where all of them do.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from gradcheck_tool.analysis.ordinary_use import DIFFERENTIATED
from gradcheck_tool.ir.files import is_called_like_tests
from gradcheck_tool.session.callers import Callers
from gradcheck_tool.session.uses import ReadUses
from gradcheck_tool.triage.imported import definition_in
from gradcheck_tool.triage.losses import computes_loss

if TYPE_CHECKING:
    from gradcheck_tool.findings import Finding
    from gradcheck_tool.session.repository import Repository

# Attributes that modules of libraries have as well: who mentions them of some object, means these.
_OF_LIBRARIES = frozenset({"bias", "data", "grad", "in_proj_weight", "scale", "shape", "size", "weight"})
# What gives an attribute another value, or what it holds another content.
_SETS = (
    rb"(?:[^\n=()<>!]*=(?!=)"
    rb"|\.(?:clear|data|detach_|pop|popleft|popitem|remove|zero_|fill_|copy_|set_)\b)"
)

# What turns a module into a program for other machines, and what trains one.
_EXPORTS = re.compile(rb"\bonnx\.export\(|\bjit\.trace\(")
# What the first lines of a class say that is made for other machines.
_FOR_EXPORT = re.compile(
    rb"""\A[^\n]*\n\s*[rRuU]?(?:\"\"\"|\'\'\')[^"']*?\b(?:export(?:s|ed|able)?|onnx|torchscript)\b""",
    re.IGNORECASE,
)
_TRAINS = re.compile(rb"\.backward\(|\.step\(|\bautograd\b|\bTrainer\b|\.fit\(")


class Closure:
    """Judges findings by the other files of the repository."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._read = ReadUses()

    def stands(self, finding: Finding) -> bool:
        """Is there nothing in other files that a finding denies, and no caller that it forgets?"""
        path = Path(finding.location.filename)
        if any(self._is_mentioned(path, *each) for each in finding.unless):
            return False
        if any(self._is_mentioned(path, *each, _SETS) for each in finding.unless_set):
            return False
        return not finding.units or not self._are_for_inference(path, finding)

    def _are_for_inference(self, path: Path, finding: Finding) -> bool:
        """Do all ways from scripts to the units of a finding lead through code that records no gradients?

        Where it is about a pass that callers make, those that only use the number make none; those that
        compute gradients themselves show what they differentiate.
        """
        callers = Callers(self._repository, path, self._read)
        return all(
            callers.record_nothing(unit, reading_out=DIFFERENTIATED.format(unit) in finding.assumes)
            or (DIFFERENTIATED.format(unit) in finding.assumes and self._is_only_exported(path, unit))
            or self._is_for_export(path, unit)
            or (_is_operation(finding, unit) and callers.differentiate(unit))
            for unit in finding.units
        )

    def _is_only_exported(self, path: Path, unit: str) -> bool:
        """Is the class of a `forward` made by files alone that export what they make, and train nothing?"""
        cls, _, name = unit.rpartition(".")
        if name != "forward":
            return False
        makes = re.compile(rb"(?<!class )\b" + re.escape(cls.rpartition(".")[2].encode()) + rb"\(")
        making = [data for data in self._repository.texts(path).values() if makes.search(data)]
        return bool(making) and all(_EXPORTS.search(data) and not _TRAINS.search(data) for data in making)

    def _is_for_export(self, path: Path, unit: str) -> bool:
        """Does the documentation of a class say that it is made to be exported?"""
        cls = unit.rpartition(".")[0]
        text = definition_in(self._repository.texts(path).get(path, b""), cls) if cls else None
        return text is not None and _FOR_EXPORT.search(text) is not None

    def _is_mentioned(self, path: Path, owner: str, attribute: str, then: bytes = b"") -> bool:
        """Does another file mention an attribute of the objects of a class, and do something with it `then`?

        It does so of `self` in classes that derive from the class, or that it derives from. A file that has a
        class of the same name means its own, and what tests do shows nothing.
        """
        name = re.escape(attribute.encode())
        word = attribute.encode()
        of_self = re.compile(rb"\bself\." + name + rb"\b" + then)
        by_name = rb"setattr\([^\n]*" if then else rb""
        of_object = re.compile(
            rb"(?<!\bself)\."
            + name
            + rb"\b"
            + then
            + rb"|"
            + by_name
            + rb"[\"'](?:[\w.]*\.)?"
            + name
            + rb"[\"']"
        )
        own = re.compile(rb"^class[ \t]+" + re.escape(owner.encode()) + rb"\b", re.MULTILINE)
        found = [
            data
            for other, data in self._repository.texts(path).items()
            if other != path
            and word in data
            and not is_called_like_tests(str(other))
            and not own.search(data)
        ]
        if attribute not in _OF_LIBRARIES and any(of_object.search(data) for data in found):
            return True
        mentioning = [data for data in found if of_self.search(data)]
        if not mentioning:
            return False
        family = "|".join(map(re.escape, sorted(self._repository.family(path, owner)))).encode()
        defined = re.compile(rb"\bclass[ \t]+(?:" + family + rb")\b")
        return any(defined.search(data) for data in mentioning)


def _is_operation(finding: Finding, unit: str) -> bool:
    """Is it about a function that is no loss, whose result is assumed to be differentiated?"""
    assumed = DIFFERENTIATED.format(unit) in finding.assumes
    return assumed and "." not in unit and not computes_loss(unit, "")

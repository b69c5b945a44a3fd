"""Where inputs come from: declared by the user, else recorded from real calls, else synthesised."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.gradcheck.world import World
from gradcheck_tool.harness.inputs.case import CasesFound
from gradcheck_tool.harness.inputs.declared import declared_cases
from gradcheck_tool.harness.inputs.recorded import recorded_cases
from gradcheck_tool.harness.inputs.stub import stub
from gradcheck_tool.harness.inputs.synthesised import synthesised_cases

if TYPE_CHECKING:
    from gradcheck_tool.harness.functions import FunctionRef
    from gradcheck_tool.harness.inputs.case import InputSettings


def cases(function: type, ref: FunctionRef, settings: InputSettings) -> CasesFound:
    """The inputs to check an imported Function with.

    Raises:
        Exception: whatever a generator of declared samples raises.
    """
    with World.kept():  # what a Function sets is to be seen when it is checked, and not before
        return _found(function, ref, settings)


def _found(function: type, ref: FunctionRef, settings: InputSettings) -> CasesFound:
    declared = declared_cases(function, settings)
    if declared:
        return CasesFound(declared)
    tried = [f"declared: no samples for {ref.qualname}"]
    recorded, problems = recorded_cases(function, ref, settings)
    if recorded:
        return CasesFound(recorded, (*tried, *problems))
    made = synthesised_cases(function, ref, settings)
    tried += [*problems, *([f"synthesised: {made.problem}"] if made.problem else [])]
    return CasesFound(made.cases, tuple(tried), stub(ref, made.parameters, made.closest))

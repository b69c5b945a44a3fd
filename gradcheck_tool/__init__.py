"""gradlint: a borrow checker for PyTorch autograd.

The public names of the package, for rule packs, scripts and test suites. They load on first use, so
that `import gradcheck_tool` costs nothing and nothing but the run-time engine (`gradcheck`,
`check_function`, `samples`, `Sample`, `Report`) ever imports torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradcheck_tool import when as when
    from gradcheck_tool.analysis.program import check_source as check_source
    from gradcheck_tool.domain.events import Accumulation as Accumulation
    from gradcheck_tool.domain.events import BackwardCall as BackwardCall
    from gradcheck_tool.domain.events import CheckpointUse as CheckpointUse
    from gradcheck_tool.domain.events import ClipGradients as ClipGradients
    from gradcheck_tool.domain.events import EngineError as EngineError
    from gradcheck_tool.domain.events import Event as Event
    from gradcheck_tool.domain.events import FreedGraph as FreedGraph
    from gradcheck_tool.domain.events import FunctionError as FunctionError
    from gradcheck_tool.domain.events import GradientsCleared as GradientsCleared
    from gradcheck_tool.domain.events import GradRead as GradRead
    from gradcheck_tool.domain.events import GraphBreak as GraphBreak
    from gradcheck_tool.domain.events import InvalidTensorUse as InvalidTensorUse
    from gradcheck_tool.domain.events import LeafWrite as LeafWrite
    from gradcheck_tool.domain.events import NoGraph as NoGraph
    from gradcheck_tool.domain.events import NonScalarRoot as NonScalarRoot
    from gradcheck_tool.domain.events import OptimizerStep as OptimizerStep
    from gradcheck_tool.domain.events import RetainGradCall as RetainGradCall
    from gradcheck_tool.domain.events import SavedTensorModified as SavedTensorModified
    from gradcheck_tool.domain.events import ScalerError as ScalerError
    from gradcheck_tool.domain.events import Site as Site
    from gradcheck_tool.domain.events import StoryStep as StoryStep
    from gradcheck_tool.domain.events import UnguardedNone as UnguardedNone
    from gradcheck_tool.domain.events import UnusedInput as UnusedInput
    from gradcheck_tool.domain.events import UnversionedWrite as UnversionedWrite
    from gradcheck_tool.domain.events import ViewWrite as ViewWrite
    from gradcheck_tool.domain.graph import GraphCut as GraphCut
    from gradcheck_tool.domain.graph import Node as Node
    from gradcheck_tool.domain.graph import Tensor as Tensor
    from gradcheck_tool.domain.records import Instance as Instance
    from gradcheck_tool.domain.records import List as List
    from gradcheck_tool.domain.state import State as State
    from gradcheck_tool.domain.values import Const as Const
    from gradcheck_tool.domain.values import LibraryObject as LibraryObject
    from gradcheck_tool.domain.values import Ref as Ref
    from gradcheck_tool.domain.values import Slice as Slice
    from gradcheck_tool.domain.values import Text as Text
    from gradcheck_tool.domain.values import Tup as Tup
    from gradcheck_tool.domain.values import Value as Value
    from gradcheck_tool.engine.backward import BackwardPass as BackwardPass
    from gradcheck_tool.findings import Applicability as Applicability
    from gradcheck_tool.findings import Edit as Edit
    from gradcheck_tool.findings import Finding as Finding
    from gradcheck_tool.findings import Fix as Fix
    from gradcheck_tool.findings import Location as Location
    from gradcheck_tool.findings import Position as Position
    from gradcheck_tool.findings import Severity as Severity
    from gradcheck_tool.findings import TraceStep as TraceStep
    from gradcheck_tool.interp import facts as facts
    from gradcheck_tool.interp.api import Interpreter as Interpreter
    from gradcheck_tool.rulebook.fixes import applied as applied
    from gradcheck_tool.rulebook.fixes import as_tuple as as_tuple
    from gradcheck_tool.rulebook.fixes import assigned as assigned
    from gradcheck_tool.rulebook.fixes import called_with as called_with
    from gradcheck_tool.rulebook.fixes import callee_text as callee_text
    from gradcheck_tool.rulebook.fixes import item_of as item_of
    from gradcheck_tool.rulebook.fixes import keyword_renamed as keyword_renamed
    from gradcheck_tool.rulebook.fixes import keyword_text as keyword_text
    from gradcheck_tool.rulebook.fixes import only_argument as only_argument
    from gradcheck_tool.rulebook.fixes import out_of_place as out_of_place
    from gradcheck_tool.rulebook.fixes import receiver_replaced as receiver_replaced
    from gradcheck_tool.rulebook.fixes import renamed as renamed
    from gradcheck_tool.rulebook.fixes import source_text as source_text
    from gradcheck_tool.rulebook.fixes import value_detached as value_detached
    from gradcheck_tool.rulebook.fixes import with_keyword as with_keyword
    from gradcheck_tool.rulebook.fixes import with_method as with_method
    from gradcheck_tool.rulebook.fixes import without_keyword as without_keyword
    from gradcheck_tool.rulebook.ruleset import Draft as Draft
    from gradcheck_tool.rulebook.ruleset import DraftFix as DraftFix
    from gradcheck_tool.rulebook.ruleset import Replacement as Replacement
    from gradcheck_tool.rulebook.ruleset import Rule as Rule
    from gradcheck_tool.rulebook.ruleset import RuleSet as RuleSet
    from gradcheck_tool.rulebook.ruleset import by_site as by_site
    from gradcheck_tool.trackers.events import DistributedMisuse as DistributedMisuse
    from gradcheck_tool.trackers.events import DroppedResult as DroppedResult
    from gradcheck_tool.trackers.events import EvalModeTraining as EvalModeTraining
    from gradcheck_tool.trackers.events import ExhaustedParameters as ExhaustedParameters
    from gradcheck_tool.trackers.events import FlagWrite as FlagWrite
    from gradcheck_tool.trackers.events import FunctionDefect as FunctionDefect
    from gradcheck_tool.trackers.events import FunctionDefinition as FunctionDefinition
    from gradcheck_tool.trackers.events import GradModeMisuse as GradModeMisuse
    from gradcheck_tool.trackers.events import GraphKept as GraphKept
    from gradcheck_tool.trackers.events import HookMisuse as HookMisuse
    from gradcheck_tool.trackers.events import MethodUse as MethodUse
    from gradcheck_tool.trackers.events import ModuleAttribute as ModuleAttribute
    from gradcheck_tool.trackers.events import NameUse as NameUse
    from gradcheck_tool.trackers.events import ParameterReplaced as ParameterReplaced
    from gradcheck_tool.trackers.events import SchedulerStep as SchedulerStep
    from gradcheck_tool.trackers.events import UncalledMethod as UncalledMethod
    from gradcheck_tool.trackers.events import UntrainedModule as UntrainedModule
    from gradcheck_tool.trackers.events import WindowDiscarded as WindowDiscarded
    from gradcheck_tool.trackers.gradient_reach import GradientReach as GradientReach
    from gradcheck_tool.trackers.gradient_reach import held_by_variables as held_by_variables
    from gradcheck_tool.trackers.gradient_reach import leaves_behind as leaves_behind
    from gradcheck_tool.trackers.notes import RunNote as RunNote
    from gradcheck_tool.trackers.notes import StateNote as StateNote
    from gradcheck_tool.trackers.notes import StoryNote as StoryNote
    from gradcheck_tool.trackers.tracker import Tracker as Tracker
    from gradcheck_tool.trigger import Condition as Condition
    from gradcheck_tool.trigger import Trigger as Trigger

__version__ = "0.1.0"

_PUBLIC = {
    "gradcheck_tool.analysis.program": ("check_source",),
    "gradcheck_tool.findings": (
        "Applicability",
        "Edit",
        "Finding",
        "Fix",
        "Location",
        "Position",
        "Severity",
        "TraceStep",
    ),
    "gradcheck_tool.rulebook.fixes": (
        "without_keyword",
        "value_detached",
        "out_of_place",
        "item_of",
        "assigned",
        "as_tuple",
        "applied",
        "called_with",
        "callee_text",
        "keyword_renamed",
        "keyword_text",
        "only_argument",
        "receiver_replaced",
        "renamed",
        "source_text",
        "with_keyword",
        "with_method",
    ),
    "gradcheck_tool.rulebook.ruleset": ("Draft", "DraftFix", "Replacement", "Rule", "RuleSet", "by_site"),
    "gradcheck_tool.domain.events": (
        "Accumulation",
        "BackwardCall",
        "CheckpointUse",
        "ClipGradients",
        "EngineError",
        "Event",
        "FreedGraph",
        "FunctionError",
        "GradRead",
        "GradientsCleared",
        "GraphBreak",
        "InvalidTensorUse",
        "LeafWrite",
        "NoGraph",
        "NonScalarRoot",
        "OptimizerStep",
        "RetainGradCall",
        "SavedTensorModified",
        "ScalerError",
        "Site",
        "StoryStep",
        "UnguardedNone",
        "UnusedInput",
        "UnversionedWrite",
        "ViewWrite",
    ),
    "gradcheck_tool.trackers.events": (
        "DistributedMisuse",
        "DroppedResult",
        "EvalModeTraining",
        "ExhaustedParameters",
        "FlagWrite",
        "FunctionDefect",
        "FunctionDefinition",
        "GradModeMisuse",
        "GraphKept",
        "HookMisuse",
        "MethodUse",
        "ModuleAttribute",
        "NameUse",
        "ParameterReplaced",
        "SchedulerStep",
        "UncalledMethod",
        "UntrainedModule",
        "WindowDiscarded",
    ),
    "gradcheck_tool.domain.graph": ("GraphCut", "Node", "Tensor"),
    "gradcheck_tool.domain.records": ("Instance", "List"),
    "gradcheck_tool.domain.state": ("State",),
    "gradcheck_tool.domain.values": ("Const", "LibraryObject", "Ref", "Slice", "Text", "Tup", "Value"),
    "gradcheck_tool.engine.backward": ("BackwardPass",),
    "gradcheck_tool.interp.api": ("Interpreter",),
    "gradcheck_tool.trackers.gradient_reach": ("GradientReach", "held_by_variables", "leaves_behind"),
    "gradcheck_tool.trackers.notes": ("RunNote", "StateNote", "StoryNote"),
    "gradcheck_tool.trackers.tracker": ("Tracker",),
    "gradcheck_tool.trigger": ("Condition", "Trigger"),
    "gradcheck_tool.gradcheck": ("Report", "Sample", "check_function", "samples", "surrogate"),
}
_HOME = {name: module for module, names in _PUBLIC.items() for name in names}

_MODULES = {
    "facts": "gradcheck_tool.interp.facts",
    "gradcheck": "gradcheck_tool.gradcheck",
    "when": "gradcheck_tool.when",
}

__all__ = ["__version__", *_MODULES, *_HOME]


def __getattr__(name: str) -> Any:
    """Load a public name from the module that defines it."""
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name not in _HOME:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names that have not been loaded yet, too."""
    return sorted({*globals(), *__all__})

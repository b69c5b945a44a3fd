"""Calls: binding arguments, running functions of the repository, dispatching to natives, `with`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.join import join
from gradcheck_tool.domain.read_tracking import ReadTrackingHeap
from gradcheck_tool.domain.records import Class, Dict, Frame, Func, Generator, Instance, List
from gradcheck_tool.domain.values import (
    FALSE,
    NONE,
    Bound,
    Const,
    LibraryObject,
    Method,
    Partial,
    Ref,
    Super,
    Symbol,
    Tup,
    Value,
    unknown,
)
from gradcheck_tool.engine import optable
from gradcheck_tool.engine.errors import Raised
from gradcheck_tool.interp import attributes, classes, registry
from gradcheck_tool.interp import iteration as iterate
from gradcheck_tool.interp.api import Call
from gradcheck_tool.interp.havoc import forget_written, havoc, written_by
from gradcheck_tool.interp.summaries import running
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.library.python import passthrough as handed_on
from gradcheck_tool.trackers import gradient_reach as breaks
from gradcheck_tool.trackers import uses

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter, Outcomes

MAX_DEPTH = 30
MAX_RECURSION = 3
MAX_RESULTS = 8
# Functions of these modules raise nothing that has to do with files, devices or other processes.
CERTAIN = (
    "#ctx",
    "torch._foreach_",
    "torch.autograd.",
    "torch.enable_grad",
    "torch.inference_mode",
    "torch.nn.",
    "torch.no_grad",
    "torch.optim.",
    "torch.set_grad_enabled",
    "torch.utils.checkpoint.",
)

# Functions of which nobody expects that they raise: a `try` is not there for them.
SAFE = frozenset(
    f"builtins.{name}"
    for name in (
        "all",
        "any",
        "bool",
        "dict",
        "enumerate",
        "filter",
        "id",
        "isinstance",
        "len",
        "list",
        "map",
        "print",
        "range",
        "repr",
        "reversed",
        "set",
        "sorted",
        "str",
        "sum",
        "tuple",
        "type",
        "zip",
    )
)
SAFE_METHODS = frozenset(
    ("append", "clear", "copy", "extend", "get", "items", "keys", "setdefault", "values")
)

# Libraries whose functions neither keep tensors nor touch autograd: what they return is only data.
INERT = frozenset(
    [
        "builtins",
        "os",
        "sys",
        "time",
        "math",
        "random",
        "logging",
        "json",
        "re",
        "pathlib",
        "argparse",
        "datetime",
        "shutil",
        "glob",
        "warnings",
        "string",
        "io",
        "csv",
        "pickle",
        "itertools",
        "functools",
        "collections",
        "typing",
        "numpy",
        "scipy",
        "pandas",
        "matplotlib",
        "PIL",
        "cv2",
        "tqdm",
        "wandb",
        "tensorboard",
        "tensorboardX",
        "yaml",
        "sklearn",
        "skimage",
        "imageio",
        "gym",
        "gymnasium",
        "rich",
        "click",
        "psutil",
        "hashlib",
        "uuid",
        "socket",
        "subprocess",
        "threading",
        "queue",
        "contextlib",
        "copy",
        "inspect",
        "types",
        "dataclasses",
        "enum",
        "abc",
        "operator",
        "heapq",
        "bisect",
        "statistics",
        "decimal",
        "tempfile",
        "platform",
        "signal",
        "traceback",
        "textwrap",
        "pprint",
        "struct",
        "zipfile",
        "tarfile",
        "urllib",
        "requests",
        "omegaconf",
        "hydra.compose",
        "hydra.initialize",
        "hydra.main",
        "hydra.utils.get_original_cwd",
        "hydra.utils.to_absolute_path",
        "torchvision.datasets",
        "torchvision.transforms",
        "torch.utils.tensorboard",
        "torch.utils.data",
        "torch.cuda",
        "torch.backends",
        "torch.manual_seed",
        "torch.save",
        "torch.distributed.get_rank",
        "torch.distributed.get_world_size",
        "torch.distributed.is_initialized",
        "torch.distributed.barrier",
        "torch.device",
        "torch.Size",
        "torch.Generator",
        "torch.get_default_dtype",
        "torch.set_default_dtype",
        "torch.set_printoptions",
        "torch.version",
        "torch.get_num_threads",
        "torch.set_num_threads",
        "torch.use_deterministic_algorithms",
        "torch.is_grad_enabled",
        "torch.profiler",
    ]
)


def is_inert(name: str) -> bool:
    """Does the library function only compute or report?"""
    parts = name.split(".")
    return any(".".join(parts[: n + 1]) in INERT for n in range(min(3, len(parts))))


# Methods that only tensors have: something unknown on which they are called is a tensor.
TENSOR_ONLY = frozenset(
    [
        "backward",
        "detach",
        "detach_",
        "retain_grad",
        "item",
        "unsqueeze",
        "squeeze",
        "permute",
        "view",
        "reshape",
        "mean",
        "sum",
        "exp",
        "log",
        "pow",
        "matmul",
        "mm",
        "bmm",
        "sqrt",
        "softmax",
        "log_softmax",
        "sigmoid",
        "tanh",
        "relu",
        "clamp",
        "clamp_",
        "abs",
        "argmax",
        "gather",
        "masked_fill",
        "mul_",
        "add_",
        "sub_",
        "div_",
        "zero_",
        "fill_",
        "copy_",
        "unbind",
        "flatten",
        "transpose",
        "contiguous",
        "expand",
        "numel",
        "new_zeros",
        "new_ones",
        "masked_fill_",
        "scatter_",
        "chunk",
        "cumsum",
        "norm",
        "std",
        "var",
        "amax",
        "amin",
        "logsumexp",
        "repeat_interleave",
        "index_select",
    ]
)
# Methods that do not touch gradients, whatever has them.
HARMLESS = TENSOR_ONLY | frozenset(
    [
        "train",
        "eval",
        "parameters",
        "named_parameters",
        "state_dict",
        "to",
        "cuda",
        "cpu",
        "float",
        "half",
        "double",
        "size",
        "dim",
        "info",
        "debug",
        "warning",
        "error",
        "log",
        "print",
        "write",
        "append",
        "extend",
        "update",
        "set_postfix",
        "set_description",
        "add_scalar",
        "add_image",
        "add_histogram",
        "items",
        "keys",
        "values",
        "get",
        "format",
        "join",
        "split",
        "copy",
        "numpy",
        "tolist",
        "load_state_dict",
        "close",
        "flush",
        "next",
        "reset",
        "sample",
        "shape",
        "t",
        "type",
        "save",
        "render",
        "seed",
        "append_data",
        "set_epoch",
        "push",
        "put",
        "add",
        "modules",
        "children",
        "named_modules",
        "get_lr",
        "get_last_lr",
        "barrier",
    ]
)


class Calls:
    """Everything that calls something, for one machine."""

    def __init__(self, machine: Interpreter) -> None:
        self.m = machine

    # -- entry points -----------------------------------------------------------------------------

    def instruction(self, s: State, i: ir.Call) -> Outcomes:
        """Execute a call instruction."""
        m = self.m
        func = m.get(s, i.func)
        args: list[Value] = []
        kwargs: dict[str, Value] = {}
        unsure = False
        raised: Outcomes = []
        for arg in i.args:
            value = m.get(s, arg.value)
            if arg.kind is ir.ArgKind.POSITIONAL:
                args.append(value)
            elif arg.kind is ir.ArgKind.KEYWORD:
                kwargs[arg.name or ""] = value
            elif arg.kind is ir.ArgKind.STAR:
                before = s.fork()
                drained = iterate.drain(m, s, value, m.site(s, i.node))
                (s, more, is_open), *others = drained or [(before, [], True)]
                raised += [(state, NONE) for state, _, _ in others]
                if s.exc is not None:
                    return [(s, NONE), *raised]
                args += more
                unsure = unsure or is_open
            else:
                unsure = self._spread(s, value, kwargs) or unsure
        if func == LibraryObject("builtins.super"):
            return [(s, self._super(s, args))]
        uses.note_call(m, s, func, i, kwargs, unsure)
        return self.call(s, func, args, kwargs, m.site(s, i.node), m.label(s, i.node), unsure) + raised

    def _spread(self, s: State, value: Value, kwargs: dict[str, Value]) -> bool:
        table = s.get(value, Dict)
        if table is None:
            return True
        names = [(key.value if isinstance(key, Const) else None, item) for key, item in table.items.items()]
        kwargs.update((name, item) for name, item in names if isinstance(name, str))
        return table.open or any(not isinstance(name, str) for name, _ in names)

    def _super(self, s: State, args: list[Value]) -> Value:
        if len(args) >= 2:
            return Super(args[0], args[1])
        at: Ref | None = s.frames[-1]
        while at is not None:
            frame: Frame = s[at]
            if frame.cls != NONE:
                return Super(frame.cls, frame.receiver)
            at = frame.parent
        return unknown()

    def call(
        self,
        s: State,
        func: Value,
        args: list[Value],
        kwargs: dict[str, Value],
        site: Any,
        text: Any = None,
        unsure: bool = False,
    ) -> Outcomes:
        """Call any value; all states that come back, each with its result (or with `exc` set)."""
        call = Call(func, args, kwargs, site, text if text is not None else "", NONE, unsure)
        if isinstance(func, Ref):
            return self._call_record(s, func, call)
        if isinstance(func, Bound):
            call.func = func.func
            call.args = [func.receiver, *args]
            return self.call(s, func.func, call.args, kwargs, site, text, unsure)
        if isinstance(func, Partial):
            return self.call(
                s, func.func, [*func.args, *args], {**dict(func.kwargs), **kwargs}, site, text, unsure
            )
        if isinstance(func, LibraryObject):
            return self._call_lib(s, func.name, call)
        if isinstance(func, Method):
            return self._call_method(s, func, call)
        return self.unknown_call(s, call)

    def method(
        self,
        s: State,
        obj: Value,
        name: str,
        args: list[Value],
        kwargs: dict[str, Value],
        site: Any,
        text: Any = None,
    ) -> Outcomes:
        """`obj.name(*args, **kwargs)`."""
        out: Outcomes = []
        for state, func in attributes.get(self.m, s, obj, name, site):
            out += (
                [(state, NONE)] if state.exc is not None else self.call(state, func, args, kwargs, site, text)
            )
        return out

    def _call_record(self, s: State, func: Ref, call: Call) -> Outcomes:
        record = s.heap[func.id]
        if isinstance(record, Func):
            return self._call_function(s, func, record, call)
        if isinstance(record, Class):
            return classes.instantiate(self.m, s, func, call.args, call.kwargs, call.site)
        if isinstance(record, Instance):
            from gradcheck_tool.library.torch.instances import call_instance

            return self.guard(s, lambda: call_instance(self.m, s, func, record, call))
        return self.unknown_call(s, call)

    def guard(self, s: State, run: Any) -> Outcomes:
        """Run a native; what it raises becomes the exception of the state."""
        try:
            result = run()
        except Raised as error:
            self.m.raise_exception(s, error.kind, error.event)
            return [(s, NONE)]
        return result if isinstance(result, list) else [(s, result)]

    # -- library ----------------------------------------------------------------------------------

    def _call_lib(self, s: State, name: str, call: Call) -> Outcomes:
        native = registry.FUNCTIONS.get(name)
        if native is None:
            from gradcheck_tool.library.torch.modules import find_layer
            from gradcheck_tool.library.torch.operator_calls import find_native

            native = find_layer(name) or find_native(name)
        if native is not None:
            chosen = native
            return self.guard(s, lambda: chosen(self.m, s, call))
        return self.unknown_call(s, call)

    def _call_method(self, s: State, func: Method, call: Call) -> Outcomes:
        from gradcheck_tool.library.torch.instances import kind_of, method_native

        call.receiver = func.receiver
        native = method_native(self.m, s, func.receiver, func.name)
        if native is not None:
            chosen = native
            return self.guard(s, lambda: chosen(self.m, s, call))
        if kind_of(s, func.receiver) in ("str", "number", "tuple", "slice"):
            return [(s, unknown("data"))]
        return self.unknown_call(s, call)

    def unknown_call(self, s: State, call: Call) -> Outcomes:
        """A callee of which nothing is known."""
        func = call.func
        if isinstance(func, LibraryObject) and is_inert(func.name):
            given = [*call.args, *call.kwargs.values()]
            if handed_on.may_have_graph(s, func.name, given):
                return [(s, unknown())]
            return [(s, breaks.compute_from(self.m, s, _stable(func, call), given))]
        if isinstance(func, Symbol):
            known = self._method_of_unknown(s, func, call)
            if known is not None:
                return known
        if len(call.args) == 1 and not call.kwargs and isinstance(call.args[0], Ref):
            if isinstance(s.heap[call.args[0].id], (Func, Class)):
                return [(s, call.args[0])]
        receiver = [func.receiver] if isinstance(func, Method) else []
        havoc(s, [*receiver, *call.args, *call.kwargs.values()])
        name, owner = _named(func)
        forget_written(s, written_by(name, [*owner, *call.args], call.kwargs))
        return [(s, unknown())]

    def _method_of_unknown(self, s: State, func: Symbol, call: Call) -> Outcomes | None:
        """A method of something unknown: only tensors have some of them, others leave gradients alone."""
        key = func.key
        if not (isinstance(key, tuple) and key[0] == "attr" and isinstance(key[1], (Symbol, Ref))):
            return [(s, unknown("data"))] if func.kind == "data" else None
        name = str(key[2])
        if name in TENSOR_ONLY and isinstance(key[1], Symbol):
            from gradcheck_tool.library.torch.tensor_values import adopt

            receiver = adopt(self.m, s, key[1], call.site)
            return self.method(s, receiver, name, call.args, call.kwargs, call.site, call.text)
        if func.kind == "data":
            return [(s, unknown("data"))]
        if name not in HARMLESS:
            self.forget_groups(s)
        return None

    def forget_groups(self, s: State) -> None:
        """Something unknown was told to act: it may have cleared or filled gradients that are not known."""
        if isinstance(s.heap, ReadTrackingHeap):
            s.heap.watch.forgets = True
        for number, record in list(dict.items(s.heap)):
            if isinstance(record, Tensor) and record.is_summary and record.grad_state != "unknown":
                s.edit(Ref(number)).grad_state = "unknown"

    # -- functions of the repository ----------------------------------------------------------------

    def _call_function(self, s: State, ref: Ref, func: Func, call: Call) -> Outcomes:
        active = running(s)
        if len(active) >= MAX_DEPTH or active.count(func.function) >= MAX_RECURSION:
            if isinstance(s.heap, ReadTrackingHeap):
                s.heap.watch.spoiled |= len(active) >= MAX_DEPTH
                s.heap.watch.cut.add(func.function)
            return [(s, unknown())]
        if call.text and func.function.name == "forward":
            from gradcheck_tool.trackers.function_contracts import direct_forward

            direct_forward(self.m, s, func, call)
        if func.wrap or func.function.is_generator:
            return self._execute(s, func, call)
        return self.m.summaries.call(s, ref, func, call, lambda: self._execute(s, func, call))  # type: ignore[no-any-return]

    def _execute(self, s: State, func: Func, call: Call) -> Outcomes:
        # Each call has managers of its own: one that is entered again forgets what was before it.
        managers = tuple(s.new(s[m].clone(s.owner)) if isinstance(m, Ref) else m for m in func.wrap)
        frame = Frame(func.function, func.env, func.frame)
        frame.site = call.site
        frame.cls = func.cls
        frame.receiver = call.args[0] if call.args else NONE
        frame.locals = self._bind(s, func, call)  # type: ignore[assignment]
        frame_ref = s.new(frame)
        function: ir.Function = func.function
        if function.is_generator:
            self.m.entered.add(id(function))
            return [(s, s.new(Generator(frame_ref, function.entry, managers)))]
        for manager in managers:
            self.enter(s, manager, call.site)
        s.frames.append(frame_ref)
        out: Outcomes = []
        for end in self.m.run_frame(s, function.entry):
            end.state.frames.pop()
            if not function.inner:
                del end.state.heap[frame_ref.id]
            if end.kind == "raise":
                end.state.exc = end.value
            out.append((end.state, end.value))
        if not out:
            return []
        if function.kind is ir.FunctionKind.COMPREHENSION:
            out = _longest(out)
        results = self.merge_results(out)
        self.leave_all([state for state, _ in results], managers, call.site)
        return results

    def leave_all(self, states: Sequence[State], managers: Sequence[Value], site: Any) -> None:
        """Leave the managers of decorators, which swallow nothing."""
        for manager in reversed(managers):
            for state in states:
                exc, state.exc = state.exc, None
                self.leave(state, manager, None, site)
                state.exc = exc

    def merge_results(self, results: Outcomes) -> Outcomes:
        """Merge states that a call left the same, with the same result."""
        if len(results) < 2:
            return results
        raised = [(state, value) for state, value in results if state.exc is not None]
        normal = [(state, value) for state, value in results if state.exc is None]
        for state, value in normal:
            if state.frames:
                state.edit(state.frames[-1]).locals["#result"] = value
        kept = join([state for state, _ in normal], None, MAX_RESULTS, True)
        out = []
        for state in kept:
            value = NONE
            if state.frames:
                value = state.edit(state.frames[-1]).locals.pop("#result")
            else:
                value = next(v for st, v in normal if st is state)
            out.append((state, value))
        return out + _different_first(raised)[:MAX_RESULTS]

    def _bind(self, s: State, func: Func, call: Call) -> dict[str, Value]:
        """Parameters to values; what is not passed for sure is unknown."""
        params: list[ir.Parameter] = func.function.params
        bound: dict[str, Value] = {}
        rest = list(call.args)
        kwargs = dict(call.kwargs)
        for p in params:
            if p.kind in (ir.ParamKind.POSITIONAL, ir.ParamKind.POSITIONAL_ONLY):
                if rest:
                    bound[p.name] = rest.pop(0)
                elif p.name in kwargs and p.kind is ir.ParamKind.POSITIONAL:
                    bound[p.name] = kwargs.pop(p.name)
                else:
                    bound[p.name] = self._missing(func, p, call)
            elif p.kind is ir.ParamKind.VARARGS:
                bound[p.name] = Tup(tuple(rest), open=call.unsure)
                rest = []
            elif p.kind is ir.ParamKind.KEYWORD_ONLY:
                bound[p.name] = kwargs.pop(p.name) if p.name in kwargs else self._missing(func, p, call)
            else:
                table = Dict({Const(k): v for k, v in kwargs.items()}, open=call.unsure)
                bound[p.name] = s.new(table)
        return bound

    def _missing(self, func: Func, p: ir.Parameter, call: Call) -> Value:
        if not call.unsure and p.name in func.defaults:
            return func.defaults[p.name]
        return unknown()

    # -- with -------------------------------------------------------------------------------------

    def enter(self, s: State, manager: Value, site: Any) -> Outcomes:
        """`manager.__enter__()`."""
        record = s.get(manager, Instance)
        if record is None:
            return [(s, manager if isinstance(manager, Symbol) and manager.kind == "data" else unknown())]
        own = attributes.in_class(s, record.cls, "__enter__") or attributes.in_class(
            s, record.cls, "__aenter__"
        )
        if own is not None:
            return self.call(s, Bound(manager, own), [], {}, site)
        gen = record.attrs.get("#generator")
        if gen is not None:
            return [
                (state, NONE if value is iterate.STOP else value)
                for state, value in iterate.advance(self.m, s, gen, site)
            ]
        native = self._manager_native(s, manager, "__enter__")
        if native is None:
            return [(s, manager)]
        chosen = native
        return self.guard(s, lambda: chosen(self.m, s, Call(manager, [], {}, site, "", manager)))

    def leave(self, s: State, manager: Value, exc: Value | None, site: Any) -> Outcomes:
        """`manager.__exit__(...)`; the answer tells whether it swallows the exception."""
        record = s.get(manager, Instance)
        if record is None:
            return [(s, FALSE)]
        own = attributes.in_class(s, record.cls, "__exit__") or attributes.in_class(
            s, record.cls, "__aexit__"
        )
        if own is not None:
            given = [NONE, NONE, NONE] if exc is None else [unknown(), exc, unknown()]
            return [
                (state, value if exc is not None else FALSE)
                for state, value in self.call(s, Bound(manager, own), given, {}, site)  # type: ignore[arg-type]
            ]
        gen = record.attrs.get("#generator")
        if isinstance(gen, Ref):
            if exc is not None:
                return iterate.throw(self.m, s, gen, exc, site)
            return [(state, FALSE) for state, _ in iterate.advance(self.m, s, gen, site)]
        native = self._manager_native(s, manager, "__exit__")
        if native is None:
            return [(s, FALSE)]
        chosen = native
        given = [] if exc is None else [exc]
        return self.guard(s, lambda: chosen(self.m, s, Call(manager, given, {}, site, "", manager)))

    def _manager_native(self, s: State, manager: Value, name: str) -> Any:
        from gradcheck_tool.library.torch.instances import families

        found = (registry.METHODS.get((family, name)) for family in families(s, manager))
        return next((native for native in found if native is not None), None)

    # -- exceptions -------------------------------------------------------------------------------

    def may_raise_unseen(self, s: State, i: ir.Call) -> bool:
        """Should this call also be taken to raise? Once for each `try` with an `except`, its first call.

        Operations on tensors raise what the model says and nothing else, functions of the repository what
        is called in them: then the `try` around their own call counts.
        """
        func = self.m.get(s, i.func)
        if _is_modelled(s, func) or _is_safe(s, func) or _is_executed(s, func):
            return False
        node = i.node
        for ref in reversed(s.frames):
            frame: Frame = s[ref]
            handler = self._handler_of(frame.function, node)
            if handler is not None:
                if frame.iterations.get(-1 - handler):
                    return False
                s.edit(ref).iterations[-1 - handler] = 1
                return True
            # A generator goes on elsewhere than where it was made.
            if frame.site is None or frame.function.is_generator:
                return False
            node = frame.site.node
        return False

    def _handler_of(self, function: ir.Function, node: Any) -> int | None:
        """The `except` clauses that an exception of a call in a function goes to."""
        table = self.m.handlers.get(id(function))
        if table is None:
            table = {}
            for block in function.blocks.values():
                if block.handler is None or not _is_except(function, block.handler):
                    continue
                for instr in block.instrs:
                    if isinstance(instr, ir.Call):
                        table.setdefault(id(instr.node), block.handler)
            self.m.handlers[id(function)] = table
        return table.get(id(node))


FUNCTION = "torch.autograd.Function"


def _is_modelled(s: State, func: Value) -> bool:
    """Is it an operation on tensors, or a function of autograd that the model executes?"""
    if isinstance(func, Method):
        applied = func.name == "apply" and FUNCTION in attributes.lib_bases(s, func.receiver)
        owner = s.get(func.receiver, Instance)
        of_library = (
            owner is not None and isinstance(owner.cls, LibraryObject) and owner.cls.name.startswith(CERTAIN)
        )
        return applied or of_library or s.get(func.receiver, Tensor) is not None
    made = s.get(func, Instance)
    if made is not None:
        return isinstance(made.cls, LibraryObject) and made.cls.name.startswith(CERTAIN)
    if not isinstance(func, LibraryObject):
        return False
    executed = func.name in registry.FUNCTIONS and func.name.startswith(CERTAIN)
    return executed or optable.find(func.name) is not None


def _is_safe(s: State, func: Value) -> bool:
    if isinstance(func, Method):
        return func.name in SAFE_METHODS and isinstance(
            s.heap.get(getattr(func.receiver, "id", -1)), (List, Dict)
        )
    return isinstance(func, LibraryObject) and func.name in SAFE


def _is_executed(s: State, func: Value) -> bool:
    """Is it of the repository, so that what it calls is seen?"""
    record = s.heap.get(func.id) if isinstance(func, Ref) else None
    if isinstance(record, Instance):
        return any(attributes.in_class(s, record.cls, name) is not None for name in ("__call__", "forward"))
    return isinstance(func, Bound) or isinstance(record, (Func, Class))


def _longest(results: Outcomes) -> Outcomes:
    """A comprehension over something unknown may end after any element; the longest list stands for all.

    It may be longer still.
    """
    normal = [pair for pair in results if pair[0].exc is None]
    if len(normal) > 1 and normal[-1][0].get(normal[-1][1], List) is not None:
        normal[-1][0].edit(normal[-1][1]).open = True  # type: ignore[arg-type]
    return normal[-1:] + [pair for pair in results if pair[0].exc is not None][:2]


def _different_first(raised: Outcomes) -> Outcomes:
    """Ways to raise, of each error one before any error comes twice: those beyond a limit are dropped."""
    first: dict[object, tuple[State, Value]] = {}
    again = []
    for state, value in raised:
        error = state.get(state.exc, Instance)
        mark = state.exc if error is None else (error.cls, error.attrs.get("#event"))
        if first.setdefault(mark, (state, value))[0] is not state:
            again.append((state, value))
    return [*first.values(), *again]


def _is_except(function: ir.Function, block: int) -> bool:
    """Is the handler an `except` clause (not the exceptional exit of `with` or `finally`)?"""
    return any(isinstance(i, ir.MatchException) for i in function.blocks[block].instrs)


def _named(func: Value) -> tuple[str, list[Value]]:
    """The name of a callee, empty where it has none, and the object that it is a method of, if any."""
    if isinstance(func, Method):
        return func.name, [func.receiver]
    key = func.key if isinstance(func, Symbol) else None
    if isinstance(key, tuple) and len(key) == 3 and key[0] == "attr":
        return str(key[2]), [key[1]]
    return (func.name, []) if isinstance(func, LibraryObject) else ("", [])


def _stable(func: LibraryObject, call: Call) -> Value:
    """What an inert function returns: the same for the same arguments, unless it draws or reads."""
    leaf = func.name.rpartition(".")[2]
    values = [*call.args, *call.kwargs.values()]
    if func.name.startswith(
        ("random.", "numpy.random.", "time.", "builtins.input", "queue.", "builtins.next")
    ):
        return unknown("data")
    if leaf.startswith(("is_", "has", "get_", "exists", "isfile", "isdir", "getenv")) or leaf in (
        "len",
        "hasattr",
    ):
        return Symbol(("call", func.name, tuple(values)), "data")
    return unknown("data")

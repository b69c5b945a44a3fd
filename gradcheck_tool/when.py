"""Common triggers: `triggers = (when.BACKWARD, when.OPTIMIZER)` in a rule.

Each names what the code of a function does. Triggers that are the same for several rules are looked for once.
"""

from __future__ import annotations

from gradcheck_tool.trigger import Condition, Trigger

# What makes tensors that require grad. Where a file has none of it, all its tensors come from outside,
# and nothing is known of them that could make a finding of the kinds that need it.
GRAD_SOURCES = ("nn.", "requires_grad", "zero_grad", "Parameter", "parameters(", "backward", "import nn")

# What every freezing and reparameterising function does to all parameters of a module, which are leaves.
_TO_PARAMETERS = (
    r"for (?:\w+, *)?(?P<each>\w+) in [\w.\[\]]+\.(?:named_)?parameters\(\):\s+"
    r"(?:if [^\n]*:\s+(?:continue\s+)?)?"
    r"(?P=each)\.(?:detach_|requires_grad_|requires_grad\s*=(?!=)|data\b)"
)

# Back-propagation.
BACKWARD = Trigger(
    "backward",
    r"\bbackward\(|\.backward\b|manual_backward\(",
    mentions=("backward", "manual_backward", "create_graph", "retain_graph"),
)
# Its profiler and its anomaly mode change no gradient.
AUTOGRAD = Trigger(
    "autograd",
    r"\bautograd\.(?!\w*profiler|(?:set_)?detect_anomaly)|\bautograd\b(?!\.)",
    imported_from=("torch.autograd",),
    mentions=("autograd", "grad", "create_graph", "retain_graph", "functional_call"),
)
GRAD = Trigger("grad(", r"\bgrad\(", mentions=("grad",))
JACOBIAN = Trigger("jacobian")
HESSIAN = Trigger("hessian(", r"\bhessian\(")
JVP = Trigger("jvp", r"\bjvp")
VJP = Trigger("vjp", r"\bvjp")
TRAINING_STEP = Trigger("def training_step")
COMPUTE_LOSS = Trigger("def compute_loss", r"def compute_loss\(self, model\b")

# Everything that may differentiate.
DIFFERENTIATION = (BACKWARD, AUTOGRAD, GRAD, JACOBIAN, HESSIAN, JVP, VJP, TRAINING_STEP, COMPUTE_LOSS)

# What overwrites a tensor with that of all processes.
COLLECTIVE = Trigger(
    ("all_reduce", "reduce(", "broadcast("),
    r"\b(?:all_reduce|(?<=\.)(?:reduce|broadcast))\(",
    in_file=("distributed",),
    mentions=("all_reduce",),
)

# Optimizers and the gradients that they apply.
OPTIMIZER = Trigger(
    ("optim.", "from torch.optim"),
    r"\boptim\.[A-Z]\w*\(",
    imported_from=("torch.optim",),
    mentions=("step", "load_state_dict"),
)
# What a module loads under a name may be what it has handed out itself.
LOAD_STATE = Trigger(
    "load_state_dict(",
    r"\bload_state_dict\(\s*[A-Za-z_][\w.]*\s*[,)]",
    in_file=(".state_dict()",),
    mentions=("load_state_dict",),
)
# Gradients are cleared at the wrong time only where there are some, or a step is taken.
ZERO_GRAD = Trigger("zero_grad(", r"\bzero_grad\(", where=Condition.IN_TRAINING_FILE, mentions=("zero_grad",))
CLIP_GRAD = Trigger("clip_grad_", r"\bclip_grad_\w+\(")
SCALER = Trigger("Scaler", r"\b(?:Grad|Native|Apex)Scaler\b", mentions=("scale",))
UNSCALE = Trigger("unscale_", r"\bunscale_\b", mentions=("unscale_",))
NO_SYNC = Trigger("no_sync(", r"no_sync\(")

# A step of an optimizer or scheduler that a function is given: it alone is seldom wrong.
STEP = Trigger(".step(", mentions=("step",))

# Everything that may train.
TRAINING = (*DIFFERENTIATION, OPTIMIZER, ZERO_GRAD)

# Flags, gradients and hooks of tensors.
# Written, and not merely kept from requiring grad or passed through.
REQUIRES_GRAD = Trigger(
    "requires_grad",
    r"\brequires_grad(?:s|_\((?!False))|(?<=\.)requires_grad\s*=|\n[ \t]*requires_grad = "
    r"|(?<![.\w])requires_grad\s*=(?!=|\s*False\b|\s*[\w.]+\.requires_grad\b)",
    ignoring=_TO_PARAMETERS,
    mentions=("requires_grad", "requires_grad_"),
)
GRAD_ATTRIBUTE = Trigger(
    ".grad",
    r"\.grad\b",
    in_file=GRAD_SOURCES,
    where=Condition.RECORDS_GRAPH,
    callers=False,
    mentions=("grad",),
)
RETAIN_GRAD = Trigger("retain_grad", r"\bretain_grad\b", mentions=("retain_grad",))
HOOK = Trigger(
    "hook(",
    r"\bregister_\w*hook\(",
    mentions=("register_hook", "register_full_backward_hook", "register_backward_hook"),
)
SAVED_TENSORS = Trigger("save_for_backward", mentions=("save_for_backward",))

# Grad modes.
_MODES = ("no_grad", "enable_grad", "inference_mode", "set_grad_enabled")
# Called, or forgotten to be called: a parameter or an attribute of the name is none of PyTorch's.
_MODE = (
    r"(?:\b(?:torch|autograd)\.|@|\bwith )(?:no_grad|enable_grad|inference_mode|set_grad_enabled)\b"
    r"|(?<!def )\b(?:no_grad|enable_grad|inference_mode|set_grad_enabled)\("
)
_RIGHT_MODE = (
    r"@[\w.]*(?:no_grad|enable_grad|inference_mode)\("
    r"|with [\w.]*(?:no_grad|enable_grad|inference_mode|set_grad_enabled)\("
    r"|(?<=[,(] )[\w.]*(?:no_grad|enable_grad|inference_mode)\(\)(?=[,:) ])"
)
# Nothing but inference mode makes it a mistake to switch grad mode on.
MISUSED_GRAD_MODE = Trigger(
    _MODES, _MODE, ignoring=rf"{_RIGHT_MODE}|\b[\w.]*set_grad_enabled\(True\)", mentions=_MODES
)
GRAD_MODE_IN_INFERENCE = Trigger(
    _MODES, _MODE, ignoring=_RIGHT_MODE, in_file=("inference_mode",), mentions=_MODES
)
# A manager as a statement, given out by a generator, or where a truth value stands.
_MANAGER = r"[\w.]*(?:no_grad|enable_grad|inference_mode|autocast|no_sync)\([^\n]*\)"
MANAGER_NOT_ENTERED = Trigger(
    (*_MODES, "autocast(", "no_sync("),
    rf"(?m)^[ \t]*(?:yield )?{_MANAGER}[ \t]*$|\b(?:if|elif|while|not|and|or) {_MANAGER}"
    rf"|{_MANAGER} (?:and|or)\b",
    callers=False,
)
INFERENCE_MODE = Trigger("inference_mode(", in_file=GRAD_SOURCES, mentions=("inference_mode",))

# Writes in place; a method that does may be called later, by another name.
WRITE = r"[a-z0-9]_\(|\.[a-z]\w*[a-z0-9]_\b|\]\s*=[^=]|[-+*/@%&|^]=|//=|\*\*=|<<=|>>="
SHARED_WRITE = Trigger(
    pattern=WRITE,
    where=Condition.WRITES_TO_SHARED,
    callers=False,
    mentions=("data", "init"),
)
WRITE_ELSEWHERE = Trigger(in_file=GRAD_SOURCES, where=Condition.CALLS_WRITER)
# A module that writes in place: what its forward returns is differentiated.
FORWARD_WRITE = Trigger(pattern=WRITE, where=Condition.IN_FORWARD, callers=False)
# One that calls a method of its own, or a function of the file, that does.
FORWARD_HELPER_WRITE = Trigger("def ", where=Condition.HELPS_FORWARD_WRITE, callers=False)
# A loss that writes in place, or may cut itself off from what it is computed from.
LOSS_WRITE = Trigger(pattern=WRITE, where=Condition.COMPUTES_LOSS, callers=False)
LOSS_CUT = Trigger("def ", where=Condition.CUTS_LOSS, callers=False)
# A function that computes tensors from tensors, and writes in place.
OPERATION_WRITE = Trigger(pattern=WRITE, where=Condition.IN_OPERATION, callers=False)
# A module that may cut parameters off from what it returns.
FORWARD_CUT = Trigger("def ", where=Condition.CUTS_FORWARD, callers=False)
FORWARD_INPLACE_LAYER = Trigger(
    pattern=r"\bself\.\w+\(|inplace=True",
    in_file=("inplace=True",),
    where=Condition.IN_FORWARD,
    callers=False,
)
# Activations that write to what they are given.
INPLACE_LAYER = Trigger(
    ("chunk", "split", "unbind", "expand", "unfold", "iter", "zip"),
    in_file=("inplace=True",),
    where=Condition.CALLS_INPLACE_LAYER,
    callers=False,
)
# An attribute of a tensor that nothing else holds is assigned.
WRITE_TO_TEMPORARY = Trigger(
    (".data", ".grad", ".requires_grad"), r"[\])]\.(?:data|grad|requires_grad)\s*=(?!=)", callers=False
)
RESIZE = Trigger("resize_", r"\.resize_\(|resize_as_")
SET = Trigger(".set_(")
DETACH = Trigger("detach_(", ignoring=_TO_PARAMETERS)
OUT = Trigger("out=", r"\bout=", in_file=GRAD_SOURCES)

# Parameters and modules.
PARAMETER = Trigger(
    "Parameter(",
    r"Parameter\((?!\s*(?:data=)?(?:[\w.]+\s*\*\s*)?torch\."
    r"(?:zeros|ones|empty|randn|rand|full|tensor|arange|normal|Tensor|FloatTensor)\()"
    r"|Parameter\(.*\)\.(?:to|cpu|cuda|half|float|double|bfloat16|type)\(",
    mentions=("Parameter", "parameters", "named_parameters"),
)
MODULE_PARAMETER = Trigger("Parameter(", r"self\.\w+\s*(?::[^=\n]+)?=\s*(?:\w+\.)*Parameter\(", callers=False)
PLAIN_CONTAINER = Trigger(
    "self.",
    r"(?m)self\.\w+\s*(?::[^=\n]+)?=\s*(?:[\[{(]|\w+\s*(?:$|if\b)|(?:self\.)?\w+\()",
    in_file=GRAD_SOURCES,
    where=Condition.KEEPS_IN_CONTAINER,
    callers=False,
)
# What registers something, whose result is assigned.
ASSIGNED_REGISTRATION = Trigger(
    ("register_", "add_module("),
    r"self\.\w+\s*(?::[^=\n]+)?=\s*self\.(?:register_(?:buffer|parameter|module)|add_module)\(",
    callers=False,
)
# A mode of a module that is switched: by a class's own `train(mode)`, or where a condition stands.
TRAIN_METHOD = Trigger(
    "def train(self",
    r"def train\(self\s*(?::\s*[\w.]+\s*)?,\s*\w+\s*(?::\s*[\w.]+\s*)?=\s*True\s*,?\s*\)",
    callers=False,
)
SWITCH_AS_CONDITION = Trigger(
    (".train", ".eval"),
    r"\b(?:if|elif|while|and|or|not|assert)\s+\(?[\w.]+\.(?:train|eval)\b(?!\s*\([^)])|"
    r"\.(?:train|eval)(?:\(\))?\s+(?:and|or|else)\b",
    callers=False,
)
# What may be one of two optimizers.
OPTIMIZER_PAIR = Trigger(
    ("Adam", "SGD", "RMSprop", "ptim"),
    r"(?:Adam\w*|SGD|RMSprop|Ada\w+|ptim\w*)\([^\n]*param",
    callers=False,
)
# A layer that a forward makes.
LAYER_IN_FORWARD = Trigger(
    "def forward(",
    r"def forward\([^\n]*(?:\n(?![ \t]*def )[^\n]*)*?"
    r"\b(?:Linear|Bilinear|Conv(?:Transpose)?[123]d|Embedding(?:Bag)?|(?:GRU|LSTM|RNN)(?:Cell)?"
    r"|MultiheadAttention|Transformer\w*)\(",
    callers=False,
)
# A loop over all modules that freezes some.
MODULE_WALK = Trigger(
    "modules(", r"for [^\n]*\bin [^\n]*modules\(\)", in_file=("requires_grad",), callers=False
)
# A list of modules that a constructor is given: one of them is made a list of one, it is annotated, or each
# of them is moved.
GIVEN_MODULES = Trigger(
    ("isinstance(", "Module]", ".to(", ".cuda("),
    r"isinstance\((?P<one>\w+),[^\n]*\):\s+(?P=one) = \[(?P=one)\]|\w\[(?:nn\.)?Module\]"
    r"|self\.\w+ = \[\w+\.(?:to|cuda)\([^\n]*\) for \w+ in",
    callers=False,
)

# Values that leave the graph, or hold on to it.
NUMPY = Trigger(
    ("numpy", "np."),
    r"(?<!detach\(\))\.numpy\(|\b(?:np|numpy)\.\w+\(",
    in_file=GRAD_SOURCES,
    where=Condition.GIVES_TO_NUMPY,
    callers=False,
    mentions=("numpy",),
)
DEEP_COPY = Trigger(
    "deepcopy(",
    in_file=GRAD_SOURCES,
    where=Condition.COPIES_COMPUTED,
    callers=False,
    mentions=("deepcopy",),
)
DROPPED_COPY = Trigger(
    (".detach(", ".float(", ".double(", ".half("),
    (
        r"(?m)\n[ \t]*\w+(?:\[[^\n]*\])?\."
        r"(?:detach|float|double|half)\(.*\)[ \t]*(?:#.*)?$"
    ),
    where=Condition.DROPS_COPY,
    callers=False,
)
GATHERING_LOOP = Trigger(
    (".eval(", ".train(", "parameters(", ".state_dict(", ".zero_grad(", "nn."),
    r"\b(?:for|while)\b",
    where=Condition.GATHERS_IN_LOOP,
    callers=False,
)

# Custom functions and checkpoints.
FUNCTION_CLASS = Trigger(
    in_file=("Function",),
    where=Condition.IN_FUNCTION_CLASS,
    mentions=("Function", "apply", "save_for_backward"),
)
CHECKPOINT = Trigger(
    ("checkpoint(", "checkpoint_sequential("),
    r"\bcheckpoint(?:_sequential)?\((?![^()]*use_reentrant)",
    in_file=("torch.utils",),
    mentions=("checkpoint",),
)

# The classes of custom functions and what uses them.
CUSTOM_FUNCTIONS = (FUNCTION_CLASS, SAVED_TENSORS, AUTOGRAD)

# Everything that may write to a leaf, a view or a saved tensor.
WRITES = (
    SHARED_WRITE,
    WRITE_ELSEWHERE,
    INPLACE_LAYER,
    REQUIRES_GRAD,
    RESIZE,
    SET,
    DETACH,
    INFERENCE_MODE,
    MISUSED_GRAD_MODE,
)

# Modules that keep parameters and layers.
REGISTRATION = (PLAIN_CONTAINER, GIVEN_MODULES, PARAMETER, REQUIRES_GRAD)

"""Small random programs that use autograd in every way the model covers; a seed gives one program.

A program is valid Python whose shapes fit, so that what it raises, if it does, is autograd's doing. The
generator follows only names and shapes; what the program does to autograd is for PyTorch to say.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.differential import expressions
from tests.differential import vocabulary as words
from tests.differential.vocabulary import MATRIX, SCALAR, SHAPES, SQUARE, VECTOR, Shape
from tests.differential.writer import Helper, Scope, Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Simple = tuple[Callable[[], None], float]
    Nested = tuple[Callable[[int], None], float]

HEADER = """import copy
import os
from contextlib import contextmanager
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint
"""
FLAG = 'flag = os.environ.get("FLAG") == "1"'
MAX_DEPTH = 2
PARAMETERS = {"self.layer.weight", "self.layer.bias", "self.scale"}


class Generator(Writer):
    """Writes one program."""

    # -- statements -------------------------------------------------------------------------------

    def bind(self, name: str, shape: Shape, text: str) -> None:
        self.emit(f"{name} = {text}")
        self.scope.shapes.pop(name, None)
        self.scope.shapes[name] = shape
        self.scope.leaves.discard(name)

    def assign(self) -> None:
        shape = self.random.choice(SHAPES)
        names = [name for name in self.scope.of(shape) if name not in PARAMETERS]
        name = self.random.choice(names) if names and self.chance(0.25) else self.fresh()
        self.bind(name, shape, self.expression(shape))

    def view(self) -> None:
        template, source, shape = self.random.choice(expressions.VIEWS)
        if self.scope.of(source):
            self.bind(self.fresh("v"), shape, template.format(self.random.choice(self.scope.of(source))))

    def parts(self) -> None:
        """Several views at once."""
        names = self.scope.of(MATRIX)
        if not names:
            return
        base, a, b = self.random.choice(names), self.fresh("p"), self.fresh("p")
        how = self.random.choice(
            (".unbind(0)", ".unbind()", "", ".split(1)", ".chunk(2)", ".tensor_split(2)")
        )
        self.emit(f"{a}, {b} = {base}{how}")
        if how in ("", ".unbind(0)", ".unbind()"):
            self.scope.shapes |= {a: VECTOR, b: VECTOR}
        elif self.chance(0.5):
            self.emit(self.random.choice((f"{a}.mul_(2.0)", f"{b} += 1.0", f"{a}.zero_()")))

    def write(self) -> None:
        shape = self.random.choice(SHAPES)
        names = self.scope.of(shape)
        if not names:
            return
        target = self.random.choice(names)
        part = words.PART_WRITES[shape]
        table = part if part and self.chance(0.3) else words.WRITES
        template = self.random.choice(table)
        text = template.format(
            a=target, b=self.operand(shape, 1), s=self.expression(SCALAR, 0), e=self.expression(VECTOR, 0)
        )
        if target in self.scope.leaves and self.chance(0.85):
            with self.block("with torch.no_grad():", keep=True):
                self.emit(text)
        else:
            self.emit(text)

    def root(self) -> str:
        """Something to differentiate, nearly always a single number; half of them certainly have a history."""
        names = self.scope.of(SCALAR)
        leaves = sorted(self.scope.leaves)
        if leaves and self.chance(0.5):
            return f"({self.operand(SCALAR, 2)} + {self.random.choice(leaves)}.sum())"
        if names and self.chance(0.6):
            return self.random.choice(names[-3:])
        return self.operand(VECTOR if self.chance(0.02) else SCALAR, 2)

    def backward(self) -> None:
        arguments = self.random.choice(words.ROOT_ARGUMENTS)
        self.emit(f"{self.root()}.backward({arguments})")

    def grad(self) -> None:
        leaves = sorted(self.scope.leaves) or list(self.scope.shapes)[:1]
        if not leaves:
            return
        wanted = self.random.choice(leaves if self.chance(0.8) else list(self.scope.shapes))
        options = [o for o in (self.random.choice(words.ROOT_ARGUMENTS),) if o]
        if self.chance(0.3):
            options.append("allow_unused=True")
            self.emit(f"torch.autograd.grad({self.root()}, {wanted}, {', '.join(options)})")
            return
        extra = "".join(f", {o}" for o in options)
        name = self.fresh("g")
        shape = self.scope.shapes[wanted]
        form = self.random.choice(
            ("{n} = torch.autograd.grad([{r}], [{w}]{x})[0]", "{n} = torch.autograd.grad({r}, {w}{x})[0]")
        )
        self.emit(form.format(n=name, r=self.root(), w=wanted, x=extra))
        self.scope.shapes[name] = shape

    def touch_gradient(self) -> None:
        """Something done to `.grad`."""
        if not self.scope.leaves:
            return
        leaf = self.random.choice(sorted(self.scope.leaves))
        with self.block(f"if {leaf}.grad is not None:"):
            self.emit(
                self.random.choice(
                    (
                        f"{leaf}.grad.zero_()",
                        f"{leaf}.grad = None",
                        f"{leaf}.grad.mul_(0.5)",
                        f"{leaf}.data -= 0.1 * {leaf}.grad",
                    )
                )
            )

    def flag_tensor(self) -> None:
        """A call that changes how autograd treats one tensor."""
        if not self.scope.shapes:
            return
        name = self.random.choice(list(self.scope.shapes))
        text = self.random.choice(
            ("{a}.retain_grad()", "{a}.requires_grad_()", "{a}.requires_grad_(False)", "{a}.detach_()", "{a}.detach().numpy()",
             "{a}.sum().item()", "{a}.tolist()", "{a}.numpy()", "{a}.register_hook(lambda g: g * 2.0)", "{a}.requires_grad = True")
        )  # fmt: skip
        if text in ("{a}.requires_grad_(False)", "{a}.detach_()"):
            self.scope.leaves.discard(name)
        self.emit(text.format(a=name))

    def grad_mode(self, depth: int) -> None:
        head = self.random.choice(
            ("with torch.no_grad():", "with torch.no_grad():", "with torch.enable_grad():", "with torch.inference_mode():",
             "with torch.set_grad_enabled(False):", "with torch.set_grad_enabled(True):")
        )  # fmt: skip
        with self.block(head, keep=True):
            self.body(depth + 1, self.random.randint(1, 3))

    def branch(self, depth: int) -> None:
        if self.chance(0.5) and not self.in_function:
            self.flagged = True
            condition = self.random.choice(("flag", "not flag"))
        else:
            condition = self.random.choice(("True", "False", "1 > 0"))
        with self.block(f"if {condition}:"):
            self.body(depth + 1, self.random.randint(1, 2))
        if self.chance(0.4):
            with self.block("else:"):
                self.body(depth + 1, self.random.randint(1, 2))

    def loop(self, depth: int) -> None:
        rounds = self.random.randint(1, 4)
        with self.block(f"for step in range({rounds}):"):
            self.body(depth + 1, self.random.randint(2, 5))
            if self.chance(0.15):
                with self.block(f"if step == {self.random.randint(0, 2)}:"):
                    self.emit(self.random.choice(("break", "continue")))
                self.body(depth + 1, 1)

    def carried(self, depth: int) -> None:
        """A loop that carries a tensor from round to round, and differentiates."""
        shape = self.random.choice((VECTOR, MATRIX))
        state = self.name(shape)
        name = self.fresh("h")
        self.bind(name, shape, state if state.isidentifier() and self.chance(0.3) else f"({state}).clone()")
        with self.block(f"for step in range({self.random.randint(2, 4)}):"):
            if self.chance(0.3):
                self.bind(name, shape, f"{name}.detach()")
            self.bind(name, shape, self.step_of(name, shape))
            self.body(depth + 1, self.random.randint(0, 2))
            loss = self.fresh("loss")
            self.bind(
                loss,
                SCALAR,
                self.random.choice(("{a}.sum()", "({a} ** 2).mean()", "{a}.exp().mean()")).format(a=name),
            )
            self.train_step(loss)

    def step_of(self, name: str, shape: Shape) -> str:
        form = self.random.choice(
            ("torch.tanh({a} + {b})", "{a} * {b}", "{a} + {b}", "{a} * 0.9 + {b}", "torch.relu({a}) - {b}")
        )
        return form.format(a=name, b=self.operand(shape, 1))

    def accumulate(self, depth: int) -> None:
        """A loss summed over rounds and differentiated inside or after the loop."""
        total, inside = self.fresh("total"), self.chance(0.4)
        self.bind(total, SCALAR, self.random.choice(("torch.zeros(())", "torch.tensor(0.0)")))
        with self.block(f"for step in range({self.random.randint(2, 3)}):"):
            self.body(depth + 1, self.random.randint(0, 2))
            self.emit(f"{total} {self.random.choice(('+=', '= ' + total + ' +'))} {self.operand(SCALAR, 2)}")
            if inside:
                self.train_step(total)
        if not inside:
            self.emit(f"({total} * 1.0 + {self.name(SCALAR)}).backward()")

    def train_step(self, loss: str) -> None:
        optimizers = self.scope.optimizers
        optimizer = self.random.choice(optimizers) if optimizers else ""
        if optimizer and self.chance(0.7):
            self.emit(f"{optimizer}.zero_grad()")
        self.emit(f"{loss}.backward({self.random.choice(words.ROOT_ARGUMENTS)})")
        if optimizer and self.chance(0.8):
            self.emit(f"{optimizer}.step()")

    def optimizer(self) -> None:
        name = self.fresh("opt")
        sources = [f"{m}.parameters()" for m in self.scope.modules]
        leaves = sorted(self.scope.leaves)
        if leaves:
            sources.append(f"[{', '.join(self.random.sample(leaves, self.random.randint(1, len(leaves))))}]")
        if sources:
            self.emit(
                f"{name} = torch.optim.{self.random.choice(words.OPTIMIZERS).format(p=self.random.choice(sources))}"
            )
            self.scope.optimizers.append(name)

    def use_optimizer(self) -> None:
        if self.scope.optimizers:
            self.emit(
                f"{self.random.choice(self.scope.optimizers)}.{self.random.choice(('step', 'step', 'zero_grad'))}()"
            )

    def use_module(self) -> None:
        """Writes to the parameters of a module."""
        if self.scope.modules:
            name = self.random.choice(self.scope.modules)
            self.emit(
                self.random.choice(
                    (f"{name}.load_state_dict({name}.state_dict())", f"{name}.zero_grad()", f"{name}.eval()", f"{name}.train()",
                     f"{name}.requires_grad_(False)", f"for p in {name}.parameters(): p.data.mul_(0.9)")
                )
            )  # fmt: skip

    def rows(self) -> None:
        names = self.scope.of(MATRIX)
        if names:
            form = self.random.choice(
                (
                    "for row in {a}: row.mul_(2.0)",
                    "for i in range(2): {a}[i] += 1.0",
                    "for i in range(2): {a}[i].add_(1.0)",
                )
            )
            self.emit(form.format(a=self.random.choice(names)))

    def simple(self) -> tuple[Simple, ...]:
        """Statements of one line or so, with how often each is written."""
        return (
            (self.assign, 8), (self.view, 2), (self.parts, 0.6), (self.write, 4), (self.backward, 2.5), (self.grad, 1),
            (self.touch_gradient, 0.6), (self.flag_tensor, 0.8), (self.optimizer, 0.3), (self.use_optimizer, 0.8),
            (self.use_module, 0.3), (self.rows, 0.3),
        )  # fmt: skip

    def nested(self) -> tuple[Nested, ...]:
        """Statements with a body, with how often each is written."""
        return (
            (self.grad_mode, 1), (self.branch, 0.8), (self.loop, 0.8), (self.carried, 0.8), (self.accumulate, 0.4),
        )  # fmt: skip

    def body(self, depth: int, count: int) -> None:
        """Some statements."""
        simple, nested = self.simple(), self.nested()
        for _ in range(count):
            compound = depth < MAX_DEPTH and self.chance(0.16)
            if compound:
                self.random.choices([p for p, _ in nested], [w for _, w in nested])[0](depth)
            else:
                self.random.choices([p for p, _ in simple], [w for _, w in simple])[0]()

    # -- definitions ------------------------------------------------------------------------------

    @contextmanager
    def definition(self, head: str, scope: Scope) -> Iterator[None]:
        """The body of a function, which sees its own names alone."""
        outer, self.scope, self.in_function = self.scope, scope, True
        self.emit(head)
        self.indent += 1
        yield
        self.indent -= 1
        self.scope, self.in_function = outer, False

    def helper(self) -> None:
        name = self.fresh("helper")
        takes = tuple(self.random.choice(SHAPES) for _ in range(self.random.randint(1, 2)))
        gives = self.random.choice(SHAPES)
        if self.chance(0.1):
            self.emit(self.random.choice(("@torch.no_grad()", "@torch.enable_grad()", "@torch.no_grad()")))
        names = "ab"[: len(takes)]
        with self.definition(f"def {name}({', '.join(names)}):", Scope(dict(zip(names, takes, strict=True)))):
            self.body(1, self.random.randint(0, 3))
            self.emit(f"return {self.expression(gives)}")
        self.helpers.append(Helper(name, takes, gives))

    def wrapper(self) -> None:
        name = self.fresh("Fn")
        for line in self.random.choice(words.FUNCTIONS).format(name=name).splitlines():
            self.emit(line)
        self.wrappers.append(name)

    def module_class(self) -> str:
        name = self.fresh("Net")
        attributes = {
            "scale": (VECTOR, "nn.Parameter(torch.ones(3))"),
            "hidden": (MATRIX, "torch.zeros(2, 3)"),
        }
        self.emit(f"class {name}(nn.Module):")
        self.indent += 1
        self.emit("def __init__(self):")
        self.indent += 1
        self.emit("super().__init__()")
        self.emit("self.layer = nn.Linear(3, 3)")
        inplace = self.random.choice(("inplace=True", ""))
        self.emit(
            f"self.act = {self.random.choice((f'nn.ReLU({inplace})', 'nn.Tanh()', 'nn.Sigmoid()', 'nn.LayerNorm(3)', 'nn.GELU()'))}"
        )
        scope = Scope({"x": MATRIX, "self.layer.weight": SQUARE, "self.layer.bias": VECTOR})
        for attribute, (shape, value) in attributes.items():
            if self.chance(0.5):
                self.emit(f"self.{attribute} = {value}")
                scope.shapes[f"self.{attribute}"] = shape
        self.indent -= 1
        with self.definition("def forward(self, x):", scope):
            self.bind(
                "y",
                MATRIX,
                self.random.choice(
                    ("self.act(self.layer(x))", "self.layer(x)", "self.layer(self.act(x * 1.0))")
                ),
            )
            self.protect(scope)
            self.body(1, self.random.randint(0, 2))
            hidden = "self.hidden" in scope.shapes
            if hidden and self.chance(0.6):
                self.emit(
                    f"self.hidden = {self.random.choice(('y', 'y.detach()', 'self.hidden + y', 'torch.tanh(self.hidden * y)'))}"
                )
            self.emit(
                f"return {self.random.choice(('y', 'y + x', 'self.act(y)', 'self.layer(y)'))}{' + self.hidden' if hidden else ''}"
            )
        self.indent -= 1
        return name

    @staticmethod
    def protect(scope: Scope) -> None:
        """Parameters are used but not bound: a module refuses tensors in their place."""
        scope.leaves.update(PARAMETERS & scope.shapes.keys())

    def module(self) -> None:
        kind = self.random.choice(("class", "class", "linear", "sequential"))
        made = (
            f"{self.module_class()}()" if kind == "class" else "nn.Linear(3, 3)" if kind == "linear"
            else self.random.choice(("nn.Sequential(nn.Linear(3, 3), nn.ReLU(inplace=True), nn.Linear(3, 3))",
                                     "nn.Sequential(nn.Linear(3, 3), nn.Tanh())", "nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.LayerNorm(3))"))
        )  # fmt: skip
        name = self.fresh("net")
        self.emit(f"{name} = {made}")
        self.scope.modules.append(name)

    # -- whole programs ---------------------------------------------------------------------------

    def starting_tensors(self) -> None:
        for shape in SHAPES:
            if shape in (VECTOR, MATRIX) or self.chance(0.6):
                name = self.fresh("w")
                self.bind(name, shape, self.random.choice(words.LEAVES[shape]))
                self.scope.leaves.add(name)
        for shape in SHAPES:
            if self.chance(0.4):
                self.bind(self.fresh("c"), shape, self.random.choice(words.CONSTANTS[shape]))

    def training(self) -> None:
        """A training loop, with something done in it that may or may not be allowed."""
        self.optimizer()
        self.bind(self.fresh("data"), MATRIX, "torch.rand(2, 3)")
        with self.block(f"for step in range({self.random.randint(1, 3)}):"):
            model = self.called(MATRIX) if self.scope.modules else None
            out = self.fresh("out")
            self.bind(out, MATRIX, model or self.expression(MATRIX))
            self.body(1, self.random.randint(0, 3))
            loss = self.fresh("loss")
            self.bind(
                loss,
                SCALAR,
                self.random.choice(
                    ("{a}.sum()", "({a} ** 2).mean()", "F.mse_loss({a}, torch.ones(2, 3))")
                ).format(a=out),
            )
            self.body(1, self.random.randint(0, 1))
            self.train_step(loss)

    def program(self) -> str:
        for line in HEADER.splitlines():
            self.emit(line)
        for make, share in ((self.wrapper, 0.2), (self.helper, 0.3), (self.helper, 0.15)):
            if self.chance(share):
                make()
        self.starting_tensors()
        if self.chance(0.35):
            self.module()
        if self.chance(0.3):
            self.optimizer()
        self.body(0, self.random.randint(3, 7))
        if self.chance(0.3):
            self.training()
        for _ in range(self.random.choice((0, 1, 1, 2))):
            self.backward()
            self.body(0, self.random.randint(0, 2))
        if self.flagged:
            self.lines.insert(len(HEADER.splitlines()), FLAG)
        return "\n".join(self.lines) + "\n"

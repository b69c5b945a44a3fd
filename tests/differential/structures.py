"""What programs are built of beside statements: generators, recursion, objects, hooks, managers, embeddings."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from tests.differential import expressions
from tests.differential import vocabulary as words
from tests.differential.constructs import Constructs
from tests.differential.vocabulary import MATRIX, SCALAR, SHAPES, SQUARE, VECTOR
from tests.differential.writer import Helper, Scope

if TYPE_CHECKING:
    from tests.differential.generator import Nested, Simple

UPDATES = (
    "for p in {net}.parameters(): p.add_(0.1)",
    "for p in {net}.parameters(): p -= 0.1",
    "for p in {net}.parameters(): p.copy_(p * 0.5)",
    "torch._foreach_mul_(list({net}.parameters()), 0.5)",
)
GRADIENTS = (
    "for p in {net}.parameters(): p.grad = None",
    "nn.utils.clip_grad_norm_({net}.parameters(), 1.0)",
    "nn.utils.clip_grad_value_({net}.parameters(), 0.5)",
    "{net}.requires_grad_(True)",
    "for b in {net}.buffers(): b.zero_()",
    "{net} = copy.deepcopy({net})",
    "{net}.load_state_dict(copy.deepcopy({net}.state_dict()))",
)
MODULE_HOOKS = (
    "{net}.register_forward_hook(lambda m, args, out: out * 2.0)",
    "{net}.register_forward_hook(lambda m, args, out: out.detach())",
    "{net}.register_forward_pre_hook(lambda m, args: (args[0] + 1.0,))",
    "{net}.register_full_backward_hook(lambda m, before, after: None)",
)
MANAGERS = (
    "@contextmanager\ndef {name}():\n    with torch.no_grad():\n        yield\n",
    "@contextmanager\ndef {name}():\n    torch.set_grad_enabled(False)\n    yield\n    torch.set_grad_enabled(True)\n",
    (
        "class {name}:\n    def __enter__(self):\n        self.before = torch.is_grad_enabled()\n"
        "        torch.set_grad_enabled(False)\n"
        "    def __exit__(self, *args):\n        torch.set_grad_enabled(self.before)\n"
    ),
)
SEQUENTIAL = (
    "nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.ReLU())",
    "nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5), nn.Linear(3, 3))",
    "nn.Sequential(nn.Linear(3, 3), nn.SiLU(inplace=True), nn.Linear(3, 3))",
    "nn.BatchNorm1d(3)",
    "nn.LayerNorm(3)",
)


class Structures(Constructs):
    """A generator that also writes what larger programs are built of."""

    def __init__(self, choices: random.Random) -> None:
        super().__init__(choices)
        self.generators: list[Helper] = []
        self.managers: list[str] = []

    def simple(self) -> tuple[Simple, ...]:
        return (
            *super().simple(),
            (self.embedded, 0.25),
            (self.updated, 0.5),
            (self.hooked, 0.15),
            (self.numbers, 0.3),
            (self.forgotten, 0.15),
            (self.comprehended, 0.3),
        )

    def nested(self) -> tuple[Nested, ...]:
        return (
            *super().nested(),
            (self.generated, 0.4),
            (self.managed, 0.4),
            (self.conditional_mode, 0.3),
            (self.windowed, 0.4),
        )

    # -- statements -------------------------------------------------------------------------------

    def embedded(self) -> None:
        """An embedding whose rows are made shorter where they are looked up."""
        if self.scope.of(SQUARE) and self.chance(0.5):
            table = self.random.choice(self.scope.of(SQUARE))
            self.bind(self.fresh(), MATRIX, f"F.embedding(torch.tensor([0, 2]), {table}, max_norm=0.5)")
            return
        name = self.fresh("emb")
        self.emit(f"{name} = nn.Embedding(3, 3, max_norm=0.5)")
        first = self.fresh()
        self.bind(first, MATRIX, f"{name}(torch.tensor([0, 1])) * 2.0")
        self.bind(self.fresh(), MATRIX, f"{name}(torch.tensor([1, 2])) * {name}.weight[:2]")

    def updated(self) -> None:
        """All parameters of a module changed at once, or what belongs to them."""
        if not self.scope.modules or self.in_function:
            return
        net = self.random.choice(self.scope.modules)
        if self.chance(0.5):
            with self.block("with torch.no_grad():", keep=True):
                self.emit(self.random.choice(UPDATES).format(net=net))
        else:
            self.emit(self.random.choice(GRADIENTS).format(net=net))

    def hooked(self) -> None:
        if self.scope.modules and not self.in_function:
            self.emit(self.random.choice(MODULE_HOOKS).format(net=self.random.choice(self.scope.modules)))

    def numbers(self) -> None:
        """A tensor's number, used as one."""
        names = self.scope.of(SCALAR)
        if names:
            source = self.random.choice(names)
            text = self.random.choice(("{a}.item()", "float({a}.detach())", "{a}.detach().item()"))
            self.bind(self.fresh(), SCALAR, f"{self.operand(SCALAR, 1)} * {text.format(a=source)}")

    def forgotten(self) -> None:
        """A name that goes away; what others hold of it stays."""
        names = [n for n in self.scope.shapes if n not in self.scope.leaves and n.isidentifier()]
        if names and not self.indent:
            name = self.random.choice(names)
            self.emit(f"del {name}")
            del self.scope.shapes[name]

    def comprehended(self) -> None:
        """Tensors made by a comprehension, put together."""
        shape = self.random.choice((VECTOR, MATRIX))
        given = ", ".join(self.name(shape) for _ in range(2))
        inner = self.random.choice(expressions.UNARY).format(a="e")
        form = self.random.choice(
            ("sum([({x}).sum() for e in [{g}]])", "torch.stack([({x}).mean() for e in ({g})]).max()",
             "sum(({x}).sum() * i for i, e in enumerate([{g}]))")
        )  # fmt: skip
        self.bind(self.fresh(), SCALAR, form.format(x=inner, g=given))

    # -- blocks -----------------------------------------------------------------------------------

    def generated(self, depth: int) -> None:
        """A loop over what a generator of the program gives."""
        if not self.generators or self.in_function:
            return
        helper = self.random.choice(self.generators)
        name = self.fresh("e")
        with self.block(f"for {name} in {helper.call}({self.expression(helper.takes[0], 0)}):"):
            self.scope.shapes[name] = helper.gives
            self.body(depth + 1, self.random.randint(1, 3))

    def managed(self, depth: int) -> None:
        """A block under a manager of the program."""
        if self.managers and not self.in_function:
            with self.block(f"with {self.random.choice(self.managers)}():", keep=True):
                self.body(depth + 1, self.random.randint(1, 3))

    def conditional_mode(self, depth: int) -> None:
        """Gradients on or off as a condition says."""
        if self.in_function:
            return
        self.flagged = True
        head = self.random.choice(("flag", "not flag", "1 > 2"))
        with self.block(f"with torch.set_grad_enabled({head}):", keep=True):
            self.body(depth + 1, self.random.randint(1, 3))

    def windowed(self, depth: int) -> None:
        """Gradients that are applied and cleared in every second round."""
        if not self.scope.optimizers or self.in_function:
            return
        optimizer = self.random.choice(self.scope.optimizers)
        with self.block(f"for step in range({self.random.randint(2, 4)}):"):
            self.body(depth + 1, self.random.randint(0, 2))
            loss = self.fresh("loss")
            self.bind(loss, SCALAR, self.expression(SCALAR))
            self.emit(f"{loss}.backward({self.random.choice(words.ROOT_ARGUMENTS)})")
            with self.block(f"if step % 2 == {self.random.randint(0, 1)}:"):
                self.emit(f"{optimizer}.step()")
                self.emit(f"{optimizer}.zero_grad()")

    # -- definitions ------------------------------------------------------------------------------

    def helper(self) -> None:
        form = self.random.choice(("function", "function", "generator", "recursion", "object", "manager"))
        if form == "function":
            super().helper()
        else:
            {
                "generator": self.generator_function,
                "recursion": self.recursion,
                "object": self.stateful,
                "manager": self.manager,
            }[form]()

    def generator_function(self) -> None:
        name = self.fresh("gen")
        takes, gives = self.random.choice(SHAPES), self.random.choice((VECTOR, MATRIX))
        with self.definition(f"def {name}(a):", Scope({"a": takes})):
            with self.block(f"for i in range({self.random.randint(1, 3)}):"):
                self.body(2, self.random.randint(0, 2))
                self.emit(f"yield {self.expression(gives)}")
            if self.chance(0.3):
                self.emit(f"yield from [{self.expression(gives, 1)}]")
        self.generators.append(Helper(name, (takes,), gives))

    def recursion(self) -> None:
        name = self.fresh("again")
        shape = self.random.choice((VECTOR, MATRIX))
        with self.definition(f"def {name}(a, n=2):", Scope({"a": shape})):
            with self.block("if n == 0:"):
                self.emit(f"return {self.expression(shape, 1)}")
            self.body(2, self.random.randint(0, 2))
            self.emit(f"return {name}({self.expression(shape)}, n - 1)")
        self.helpers.append(Helper(name, (shape,), shape))

    def stateful(self) -> None:
        """An object that keeps what it computed last."""
        name, made = self.fresh("Box"), self.fresh("box")
        shape = self.random.choice((VECTOR, MATRIX))
        with self.block(f"class {name}:"):
            with self.block("def __init__(self, last):"):
                self.emit("self.last = last")
            self.emit("@property")
            with self.block("def size(self):"):
                self.emit("return self.last.sum()")
            with self.definition("def step(self, a):", Scope({"a": shape, "self.last": shape})):
                self.body(2, self.random.randint(0, 2))
                keep = self.random.choice(("{x}", "({x}).detach()", "self.last * 0.9 + {x}"))
                self.emit(f"self.last = {keep.format(x=self.expression(shape, 1))}")
                self.emit("return self.last")
        self.emit(f"{made} = {name}({self.random.choice(words.CONSTANTS[shape])})")
        self.helpers.append(Helper(f"{made}.step", (shape,), shape))
        self.bind(self.fresh(), SCALAR, f"{made}.size")

    def manager(self) -> None:
        name = self.fresh("quiet")
        for line in self.random.choice(MANAGERS).format(name=name).splitlines():
            self.emit(line)
        self.managers.append(name)

    def module_class(self) -> str:
        """A module; one in six changes what another class computes."""
        base = super().module_class()
        if not self.chance(0.17):
            return base
        name = self.fresh("Sub")
        with self.block(f"class {name}({base}):"), self.block("def forward(self, x):"):
            self.emit(
                self.random.choice(
                    (
                        "return super().forward(x) * 2.0",
                        "y = super().forward(x)",
                        "return x + super().forward(x)",
                    )
                )
            )
            if self.lines[-1].lstrip().startswith("y ="):
                self.emit(self.random.choice(("y.mul_(2.0)", "y += 1.0", "y = y.detach()")))
                self.emit("return y")
        return name

    def module(self) -> None:
        if self.chance(0.75):
            super().module()
            return
        name = self.fresh("net")
        self.emit(f"{name} = {self.random.choice(SEQUENTIAL)}")
        self.scope.modules.append(name)


def generate(seed: int) -> str:
    """The program of a seed; the same text on every machine."""
    return Structures(random.Random(seed)).program()

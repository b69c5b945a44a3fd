"""What programs do beside plain operations: try, closures, checkpoints, hooks, containers, silent writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.differential import expressions
from tests.differential import vocabulary as words
from tests.differential.generator import Generator
from tests.differential.vocabulary import MATRIX, SCALAR, SHAPES, SQUARE, VECTOR
from tests.differential.writer import Helper, Scope

if TYPE_CHECKING:
    from tests.differential.generator import Nested, Simple
    from tests.differential.vocabulary import Shape


class Constructs(Generator):
    """A generator that also writes the constructs of whole programs."""

    def simple(self) -> tuple[Simple, ...]:
        return (
            *super().simple(),
            (self.silent_write, 0.7),
            (self.several_roots, 0.4),
            (self.several_inputs, 0.4),
            (self.closure, 0.25),
            (self.checkpointed, 0.4),
            (self.collected, 0.3),
            (self.switch, 0.15),
        )

    def nested(self) -> tuple[Nested, ...]:
        return (
            *super().nested(),
            (self.attempt, 0.6),
            (self.saved_hooks, 0.6),
            (self.counted, 0.4),
            (self.drawn, 0.3),
        )

    # -- blocks -----------------------------------------------------------------------------------

    def attempt(self, depth: int) -> None:
        """`try` around something that may raise."""
        with self.block("try:"):
            self.body(depth + 1, self.random.randint(1, 3))
        with self.block(self.random.choice(("except RuntimeError:", "except Exception as error:"))):
            self.body(depth + 1, self.random.randint(0, 1))
        if self.chance(0.2):
            with self.block("finally:"):
                self.body(depth + 1, 1)

    def saved_hooks(self, depth: int) -> None:
        """A block in which hooks keep what the graph saves."""
        with self.block(f"with torch.autograd.graph.{self.random.choice(words.HOOKS)}:", keep=True):
            self.body(depth + 1, self.random.randint(1, 3))

    def counted(self, depth: int) -> None:
        """A `while` loop, with an `else` now and then."""
        counter = self.fresh("n")
        self.emit(f"{counter} = {self.random.randint(1, 4)}")
        with self.block(f"while {counter} > 0:"):
            self.emit(f"{counter} -= 1")
            self.body(depth + 1, self.random.randint(1, 3))
        if self.chance(0.3):
            with self.block("else:"):
                self.body(depth + 1, 1)

    def drawn(self, depth: int) -> None:
        """A loop over tensors that a list or a generator expression gives."""
        shape = self.random.choice((VECTOR, MATRIX))
        parts = [self.name(shape) for _ in range(self.random.randint(1, 3))]
        name = self.fresh("e")
        source = f"[{', '.join(parts)}]"
        if self.chance(0.4):
            source = f"(a * 2.0 for a in {source})"
        with self.block(f"for {name} in {source}:"):
            self.scope.shapes[name] = shape
            self.body(depth + 1, self.random.randint(1, 3))

    # -- statements -------------------------------------------------------------------------------

    def silent_write(self) -> None:
        """A change of values that autograd does not see."""
        name = self.random.choice(sorted(self.scope.leaves) or ["w1"])
        if name not in self.scope.shapes:
            return
        if self.scope.modules and self.chance(0.3):
            module = self.random.choice(self.scope.modules)
            self.emit(self.random.choice(words.SILENT_MODULE_WRITES).format(net=module))
            return
        value = self.random.choice(words.CONSTANTS[self.scope.shapes[name]])
        self.emit(self.random.choice(words.SILENT_WRITES).format(a=name, c=value))

    def several_roots(self) -> None:
        roots = ", ".join(self.operand(SCALAR, 1) for _ in range(2))
        arguments = self.random.choice(("", "", ", retain_graph=True"))
        self.emit(f"torch.autograd.backward([{roots}]{arguments})")

    def several_inputs(self) -> None:
        """One gradient call for some leaves; its results are used, or a backward is kept to them."""
        leaves = sorted(self.scope.leaves - {"self.layer.weight", "self.layer.bias"})
        if not leaves:
            return
        wanted = self.random.sample(leaves, self.random.randint(1, min(2, len(leaves))))
        if self.chance(0.3):
            self.emit(f"{self.root()}.backward(inputs=[{', '.join(wanted)}])")
            return
        names = [self.fresh("g") for _ in wanted]
        targets = ", ".join(names) + ("," if len(names) == 1 else "")
        create = self.random.choice(("", ", create_graph=True", ", retain_graph=True"))
        self.emit(f"{targets} = torch.autograd.grad({self.root()}, [{', '.join(wanted)}]{create})")
        self.scope.shapes |= {n: self.scope.shapes[w] for n, w in zip(names, wanted, strict=True)}

    def closure(self) -> None:
        """LBFGS, which calls the program back: once only where the gradient is zero, so it is not."""
        leaves = [name for name in sorted(self.scope.leaves) if name.isidentifier()]
        if not leaves or self.in_function or self.indent:
            return
        optimizer, name = self.fresh("opt"), self.fresh("closure")
        leaf = self.random.choice(leaves)
        self.emit(f"{optimizer} = torch.optim.LBFGS([{leaf}], lr=0.1, max_iter=2)")
        with self.definition(f"def {name}():", self.scope.copy()):
            if self.chance(0.7):
                self.emit(f"{optimizer}.zero_grad()")
            loss = self.fresh("loss")
            self.bind(loss, SCALAR, f"({self.expression(SCALAR)}) + ({leaf} * 3.0).sum()")
            self.emit(f"{loss}.backward({self.random.choice(words.ROOT_ARGUMENTS)})")
            self.emit(f"return {loss}")
        self.emit(f"{optimizer}.step({name})")

    def checkpointed(self) -> None:
        """A call that is run again in backward.

        Reentrant, what is wrong in the function is wrong in backward only: there it is one operation.
        """
        fitting = [h for h in self.helpers if len(h.takes) == 1 and not self.in_function]
        fitting += [Helper(name, (MATRIX,), MATRIX) for name in self.scope.modules if not self.in_function]
        shape: Shape = self.random.choice(SHAPES)
        inner = self.random.choice(expressions.UNARY).format(a="a")
        helper = (
            self.random.choice(fitting)
            if fitting and self.chance(0.6)
            else Helper(f"lambda a: {inner}", (shape,), shape)
        )
        variant = helper.call.startswith("lambda") and self.chance(0.3)
        given = self.expression(helper.takes[0], 0)
        self.bind(
            self.fresh("k"), helper.gives, f"checkpoint({helper.call}, {given}, use_reentrant={variant})"
        )

    def collected(self) -> None:
        """Tensors in a list or a dict, taken out again."""
        shape = self.random.choice((VECTOR, MATRIX, SQUARE))
        a, b = self.expression(shape, 1), self.expression(shape, 1)
        name = self.fresh("box")
        form = self.random.choice(("list", "dict", "sum", "append"))
        if form == "list":
            self.emit(f"{name} = [{a}, {b}]")
            self.bind(self.fresh(), shape, f"{name}[{self.random.randint(0, 1)}]")
        elif form == "dict":
            self.emit(f'{name} = {{"a": {a}, "b": {b}}}')
            self.bind(self.fresh(), shape, f'{name}["{self.random.choice("ab")}"]')
        elif form == "sum":
            self.bind(name, SCALAR, f"sum(e.sum() for e in ({a}, {b}))")
        else:
            self.emit(f"{name} = []")
            with self.block(f"for step in range({self.random.randint(1, 3)}):"):
                self.emit(f"{name}.append({a})")
            self.bind(self.fresh(), SCALAR, f"torch.stack({name}).sum()")

    def switch(self) -> None:
        """Grad mode switched by a call, and back."""
        self.emit("torch.set_grad_enabled(False)")
        self.body(2, self.random.randint(1, 2))
        self.emit("torch.set_grad_enabled(True)")

    # -- definitions ------------------------------------------------------------------------------

    def helper(self) -> None:
        """A function; one in three has two ways through it, and is called with either."""
        if not self.chance(0.35):
            super().helper()
            return
        name = self.fresh("helper")
        takes, gives = self.random.choice(SHAPES), self.random.choice(SHAPES)
        if self.chance(0.3):
            self.emit(
                self.random.choice(
                    ("@torch.no_grad()", "@torch.inference_mode()", "@torch.set_grad_enabled(False)")
                )
            )
        with self.definition(f"def {name}(a, early=False):", Scope({"a": takes})):
            with self.block("if early:"):
                self.body(2, self.random.randint(0, 1))
                self.emit(f"return {self.expression(gives)}")
            self.body(1, self.random.randint(0, 2))
            self.emit(f"return {self.expression(gives)}")
        self.helpers.append(Helper(name, (takes,), gives))
        self.helpers.append(Helper(name, (takes,), gives, ", early=True"))

    def module_class(self) -> str:
        """A module; one in three keeps its layers in a container."""
        if not self.chance(0.35):
            return super().module_class()
        name = self.fresh("Net")
        with self.block(f"class {name}(nn.Module):"):
            with self.block("def __init__(self):"):
                self.emit("super().__init__()")
                self.emit(f"self.layers = {self.random.choice(words.CONTAINERS)}")
            with self.block("def forward(self, x):"):
                self.emit("for layer in self.layers:")
                self.emit(
                    self.random.choice(
                        (
                            "    x = layer(x)",
                            "    x = torch.relu(layer(x))",
                            "    x = x + layer(x)",
                            "    x = layer(x).mul_(0.5)",
                        )
                    )
                )
                self.emit("return x")
        return name

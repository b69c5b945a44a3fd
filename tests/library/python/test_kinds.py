"""Which kind of object a value is."""

from __future__ import annotations

from tests.cases import Fact, check_known, each

FACTS = {
    "tensors and modules": Fact(
        "layer = nn.Linear(2, 2)",
        "isinstance(w, torch.Tensor) and isinstance(layer, nn.Module) and not isinstance(layer, torch.Tensor)",
    ),
    "a parameter is a tensor": Fact(
        "layer = nn.Linear(2, 2)",
        "isinstance(layer.weight, nn.Parameter) and isinstance(layer.weight, torch.Tensor) and not isinstance(w, nn.Parameter)",
    ),
    "containers": Fact(
        "a, b = [1], (1,)",
        "isinstance(a, list) and not isinstance(a, tuple) and isinstance(b, (list, tuple))",
    ),
    "a bool is a number": Fact(
        "a = True", "isinstance(a, int) and isinstance(a, bool) and not isinstance(1, bool)"
    ),
    "a class of the program": Fact(
        """\
class A: pass
class B(A): pass""",
        "isinstance(B(), A) and not isinstance(A(), B)",
    ),
    "a module of the program": Fact("class Net(nn.Module): pass", "isinstance(Net(), nn.Module)"),
}


@each(FACTS)
def test_the_model_knows_what_python_computes(program: Fact) -> None:
    check_known(program)

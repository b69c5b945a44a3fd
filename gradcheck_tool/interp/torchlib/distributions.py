"""Distributions that can be reparametrised: `sample()` is a constant. Nothing else of them is modelled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.autograd import engine
from gradcheck_tool.autograd.heap import Instance, State, Tensor
from gradcheck_tool.autograd.values import Ref, Tup
from gradcheck_tool.interp.natives import Args, Result, function, method

if TYPE_CHECKING:
    from gradcheck_tool.interp.machine import Machine

NAMES = (
    "Normal",
    "LogNormal",
    "Uniform",
    "Laplace",
    "Gamma",
    "Beta",
    "Exponential",
    "Cauchy",
    "Gumbel",
    "Dirichlet",
    "MultivariateNormal",
    "StudentT",
    "HalfNormal",
    "Kumaraswamy",
    "Weibull",
    "RelaxedBernoulli",
)


@function(*(f"torch.distributions.{name}" for name in NAMES))
def make(m: Machine, s: State, call: Args) -> Result:
    """A distribution that keeps its parameters; anything but a sample of it is unknown."""
    values = [*call.args, *call.kwargs.values()]
    params = tuple(v for v in values if s.get(v, Tensor) is not None)
    return s.new(Instance(call.func, {"#params": Tup(params)}, open=True))


def _register() -> None:
    for name in NAMES:
        method(f"torch.distributions.{name}", "sample")(sample)


def sample(m: Machine, s: State, call: Args) -> Result:
    """Drawn under no_grad: a constant, cut off from the parameters."""
    ref = engine.new_tensor(s, call.site, name=call.text)
    params = [p for p in s[call.self].attrs.get("#params", Tup(())).items if isinstance(p, Ref)]
    made: Tensor = s[ref]
    engine.cut_off(s, made, "sample", params, call.site, call.text)
    if engine.requires(s, params):
        made.lost = "no-grad"
    return ref


_register()

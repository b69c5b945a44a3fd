"""`torch.distributions`: what depends on the parameters of a distribution, and what is drawn from it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from gradcheck_tool import engine
from gradcheck_tool.domain import shapes
from gradcheck_tool.domain.records import Instance
from gradcheck_tool.domain.values import NONE, TRUE, Method, Ref, Tup, Value, unknown
from gradcheck_tool.engine.effect import Effect
from gradcheck_tool.interp import registry
from gradcheck_tool.interp.registry import Result, function, method
from gradcheck_tool.library.torch.tensor_values import as_tensor

if TYPE_CHECKING:
    from gradcheck_tool.domain.graph import Tensor
    from gradcheck_tool.domain.shapes import Shape
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Interpreter

REPARAMETRISED = (
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
OTHERS = ("Categorical", "OneHotCategorical", "Bernoulli", "Binomial", "Poisson", "Geometric")
# Those that are made of a location and a scale.
LOCATED = frozenset({"Normal", "Laplace", "Cauchy", "Gumbel", "LogNormal"})
# Those with one random number for each element of their parameters.
UNIVARIATE = frozenset(REPARAMETRISED) - {"Dirichlet", "MultivariateNormal"} | {
    "Bernoulli",
    "Poisson",
    "Geometric",
}
# Those whose samples and entropy may be linear in a parameter, so that a second backward is allowed.
LINEAR = LOCATED | {"MultivariateNormal", "StudentT", "RelaxedBernoulli"}
# Those that normalise their parameters when they are made; all that is computed later shares that.
NORMALISED = frozenset({"Categorical", "OneHotCategorical"})
NORMALISATION = Effect(node="NormalisationBackward0", frees=True)
# What is computed from the parameters of distributions, and frees something kept inside in its backward.
COMPUTED = Effect(node="DistributionBackward0", frees=True)
LIKELIHOOD = Effect(node="LogProbBackward0", frees=True)
DIVERGENCE = Effect(node="KLBackward0", frees=True)


@function(*(f"torch.distributions.{name}" for name in (*REPARAMETRISED, *OTHERS)))
def make(m: Interpreter, s: State, call: Call) -> Result:
    """A distribution that keeps its parameters."""
    values = [v for v in (*call.args, *call.kwargs.values()) if v != NONE]
    params = [as_tensor(m, s, value, call.site) for value in values]
    known = tuple(ref for ref in params if ref is not None)
    name = registry.lib_name(call.func).rpartition(".")[2]
    if name in NORMALISED and known:
        known = (engine.apply(s, NORMALISATION, {"self": list(known)}, call.site, call.text)[0],)
    record = Instance(call.func, {"#given": Tup(known)}, open=True)
    if name in LOCATED and len(known) == len(values) == 2 and not call.kwargs:
        record.attrs.update(dict(zip(("loc", "scale"), known, strict=True)))
    scale = as_tensor(m, s, call.get(1, "scale") or NONE, call.site)
    if name in LOCATED and scale is not None:
        record.attrs["#scale"] = scale
    if name == "Normal" and "loc" in record.attrs:
        record.attrs.update({"mean": known[0], "stddev": known[1]})
    return s.new(record)


@function("torch.distributions.Independent", "torch.distributions.independent.Independent")
def independent(m: Interpreter, s: State, call: Call) -> Result:
    """A distribution whose elements are taken together: it samples as it did, and has one likelihood."""
    record = s.get(call.get(0, "base_distribution") or NONE, Instance)
    if record is None or "#given" not in record.attrs:
        return unknown()
    kept = {name: value for name, value in record.attrs.items() if name in ("#given", "#scale")}
    return s.new(Instance(record.cls, {**kept, "#together": TRUE}, open=True))


def _is_known(s: State, distribution: Value | None) -> bool:
    """Is it one of these distributions? It may be made of numbers alone."""
    record = s.get(distribution, Instance)
    return record is not None and "#given" in record.attrs


def _params(s: State, distribution: Value | None) -> list[Ref]:
    """The tensors that a distribution was made of; none where it is not one of these."""
    record = s.get(distribution, Instance)
    held = record.attrs.get("#given") if record is not None else None
    return [p for p in held.items if isinstance(p, Ref)] if isinstance(held, Tup) else []


def sample(m: Interpreter, s: State, call: Call) -> Result:
    """Drawn under no_grad: a constant, cut off from the parameters."""
    params = _params(s, call.self)
    ref = engine.new_tensor(s, call.site, shape=_shape(s, call, []), name=call.text)
    made: Tensor = s[ref]
    engine.cut_off(s, made, "sample", params, call.site, call.text)
    if engine.requires(s, params):
        made.detached_because = "no-grad"
    return ref


def _shape(s: State, call: Call, given: list[Ref]) -> Shape:
    """The shape of what is computed for each element; unknown where a sample shape or several numbers are."""
    name = registry.lib_name(s[call.self].cls).rpartition(".")[2]
    drawn = isinstance(call.func, Method) and call.func.name in ("sample", "rsample")
    together = "#together" in s[call.self].attrs and not drawn
    if name not in UNIVARIATE or call.unsure or len(given) != len(call.args) or call.kwargs or together:
        return None
    return shapes.broadcast([s[ref].shape for ref in (*_params(s, call.self), *given)])


def draw(m: Interpreter, s: State, call: Call) -> Result:
    """A sample of a distribution that cannot be reparametrised: nobody expects a gradient of it."""
    return engine.new_tensor(s, call.site, dtype=None, name=call.text)


def compute(m: Interpreter, s: State, call: Call) -> Result:
    """`log_prob`, `entropy`, `rsample`, ...: depends on the parameters and on what is given.

    What a class that derives from a distribution has given to it is not known.
    """
    if not _is_known(s, call.self):
        return unknown()
    given = [ref for ref in (as_tensor(m, s, value, call.site) for value in call.args) if ref is not None]
    refs = [*_params(s, call.self), *given]
    if not refs:
        return unknown()
    name = call.func.name if isinstance(call.func, Method) else ""
    effect = LIKELIHOOD if name == "log_prob" else COMPUTED
    tensors: dict[str, Ref | list[Ref]] = {"self": refs}
    if name in ("entropy", "rsample"):
        effect, tensors = _linear(s, call, effect, refs)
    return engine.apply(s, effect, tensors, call.site, call.text, [_shape(s, call, given)])[0]


def _linear(
    s: State, call: Call, effect: Effect, refs: list[Ref]
) -> tuple[Effect, dict[str, Ref | list[Ref]]]:
    """What may be linear in a location frees something only for the gradient of the scale."""
    record = s[call.self]
    if registry.lib_name(record.cls).rpartition(".")[2] not in LINEAR:
        return effect, {"self": refs}
    scale = record.attrs.get("#scale")
    if scale is None:
        return dataclasses.replace(effect, frees=None), {"self": refs}
    others = [ref for ref in refs if ref != scale]
    return dataclasses.replace(effect, frees_if=("scale",)), {"self": others, "scale": scale}


@function("torch.distributions.kl_divergence", "torch.distributions.kl.kl_divergence")
def divergence(m: Interpreter, s: State, call: Call) -> Result:
    """Depends on the parameters of both distributions."""
    given = [call.get(0, "p"), call.get(1, "q")]
    refs = [ref for each in given for ref in _params(s, each)]
    if not refs or not all(_is_known(s, each) for each in given):
        return unknown()
    return engine.apply(s, DIVERGENCE, {"self": refs}, call.site, call.text)[0]


def _register() -> None:
    for name in (*REPARAMETRISED, *OTHERS):
        kind = f"torch.distributions.{name}"
        method(kind, "log_prob", "entropy", "cdf", "rsample")(compute)
        method(kind, "sample")(sample if name in REPARAMETRISED else draw)


_register()

"""GL519: a log-probability is that of noise, which depends on nothing that is trained."""

from collections.abc import Iterator
from dataclasses import dataclass

from gradcheck_tool import (
    Event,
    FunctionBody,
    Interpreter,
    Rule,
    Severity,
    Site,
    State,
    Tracker,
    Trigger,
    Violation,
    facts,
    nodes,
)

# What makes tensors of numbers that are known beforehand.
FIXED = frozenset(
    {
        "eye",
        "full",
        "full_like",
        "new_full",
        "new_ones",
        "new_zeros",
        "ones",
        "ones_like",
        "tensor",
        "zeros",
        "zeros_like",
    }
)
DISTRIBUTIONS = frozenset({"Laplace", "MultivariateNormal", "Normal", "Uniform"})
DRAWS = frozenset({"rsample", "sample"})
# Methods that keep or add up the elements of a log-probability.
KEEPS = frozenset({"mean", "squeeze", "sum", "unsqueeze", "view"})


@dataclass(slots=True, eq=False, kw_only=True)
class NoiseLikelihood(Event):
    """`noise`, drawn from a fixed distribution, is scaled and shifted, and its own log-probability taken."""

    triggers = (Trigger("log_prob(", r"(?s)sample\(.*\.log_prob\(", callers=False),)

    noise: str
    shifted: str


class Likelihoods(Tracker):
    """Reads the functions that draw from fixed distributions."""

    derives = (NoiseLikelihood,)

    def on_run_ended(self, m: Interpreter, s: State, fact: facts.RunEnded) -> None:
        """Look at each function that takes log-probabilities."""
        for function in (fact.module.body, *fact.module.functions):
            if any(isinstance(i, nodes.GetAttr) and i.name == "log_prob" for i in function.instructions()):
                self._read(fact.module, function.worked_out(FunctionBody))

    def _read(self, module: nodes.ModuleIR, body: FunctionBody) -> None:
        for call, func in body.calls("log_prob"):
            drawn = _drawn(body, call, func)
            if drawn is None or _is_added(body, call):
                continue
            shifted = next((i for i in body.instrs if _shifts(body, i, drawn)), None)
            if shifted is not None:
                site, how = Site(module, call.node), self.text(Site(module, shifted.node))
                noise = body.made.get(call.args[0].value)
                name = noise.name if isinstance(noise, nodes.LoadName) else "noise"
                self.report(NoiseLikelihood(site=site, noise=name, shifted=how))


def _drawn(body: FunctionBody, call: nodes.Call, func: nodes.GetAttr) -> int | None:
    """The register of what a fixed distribution has drawn, whose own log-probability a call takes."""
    source = body.source(call.args[0].value) if len(call.args) == 1 else None
    draw = body.made.get(source) if isinstance(source, int) else None
    method = body.made.get(draw.func) if isinstance(draw, nodes.Call) else None
    if not isinstance(method, nodes.GetAttr) or method.name not in DRAWS or not isinstance(source, int):
        return None
    if body.source(method.obj) != body.source(func.obj):
        return None
    made = body.maker(func.obj)
    kind = body.made.get(made.func) if isinstance(made, nodes.Call) else None
    if not isinstance(made, nodes.Call) or not isinstance(kind, (nodes.GetAttr, nodes.LoadName)):
        return None
    fixed = len(made.args) > 1 and all(_is_fixed(body, arg.value) for arg in made.args)
    return source if fixed and kind.name in DISTRIBUTIONS else None


def _is_fixed(body: FunctionBody, reg: int, inside: frozenset[int] = frozenset()) -> bool:
    """Is it a number, or a tensor that is made of numbers alone, and not `inside` of itself?"""
    made = body.maker(reg)
    if id(made) in inside:
        return False
    inside |= {id(made)}
    if isinstance(made, nodes.Unpack):
        row, source = body.maker(made.src), body.source(reg)
        index = made.dsts.index(source) if source in made.dsts else -1
        if not isinstance(row, nodes.BuildTuple) or made.star is not None or index < 0:
            return False
        return _is_fixed(body, row.items[index][0], inside)
    if isinstance(made, nodes.BinOp):
        return _is_fixed(body, made.left, inside) and _is_fixed(body, made.right, inside)
    func = body.made.get(made.func) if isinstance(made, nodes.Call) else None
    if isinstance(func, (nodes.GetAttr, nodes.LoadName)):
        return func.name in FIXED
    return isinstance(made, nodes.Const)


def _shifts(body: FunctionBody, i: nodes.Instr, drawn: int) -> bool:
    """Is it `location + scale * noise`, with a scale and a location that are not fixed?"""
    if not isinstance(i, nodes.BinOp) or i.op != "+":
        return False
    for location, product in ((i.left, i.right), (i.right, i.left)):
        made = body.maker(product)
        if not isinstance(made, nodes.BinOp) or made.op != "*" or _is_fixed(body, location):
            continue
        for scale, noise in ((made.left, made.right), (made.right, made.left)):
            if body.source(noise) == drawn and not _is_fixed(body, scale):
                return True
    return False


def _is_added(body: FunctionBody, call: nodes.Call) -> bool:
    """Is something added to the log-probability, so that it may be that of what the noise becomes?"""
    regs = {call.dst}
    for i in body.instrs:
        func = body.made.get(i.func) if isinstance(i, nodes.Call) else None
        keeps = isinstance(func, nodes.GetAttr) and func.name in KEEPS and body.source(func.obj) in regs
        if isinstance(i, nodes.Call) and keeps:
            regs.add(i.dst)
    names = {i.name for i in body.instrs if isinstance(i, nodes.StoreName) and i.src in regs}
    for i in body.instrs:
        if not isinstance(i, (nodes.BinOp, nodes.InplaceOp)) or i.op.rstrip("=") not in ("+", "-"):
            continue
        loaded = (body.made.get(side) for side in (i.left, i.right))
        named = any(isinstance(made, nodes.LoadName) and made.name in names for made in loaded)
        if named or regs & {i.left, i.right}:
            return True
    return False


class LikelihoodOfNoise(Rule):
    """An action is computed from noise, and the log-probability is that of the noise.

    ## What it detects

    `noise = Normal(0, 1).sample()`, `action = mean + std * noise` and `Normal(0, 1).log_prob(noise)` in one
    function, where nothing is added to that log-probability.

    ## Why it is wrong

    The distribution of the noise has no parameters, so its log-probability is a constant: an entropy term or
    a policy gradient that is made of it trains nothing. What is meant is the log-probability of the action,
    under a distribution that has the mean and the standard deviation, or that of the noise less the
    logarithm of the standard deviation.

    ## Example

    ```python
    import torch
    from torch.distributions import Normal


    def act(mean, std):
        unit = Normal(torch.zeros_like(mean), torch.ones_like(std))
        noise = unit.sample()
        action = mean + std * noise
        return action, unit.log_prob(noise)  # <- GL519


    network = torch.nn.Linear(3, 2)
    mean, log_std = network(torch.ones(4, 3)).chunk(2, dim=1)
    action, log_prob = act(mean, log_std.exp())
    loss = (action.pow(2) + 0.2 * log_prob).mean()
    loss.backward()
    tracked = log_prob.requires_grad
    ```

    ## Use instead

    ```python
    import torch
    from torch.distributions import Normal


    def act(mean, std):
        policy = Normal(mean, std)
        action = policy.rsample()
        return action, policy.log_prob(action)


    network = torch.nn.Linear(3, 2)
    mean, log_std = network(torch.ones(4, 3)).chunk(2, dim=1)
    action, log_prob = act(mean, log_std.exp())
    loss = (action.pow(2) + 0.2 * log_prob).mean()
    loss.backward()
    tracked = log_prob.requires_grad
    ```

    ## Fix safety

    There is no fix: whether the noise may be drawn by `rsample` depends on the distribution that is meant.

    ## References

    - [Pathwise derivative](https://docs.pytorch.org/docs/stable/distributions.html#pathwise-derivative)
    """

    code = "GL519"
    name = "noise-likelihood"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "this log-probability has no gradient"
    symptom = "assert not tracked"
    trackers = (Likelihoods,)

    def on_noise_likelihood(self, event: NoiseLikelihood) -> Iterator[Violation]:
        yield self.finding(
            event,
            f"this is the log-probability of the noise `{event.noise}`, a constant, and not that of "
            f"`{event.shifted}`",
            "take that of the result, under a distribution with its mean and standard deviation",
        )

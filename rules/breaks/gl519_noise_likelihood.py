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
NORMAL = frozenset({"randn", "randn_like"})
# Methods that keep or add up the elements of a log-probability.
KEEPS = frozenset({"mean", "squeeze", "sum", "unsqueeze", "view"})


@dataclass(slots=True, eq=False, kw_only=True)
class NoiseLikelihood(Event):
    """`noise`, drawn from a fixed distribution, is scaled and shifted, and its own log-probability taken."""

    triggers = (Trigger("log_prob(", r"(?s)(?:sample|randn|randn_like)\(.*\.log_prob\(", callers=False),)

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
            shifted = next((i for i in body.instrs if drawn is not None and _shifts(body, i, drawn)), None)
            if shifted is not None and not _is_added(body, call, shifted):
                site, how = Site(module, call.node), self.text(Site(module, shifted.node))
                noise = body.made.get(call.args[0].value)
                name = noise.name if isinstance(noise, nodes.LoadName) else "noise"
                self.report(NoiseLikelihood(site=site, noise=name, shifted=how))


def _drawn(body: FunctionBody, call: nodes.Call, func: nodes.GetAttr) -> int | None:
    """The register of what a fixed distribution, or `randn`, has drawn, where a call takes its density."""
    source = body.source(call.args[0].value) if len(call.args) == 1 else None
    draw = body.made.get(source) if isinstance(source, int) else None
    method = body.made.get(draw.func) if isinstance(draw, nodes.Call) else None
    if not isinstance(method, nodes.GetAttr) or not isinstance(source, int):
        return None
    is_own = method.name in DRAWS and body.source(method.obj) == body.source(func.obj)
    if not is_own and not (method.name in NORMAL and body.is_library(method.obj)):
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


def _is_added(body: FunctionBody, call: nodes.Call, shifted: nodes.Instr) -> bool:
    """Is something added to the log-probability, so that it may be that of what the noise becomes?

    A term of the result alone (that of `tanh`) is what has to be added besides the logarithm of the scale.
    """
    regs, names = {call.dst}, set[str]()

    def holds(reg: int) -> bool:
        made = body.made.get(reg)
        return reg in regs or (isinstance(made, nodes.LoadName) and made.name in names)

    before = -1
    while before != len(regs) + len(names):
        before = len(regs) + len(names)
        for i in body.instrs:
            if isinstance(i, nodes.StoreName) and i.src in regs:
                names.add(i.name)
            elif isinstance(i, nodes.Call):
                func = body.made.get(i.func)
                keeps = isinstance(func, nodes.GetAttr) and func.name in KEEPS and holds(func.obj)
                regs |= {i.dst} if keeps else set()
            elif isinstance(i, (nodes.BinOp, nodes.InplaceOp)) and i.op.rstrip("=") in ("+", "-"):
                for one, other in ((i.left, i.right), (i.right, i.left)):
                    if holds(one) and not _is_of(body, other, shifted):
                        return True
                    regs |= {i.dst} if holds(one) else set()
    return False


def _is_of(body: FunctionBody, reg: int, result: nodes.Instr) -> bool:
    """Is it computed from a result, from numbers and from options alone?"""
    options = {p.name for p in body.function.params if p.has_default} | {body.receiver}
    behind = list(body.behind(reg, lambda made: made is result))
    calls = (body.maker(made.func) for made in behind if isinstance(made, nodes.Call))
    own = any(isinstance(func, nodes.GetAttr) and body.source(func.obj) == body.receiver for func in calls)
    given = {origin for origin in behind if isinstance(origin, str)}
    return result in behind and not own and given <= options


class LikelihoodOfNoise(Rule):
    """An action is computed from noise, and the log-probability is that of the noise.

    ## What it detects

    `noise = Normal(0, 1).sample()`, `action = mean + std * noise` and `Normal(0, 1).log_prob(noise)` in one
    function, or `noise = torch.randn_like(mean)`, where nothing is added to that log-probability, or what is
    added depends on the action alone (the correction of `tanh`).

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
            "compute that of the result, under a distribution with its mean and standard deviation",
        )

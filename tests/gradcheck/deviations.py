"""Functions whose gradient is no derivative on purpose."""

import torch

from tests.gradcheck.zoo import D, function_class, r, saving, u

SURROGATES = []


def deviating(name, args, forward, backward, **more):
    SURROGATES.append((function_class(name, forward, backward, **more), args))


deviating("RoundSte", lambda: (r(4, 4),), lambda ctx, x: x.round(), lambda ctx, g: g)
deviating(
    "SignSteClipped",
    lambda: (r(4, 4),),
    saving(torch.sign),
    lambda ctx, g: g * (ctx.saved_tensors[0].abs() <= 1),
)
deviating(
    "Reversal",
    lambda: (r(4, 4), 0.5),
    saving(lambda x, s: x.view_as(x)),
    lambda ctx, g: (-0.5 * g, None),
)
deviating(
    "StopGradient",
    lambda: (r(4, 4),),
    saving(lambda x: x.clone()),
    lambda ctx, g: torch.zeros_like(g),
)
deviating(
    "ClipGradient",
    lambda: (r(4, 4),),
    saving(lambda x: x.clone()),
    lambda ctx, g: g.clamp(-0.1, 0.1),
)
deviating(
    "FakeQuant",
    lambda: (r(4, 4), torch.tensor(0.1, dtype=D)),
    saving(lambda x, s: (x / s).round().clamp(-8, 7) * s),
    lambda ctx, g: (g * ((ctx.saved_tensors[0] / ctx.saved_tensors[1]).abs() <= 7), None),
)
deviating(
    "Spike",
    lambda: (r(4, 4),),
    saving(lambda x: (x > 0).to(x.dtype)),
    lambda ctx, g: g / (1 + ctx.saved_tensors[0].abs()) ** 2,
)
deviating(
    "AuxiliaryLoss",
    lambda: (r(4, 4), r(1, seed=2)),
    saving(lambda x, loss: x.clone()),
    lambda ctx, g: (g * 1, torch.ones(1, dtype=D)),
)
# draws that refuse inputs far away
deviating(
    "BernoulliStraightThrough",
    lambda: (u(4, 4, lo=0.5),),
    lambda ctx, p: torch.bernoulli(p),
    lambda ctx, g: g,
)
# the name says what the gradient is
deviating(
    "StraightThroughClamp",
    lambda: (r(4, 5),),
    lambda ctx, x: x.clamp(-0.3, 0.3),
    lambda ctx, g: g.clone(),
)

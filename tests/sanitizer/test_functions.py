"""What is told of custom Functions whose backward computes with something wrong, and raises nothing."""

import pytest

from tests.sanitizer.programs import check_left_alone, check_told

SWISH = """
    class Swish(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            gate = torch.sigmoid(x)
            KEEP
            return x * gate

        @staticmethod
        def backward(ctx, grad):
            x, gate = LOAD
            return grad * (gate + x * gate * (1 - gate))

    net = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    for _ in range(4):
        x = torch.rand(3, 2, requires_grad=True)
        (slope,) = torch.autograd.grad(Swish.apply(net(x)).sum(), x, create_graph=GRAPH)
        optimizer.zero_grad()
        (slope.square().sum() + net(x).sum()).backward()
        optimizer.step()
    """
BUFFER = """
    class Scaled(torch.autograd.Function):
        kept = None

        @staticmethod
        def forward(ctx, x):
            norm = x.norm()
            ctx.save_for_backward(x, norm)
            Scaled.kept = norm
            return x * norm

        @staticmethod
        def backward(ctx, grad):
            x, norm = ctx.saved_tensors
            norm = NORM
            return grad * norm + x * (grad * x).sum() / norm

    torch.manual_seed(0)
    net = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    for _ in range(3):
        optimizer.zero_grad()
        first = Scaled.apply(net(torch.rand(3, 2)))
        if TWICE:
            first = Scaled.apply(net(first))
        first.sum().backward()
        optimizer.step()
    """
REVERSE = """
    class Reverse(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, strength):
            ctx.strength = strength
            return FORWARD

        @staticmethod
        def backward(ctx, grad):
            BACKWARD

    def scaled(ctx, grad):
        return -grad * ctx.strength, None

    net = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    for i in range(3):
        optimizer.zero_grad()
        Reverse.apply(net(torch.rand(3, 2)), STRENGTH).sum().backward()
        optimizer.step()
    """


def swish(keep, load, graph="True"):
    return SWISH.replace("KEEP", keep).replace("LOAD", load).replace("GRAPH", graph)


def buffer(norm, twice="True"):
    return BUFFER.replace("NORM", norm).replace("TWICE", twice)


def reverse(backward="return -grad, None", forward="x.view_as(x)", strength="i / 2"):
    return REVERSE.replace("BACKWARD", backward).replace("FORWARD", forward).replace("STRENGTH", strength)


WRONG = {
    "what forward computed is kept on ctx": (
        swish("ctx.x, ctx.gate = x, gate; ctx.gate = gate", "ctx.x, ctx.gate"),
        "GL723",
        [5, 6, 12],
    ),
    "it is saved": (swish("ctx.save_for_backward(x, gate)", "ctx.saved_tensors"), "GL723", [5, 6, 12]),
    "the class keeps it, and calls overlap": (buffer("Scaled.kept"), "GL721", [7, 9, 16]),
    "the class keeps what it is given": (
        buffer("Scaled.kept").replace("kept = norm", "kept = x + 0"),
        "GL721",
        [9, 9, 16],
    ),
    "a strength is forgotten": (reverse(), "GL724", [19, 10]),
    "a copy is passed on": (reverse(forward="x.clone()"), "GL724", [19, 10]),
}
RIGHT = {
    "it is differentiated once": swish(
        "ctx.save_for_backward(x, gate)", "[one.detach() for one in ctx.saved_tensors]", "False"
    ).replace("slope.square().sum() + ", ""),
    "it is computed again": swish(
        "ctx.save_for_backward(x)", "ctx.saved_tensors[0], torch.sigmoid(ctx.saved_tensors[0])"
    ),
    "it has no derivative": swish(
        "ctx.save_for_backward(x, (x > 0).float())", "ctx.saved_tensors[0], ctx.saved_tensors[1]"
    ),
    "it is the result": swish(
        "gate = x * gate; ctx.save_for_backward(x, gate); return gate", "ctx.saved_tensors"
    ),
    "each call keeps its own": buffer("norm"),
    "a call is given what another has had, without its graph": """
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, one, other):
            ctx.save_for_backward(one, other)
            return one * other

        @staticmethod
        def backward(ctx, grad):
            one, other = ctx.saved_tensors
            return grad * other, grad * one

    net = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    for _ in range(3):
        optimizer.zero_grad()
        hidden = net(torch.rand(3, 2))
        (Product.apply(hidden, net.bias) + Product.apply(net.bias, hidden.detach())).sum().backward()
        optimizer.step()
    """,
    "each backward comes before the next call": buffer("Scaled.kept", "False"),
    "the strength is used": reverse("return -grad * ctx.strength, None"),
    "it is used in a helper": reverse("return scaled(ctx, grad)"),
    "it is used in a branch that does not run": reverse(
        "return (-grad, None) if grad.dim() == 2 else (ctx.strength * grad, None)"
    ),
    "it is used in forward": reverse(forward="x * strength"),
    "it never varies": reverse(strength="1.0"),
}


@pytest.mark.parametrize("name", WRONG)
def test_the_mistake_is_told(name):
    check_told(*WRONG[name])


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_is_left_alone(name):
    check_left_alone(RIGHT[name])


CHECKPOINTED = """
    from torch.utils.checkpoint import checkpoint

    class Swish(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, strength):
            KEEP = torch.sigmoid(x)
            ctx.save_for_backward(x, KEEP)
            return x * KEEP

        @staticmethod
        def backward(ctx, grad):
            x, gate = ctx.saved_tensors
            gate = USED
            return grad * (gate + x * gate * (1 - gate)), None

    class Reverse(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, strength):
            ctx.strength = strength
            return x.view_as(x)

        @staticmethod
        def backward(ctx, grad):
            return RETURNED

    net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Dropout(0.5))
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    for i in range(4):
        optimizer.zero_grad()
        hidden = net(torch.rand(2, 3))
        for layer in range(3):
            hidden = checkpoint(
                lambda x: Swish.apply(Reverse.apply(net(x), 0.1 * i), 1.0), hidden, use_reentrant=REENTRANT
            )
        Swish.apply(hidden, 1.0).sum().backward()
        optimizer.step()
    """


def checkpointed(reentrant, keep="gate", used="gate", returned="-ctx.strength * grad, None"):
    parts = {"KEEP": keep, "USED": used, "RETURNED": returned, "REENTRANT": str(reentrant)}
    text = CHECKPOINTED
    for name, part in parts.items():
        text = text.replace(name, part)
    return text


@pytest.mark.parametrize("reentrant", [False, True])
def test_functions_in_checkpoints_are_followed(reentrant):
    check_left_alone(checkpointed(reentrant))
    check_told(checkpointed(reentrant, returned="-grad, None"), "GL724", [34, 25])


def test_what_the_call_of_another_checkpoint_leaves_is_told():
    shared = {"keep": "Swish.kept", "used": "Swish.kept"}
    check_told(checkpointed(False, **shared), "GL721", [7, 7, 15])
    # Each part is called again right before its backward.
    check_left_alone(checkpointed(True, **shared))


def test_a_forward_may_make_nodes_of_its_own():
    check_left_alone(
        """
        class Flow(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, weight):
                half = x / 2
                with torch.enable_grad():
                    y = x.detach().requires_grad_()
                    energy = (y * weight.detach()).sin().sum()
                (slope,) = torch.autograd.grad(energy, y)
                moved = half + slope
                ctx.save_for_backward(weight)
                ctx.moved = moved
                return moved * weight

            @staticmethod
            def backward(ctx, gradient):
                (weight,) = ctx.saved_tensors
                return gradient * weight, (gradient * ctx.moved).sum(0)

        weight = torch.rand(2, requires_grad=True)
        for _ in range(3):
            first = Flow.apply(torch.rand(3, 2), weight)
            Flow.apply(first.detach(), weight).sum().backward()
            first.sum().backward()
            weight.grad = None
        """
    )


def test_what_a_checkpoint_is_given_may_be_what_the_same_function_has_computed():
    text = checkpointed(False).replace(
        "hidden = net(torch.rand(2, 3))", "kept = [net(torch.rand(2, 3))]; hidden = kept[0]"
    )
    check_left_alone(text.replace("            )\n", "            )\n            kept.append(hidden)\n"))

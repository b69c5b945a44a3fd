"""The words of generated programs: templates of expressions and statements, by shape.

`{a}`, `{b}` stand for tensors of the shape that the table is for, `{s}` for a single number's tensor.
Every template runs for tensors of that shape whatever their values, so that a program that raises does
so for a reason that is autograd's.
"""

from __future__ import annotations

Shape = tuple[int, ...]

SCALAR: Shape = ()
VECTOR: Shape = (3,)
MATRIX: Shape = (2, 3)
SQUARE: Shape = (3, 3)
SHAPES = (SCALAR, VECTOR, MATRIX, SQUARE)

# In-place writes to `{a}` of any shape.
WRITES = (
    "{a}.add_(1.0)",
    "{a}.mul_(0.5)",
    "{a}.add_({b})",
    "{a}.sub_({b})",
    "{a}.mul_({b})",
    "{a}.div_(2.0)",
    "{a}.zero_()",
    "{a}.fill_(0.5)",
    "{a}.copy_({b})",
    "{a} += 1.0",
    "{a} -= 0.1",
    "{a} *= 2.0",
    "{a} /= 2.0",
    "{a} += {b}",
    "{a} -= {b}",
    "{a} *= {b}",
    "{a} += 0.1 * {b}",
    "{a} **= 2",
    "{a}.exp_()",
    "{a}.sin_()",
    "{a}.tanh_()",
    "{a}.sigmoid_()",
    "{a}.relu_()",
    "{a}.sqrt_()",
    "{a}.clamp_(min=0.1)",
    "{a}.neg_()",
    "{a}.masked_fill_({a} > 0.5, 0.0)",
    "{a}[...] = 0.5",
    "{a}[...] = {b}",
    "{a}.detach().add_(1.0)",
    "{a}.detach().zero_()",
    "{a}.data.add_(1.0)",
    "{a}.data.copy_({b}.detach())",
    "{a}.data = {b}.detach().clone()",
    "{a}.unsqueeze(0).mul_(2.0)",
    "torch.relu_({a})",
    "F.relu({a}, inplace=True)",
    "F.leaky_relu({a}, inplace=True)",
    "F.hardtanh({a}, inplace=True)",
    "nn.init.zeros_({a})",
    "nn.init.constant_({a}, 0.3)",
    "nn.init.uniform_({a})",
    "torch.add({b}, 1.0, out={a})",
    "torch.mul({b}, {b}, out={a})",
    "torch.exp({b}, out={a})",
    "torch._foreach_add_([{a}], 1.0)",
    "{a}.lerp_({b}, 0.5)",
    "{a}.addcmul_({b}, {b})",
    "{a}.abs_()",
    "{a}.square_()",
    "{a}.log1p_()",
    "{a}.round_()",
    "{a}.rsqrt_()",
    "{a}.pow_(2)",
    "{a}.clamp_min_(0.1)",
    "{a}.addcdiv_({b}, {b} + 2.0)",
    "{a}.set_({b}.detach())",
    "{a}.resize_({a}.shape)",
    "{a}.uniform_()",
    "{a}.normal_()",
    "{a}.bernoulli_(0.5)",
    "F.dropout({a}, 0.5, inplace=True)",
    "F.elu({a}, inplace=True)",
    "F.silu({a}, inplace=True)",
    "F.threshold({a}, 0.1, 0.2, inplace=True)",
    "torch.sub({b}, {b}, out={a})",
    "torch.clamp({b}, 0, 1, out={a})",
    "torch.sigmoid({b}, out={a})",
    "nn.init.normal_({a})",
    "torch._foreach_mul_([{a}], 0.5)",
    "torch._foreach_copy_([{a}], [{b}])",
    "torch._foreach_zero_([{a}])",
    "torch._foreach_neg_([{a}])",
    "{a}.nan_to_num_()",
    "{a}.masked_fill_({b} > 0.5, 0.1)",
    "{a}.squeeze().mul_(2.0)",
    "{a}.mul_({a})",
    "{a} *= {a}",
    "{a}.add_({a})",
    "{a}.div_({b} + 2.0)",
    "{a}.cumsum_(0)",
    "{a}.erf_()",
    "{a}.hypot_({b})",
    "{a}.atan2_({b})",
    "{a}.sub_({s})",
    "{a}.mul_({s})",
    "{a} /= {s}",
)

# In-place writes that need a shape: `{e}` is a tensor of the shape of one element of `{a}`.
PART_WRITES: dict[Shape, tuple[str, ...]] = {
    SCALAR: (),
    VECTOR: (
        "{a}[0] = 1.0",
        "{a}[1] = {s}",
        "{a}[:2] = 0.0",
        "{a}[1:] += 1.0",
        "{a}[0].mul_(2.0)",
        "{a}[{a} > 0] = 0.1",
        "{a}.scatter_(0, torch.tensor([0, 2, 1]), {b})",
        "{a}.scatter_add_(0, torch.tensor([0, 0, 1]), {b})",
        "{a}.index_add_(0, torch.tensor([0, 1, 2]), {b})",
        "{a}.index_copy_(0, torch.tensor([2, 1, 0]), {b})",
        "{a}.index_fill_(0, torch.tensor([1]), 0.0)",
        "{a}[[0, 2]] = 0.5",
        "{a}[torch.tensor([0, 1])] += 1.0",
        "{a}[-1] *= 2.0",
        "{a}.narrow(0, 0, 2).zero_()",
        "{a}.masked_scatter_({a} > 0.5, {b})",
        "{a}.unbind()[0].add_(1.0)",
        "{a}.split(1)[0].add_(1.0)",
        "{a}.tensor_split(3)[0].add_(1.0)",
    ),
    MATRIX: (
        "{a}[0] = 1.0",
        "{a}[0] = {e}",
        "{a}[:, 1] = 0.5",
        "{a}[1] += {e}",
        "{a}[1, 2] = {s}",
        "{a}[0].mul_(2.0)",
        "{a}.t().add_(1.0)",
        "{a}.unbind(0)[0].add_(1.0)",
        "{a}.chunk(2)[1].zero_()",
        "{a}.index_add_(0, torch.tensor([0, 1]), {b})",
        "{a}[{a} > 0.5] *= 0.5",
        "{a}[:, [0, 2]] = 0.0",
        "{a}.tril_()",
        "{a}.select(0, 1).fill_(0.3)",
    ),
    SQUARE: (
        "{a}[0] = {e}",
        "{a}[:, 0] *= 2.0",
        "{a}.diagonal().add_(1.0)",
        "{a}.fill_diagonal_(0.0)",
        "{a}.split(1)[0].mul_(2.0)",
        "{a}.t_()",
        "{a}.index_fill_(0, torch.tensor([1]), 0.0)",
        "{a}.triu_()",
        "{a}.transpose_(0, 1)",
        "{a}[torch.eye(3) > 0] = 0.0",
        "{a}.addmm_({b}, {b})",
        "{a}.T.mul_(0.5)",
    ),
}

CONSTANTS: dict[Shape, tuple[str, ...]] = {
    SCALAR: ("torch.tensor(0.7)", "torch.ones(())"),
    VECTOR: ("torch.tensor([0.5, 0.3, 1.2])", "torch.ones(3)", "torch.rand(3)", "torch.full((3,), 0.4)"),
    MATRIX: ("torch.rand(2, 3)", "torch.ones(2, 3)", "torch.rand(2, 3) + 0.5"),
    SQUARE: ("torch.rand(3, 3)", "torch.eye(3)", "torch.ones(3, 3)"),
}

LEAVES: dict[Shape, tuple[str, ...]] = {
    SCALAR: ("torch.tensor(0.6, requires_grad=True)", "nn.Parameter(torch.tensor(1.5))"),
    VECTOR: (
        "torch.tensor([0.5, 0.3, 1.2], requires_grad=True)",
        "torch.rand(3, requires_grad=True)",
        "nn.Parameter(torch.rand(3))",
        "torch.ones(3).requires_grad_()",
    ),
    MATRIX: ("torch.rand(2, 3, requires_grad=True)", "nn.Parameter(torch.ones(2, 3))"),
    SQUARE: ("torch.rand(3, 3, requires_grad=True)", "nn.Parameter(torch.rand(3, 3))"),
}

# Custom functions of any shape: saving the input, the output, nothing, a constant; keeping it on ctx.
FUNCTIONS = (
    """class {name}(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g
""",
    """class {name}(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        y, = ctx.saved_tensors
        return g * y
""",
    """class {name}(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 3.0

    @staticmethod
    def backward(ctx, g):
        return g * 3.0
""",
    """class {name}(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return g.clone()
""",
    """class {name}(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.k = 2.0
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return g * ctx.k
""",
    """class {name}(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2.0)

    @staticmethod
    def backward(ctx, g):
        return g * 2.0
""",
    """class {name}(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1.0

    @staticmethod
    def backward(ctx, g):
        return g, g
""",
    """class {name}(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        ctx.save_for_backward(x, output)

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return 2 * x * g + 0.0 * y
""",
    """class {name}(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x * x

    @staticmethod
    def backward(ctx, g):
        return 2 * ctx.x * g
""",
    """class {name}(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, g):
        if not ctx.needs_input_grad[0]:
            return None
        return g * ctx.saved_tensors[0].cos()
""",
    """class {name}(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return g.neg()
""",
)

ROOT_ARGUMENTS = (
    "",
    "",
    "",
    "",
    "",
    "retain_graph=True",
    "retain_graph=True",
    "create_graph=True",
    "retain_graph=False",
)

OPTIMIZERS = (
    "SGD({p}, lr=0.1)",
    "SGD({p}, lr=0.1, momentum=0.9)",
    "Adam({p})",
    "AdamW({p}, lr=0.01)",
    "RMSprop({p})",
    "SGD({p}, lr=0.1, fused=True)",
    "Adam({p}, fused=True)",
    "AdamW({p}, foreach=True)",
    "Adagrad({p})",
    "NAdam({p})",
    "ASGD({p})",
    "Rprop({p})",
)

# Managers of torch.autograd.graph that keep what the graph saves in another way.
HOOKS = (
    "saved_tensors_hooks(lambda t: t, lambda t: t)",
    "saved_tensors_hooks(lambda t: t.clone(), lambda t: t)",
    "saved_tensors_hooks(lambda t: t.detach(), lambda t: t.clone())",
    "save_on_cpu()",
    "allow_mutation_on_saved_tensors()",
)

# Changes of a leaf `{a}` that no version counter sees; `{c}` is a constant of its shape.
SILENT_WRITES = (
    "{a}.data.add_(1.0)",
    "{a}.data += 0.5",
    "{a}.data = {a}.data * 0.5 + 1.0",
    "{a}.data = {c} + 1.0",
    "{a}.data[...] = {c} + 0.7",
    "{a}.detach().numpy()[...] += 1.0",
    "nn.utils.vector_to_parameters(torch.rand({a}.numel()) + 1.0, [{a}])",
)
SILENT_MODULE_WRITES = (
    "{net}.load_state_dict({{k: v * 0.5 for k, v in {net}.state_dict().items()}}, assign=True)",
    "nn.utils.vector_to_parameters(torch.rand(sum(p.numel() for p in {net}.parameters())), {net}.parameters())",
    "for p in {net}.parameters(): p.data.mul_(0.9)",
    "{net}.bfloat16().float()",
    "{net}.half().float()",
    "{net}.double().float()",
)

CONTAINERS = (
    "nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])",
    "nn.ModuleList([nn.Linear(3, 3), nn.ReLU(inplace=True), nn.Linear(3, 3)])",
    "nn.ModuleList([nn.Tanh(), nn.Linear(3, 3), nn.LayerNorm(3)])",
    "nn.ModuleList(nn.Linear(3, 3) for _ in range(3))",
    "nn.ModuleList([nn.Linear(3, 3), nn.BatchNorm1d(3), nn.ReLU()])",
    "nn.ModuleList([nn.Linear(3, 3), nn.Dropout(0.5), nn.Linear(3, 3)])",
    "[nn.Linear(3, 3), nn.SiLU(inplace=True)]",
)

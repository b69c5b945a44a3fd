"""Calls as users write them, for what PyTorch's own samples do not show.

One call a line, over the variables of `variables()`: `x`, `y`, `z` floating-point matrices of one shape that
is not square, `v`, `w` vectors as long as their rows, `h`, `g` as long as their columns, `s` a 0-dim tensor, `b`,
`c` batches of matrices, `im` images, `seq` (batch, channels, length), `vol` volumes, `p`, `t` probabilities, `q`
and `r` factors of a product, `idx` an integer vector, `ii` an integer matrix, `m` a mask, `cls` class indices, `n`
an integer matrix as data.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch


def variables() -> dict[str, Any]:
    """Fresh values of the patterns' variables."""
    torch.manual_seed(0)
    square = torch.rand(4, 4)
    return {
        "x": torch.rand(3, 4) + 0.1, "y": torch.rand(3, 4) + 0.1, "z": torch.rand(3, 4) + 0.1,
        "p": torch.rand(3, 4) * 0.8 + 0.1, "t": torch.rand(3, 4) * 0.8 + 0.1, "m": torch.rand(3, 4) > 0.5,
        "v": torch.rand(4) + 0.1, "w": torch.rand(4) + 0.1, "u": torch.rand(5) + 0.1, "s": torch.rand(()) + 0.5,
        "h": torch.rand(3) + 0.1, "g": torch.rand(3) + 0.1,
        "b": torch.rand(3, 5, 4), "c": torch.rand(3, 5, 4),
        "b4": torch.rand(2, 3, 5, 4), "c4": torch.rand(2, 3, 6, 4),
        "im": torch.rand(2, 4, 6, 8), "seq": torch.rand(2, 4, 8), "vol": torch.rand(2, 4, 3, 6, 8),
        "q": torch.rand(5, 4), "r": torch.rand(4, 3), "q3": torch.rand(2, 5, 4), "r3": torch.rand(2, 4, 3),
        "q4": torch.rand(2, 3, 5, 4), "r4": torch.rand(2, 3, 4, 6), "o": torch.rand(5, 3), "mask": torch.rand(5, 6),
        "x64": torch.rand(3, 4, dtype=torch.float64), "x16": torch.rand(3, 4, dtype=torch.bfloat16),
        "n32": torch.tensor([[1, 2, 3]], dtype=torch.int32), "square": square, "positive": square @ square.T + torch.eye(4),
        "cx": torch.randn(3, 4, dtype=torch.complex64), "a": np.ones((2, 3), dtype="float32"),
        "idx": torch.tensor([2, 0, 1]), "ii": torch.tensor([[0, 1, 2, 1], [2, 0, 1, 0]]), "k": torch.tensor(1),
        "m1": torch.tensor([True, False, True]), "cls": torch.tensor([0, 2, 1]),
        "n": torch.tensor([[1, 2, 3, 4], [2, 1, 1, 3]]),
        "ids": torch.tensor([[0, 1, 1], [2, 3, 0]]), "table": torch.rand(6, 4),
        "kern": torch.rand(4, 4, 3, 3), "kern1": torch.rand(4, 4, 3), "kern3": torch.rand(4, 4, 2, 2, 2),
        "mean": torch.zeros(4), "var": torch.ones(4),
    }  # fmt: skip


PATTERNS = """
x + y
x + 2
2 + x
x + s
x + v
x - y
x - 2
1 - x
x * y
x * 2
0.5 * x
x * s
x * v
x * m
x / y
x / 3
2 / x
1 / x
x / s
x // 2
x // y
x % 2
x % y
x ** 2
x ** 3
x ** 1.5
3 ** x
x ** 1
x ** 0
x ** 0.5
x ** -1
x ** y
2 ** x
q @ r
q @ v
v @ r
v @ w
q3 @ r3
q3 @ r
q @ r3
q4 @ r4
-x
+x
~m
m & m
m | m
m ^ m
n & 1
n << 1
n >> 1
x == y
x == 1
x != y
x < y
x < 1
x <= y
x > y
x > 0.5
x >= y
x >= 0
n + 1
n + n
n * 2
n / 2
n // 2
m + m
m * 1.5
n * x[:2]
x += y
x += 1
x += v
x -= y
x -= 1
x *= y
x *= 2
x /= y
x /= 2
x **= 2
x **= 3
x **= 0.5
x **= 1
x **= 0
x //= 2
x %= 2
n += 1
m &= m
m |= m
x[0]
x[1:]
x[:, 0]
x[0, 1]
x[..., None]
x[None]
x[:]
x[[0, 1]]
x[idx]
x[m]
x[k]
x[m1]
x[:, idx]
x[idx, idx]
x[x > 0.5]
x[:, None, [1, 2]]
x[torch.tensor([[0, 1], [1, 0]])]
x[0] = v
x[0] = 1.0
x[1:] = y[1:]
x[1:] = 0
x[:] = y
x[:] = 0.5
x[...] = y
x[:, 0] = h
x[0, 1] = s
x[:, 1] = 0
x[idx] = 0
x[idx] = y[:3]
x[[0, 1]] = 1.0
x[[0, 1]] = y[:2]
x[m] = 0
x[m] = s
x[m1] = y[:2]
x[idx, idx] = v[:3]
n[0] = 1
torch.where(m, x, y)
torch.where(m, x, 0.0)
torch.where(m, 0.0, x)
torch.where(m, x, s)
torch.where(m)
x.where(m, y)
x.where(m, 0.0)
x.masked_fill(m, 0.0)
x.masked_fill(m, s)
x.masked_fill_(m, 0.0)
x.masked_fill_(m, s)
torch.masked_fill(x, m, 0.0)
x.masked_select(m)
torch.masked_select(x, m)
x.masked_scatter(m, y)
x.masked_scatter_(m, y)
torch.lerp(x, y, 0.3)
torch.lerp(x, y, z)
torch.lerp(x, y, s)
x.lerp(y, 0.3)
x.lerp(y, z)
x.lerp_(y, 0.3)
x.lerp_(y, z)
x.add(y)
x.add(1)
x.add(y, alpha=2)
x.add_(y)
x.add_(1)
x.add_(y, alpha=-0.1)
x.sub_(y)
x.sub_(1)
x.mul(y)
x.mul(2)
x.mul_(y)
x.mul_(2)
x.div_(y)
x.div_(2)
x.div(2)
torch.add(x, y)
torch.add(x, 1)
torch.mul(x, 2)
torch.mul(x, y)
torch.div(x, 2)
torch.div(x, y)
torch.div(x, y, rounding_mode="floor")
torch.sub(x, 1)
torch.rsub(x, 1)
torch.pow(x, 2)
torch.pow(x, 1)
torch.pow(x, 0)
torch.pow(x, 0.5)
torch.pow(x, -1)
torch.pow(x, 3)
torch.pow(x, 1.5)
torch.pow(x, y)
torch.pow(2, x)
x.pow(2)
x.pow(1)
x.pow(0)
x.pow(0.5)
x.pow(1.5)
x.pow(3)
x.pow(y)
x.pow_(2)
x.pow_(3)
x.pow_(0.5)
x.pow_(1)
x.pow_(0)
x.pow_(y)
torch.maximum(x, y)
torch.max(x)
torch.max(x, 1)
torch.max(x, dim=1, keepdim=True)
torch.max(x, y)
torch.min(x)
torch.min(x, 1)
torch.min(x, y)
x.max()
x.max(1)
x.max(y)
x.max(dim=-1)
x.min()
x.min(1)
x.amax()
x.amax(1)
x.median()
x.median(1)
x.mode(1)
x.kthvalue(2, 1)
x.topk(2)
x.topk(2, dim=1)
x.sort()
x.sort(dim=0, descending=True)
torch.sort(x, stable=True)
x.argsort()
x.argmax()
x.argmax(1)
x.sum()
x.sum(1)
x.sum(dim=1, keepdim=True)
x.sum((0, 1))
x.sum(dim=(0, 1))
x.sum(dtype=torch.float64)
n.sum()
m.sum()
cx.sum()
cx.sum(1)
x.mean()
x.mean(1)
x.mean(dim=(0, 1))
x.mean(-1, keepdim=True)
x.var()
x.var(1)
x.std()
x.std(1)
x.std(1, unbiased=False)
x.prod()
x.prod(1)
x.norm()
x.norm(dim=1)
x.norm(1)
x.norm(2)
x.norm(p=2, dim=1)
x.norm(p=2, dim=1, keepdim=True)
x.norm(p=1, dim=1)
x.norm(float("inf"))
x.norm(0)
x.norm(3)
x.norm(2.5)
x.norm(1.0)
x.norm(2.0)
x.norm(p=3, dim=1)
x.norm("fro")
torch.norm(x)
torch.norm(x, 1)
torch.norm(x, 2)
torch.norm(x, 3)
torch.norm(x, 2.5)
torch.norm(x, float("inf"))
torch.norm(x, 0)
torch.norm(x, p=2, dim=1)
torch.norm(x, p="fro")
torch.norm(v, 2)
torch.linalg.norm(x)
torch.linalg.norm(v)
torch.linalg.norm(v, 3)
torch.linalg.norm(v, 2.5)
torch.linalg.norm(x, dim=1)
torch.linalg.norm(x, ord=1, dim=1)
torch.linalg.norm(x, ord=2, dim=1)
torch.linalg.vector_norm(x)
torch.linalg.vector_norm(x, 1)
torch.linalg.vector_norm(x, 3)
torch.linalg.vector_norm(x, 2.5)
torch.linalg.vector_norm(x, 0)
torch.linalg.vector_norm(x, 2, dim=1)
torch.linalg.vector_norm(x, float("inf"))
torch.cumsum(x, 0)
torch.cumprod(x, 0)
x.logsumexp(1)
x.softmax(-1)
x.log_softmax(-1)
torch.softmax(x, dim=1)
x.clamp(min=0.2)
x.clamp(max=0.8)
x.clamp(0.2, 0.8)
x.clamp(y, z)
x.clamp_(0, 1)
x.clamp_(min=0)
x.clamp_min(0.2)
x.clip(0, 1)
torch.clamp(x, 0, 1)
x.reshape(12)
x.reshape(2, 6)
x.reshape(-1)
x.reshape((2, 6))
x.view(12)
x.view(2, 6)
x.view(-1)
x.view((2, 6))
x.view(torch.int32)
x.view_as(y)
x.reshape_as(y)
x.flatten()
x.flatten(0, 1)
b.flatten(1)
im.flatten(1)
torch.flatten(im, 1)
x.contiguous()
x.contiguous(memory_format=torch.contiguous_format)
x.clone()
x.detach()
x.detach().add_(1)
x.expand(2, 3, 4)
x.expand(2, -1, -1)
v.expand(3, 4)
v.expand_as(x)
x.repeat(2, 1)
x.repeat_interleave(2)
x.repeat_interleave(2, dim=1)
x.repeat_interleave(torch.tensor([1, 2, 1]), dim=0)
x.tile(2)
x.permute(1, 0)
x.permute((1, 0))
b.permute(2, 0, 1)
x.transpose(0, 1)
x.t()
x.squeeze()
x.squeeze(0)
x.unsqueeze(0)
x.unsqueeze(-1)
x.movedim(0, 1)
x.swapaxes(0, 1)
x.select(0, 1)
x.narrow(0, 1, 2)
x.diagonal()
x.diag()
v.diag()
x.unfold(0, 2, 1)
x.unbind()
x.unbind(1)
x.chunk(2)
x.chunk(2, dim=1)
x.split(2)
x.split([1, 2])
x.split([1, 3], dim=1)
x.split_with_sizes([1, 3], dim=1)
torch.split_with_sizes(x, [1, 3], dim=1)
torch.split(x, 2)
torch.split(x, [1, 2])
torch.chunk(x, 2)
torch.unbind(x)
x.tensor_split(2)
torch.cat([x, y])
torch.cat((x, y), dim=1)
torch.concat([x, y])
torch.stack([x, y])
torch.stack([x, y], dim=1)
torch.hstack([x, y])
torch.vstack([x, y])
torch.einsum("ij,jk->ik", q, r)
torch.einsum("ij,ij->", x, y)
torch.einsum("bij,bjk->bik", q3, r3)
torch.einsum("ij->", x)
torch.einsum("ij->i", x)
torch.einsum("ii->i", square)
torch.einsum("i,i->", v, w)
torch.einsum("ij,jk,kl->il", q, r, x)
torch.einsum("bhid,bhjd->bhij", b4, c4)
torch.einsum("bhij,bhjd->bhid", q4, r4)
torch.einsum("ij->ji", x)
torch.einsum("ij,jk->ik", [q, r])
torch.einsum("i,j->ij", u, w)
torch.matmul(q, r)
torch.matmul(q3, r)
torch.matmul(q, v)
torch.matmul(q4, r4)
torch.matmul(q3, r3)
q.matmul(r)
q3.matmul(r)
q3.matmul(r3)
q.mm(r)
q3.bmm(r3)
torch.mm(q, r)
torch.bmm(q3, r3)
torch.mv(q, v)
torch.dot(v, w)
torch.outer(u, v)
torch.addmm(o, q, r)
torch.addmm(v[:3], q, r)
torch.baddbmm(torch.rand(2, 5, 3), q3, r3)
torch.addcmul(x, y, z)
torch.addcmul(x, y, z, value=0.5)
torch.addcdiv(x, y, z)
x.addcmul_(y, z)
x.addcdiv_(y, z)
x.addcdiv_(y, z, value=-0.1)
o.addmm_(q, r)
v[:3].addmm(q, r)
x.gather(1, ii)
torch.gather(x, 0, ii)
x.scatter(0, ii, 1.0)
x.scatter(0, ii, y[:2])
x.scatter_(0, ii, 1.0)
x.scatter_(0, ii, y[:2])
x.scatter_add(0, ii, y[:2])
x.scatter_add_(0, ii, y[:2])
x.scatter_reduce(0, ii, y[:2], "sum")
x.scatter_reduce(0, ii, y[:2], "amax")
x.index_select(0, idx)
x.index_select(0, idx[:2])
torch.index_select(x, 0, idx)
torch.index_select(x, 0, idx[:2])
x.index_add(0, idx, y[:3])
x.index_add_(0, idx, y[:3])
x.index_copy(0, idx, y[:3])
x.index_copy_(0, idx, y[:3])
x.index_fill(0, idx, 1.0)
x.index_fill_(0, idx, 1.0)
x.index_put((idx, idx), v[:3])
x.index_put_((idx, idx), v[:3])
x.index_put_((idx, idx), v[:3], accumulate=True)
torch.take(x, idx)
x.take_along_dim(ii, 0)
x.to(torch.float32)
x.to(torch.float64)
x.to(torch.float16)
x.to(torch.int64)
x.to(dtype=torch.float32)
x.to(dtype=torch.float64)
x.to("cpu")
x.to(torch.device("cpu"))
x.to(device="cpu")
x.to(y)
x.to(n)
x.to("cpu", torch.float32)
x.to("cpu", torch.float64)
x.to("cpu", non_blocking=True)
x.to(torch.float32, copy=True)
x.to("cpu", copy=True)
x.float()
x64.float()
x64.sum().float()
x64.sum().double()
x.sum().double()
x.sum().half()
x16.sum().bfloat16()
x64.double()
x64.half()
x64.bfloat16()
x16.bfloat16()
x16.float()
x64.to(torch.float32)
x64.to(torch.float64)
x64.type(torch.float64)
x64.to("cpu", torch.float64)
x64.to(dtype=torch.float64)
n32.int()
n32.long()
n32.to(torch.int64)
n32.to(torch.int32)
x.double()
x.half()
x.bfloat16()
x.long()
x.int()
x.bool()
n.float()
n.long()
m.float()
m.bool()
m.long()
x.type(torch.float32)
x.type(torch.float64)
x.type(torch.int64)
x.type_as(y)
x.cpu()
x.requires_grad_()
x.numpy()
x.detach().numpy()
x.tolist()
x.sum().item()
x.copy_(y)
x.copy_(v)
x.copy_(h.unsqueeze(1))
x.zero_()
x.fill_(1.0)
x.fill_(s)
x.normal_()
x.uniform_()
x.uniform_(-1, 1)
x.bernoulli_(0.5)
x.exponential_()
x.random_()
x.exp_()
x.relu_()
x.sigmoid_()
x.tanh_()
x.sqrt_()
x.neg_()
x.abs_()
x.round_()
x.t_()
x.transpose_(0, 1)
x.unsqueeze_(0)
x.squeeze_()
x.resize_(2, 6)
x.set_(y)
x.detach_()
x.abs()
x.nan_to_num()
x.nan_to_num(0.0)
x.tril()
x.triu()
x.flip(0)
x.roll(1, 0)
x.isnan()
x.isfinite()
x.any()
x.all()
x.nonzero()
x.unique()
x.new_zeros(3)
x.new_zeros((3, 3))
x.new_ones(3)
x.new_full((2,), 1.0)
x.new_tensor([1.0])
x.new_empty(3)
torch.zeros_like(x)
torch.ones_like(x)
torch.rand_like(x)
torch.randn_like(x)
torch.empty_like(x)
torch.full_like(x, 0.5)
torch.zeros_like(x, requires_grad=True)
torch.zeros_like(n)
torch.zeros_like(x, dtype=torch.int64)
torch.zeros(3)
torch.zeros(3, 4)
torch.zeros((3, 4))
torch.zeros(())
torch.zeros(3, requires_grad=True)
torch.zeros(3, dtype=torch.int64)
torch.ones(3)
torch.ones(3, 4)
torch.ones(3, requires_grad=True)
torch.rand(3)
torch.rand(3, 4)
torch.rand(3, requires_grad=True)
torch.rand(())
torch.randn(3)
torch.randn(3, 4)
torch.randn((3, 4))
torch.randn(())
torch.randn(3, requires_grad=True)
torch.empty(3)
torch.empty(3, 4)
torch.full((3,), 1.0)
torch.full((3,), 1)
torch.full((3,), 1.0, requires_grad=True)
torch.eye(3)
torch.eye(3, requires_grad=True)
torch.arange(3)
torch.arange(3.0)
torch.arange(0, 3)
torch.arange(0, 1, 0.1)
torch.arange(3, dtype=torch.float32)
torch.arange(3.0, requires_grad=True)
torch.linspace(0, 1, 5)
torch.linspace(0, 1, 5, requires_grad=True)
torch.logspace(0, 1, 5)
torch.randint(3, (4,))
torch.randint(0, 3, (4,))
torch.randperm(4)
torch.tensor(1.0)
torch.tensor(1)
torch.tensor([1.0, 2.0])
torch.tensor([1, 2])
torch.tensor([[1.0, 2.0]])
torch.tensor([True])
torch.tensor(1.0, requires_grad=True)
torch.tensor([1.0, 2.0], requires_grad=True)
torch.tensor([1, 2], dtype=torch.float32)
torch.tensor(a)
torch.tensor(x)
torch.as_tensor(x)
torch.as_tensor(a)
torch.as_tensor([1.0])
torch.as_tensor(x, dtype=torch.float64)
torch.from_numpy(a)
torch.asarray(x)
torch.asarray(a)
torch.bernoulli(p)
torch.multinomial(p, 2)
torch.normal(x, y)
torch.normal(0.0, 1.0, (3,))
torch.normal(x, 1.0)
torch.dropout(x, 0.5, True)
torch.dropout(x, 0.3, True)
torch.dropout(x, 0.0, True)
torch.meshgrid(v, w)
torch.meshgrid(v, w, indexing="ij")
torch.broadcast_tensors(x, v)
torch.cdist(q, x)
torch.cdist(q, x, p=1)
torch.cdist(q, x, p=1.0)
torch.cdist(q, x, p=3.0)
torch.cdist(q, x, p=3)
torch.dist(x, y)
torch.dist(x, y, 1)
torch.dist(x, y, 3)
torch.cross(x, y, dim=0)
torch.searchsorted(v, w)
torch.searchsorted(v, u)
torch.bucketize(v, w)
torch.histc(v)
torch.allclose(x, y)
torch.equal(x, y)
torch.isclose(x, y)
torch.is_tensor(x)
torch.numel(x)
torch.relu(x)
torch.sigmoid(x)
torch.tanh(x)
torch.exp(x)
torch.log(x)
torch.sqrt(x)
torch.reciprocal(x)
F.relu(x)
F.relu(x, inplace=True)
F.relu_(x)
F.leaky_relu(x)
F.leaky_relu(x, 0.2)
F.leaky_relu(x, 0.2, inplace=True)
F.leaky_relu_(x)
F.elu(x)
F.elu(x, inplace=True)
F.elu_(x)
F.selu(x)
F.selu(x, inplace=True)
F.celu(x)
F.celu(x, inplace=True)
F.silu(x)
F.silu(x, inplace=True)
F.mish(x)
F.mish(x, inplace=True)
F.relu6(x)
F.relu6(x, inplace=True)
F.hardtanh(x)
F.hardtanh(x, inplace=True)
F.hardswish(x)
F.hardswish(x, inplace=True)
F.hardsigmoid(x)
F.hardsigmoid(x, inplace=True)
F.threshold(x, 0.1, 0.0)
F.threshold(x, 0.1, 0.0, inplace=True)
F.rrelu(x)
F.rrelu(x, training=True)
F.rrelu(x, inplace=True)
F.gelu(x)
F.gelu(x, approximate="tanh")
F.softplus(x)
F.softsign(x)
F.tanhshrink(x)
F.tanh(x)
F.sigmoid(x)
F.softmin(x, dim=1)
F.softmax(x)
F.softmax(x, dim=1)
F.softmax(x, dim=1, dtype=torch.float32)
F.softmax(x, -1)
F.log_softmax(x, dim=1)
F.log_softmax(x, -1)
F.gumbel_softmax(x)
F.gumbel_softmax(x, hard=True)
F.glu(x)
F.prelu(x, torch.tensor([0.2]))
F.prelu(x, v)
F.dropout(x)
F.dropout(x, 0.5)
F.dropout(x, 0.3, True)
F.dropout(x, p=0.0)
F.dropout(x, p=1.0)
F.dropout(x, 0.5, training=False)
F.dropout(x, 0.0, training=False)
F.dropout(x, 0.5, inplace=True)
F.dropout(x, 0.0, inplace=True)
F.dropout(x, 0.5, training=False, inplace=True)
F.dropout1d(seq)
F.dropout1d(seq, 0.3)
F.dropout1d(seq, 0.0)
F.dropout1d(seq, training=False)
F.dropout2d(im)
F.dropout2d(im, 0.3)
F.dropout2d(im, training=False)
F.dropout2d(im, 0.0)
F.dropout2d(im, inplace=True)
F.dropout3d(vol)
F.dropout3d(vol, 0.3)
F.dropout3d(vol, 0.0)
F.dropout3d(vol, training=False)
F.alpha_dropout(x)
F.alpha_dropout(x, training=True)
F.alpha_dropout(x, 0.3, True)
F.alpha_dropout(x, 0.0, True)
F.feature_alpha_dropout(im)
F.feature_alpha_dropout(im, training=True)
F.feature_alpha_dropout(im, 0.3, True)
F.linear(x, q)
F.linear(x, q, u)
F.linear(b, q, u)
F.linear(v, q)
F.bilinear(x, y, torch.rand(5, 4, 4))
F.bilinear(x, y, torch.rand(5, 4, 4), u)
F.conv1d(seq, kern1)
F.conv1d(seq, kern1, v)
F.conv2d(im, kern)
F.conv2d(im, kern, v)
F.conv2d(im, kern, v, padding=1)
F.conv2d(im, kern, padding="same")
F.conv2d(im, kern[:3], padding="same")
F.conv2d(im, torch.rand(4, 1, 3, 3), groups=4)
F.conv3d(vol, kern3)
F.conv3d(vol, kern3[:3], padding="same")
F.conv3d(vol, kern3, v)
F.conv_transpose1d(seq, kern1)
F.conv_transpose2d(im, kern)
F.conv_transpose2d(im, kern, v)
F.conv_transpose3d(vol, kern3)
F.batch_norm(im, mean, var)
F.batch_norm(im, mean, var, v, w)
F.batch_norm(im, mean, var, v, w, training=True)
F.batch_norm(im, mean, var, training=True)
F.batch_norm(im, None, None, v, w, training=True)
F.batch_norm(im, None, None, training=True)
F.layer_norm(x, (4,))
F.layer_norm(x, (4,), v, w)
F.layer_norm(x, (4,), v)
F.group_norm(im, 2)
F.group_norm(im, 2, v, w)
F.instance_norm(im)
F.instance_norm(im, mean, var)
F.instance_norm(im, mean, var, v, w)
F.instance_norm(im, None, None, v, w)
F.instance_norm(im, mean, var, use_input_stats=False)
F.rms_norm(x, (4,))
F.rms_norm(x, (4,), v)
F.local_response_norm(im, 2)
F.normalize(x)
F.normalize(x, dim=-1)
F.normalize(x, p=1.0, dim=1)
F.normalize(x, p=3.0, dim=1)
F.normalize(x, p=2, dim=1)
F.normalize(x, 3)
F.embedding(ids, table)
F.embedding(ids, table, padding_idx=0)
F.embedding(ids, table, max_norm=0.1)
F.embedding(ids, table, 0, 0.1)
F.embedding_bag(ids, table)
F.embedding_bag(ids, table, mode="sum")
F.embedding_bag(ids, table, mode="max")
F.one_hot(ids)
F.one_hot(ids, 6)
F.mse_loss(x, y)
F.mse_loss(x, y, reduction="sum")
F.mse_loss(x, y, reduction="none")
F.l1_loss(x, y)
F.l1_loss(x, y, reduction="sum")
F.l1_loss(x, y, reduction="none")
F.smooth_l1_loss(x, y)
F.smooth_l1_loss(x, y, reduction="none")
F.smooth_l1_loss(x, y, beta=0.0)
F.smooth_l1_loss(x, y, beta=0.5)
F.smooth_l1_loss(x, y, beta=0.3)
F.huber_loss(x, y)
F.huber_loss(x, y, reduction="none")
F.cross_entropy(x, cls)
F.cross_entropy(x, cls, reduction="sum")
F.cross_entropy(x, cls, reduction="none")
F.cross_entropy(x, cls, weight=v)
F.cross_entropy(x, cls, label_smoothing=0.1)
F.cross_entropy(x, cls, label_smoothing=0.1, reduction="none")
F.cross_entropy(x, cls, ignore_index=0)
F.cross_entropy(x, p)
F.cross_entropy(x, p, reduction="sum")
F.cross_entropy(x, p, reduction="none")
F.cross_entropy(x, p, label_smoothing=0.1)
F.cross_entropy(x, p, weight=v)
F.nll_loss(x, cls)
F.nll_loss(x, cls, weight=v)
F.nll_loss(x, cls, reduction="sum")
F.nll_loss(x, cls, reduction="none")
F.binary_cross_entropy(p, t)
F.binary_cross_entropy(p, t, reduction="sum")
F.binary_cross_entropy(p, t, reduction="none")
F.binary_cross_entropy(p, t, weight=x)
F.binary_cross_entropy_with_logits(x, t)
F.binary_cross_entropy_with_logits(x, t, reduction="none")
F.binary_cross_entropy_with_logits(x, t, pos_weight=v)
F.binary_cross_entropy_with_logits(x, t, weight=y)
F.kl_div(x, p)
F.kl_div(x, p, reduction="batchmean")
F.kl_div(x, p, reduction="sum")
F.kl_div(x, p, reduction="none")
F.kl_div(x, y, log_target=True)
F.kl_div(x, y, reduction="batchmean", log_target=True)
F.cosine_similarity(x, y)
F.cosine_similarity(x, y, dim=-1)
F.cosine_embedding_loss(x, y, h.sign())
F.margin_ranking_loss(v, w, v.sign())
F.triplet_margin_loss(x, y, z)
F.hinge_embedding_loss(x, y.sign())
F.soft_margin_loss(x, y.sign())
F.multi_margin_loss(x, cls)
F.poisson_nll_loss(x, y)
F.poisson_nll_loss(x, y, log_input=False)
F.gaussian_nll_loss(x, y, z)
F.ctc_loss(torch.rand(5, 2, 4).log_softmax(2), torch.tensor([[1, 2], [2, 1]]), torch.tensor([5, 5]), torch.tensor([2, 2]))
F.pairwise_distance(x, y)
F.pairwise_distance(x, y, 1)
F.pairwise_distance(x, y, p=3)
F.pairwise_distance(x, y, p=3.0)
F.pairwise_distance(x, y, keepdim=True)
F.max_pool1d(seq, 2)
F.max_pool2d(im, 2)
F.max_pool2d(im, 2, 2)
F.max_pool2d(im, 2, return_indices=True)
F.max_pool3d(vol, 2)
F.avg_pool1d(seq, 2)
F.avg_pool2d(im, 2)
F.avg_pool3d(vol, 2)
F.lp_pool2d(im, 2, 2)
F.adaptive_avg_pool1d(seq, 1)
F.adaptive_avg_pool1d(seq, 2)
F.adaptive_avg_pool1d(seq, 3)
F.adaptive_avg_pool2d(im, 1)
F.adaptive_avg_pool2d(im, (1, 1))
F.adaptive_avg_pool2d(im, 2)
F.adaptive_avg_pool2d(im, 3)
F.adaptive_avg_pool2d(im, (3, 4))
F.adaptive_avg_pool2d(im, (2, 2))
F.adaptive_avg_pool2d(im, (2, 1))
F.adaptive_avg_pool3d(vol, 1)
F.adaptive_avg_pool3d(vol, (1, 1, 1))
F.adaptive_avg_pool3d(vol, 2)
F.adaptive_avg_pool3d(vol, 3)
F.adaptive_avg_pool3d(vol, (3, 3, 3))
F.adaptive_max_pool1d(seq, 1)
F.adaptive_max_pool2d(im, 1)
F.adaptive_max_pool2d(im, 2)
F.adaptive_max_pool2d(im, (1, 1))
F.adaptive_max_pool3d(vol, 1)
F.pad(x, (1, 1))
F.pad(x, (1, 1), value=1.0)
F.pad(x, (1, 1), "constant", 0)
F.pad(x, (-1, 1))
F.pad(im, (1, 1, 1, 1), mode="reflect")
F.pad(im, (1, 1, 1, 1), mode="replicate")
F.pad(im, (1, 1, 1, 1), mode="circular")
F.interpolate(im, scale_factor=2)
F.interpolate(im, size=(3, 3))
F.interpolate(im, scale_factor=2, mode="bilinear")
F.interpolate(im, scale_factor=2, mode="bilinear", align_corners=True)
F.interpolate(im, scale_factor=2, mode="bicubic")
F.interpolate(im, scale_factor=2, mode="area")
F.interpolate(seq, scale_factor=2, mode="linear")
F.interpolate(seq, scale_factor=2)
F.upsample(im, scale_factor=2)
F.grid_sample(im, torch.rand(2, 3, 3, 2))
F.affine_grid(torch.rand(2, 2, 3), (2, 4, 3, 3))
F.pixel_shuffle(im, 2)
F.pixel_unshuffle(im, 2)
F.unfold(im, 2)
F.fold(torch.rand(1, 16, 4), (4, 4), 2, stride=2)
F.channel_shuffle(im, 2)
F.scaled_dot_product_attention(q4, c4, c4 + 1)
F.scaled_dot_product_attention(q4, c4, (c4 + 1)[..., :3])
F.scaled_dot_product_attention(q4, c4, c4 + 1, is_causal=True)
F.scaled_dot_product_attention(q4, c4, c4 + 1, dropout_p=0.5)
F.scaled_dot_product_attention(q4, c4, c4 + 1, dropout_p=0.1)
F.scaled_dot_product_attention(q4, c4, c4 + 1, attn_mask=mask > 0.5)
F.scaled_dot_product_attention(q4, c4, c4 + 1, attn_mask=mask)
F.logsigmoid(x)
F.softshrink(x)
F.hardshrink(x)
torch.conv2d(im, kern)
torch.batch_norm(im, v, w, mean, var, True, 0.1, 1e-5, True)
torch.layer_norm(x, (4,), v, w)
x.T
x.mT
x.H
x.mH
x.real
cx.imag
cx.real
x.data
cx.abs()
cx.angle()
cx.conj()
torch.abs(cx)
torch.angle(cx)
torch.view_as_real(cx)
torch.imag(cx)
torch.conj(cx)
torch.fft.ifft(cx)
torch.fft.irfft(cx)
torch.istft(torch.stft(torch.rand(64), 16, return_complex=True), 16)
x.apply_(lambda e: e + 1)
x.map_(y, lambda e, f: e + f)
x.size()
x.size(0)
x.dim()
x.ndimension()
x.numel()
x.nelement()
x.stride()
x.element_size()
x.is_contiguous()
x.is_floating_point()
x.is_complex()
x.data_ptr()
x.get_device()
x.storage_offset()
s.is_nonzero()
s.__bool__()
s.__float__()
s.__int__()
x.fill_diagonal_(0.0)
x.share_memory_()
square.slogdet()
torch.slogdet(square)
torch.poisson(x)
torch.pdist(x)
torch.polygamma(1, x)
torch.special.polygamma(1, x)
torch.special.gammainc(x, y)
torch.special.gammaincc(x, y)
torch.is_floating_point(x)
torch.is_complex(x)
torch.hann_window(4)
torch.hamming_window(4)
torch.blackman_window(4)
torch.bartlett_window(4)
torch.kaiser_window(4)
torch.fft.fftfreq(4)
torch.fft.rfftfreq(4)
torch.fill_(x, 1.0)
torch.detach(x)
torch.nonzero(x)
torch.svd_lowrank(x, 2)
torch.pca_lowrank(x, 2)
torch.chain_matmul(q, r, x)
torch.linalg.multi_dot([q, r, x])
torch.norm_except_dim(x, 2, 0)
torch.cosine_similarity(x, y)
torch.embedding(table, ids)
torch.nn.functional.lp_pool1d(seq, 2, 2)
torch.nn.functional.lp_pool3d(vol, 2, 2)
torch._foreach_add_([x, y], 1.0)
torch._foreach_add_([x, y], [z, p])
torch._foreach_sub_([x, y], [z, p])
torch._foreach_mul_([x, y], 2.0)
torch._foreach_mul_([x, y], [z, p])
torch._foreach_div_([x, y], 2.0)
torch._foreach_div_([x, y], [z, p])
torch._foreach_lerp_([x, y], [z, p], 0.5)
torch._foreach_addcmul_([x], [y], [z])
torch._foreach_addcdiv_([x], [y], [z])
torch._foreach_copy_([x, y], [z, p])
torch._foreach_zero_([x, y])
torch._foreach_neg_([x, y])
torch._foreach_sqrt_([x, y])
torch._foreach_exp_([x, y])
torch._foreach_clamp_max_([x, y], 1.0)
torch._foreach_add([x, y], 1.0)
torch._foreach_add([x, y], [z, p])
torch._foreach_mul([x, y], 2.0)
torch._foreach_mul([x, y], [z, p])
torch._foreach_sub([x, y], [z, p])
torch._foreach_div([x, y], [z, p])
torch._foreach_norm([x, y])
torch._foreach_sqrt([x, y])
torch._foreach_neg([x, y])
torch.nn.init.uniform_(x)
torch.nn.init.normal_(x)
torch.nn.init.normal_(x, 0.0, 0.02)
torch.nn.init.trunc_normal_(x)
torch.nn.init.constant_(x, 0.5)
torch.nn.init.ones_(x)
torch.nn.init.zeros_(x)
torch.nn.init.eye_(x)
torch.nn.init.dirac_(kern1)
torch.nn.init.xavier_uniform_(x)
torch.nn.init.xavier_normal_(x)
torch.nn.init.kaiming_uniform_(x)
torch.nn.init.kaiming_normal_(x)
torch.nn.init.orthogonal_(x)
torch.nn.init.sparse_(x, 0.5)
torch.nn.utils.rnn.pad_sequence([x, y])
torch.nn.utils.parameters_to_vector([x, y])
n * 1.5
n - 1
m * 2
n ** 2
n / n
n % 2
torch.mul(n, 1.5)
torch.add(n, 1)
n.mul(2)
n.add(1)
torch.tensor([True, False])
torch.tensor([0, 1], dtype=torch.bool)
torch.tensor(True)
torch.dropout(x, 0.5, False)
torch.fft.fft(v)
torch.fft.rfft(v)
torch.fft.fft(v, 8)
torch.fft.fft(v, n=4)
torch.fft.fft(v, 6, norm="ortho")
torch.fft.rfft(v, 8)
torch.fft.rfft(v, n=4)
torch.fft.rfft(v, 6, norm="ortho")
torch.fft.ifft(cx, 8)
torch.fft.ifft(cx, 4)
torch.fft.fft2(x)
torch.stft(torch.rand(64), 16, return_complex=True)
torch.nan_to_num(x)
torch.logical_and(x, y)
torch.logical_not(x)
torch.inverse(square)
torch.linalg.inv(square)
torch.linalg.solve(square, r)
torch.linalg.det(square)
torch.linalg.eigh(square)
torch.linalg.svd(x)
torch.linalg.qr(x)
torch.linalg.cholesky(positive)
torch.cholesky(positive)
torch.det(square)
torch.logdet(positive)
torch.trace(x)
torch.kron(x, y)
torch.tensordot(q, r, dims=1)
torch.vander(v)
torch.var_mean(x)
torch.var_mean(x, 1)
torch.std_mean(x)
torch.aminmax(x)
torch.real(x)
torch.view_as_complex(x.view(3, 2, 2))
torch.complex(x, y)
torch.polar(x, y)
"""


def lines() -> list[str]:
    """The patterns, one statement each."""
    return [line for line in PATTERNS.splitlines() if line]


LAYERS = """
nn.Linear(4, 5) :: x
nn.Linear(4, 5, bias=False) :: x
nn.Bilinear(4, 4, 5) :: x, y
nn.Bilinear(4, 4, 5, bias=False) :: x, y
nn.Identity() :: x
nn.Conv1d(4, 4, 3) :: seq
nn.Conv1d(4, 4, 3, bias=False) :: seq
nn.Conv2d(4, 4, 3) :: im
nn.Conv2d(4, 4, 3, bias=False) :: im
nn.Conv2d(4, 4, 3, padding=1, padding_mode="reflect") :: im
nn.Conv2d(4, 4, 3, padding=1, padding_mode="circular") :: im
nn.Conv2d(4, 4, 3, padding=1, padding_mode="replicate") :: im
nn.Conv3d(4, 4, 2) :: vol
nn.Conv3d(4, 4, 2, bias=False) :: vol
nn.ConvTranspose1d(4, 4, 3) :: seq
nn.ConvTranspose1d(4, 4, 3, bias=False) :: seq
nn.ConvTranspose2d(4, 4, 3) :: im
nn.ConvTranspose2d(4, 4, 3, bias=False) :: im
nn.ConvTranspose3d(4, 4, 2) :: vol
nn.ConvTranspose3d(4, 4, 2, bias=False) :: vol
nn.BatchNorm1d(4) :: x
nn.BatchNorm1d(4, affine=False) :: x
nn.BatchNorm1d(4, track_running_stats=False) :: x
nn.BatchNorm1d(4) :: seq
nn.BatchNorm2d(4) :: im
nn.BatchNorm2d(4, affine=False) :: im
nn.BatchNorm2d(4, track_running_stats=False) :: im
nn.BatchNorm2d(4, affine=False, track_running_stats=False) :: im
nn.BatchNorm2d(4, momentum=None) :: im
nn.BatchNorm3d(4) :: vol
nn.BatchNorm3d(4, affine=False) :: vol
nn.BatchNorm3d(4, track_running_stats=False) :: vol
nn.SyncBatchNorm(4) :: im
nn.SyncBatchNorm(4, affine=False) :: im
nn.SyncBatchNorm(4, track_running_stats=False) :: im
nn.InstanceNorm1d(4) :: seq
nn.InstanceNorm1d(4, affine=True) :: seq
nn.InstanceNorm1d(4, track_running_stats=True) :: seq
nn.InstanceNorm2d(4) :: im
nn.InstanceNorm2d(4, affine=True) :: im
nn.InstanceNorm2d(4, track_running_stats=True) :: im
nn.InstanceNorm3d(4) :: vol
nn.InstanceNorm3d(4, affine=True) :: vol
nn.InstanceNorm3d(4, track_running_stats=True) :: vol
nn.LayerNorm(4) :: x
nn.LayerNorm((4,)) :: x
nn.LayerNorm(4, bias=False) :: x
nn.LayerNorm(4, elementwise_affine=False) :: x
nn.RMSNorm(4) :: x
nn.RMSNorm(4, elementwise_affine=False) :: x
nn.GroupNorm(2, 4) :: im
nn.GroupNorm(2, 4, affine=False) :: im
nn.LocalResponseNorm(2) :: im
nn.Embedding(6, 4) :: ids
nn.Embedding(6, 4, padding_idx=0) :: ids
nn.Embedding(6, 4, max_norm=0.1) :: ids
nn.Embedding(6, 4, sparse=True) :: ids
nn.EmbeddingBag(6, 4) :: ids
nn.EmbeddingBag(6, 4, mode="sum") :: ids
nn.EmbeddingBag(6, 4, mode="max") :: ids
nn.ReLU() :: x
nn.ReLU(inplace=True) :: x
nn.ReLU6() :: x
nn.ReLU6(inplace=True) :: x
nn.LeakyReLU() :: x
nn.LeakyReLU(0.2) :: x
nn.LeakyReLU(0.2, inplace=True) :: x
nn.ELU() :: x
nn.ELU(inplace=True) :: x
nn.CELU() :: x
nn.CELU(inplace=True) :: x
nn.SELU() :: x
nn.SELU(inplace=True) :: x
nn.SiLU() :: x
nn.SiLU(inplace=True) :: x
nn.Mish() :: x
nn.Mish(inplace=True) :: x
nn.Hardswish() :: x
nn.Hardswish(inplace=True) :: x
nn.Hardsigmoid() :: x
nn.Hardsigmoid(inplace=True) :: x
nn.Hardtanh() :: x
nn.Hardtanh(inplace=True) :: x
nn.Threshold(0.1, 0.0) :: x
nn.Threshold(0.1, 0.0, inplace=True) :: x
nn.RReLU() :: x
nn.RReLU(inplace=True) :: x
nn.GELU() :: x
nn.GELU(approximate="tanh") :: x
nn.Sigmoid() :: x
nn.Tanh() :: x
nn.Softplus() :: x
nn.Softsign() :: x
nn.Softshrink() :: x
nn.Hardshrink() :: x
nn.Tanhshrink() :: x
nn.LogSigmoid() :: x
nn.GLU() :: x
nn.PReLU() :: x
nn.PReLU(4) :: x
nn.Softmax(dim=1) :: x
nn.Softmax(1) :: x
nn.Softmax() :: x
nn.LogSoftmax(dim=1) :: x
nn.Softmin(dim=1) :: x
nn.Softmax2d() :: im
nn.Dropout() :: x
nn.Dropout(0.3) :: x
nn.Dropout(0.0) :: x
nn.Dropout(0.5, inplace=True) :: x
nn.Dropout(0.0, inplace=True) :: x
nn.Dropout(0.3, inplace=True) :: x
nn.Dropout1d() :: seq
nn.Dropout1d(0.0) :: seq
nn.Dropout1d(0.3) :: seq
nn.Dropout1d(inplace=True) :: seq
nn.Dropout1d(0.0, inplace=True) :: seq
nn.Dropout1d(0.3, inplace=True) :: seq
nn.Dropout2d() :: im
nn.Dropout2d(0.3) :: im
nn.Dropout2d(0.0) :: im
nn.Dropout2d(inplace=True) :: im
nn.Dropout2d(0.0, inplace=True) :: im
nn.Dropout2d(0.3, inplace=True) :: im
nn.Dropout3d() :: vol
nn.Dropout3d(0.0) :: vol
nn.Dropout3d(0.3) :: vol
nn.Dropout3d(inplace=True) :: vol
nn.Dropout3d(0.0, inplace=True) :: vol
nn.Dropout3d(0.3, inplace=True) :: vol
nn.AlphaDropout() :: x
nn.AlphaDropout(0.0) :: x
nn.AlphaDropout(0.3) :: x
nn.AlphaDropout(inplace=True) :: x
nn.AlphaDropout(0.0, inplace=True) :: x
nn.AlphaDropout(0.3, inplace=True) :: x
nn.FeatureAlphaDropout() :: im
nn.FeatureAlphaDropout(0.3) :: im
nn.FeatureAlphaDropout(inplace=True) :: im
nn.FeatureAlphaDropout(0.0) :: im
nn.FeatureAlphaDropout(0.0, inplace=True) :: im
nn.FeatureAlphaDropout(0.3, inplace=True) :: im
nn.MaxPool1d(2) :: seq
nn.MaxPool2d(2) :: im
nn.MaxPool2d(2, 2) :: im
nn.MaxPool2d(2, return_indices=True) :: im
nn.MaxPool3d(2) :: vol
nn.AvgPool1d(2) :: seq
nn.AvgPool2d(2) :: im
nn.AvgPool3d(2) :: vol
nn.LPPool2d(2, 2) :: im
nn.AdaptiveAvgPool1d(1) :: seq
nn.AdaptiveAvgPool1d(2) :: seq
nn.AdaptiveAvgPool2d(1) :: im
nn.AdaptiveAvgPool2d((1, 1)) :: im
nn.AdaptiveAvgPool2d(2) :: im
nn.AdaptiveAvgPool2d(3) :: im
nn.AdaptiveAvgPool2d((2, 2)) :: im
nn.AdaptiveAvgPool2d((3, 3)) :: im
nn.AdaptiveAvgPool3d(1) :: vol
nn.AdaptiveAvgPool3d((1, 1, 1)) :: vol
nn.AdaptiveAvgPool3d(2) :: vol
nn.AdaptiveAvgPool3d(3) :: vol
nn.AdaptiveAvgPool3d((3, 3, 3)) :: vol
nn.AdaptiveAvgPool1d(3) :: seq
nn.AdaptiveMaxPool1d(1) :: seq
nn.AdaptiveMaxPool2d(1) :: im
nn.AdaptiveMaxPool2d((1, 1)) :: im
nn.AdaptiveMaxPool2d(2) :: im
nn.AdaptiveMaxPool3d(1) :: vol
nn.Flatten() :: im
nn.Flatten(0) :: im
nn.Unflatten(1, (2, 2)) :: im
nn.Upsample(scale_factor=2) :: im
nn.Upsample(scale_factor=2, mode="bilinear") :: im
nn.Upsample(scale_factor=2, mode="bicubic") :: im
nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True) :: im
nn.UpsamplingNearest2d(scale_factor=2) :: im
nn.UpsamplingBilinear2d(scale_factor=2) :: im
nn.PixelShuffle(2) :: im
nn.PixelUnshuffle(2) :: im
nn.ChannelShuffle(2) :: im
nn.Fold((4, 4), 2, stride=2) :: torch.rand(1, 16, 4)
nn.Unfold(2) :: im
nn.ZeroPad2d(1) :: im
nn.ConstantPad1d(1, 0.5) :: seq
nn.ConstantPad2d(1, 0.5) :: im
nn.ReflectionPad1d(1) :: seq
nn.ReflectionPad2d(1) :: im
nn.ReplicationPad1d(1) :: seq
nn.ReplicationPad2d(1) :: im
nn.CircularPad2d(1) :: im
nn.CosineSimilarity() :: x, y
nn.CosineSimilarity(dim=-1) :: x, y
nn.PairwiseDistance() :: x, y
nn.PairwiseDistance(p=1) :: x, y
nn.PairwiseDistance(p=3) :: x, y
nn.MSELoss() :: x, y
nn.MSELoss(reduction="sum") :: x, y
nn.MSELoss(reduction="none") :: x, y
nn.L1Loss() :: x, y
nn.L1Loss(reduction="sum") :: x, y
nn.L1Loss(reduction="none") :: x, y
nn.SmoothL1Loss() :: x, y
nn.SmoothL1Loss(beta=0.3) :: x, y
nn.SmoothL1Loss(beta=0.0) :: x, y
nn.SmoothL1Loss(reduction="sum") :: x, y
nn.SmoothL1Loss(reduction="none") :: x, y
nn.HuberLoss() :: x, y
nn.HuberLoss(reduction="sum") :: x, y
nn.HuberLoss(reduction="none") :: x, y
nn.BCELoss() :: p, t
nn.BCELoss(reduction="sum") :: p, t
nn.BCELoss(reduction="none") :: p, t
nn.BCELoss(weight=v) :: p, t
nn.BCEWithLogitsLoss() :: x, t
nn.BCEWithLogitsLoss(reduction="sum") :: x, t
nn.BCEWithLogitsLoss(reduction="none") :: x, t
nn.BCEWithLogitsLoss(pos_weight=v) :: x, t
nn.CrossEntropyLoss() :: x, cls
nn.CrossEntropyLoss(reduction="sum") :: x, cls
nn.CrossEntropyLoss(reduction="none") :: x, cls
nn.CrossEntropyLoss(ignore_index=0) :: x, cls
nn.CrossEntropyLoss(weight=v) :: x, cls
nn.CrossEntropyLoss(v) :: x, cls
nn.CrossEntropyLoss(label_smoothing=0.1) :: x, cls
nn.CrossEntropyLoss(label_smoothing=0.1, reduction="sum") :: x, cls
nn.CrossEntropyLoss(label_smoothing=0.1, reduction="none") :: x, cls
nn.CrossEntropyLoss() :: x, p
nn.CrossEntropyLoss(reduction="sum") :: x, p
nn.CrossEntropyLoss(reduction="none") :: x, p
nn.CrossEntropyLoss(label_smoothing=0.1) :: x, p
nn.CrossEntropyLoss(label_smoothing=0.1, reduction="sum") :: x, p
nn.CrossEntropyLoss(label_smoothing=0.1, reduction="none") :: x, p
nn.NLLLoss() :: x, cls
nn.NLLLoss(reduction="sum") :: x, cls
nn.NLLLoss(reduction="none") :: x, cls
nn.NLLLoss(weight=v) :: x, cls
nn.KLDivLoss() :: x, p
nn.KLDivLoss(reduction="batchmean") :: x, p
nn.KLDivLoss(reduction="sum") :: x, p
nn.KLDivLoss(reduction="none") :: x, p
nn.KLDivLoss(log_target=True) :: x, y
nn.KLDivLoss(reduction="batchmean", log_target=True) :: x, y
nn.KLDivLoss(reduction="sum", log_target=True) :: x, y
nn.KLDivLoss(reduction="none", log_target=True) :: x, y
nn.CTCLoss() :: torch.rand(5, 2, 4).log_softmax(2), torch.tensor([[1, 2], [2, 1]]), torch.tensor([5, 5]), torch.tensor([2, 2])
nn.TripletMarginLoss() :: x, y, z
nn.TripletMarginWithDistanceLoss() :: x, y, z
nn.MarginRankingLoss() :: v, w, v.sign()
nn.CosineEmbeddingLoss() :: x, y, h.sign()
nn.HingeEmbeddingLoss() :: x, y.sign()
nn.SoftMarginLoss() :: x, y.sign()
nn.MultiMarginLoss() :: x, cls
nn.MultiLabelMarginLoss() :: x, torch.zeros(3, 4, dtype=torch.int64)
nn.MultiLabelSoftMarginLoss() :: x, t
nn.PoissonNLLLoss() :: x, y
nn.PoissonNLLLoss(log_input=False) :: x, y
nn.GaussianNLLLoss() :: x, y, z
nn.RNN(4, 3) :: b
nn.RNN(4, 3) :: b, torch.rand(1, 5, 3)
nn.RNN(4, 3, num_layers=2) :: b
nn.RNN(4, 3, num_layers=2) :: b, torch.rand(2, 5, 3)
nn.RNN(4, 3, batch_first=True) :: b
nn.RNN(4, 3, batch_first=True) :: b, torch.rand(1, 3, 3)
nn.RNN(4, 3, bias=False) :: b
nn.RNN(4, 3, bidirectional=True) :: b
nn.LSTM(4, 3) :: b
nn.LSTM(4, 3) :: b, (torch.rand(1, 5, 3), torch.rand(1, 5, 3))
nn.LSTM(4, 3, batch_first=True) :: b
nn.LSTM(4, 3, batch_first=True) :: b, (torch.rand(1, 3, 3), torch.rand(1, 3, 3))
nn.LSTM(4, 3, num_layers=2) :: b
nn.LSTM(4, 3, num_layers=2) :: b, (torch.rand(2, 5, 3), torch.rand(2, 5, 3))
nn.LSTM(4, 3, num_layers=2, dropout=0.5) :: b
nn.LSTM(4, 3, bidirectional=True) :: b
nn.LSTM(4, 3, bias=False) :: b
nn.GRU(4, 3) :: b
nn.GRU(4, 3) :: b, torch.rand(1, 5, 3)
nn.GRU(4, 3, batch_first=True) :: b
nn.GRU(4, 3, batch_first=True) :: b, torch.rand(1, 3, 3)
nn.GRU(4, 3, num_layers=2) :: b
nn.GRU(4, 3, num_layers=2) :: b, torch.rand(2, 5, 3)
nn.GRU(4, 3, bidirectional=True) :: b
nn.GRU(4, 3, bias=False) :: b
nn.RNNCell(4, 3) :: x
nn.RNNCell(4, 3) :: x, torch.rand(3, 3)
nn.RNNCell(4, 3, bias=False) :: x
nn.LSTMCell(4, 5) :: x
nn.LSTMCell(4, 5) :: x, (torch.rand(3, 5), torch.rand(3, 5))
nn.LSTMCell(4, 5, bias=False) :: x
nn.GRUCell(4, 5) :: x
nn.GRUCell(4, 5) :: x, torch.rand(3, 5)
nn.GRUCell(4, 5, bias=False) :: x
nn.MultiheadAttention(4, 2) :: b, c, c + 1
nn.MultiheadAttention(4, 2, batch_first=True) :: b, c, c + 1
nn.MultiheadAttention(4, 2, bias=False) :: b, c, c + 1
nn.MultiheadAttention(4, 2, dropout=0.1) :: b, c, c + 1
nn.TransformerEncoderLayer(4, 2, 8) :: b
nn.TransformerEncoderLayer(4, 2, 8, batch_first=True) :: b
nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0) :: b
nn.TransformerDecoderLayer(4, 2, 8) :: b, c
nn.TransformerDecoderLayer(4, 2, 8, batch_first=True) :: b, c
"""


def layer_lines() -> list[str]:
    """The patterns of layers: a constructor, ` :: `, and the arguments of the call."""
    return [line for line in LAYERS.splitlines() if line]

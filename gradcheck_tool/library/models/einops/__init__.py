"""einops: views where elements only change places, copies elsewhere, and reductions.

What shares memory with the tensor is what the pattern says: axes that are split or change places are views,
axes that are joined may be either.

## Example

```python
import torch
from einops import rearrange

weight = torch.ones(4, 4, requires_grad=True)
activations = (weight * 2).exp()
by_column = rearrange(activations, "row column -> column row")
by_column.mul_(0.5)
activations.sum().backward()  # <- GL201
```

```python
import torch
from einops import rearrange, reduce

weight = torch.ones(4, 4, requires_grad=True)
activations = (weight * 2).exp()
by_column = rearrange(activations, "row column -> column row") * 0.5
reduce(by_column, "column row -> column", "mean").sum().backward()
```

The last axes share the memory also where they are merged:

```python
import torch
from einops import rearrange

weight = torch.ones(2, 4, 3, 3, requires_grad=True)
query, key = (weight * 2).chunk(2, dim=1)
query = rearrange(query, "b c x y -> b (x y) c")
query *= 0.5  # <- GL204
(query @ rearrange(key, "b c x y -> b c (x y)")).sum().backward()
```

```python
import torch
from einops import rearrange

weight = torch.ones(2, 4, 3, 3, requires_grad=True)
query, key = (weight * 2).chunk(2, dim=1)
query = rearrange(query, "b c x y -> b (x y) c")
query = query * 0.5
(query @ rearrange(key, "b c x y -> b c (x y)")).sum().backward()
```
"""

import torch
from gradlint_model import computes, saves, view_of


def rearrange(tensor, pattern, **axes_lengths):
    if isinstance(tensor, (list, tuple)):
        tensor = torch.stack(tensor)
    return view_of(tensor) if _copies(pattern) else tensor.permute(torch.arange(tensor.dim()))


def _copies(pattern):
    """May axes be merged that do not lie next to each other? The last axes do, also in a part of a tensor."""
    left, _, right = pattern.partition("->")
    axes = " " + left.replace("(", " ").replace(")", " ").strip()
    group, _, rest = right.partition("(")[2].partition(")")
    return "(" in rest or not axes.endswith(" " + group.strip() if group.strip() else axes)


def reduce(tensor, pattern, reduction, **axes_lengths):
    if isinstance(tensor, (list, tuple)):
        tensor = torch.stack(tensor)
    return saves(tensor) if reduction == "prod" else computes(tensor)


def repeat(tensor, pattern, **axes_lengths):
    if isinstance(tensor, (list, tuple)):
        tensor = torch.stack(tensor)
    return view_of(tensor.expand(axes_lengths))


def einsum(*tensors_and_pattern):
    return saves(*tensors_and_pattern[:-1])


def pack(tensors, pattern):
    return torch.cat([view_of(tensor) for tensor in tensors]), [tensor.shape for tensor in tensors]


def unpack(tensor, packed_shapes, pattern):
    return [view_of(tensor[:]) for _ in packed_shapes]


def asnumpy(tensor):
    return tensor.numpy()


def parse_shape(x, pattern):
    return dict.fromkeys(pattern.split(), 1)

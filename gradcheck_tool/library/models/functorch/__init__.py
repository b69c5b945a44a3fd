"""functorch: the transforms that are in `torch.func` now.

## Example

```python
import torch
from functorch import grad

weight = torch.ones(3)
gradient = grad(lambda w: (w * w).sum())(weight)
```
"""

from torch.func import functional_call, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap

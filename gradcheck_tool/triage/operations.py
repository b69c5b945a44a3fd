"""What computes tensors from tensors for whoever calls it, judged by the name and the text of a function."""

from __future__ import annotations

import re

# What is called so prepares data, reports, computes gradients by hand, or is run where nothing is trained.
_NOT_TRAINED = re.compile(
    r"(?:^|_)(?:aug\w*|backward|bench\w*|box\w*|bbox\w*|bwd|check|collate|compare|convert|crop|dataset|decode|demo|draw|"
    r"eval\w*|export|flip|get_data|grads?|image|img|infer\w*|init\w*|iou|jitter|load\w*|main|make|metrics?|nms|plot|"
    r"post\w*|predict\w*|prepare|preprocess\w*|print|quantize|read|reset|sample|save|show|step|test|to_\w+|train\w*|"
    r"transform\w*|update|valid\w*|visual\w*|viz|vis|vjp|write)(?:_|$)"
)
# What leaves autograd, or handles it by hand.
_LEAVES = re.compile(
    r"\bnp\.|numpy|\.(?:item|tolist|cpu|data|detach|grad|backward|requires_grad_?)\b|no_grad|inference_mode|Parameter"
    r"|\bopen\(|\bprint\(|deepcopy|cv2|PIL"
)


def is_operation(name: str, text: str) -> bool:
    """Does a function that belongs to no class compute tensors from tensors, which layers may have computed?

    In a network it gets what requires a gradient, and what it returns is differentiated.
    """
    return "return " in text and _NOT_TRAINED.search(name) is None and _LEAVES.search(text) is None

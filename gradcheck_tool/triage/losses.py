"""What computes a loss, judged by names."""

from __future__ import annotations

import re

# What computes something to be minimised; what only reports it, or says that it has no gradient.
_LOSS = re.compile(
    r"(?:^|_)(?:loss(?:es)?|criterion|penalty|objective|nll|elbo|dice|focal|hinge|triplet|contrastive|divergence|"
    r"(?:info)?nce|\w*[dD]i(?:stance|vergence)|\w*xent|kl|kld|cross_entropy)(?:_|$)|(?:Loss|Criterion|Penalty)$"
)
_REPORTS = re.compile(
    r"(?:^|_)(?:get|eval\w*|val\w*|test|metrics?|log|plot|print|save|load|read|update|record|report|make|build|"
    r"create|init|show|track|early|average|avg|meter|fn|func|scal\w+|type|name|weights?|item|score|coef\w*|"
    r"train|step|backward|non_?diff\w*|not_diff\w*)(?:_|$)|_(?:grad|gradient|derivative)s?$"
)


def computes_loss(name: str, owner: str) -> bool:
    """Does a function compute a loss, by its name, or by that of its class for the call of an object?"""
    told = owner if owner and name in ("forward", "__call__") else name
    return _LOSS.search(told) is not None and _REPORTS.search(told) is None

"""Mistakes that fixes mend, put into right programs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

# What is written well, and what some people write.
MISTAKES = [
    (re.compile(pattern, re.MULTILINE), worse)
    for pattern, worse in (
        (r"clip_grad_norm_\(", "clip_grad_norm("),
        (r"\binit\.(\w+)_\(", r"init.\1("),
        (r"retain_graph=True", "retain_variables=True"),
        (r"reduction=['\"]sum['\"]", "size_average=False"),
        (r"reduction=['\"]none['\"]", "reduce=False"),
        (r"torch\.(?:amp\.)?autocast\(['\"]cuda['\"](?:, )?", "torch.cuda.amp.autocast("),
        (r"torch\.amp\.GradScaler\((?:['\"]cuda['\"])?(?:, )?", "torch.cuda.amp.GradScaler("),
        (r"ctx\.saved_tensors", "ctx.saved_variables"),
        (r"register_full_backward_hook\(", "register_backward_hook("),
        (r"use_reentrant=False", "use_reentrant=True"),
        (r"^[ \t]*[\w.]+\.zero_grad\((?:set_to_none=True)?\)[ \t]*\n", ""),
        (r"\.zero_grad\(\)", ".zero_grad"),
        (r"(optim\w*)\.step\(\)", r"\1.step"),
        (r"(\+= *[\w.]*loss\w*)\.(?:item|detach)\(\)", r"\1"),
        (r"(append\([\w.]*loss\w*)\.(?:item|detach)\(\)", r"\1"),
        (r"with torch\.no_grad\(\):", "with torch.no_grad:"),
        (r"\.requires_grad = False", ".require_grad = False"),
        (r"\.detach\(\)\.cpu\(\)\.numpy\(\)", ".cpu().numpy()"),
        (r"= (\w+)\.to\((?:self\.)?device\)", r"= torch.autograd.Variable(\1)"),
        (r"(loss\w*)\.(?:mean|sum)\(\)\.backward\(\)", r"\1.backward()"),
        (r"(\w+\.(?:cuda|detach))\(\)\n", r"\1\n"),
        (r"return (\w+)\.detach\(\)", r"return \1.detach_()"),
    )
]
MISTAKES_IN_FILE = 6


def with_mistakes(rng: Random, data: bytes, most: int = MISTAKES_IN_FILE) -> bytes:
    """A file with a few mistakes in it; as it is where there is no place for one."""
    text = data.decode("utf-8", "surrogateescape")
    places = [(match, worse) for good, worse in MISTAKES for match in good.finditer(text)]
    chosen = rng.sample(places, min(len(places), most))
    end = len(text)
    for match, worse in sorted(chosen, key=lambda place: -place[0].start()):
        if match.end() <= end:
            text = text[: match.start()] + match.expand(worse) + text[match.end() :]
            end = match.start()
    return text.encode("utf-8", "surrogateescape")

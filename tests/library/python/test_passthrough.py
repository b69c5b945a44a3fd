"""Functions of the standard library that give back what they are given."""

from __future__ import annotations

from tests.cases import check_agreement, each

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "what the standard library gives back may have a graph": """
import copy, functools, heapq, itertools, operator, queue, random
import torch
w = torch.ones(3, requires_grad=True)
def picked(losses):
    random.choice(losses).backward()
picked([w.sum()])
functools.reduce(operator.add, w.unbind()).backward()
random.choice([lambda x: (x * w).sum()])(w).backward()
heapq.nlargest(1, [(1.0, w.sum())])[0][1].backward()
first, second = itertools.tee([w.sum()])
next(first).backward()
operator.itemgetter(0)([w * 1]).sum().backward()
waiting = queue.Queue()
waiting.put(w * 2)
waiting.get().sum().backward()
""",
}


@each(PROGRAMS)
def test_model_and_pytorch_agree(program: str) -> None:
    check_agreement(program)

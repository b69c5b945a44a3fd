"""Executors of threads, and futures."""

from __future__ import annotations

from tests.cases import check_agreement, each

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "losses that threads compute from the same features": """
from concurrent.futures import ThreadPoolExecutor
import torch
w = torch.ones(3, requires_grad=True)
with ThreadPoolExecutor(max_workers=1) as pool:
    with torch.no_grad():
        recorded = pool.submit(lambda: (w * w).sum()).result()
    recorded.backward()
    features = w.exp()
    jobs = [pool.submit(torch.dot, features, torch.ones(3)) for _ in range(2)]
    for job in jobs:
        job.result().backward()  # raises
""",
    "what a thread raises is raised again by its future": """
from concurrent.futures import ThreadPoolExecutor, as_completed
import torch
w = torch.ones(3, requires_grad=True)
def twice():
    loss = w.exp().sum()
    loss.backward()
    loss.backward()
with ThreadPoolExecutor(max_workers=1) as pool:
    jobs = [pool.submit(twice)]
    for job in as_completed(jobs):
        try:
            job.result()
        except RuntimeError:
            pass
    for loss in pool.map(lambda scale: (w * scale).sum(), [1.0, 2.0]):
        loss.backward()
""",
    "a thread that never ends": """
from concurrent.futures import ThreadPoolExecutor
import os
import torch
w = torch.ones(3, requires_grad=True)
def watch():
    while True:
        print("watching")
if os.environ.get("NEVER_SET"):
    ThreadPoolExecutor(max_workers=1).submit(watch)
loss = w.exp().sum()
loss.backward()
loss.backward()  # raises
""",
}


@each(PROGRAMS)
def test_model_and_pytorch_agree(program: str) -> None:
    check_agreement(program)

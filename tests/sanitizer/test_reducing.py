"""What is told of gradients that DistributedDataParallel reduces, or does not."""

import sys

import pytest
import torch

from tests.sanitizer.programs import check_left_alone, check_told

pytestmark = pytest.mark.skipif(
    not torch.distributed.is_available() or sys.platform == "win32", reason="there is no process group"
)


def distributed(forward, backward):
    """A program of one process; what is given are the passes whose forward and backward are in `no_sync`."""
    # A reducer that is the last to hold the group may wait for ever: the group outlives the model.
    return f"""
        import contextlib
        import gc
        import torch.distributed as dist
        dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
        net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        try:
            for i in range(6):
                with net.no_sync() if {forward} else contextlib.nullcontext():
                    loss = net(torch.ones(4, 2)).sum()
                with net.no_sync() if {backward} else contextlib.nullcontext():
                    loss.backward()
                if i % 2:
                    optimizer.step()
                    optimizer.zero_grad()
        finally:
            net = optimizer = loss = None
            gc.collect()
            dist.destroy_process_group()
        """


PROGRAMS = {
    "applied without being reduced": (distributed("True", "True"), "GL820", [13, 15]),
    "reduced in no_sync()": (distributed("False", "True"), "GL811", [13]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_mistake_is_told(name):
    check_told(*PROGRAMS[name])


@pytest.mark.parametrize("where", ["i % 2 == 0", "False"])
def test_passes_that_reduce_at_the_end_of_a_window_are_left_alone(where):
    check_left_alone(distributed(where, where))

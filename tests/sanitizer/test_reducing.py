"""What is told of gradients that DistributedDataParallel reduces, or does not."""

import sys

import pytest
import torch

from tests.sanitizer.programs import check_left_alone, check_told

pytestmark = pytest.mark.skipif(
    not torch.distributed.is_available() or sys.platform == "win32", reason="there is no process group"
)


def distributed(forward, backward, made="pass", reduced="pass", called="net"):
    """A program of one process.

    What is given are the passes whose forward and backward are in `no_sync`, what is done once the wrapper is
    made, and before each step, and what is called.
    """
    # A reducer that is the last to hold the group may wait for ever: the group outlives the model.
    return f"""
        import contextlib
        import gc
        import torch.distributed as dist
        dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
        net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        {made}
        try:
            for i in range(6):
                with net.no_sync() if {forward} else contextlib.nullcontext():
                    loss = ({called})(torch.ones(4, 2)).sum()
                with net.no_sync() if {backward} else contextlib.nullcontext():
                    loss.backward()
                if i % 2:
                    {reduced}
                    optimizer.step()
                    optimizer.zero_grad()
        finally:
            net = optimizer = loss = None
            gc.collect()
            dist.destroy_process_group()
        """


PROGRAMS = {
    "applied without being reduced": (distributed("True", "True"), "GL820", [14, 17]),
    "hooks lost on the way to another type": (
        distributed("False", "False", made="net.double().float()"),
        "GL820",
        [14, 17],
    ),
    "called past the wrapper": (distributed("False", "False", called="net.module"), "GL820", [14, 17]),
    "called past the wrapper now and then": (
        distributed("False", "False", called="net if i < 2 else net.module"),
        "GL820",
        [14, 17],
    ),
    "reduced in no_sync()": (distributed("False", "True"), "GL811", [14]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_mistake_is_told(name):
    check_told(*PROGRAMS[name])


@pytest.mark.parametrize("where", ["i % 2 == 0", "False"])
def test_passes_that_reduce_at_the_end_of_a_window_are_left_alone(where):
    check_left_alone(distributed(where, where))


def test_what_the_program_reduces_itself_is_left_alone():
    reduced = "[dist.all_reduce(one.grad) for one in net.parameters()]"
    check_left_alone(distributed("True", "True", reduced=reduced))


def test_hooks_of_the_program_reduce_as_they_like():
    hook = "from torch.distributed.algorithms.ddp_comm_hooks.debugging_hooks import noop_hook as on; net.register_comm_hook(None, on)"
    check_left_alone(distributed("False", "False", made=hook))


def test_windows_whose_last_pass_reduces_are_left_alone():
    check_left_alone(distributed("False", "False", called="net if i % 2 else net.module"))

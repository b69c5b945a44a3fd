"""`--keep-going`: what PyTorch refuses is told, and the program comes to its end."""

import pytest

from tests.sanitizer.programs import raised_by, story, watched

# The program, which asserts what it goes on with, its code and the rows of the story.
PROGRAMS = {
    "changed": (
        """
        x = torch.zeros(3, requires_grad=True)
        y = x.exp()
        y.add_(1)
        y.sum().backward()
        assert x.grad.tolist() == [2, 2, 2]
        """,
        "GL201",
        [3, 4, 5],
    ),
    "detached": (
        """
        x = torch.zeros(3, requires_grad=True)
        y = x * 2
        z = y.cos()
        y.detach_()
        z.sum().backward()
        """,
        "GL210",
        [],
    ),
    "second backward": (
        """
        x = torch.zeros(3, requires_grad=True)
        y = x.exp()
        y.sum().backward()
        (2 * y).sum().backward()
        assert x.grad.tolist() == [3, 3, 3]
        """,
        "GL101",
        [3, 4, 5],
    ),
    "carried": (
        """
        state, w = torch.zeros(3), torch.ones(3, requires_grad=True)
        for _ in range(3):
            state = (state + w).tanh()
            state.sum().backward()
        """,
        "GL102",
        [4, 5],
    ),
    "no graph": (
        """
        x = torch.zeros(3, requires_grad=True)
        y = x.detach()
        y.sum().backward()
        assert x.grad is None
        """,
        "GL501",
        [3, 4],
    ),
    "unused input": (
        """
        x, z = torch.zeros(3, requires_grad=True), torch.ones(2, requires_grad=True)
        of_x, of_z = torch.autograd.grad(x.exp().sum(), [x, z])
        assert (of_x.tolist(), of_z.tolist()) == ([1, 1, 1], [0, 0])
        """,
        "GL801",
        [2, 3],
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_goes_on_and_the_mistake_is_told_with_pytorchs_text(name):
    text, code, rows = PROGRAMS[name]
    told, raised = watched(text, keep_going=True)
    assert raised is None
    assert [one.code for one in told] == [code]
    assert story(told[0]) == rows
    assert f"RuntimeError: {told[0].raised}" == raised_by(text)
    assert told[0].evidence["went_on"] == "yes"


def test_what_has_no_result_to_go_on_with_raises():
    text = "w = torch.ones(3, requires_grad=True)\nw.add_(1)"
    assert watched(text, keep_going=True)[1] == raised_by(text)


def test_right_programs_are_left_alone_and_their_graphs_are_freed():
    text = """
    import gc, weakref
    x = torch.zeros(3, requires_grad=True)
    y = x.exp()
    saved = weakref.ref(y)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    (slope,) = torch.autograd.grad(x.sin().sum(), x, create_graph=True)
    slope.sum().backward()
    assert torch.autograd.grad(x.exp().sum(), [x, torch.ones(2, requires_grad=True)], allow_unused=True)[1] is None
    del y
    gc.collect()
    assert saved() is None
    """
    assert watched(text, keep_going=True) == ([], None)

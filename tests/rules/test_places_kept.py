"""GL309: what a constructor only keeps a place for."""

from __future__ import annotations

from tests.open_programs import HEAD, check_quiet, told

BENCH = """
class Bench:
    def __init__(self, size):
        self.given = torch.randn(size, 3, requires_grad=True)
        self.grad = torch.randn([size, 3])
        self.out = torch.Tensor()
    def forward(self):
        self.out = self.given * 2.0
    def backward(self):
        self.given.grad = None
        self.out.backward(self.grad)
"""


def test_a_tensor_of_no_elements_keeps_the_place_of_another() -> None:
    check_quiet(BENCH)


def test_what_takes_the_place_has_its_size() -> None:
    program = HEAD + BENCH.replace("[size, 3]", "[size, 4]")
    assert [finding.code for finding in told(program)] == ["GL309"]

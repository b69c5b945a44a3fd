"""Which class an object is of, by its name and what is asked of it."""

from __future__ import annotations

from tests.open_programs import HEAD, Open, check_open, told

NAMED = Open(
    HEAD
    + """
class Embed(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(4, 3)

    def forward(self, ids):
        return self.table(ids)

class WordTagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(3, 3)
        self.state = torch.zeros(1, 3)

    def forward(self, x):
        self.state = self.cell(x, self.state)
        return self.state

def train(embed, word_tagger, optimizer, data):
    for ids in data:
        optimizer.zero_grad()
        word_tagger(embed(ids)).sum().backward()  # <- GL102
        optimizer.step()
""",
    "self.cell(x, self.state)",
    "self.cell(x, self.state.detach())",
    "tagger = WordTagger()\n"
    "train(Embed(), tagger, torch.optim.SGD(tagger.parameters(), 0.1), torch.ones(3, 1, dtype=int))",
    ("`embed` is a `Embed`", "`word_tagger` is a `WordTagger`"),
)


def test_an_argument_with_the_name_of_a_class_is_an_object_of_it() -> None:
    check_open(NAMED)


def test_a_class_that_cannot_be_called_so_is_not_meant() -> None:
    assert told(NAMED.wrong.replace("word_tagger(embed(ids))", "word_tagger(embed(ids), 1)")) == []


SUM = (
    HEAD
    + """
class SumModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))
        self.register_buffer("total", torch.zeros(1))

    def forward(self, x):
        x = x.sum()
        self.total = self.total + x
        return self.scale * x
"""
)
MADE = """
def build():
    return SumModule()
"""


def test_a_module_of_any_kind_that_the_file_makes_for_no_other_gets_data() -> None:
    assert [finding.code for finding in told(SUM)] == ["GL604"]
    assert told(SUM + MADE) == []


REVERSIBLE = (
    HEAD
    + """
class Repeated(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, *args):
        return self.net(*args)

class Block(nn.Module):
    def __init__(self, f, g):
        super().__init__()
        self.f, self.g = Repeated(f), Repeated(g)

    def forward(self, x):
        y = x + self.f(x)
        return y, x + self.g(y)

    def differentiate(self, y, grad):
        with torch.enable_grad():
            torch.autograd.backward(self.g(y.requires_grad_()), grad)

class Sequence(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.blocks = nn.ModuleList([Block(nn.Linear(3, 3), nn.Linear(3, 3)) for _ in range(depth)])

    def forward(self, x):
        for block in self.blocks:
            x, _ = block(x)
        return x
"""
)


def test_a_part_of_a_block_is_not_given_the_block() -> None:
    """Its result would be a pair, and `backward` would get one gradient for two."""
    assert told(REVERSIBLE) == []

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

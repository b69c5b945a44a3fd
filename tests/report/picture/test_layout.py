"""What a picture shows and where, whoever draws it."""

from gradcheck_tool.findings import Finding, Location, Position, Severity, TraceStep
from gradcheck_tool.report.picture.arrows import arrows
from gradcheck_tool.report.picture.layout import picture

MODEL = """\
class Net:
    def forward(self, x, mask=None):
        y = x.exp()
        if mask is None:
            return y
        else:
            y.mul_(mask)
        z = y
        return z
"""
TRAIN = """\
net = Net()
for x in data:
    loss = net(x, m).sum()
    loss.backward()
"""
FILES = {"/r/model.py": MODEL.split("\n"), "/r/train.py": TRAIN.split("\n")}


def lines(filename, cell):
    return FILES.get(filename, ())


def step(filename, row, text, message="m", kind="note", **facts):
    column = FILES[filename][row - 1].index(text) + 1
    place = Location(filename, Position(row, column), Position(row, column + len(text)))
    return TraceStep(place, message, kind, **facts)


SAVED = step("/r/model.py", 3, "x.exp()", "saves", "saved", tensor="x.exp()", storage=1, version=0)
CHANGED = step("/r/model.py", 7, "y.mul_(mask)", "changes", "changed", tensor="y", storage=1, version=1)
RAISED = step("/r/train.py", 4, "loss.backward()", "raises", "raised")


def found(*trace):
    return Finding("GL201", "inplace-on-saved", Severity.ERROR, "wrong", trace[-1].location, trace=trace)


def test_steps_are_numbered_and_branches_told_before_what_they_lead_to():
    drawn = picture(found(SAVED, CHANGED, RAISED), lines)
    assert [(one.label, one.step.kind, one.step.message) for one in drawn.steps] == [
        ("1", "saved", "saves"),
        ("1a", "branch", "`mask is None` does not hold"),
        ("2", "changed", "changes"),
        ("3", "raised", "raises"),
    ]
    assert [one.is_own for one in drawn.steps] == [True, False, True, True]


def test_steps_that_the_finding_does_not_name_leave_its_numbers_as_they_are():
    called = step("/r/train.py", 3, "net(x, m)", "calls `forward`", "called")
    others = [step("/r/model.py", 3, "x", f"also {count}", "alias") for count in range(28)]
    told = picture(found(SAVED, CHANGED, RAISED), lines, [called, SAVED, *others, CHANGED, RAISED]).steps
    labels = [one.label for one in told]
    assert labels[:4] == ["a", "1", "1a", "1b"]
    assert labels[26:] == ["1y", "1z", "1aa", "1ab", "1ac", "2", "3"]
    assert [one.label for one in told if one.is_own] == ["1", "2", "3"]


def test_a_step_that_happens_twice_has_both_its_numbers():
    told = picture(found(SAVED, CHANGED, SAVED, RAISED), lines, [SAVED, CHANGED, SAVED, RAISED]).steps
    assert [one.label for one in told if one.is_own] == ["1", "2", "3", "4"]


def test_source_has_what_leads_to_the_steps_and_each_file_by_itself():
    drawn = picture(found(SAVED, CHANGED, RAISED), lines)
    assert [(row.kind, row.number) for row in drawn.rows] == [
        ("file", 0),
        *[("source", number) for number in (1, 2, 3, 4)],
        ("gap", 0),
        ("source", 7),
        ("file", 0),
        ("source", 2),
        ("source", 3),
        ("source", 4),
    ]
    marked = {row.number: row.marks for row in drawn.rows if row.location.filename == "/r/model.py"}
    assert [(mark.labels, mark.is_finding) for mark in marked[3]] == [(("1",), False)]
    assert drawn.rows[-1].marks[0].is_finding


def test_arrows_join_the_rows_of_the_steps_in_order():
    drawn = picture(found(SAVED, CHANGED, RAISED), lines)
    rows = [drawn.rows[arrow.start].number for arrow in drawn.arrows]
    assert [*rows, drawn.rows[drawn.arrows[-1].end].number] == [3, 4, 7, 4]


def test_files_that_cannot_be_read_any_more_leave_the_timeline():
    drawn = picture(found(SAVED, CHANGED, RAISED), lambda *_: ())
    assert drawn.rows == ()
    assert drawn.arrows == ()
    assert [lane.kind for lane in drawn.lanes] == ["storage", "node"]


def test_a_finding_without_a_story_shows_its_line():
    alone = Finding("GL901", "old", Severity.INFO, "old", SAVED.location)
    drawn = picture(alone, lines)
    assert [row.number for row in drawn.rows] == [1, 2, 3]
    assert drawn.steps == ()
    assert drawn.rows[-1].marks[0].labels == ()


def test_columns_of_characters_beside_ascii_are_counted_in_characters():
    files = {"/r/a.py": ["if größe: über(größe)"]}
    place = Location("/r/a.py", Position(1, 11), Position(1, 22))
    drawn = picture(found(TraceStep(place, "m")), lambda name, _: files[name])
    (branch, _) = drawn.steps
    assert branch.step.message == "`größe` holds"
    assert (branch.step.location.start.column, branch.step.location.end.column) == (4, 9)


def test_arrows_that_overlap_have_columns_of_their_own():
    joined = arrows([1, 5, 3, 9])
    assert [(one.start, one.end) for one in joined] == [(1, 5), (5, 3), (3, 9)]
    assert len({one.column for one in joined}) == 3
    assert [one.column for one in arrows([1, 2, 4, 5])] == [0, 1, 0]
    assert arrows([3, 3]) == []

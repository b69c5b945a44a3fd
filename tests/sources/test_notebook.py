"""Notebooks as one program, and edits written back."""

import json

import nbformat
import pytest

from gradcheck_tool.findings import Location, Position
from gradcheck_tool.sources.errors import SourceError
from gradcheck_tool.sources.notebook import parse_notebook


def code(source, **extra):
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": source,
        **extra,
    }


def markdown(source):
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def notebook(*cells, metadata=None, **style):
    document = {"cells": list(cells), "metadata": metadata or {}, "nbformat": 4, "nbformat_minor": 4}
    return (json.dumps(document, **{"indent": 1, "ensure_ascii": False, **style}) + "\n").encode()


def program(*sources):
    return parse_notebook(notebook(*map(code, sources))).program


def test_cells_are_one_program_in_order():
    parsed = parse_notebook(
        notebook(markdown("# T"), code(["a = 1\n", "b = 2"]), markdown("x"), code("c = 3\n"))
    )
    assert parsed.program == "a = 1\nb = 2\nc = 3\n"
    assert [(cell.number, cell.row) for cell in parsed.cells] == [(2, 1), (4, 3)]


def test_places_are_rows_of_cells():
    parsed = parse_notebook(notebook(markdown("# T"), code("a = 1\nb = 2"), code("c = 3\nd = 4")))
    placed = parsed.place(Location("n.ipynb", Position(4, 2), Position(4, 5)))
    assert placed == Location("n.ipynb", Position(2, 2), Position(2, 5), cell=3)


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("a = 1\nf(a)", True),
        ("a = 1\nf(a)  # two\n\n# done\n", True),
        ("a = 1\nf(a);", False),
        ("a = 1\nf(a)\na = 2", False),
        ("a = 1\nf(a)\n!ls", False),
    ],
)
def test_the_expression_that_ends_a_cell_is_shown(source, shown):
    parsed = parse_notebook(notebook(code("b = 3"), code(source), code("c = 3")))
    assert parsed.shows(Location("n.ipynb", Position(3, 1), Position(3, 5))) is shown


def test_an_inner_expression_is_not_shown():
    parsed = parse_notebook(notebook(code("for a in b:\n  f(a)")))
    assert not parsed.shows(Location("n.ipynb", Position(2, 3), Position(2, 7)))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("%matplotlib inline\nx = 1", "0\nx = 1\n"),
        ("!pip install torch\nx = 1", "0\nx = 1\n"),
        ("if a:\n    !ls -l\n    b = 1", "if a:\n    0\n    b = 1\n"),
        ("!pip install \\\n   torch\nx = 1", "0\n\nx = 1\n"),
        ("files = !ls\nt = %timeit -o f()", "files = get_ipython()\nt = get_ipython()\n"),
        ("model?\nx = 1", "0\nx = 1\n"),
        ("?torch.add\ntorch.add??", "0\n0\n"),
        ("pip install torch\nx = 1", "0\nx = 1\n"),
        ("%%time\ny = f(x)", "\ny = f(x)\n"),
        ("%time y = 1\nx = (1\n  % 2)\ns = '''\n%s\n!no\n'''", "0\nx = (1\n  % 2)\ns = '''\n%s\n!no\n'''\n"),
        ("x = await f()", "x = await f()\n"),
        ("plt.show();", "plt.show();\n"),
        ("ls = [1]\nls -= 1", "ls = [1]\nls -= 1\n"),
    ],
)
def test_what_is_not_python_is_blanked_and_rows_stay(source, expected):
    assert program(source) == expected


@pytest.mark.parametrize(
    "source", ["%%bash\nls", "%%html\n<b>", "%%writefile a.py\nimport torch", "%%javascript\nx"]
)
def test_cells_in_other_languages_are_left_out(source):
    assert program("a = 1", source, "b = 2") == "a = 1\nb = 2\n"


def test_a_broken_cell_may_do_anything_with_what_it_names_and_is_reported():
    parsed = parse_notebook(notebook(code("a = 1"), code("def f(:\n  x, y = <YOUR CODE>"), code("b = 2")))
    known = "f = x = y = get_ipython(f, x, y, YOUR, CODE)\n\n"
    assert parsed.program == f"a = 1\n{known}b = 2\n"
    assert parsed.broken == (2,)


@pytest.mark.parametrize(
    ("source", "bound"),
    [("x == 1 =", ""), ("x += ?", "x = "), ("  a, b : ...", ""), ("x[0] = ?", ""), ("x = y = ?", "x = ")],
)
def test_what_a_broken_cell_binds_is_unknown(source, bound):
    assert program(source).startswith(f"{bound}get_ipython(")


@pytest.mark.parametrize("newer", ['f"{d["a"]}"', "type X = int", 't"{x}"'])
def test_a_cell_in_newer_python_than_this_one_is_kept(newer):
    parsed = parse_notebook(notebook(code(f"%time\n{newer}")))
    assert parsed.program == f"0\n{newer}\n"
    assert parsed.broken == ()


@pytest.mark.parametrize(
    "metadata", [{"kernelspec": {"language": "R"}}, {"language_info": {"name": "julia"}, "kernelspec": {}}]
)
def test_notebooks_in_other_languages_have_no_program(metadata):
    assert parse_notebook(notebook(code("x <- 1"), metadata=metadata)).program == ""


def test_a_cell_with_another_language_in_the_editor_is_left_out():
    cell = code("SELECT 1", metadata={"vscode": {"languageId": "sql"}})
    assert parse_notebook(notebook(cell, code("a = 1"))).program == "a = 1\n"


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"cells": 3}', b"\xff\xfe", b"not json"])
def test_what_is_no_notebook_is_an_error(data):
    with pytest.raises(SourceError, match="is not a notebook"):
        parse_notebook(data)


def test_an_error_about_an_old_format_says_how_to_convert_the_notebook():
    with pytest.raises(SourceError, match="nbconvert"):
        parse_notebook(b'{"nbformat": 3, "worksheets": [{"cells": []}]}')


STYLES = [{"indent": 1}, {"indent": 4}, {"indent": None}, {"ensure_ascii": True}, {"separators": (",", ":")}]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("listed", [True, False])
def test_an_edited_cell_changes_and_no_other_byte_does(style, listed):
    def build(text):
        output = {"output_type": "stream", "name": "stdout", "text": ["é\n", "\\u00e9"]}
        return notebook(
            markdown(["# ü\n"]),
            code(text.splitlines(keepends=True) if listed else text, outputs=[output], execution_count=7),
            code("b = 'source'"),
            metadata={"kernelspec": {"language": "python"}, "source": "a trap"},
            **style,
        )

    before = build("%matplotlib inline\na = 1\nprint(a)")
    parsed = parse_notebook(before)
    changed = "%matplotlib inline\na = 2\nb = 'ö'\nprint(a)"
    assert parsed.with_sources({}).encode() == before
    assert parsed.with_sources({2: changed}).encode() == build(changed)


def test_two_cells_of_different_styles_are_edited_at_once():
    parsed = parse_notebook(notebook(code("a = 1"), code(["b = 1\n", "c = 1"])))
    edited = json.loads(parsed.with_sources({1: "a = 22", 2: "b = 22\nc = 22\n"}))
    assert [cell["source"] for cell in edited["cells"]] == ["a = 22", ["b = 22\n", "c = 22\n"]]
    nbformat.validate(nbformat.from_dict(edited))


def test_windows_line_ends_and_a_missing_last_one_stay():
    data = notebook(code("a = 1")).replace(b"\n", b"\r\n").rstrip()
    assert parse_notebook(data).with_sources({}).encode() == data


def test_a_byte_order_mark_stays():
    data = b"\xef\xbb\xbf" + notebook(code("a = 1"), ensure_ascii=True)
    parsed = parse_notebook(data)
    assert parsed.program == "a = 1\n"
    assert parsed.with_sources({1: "a = 'ö'"}).encode() == data.replace(b"a = 1", b"a = '\\u00f6'")

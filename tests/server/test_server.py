"""The language server, as an editor sees it."""

import asyncio
import json

import pytest
from lsprotocol import types

from gradcheck_tool.links import rule_link
from tests.server.editor import changed, editor
from tests.server.long_program import HEAD as LONG_HEAD
from tests.server.long_program import LONG, TAIL

HEAD = "import torch\n\nx = torch.ones(3, requires_grad=True)\ny = x.exp()\n"
WRONG = f"{HEAD}y.mul_(2)\ny.sum().backward()\n"
RIGHT = f"{HEAD}y.sum().backward()\n"
OLD = "import torch\n" + "".join(
    f"""

class {name}(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_variables
        return grad * 2 * torch.ones_like(x)
"""
    for name in ("One", "Two")
)


@pytest.fixture
def root(tmp_path):
    (tmp_path / "gradlint.toml").write_text("")
    return tmp_path


def run(*roots, **options):
    """Run what a test does with an editor."""

    def decorate(test):
        async def whole():
            async with editor(*roots, **options) as client:
                await test(client)

        asyncio.run(whole())

    return decorate


def test_diagnostics_follow_what_is_typed_and_is_not_saved(root):
    (root / "a.py").write_text(RIGHT)

    @run(root)
    async def _(client):
        uri = client.open(root / "a.py", RIGHT)
        assert await client.codes(uri) == []
        assert await client.codes(uri, client.change(uri, WRONG)) == ["GL201"]
        # While it is no program, what was found stays.
        assert await client.codes(uri, client.change(uri, f"{WRONG}if x.")) == ["GL201"]
        assert await client.codes(uri, client.change(uri, RIGHT)) == []


def test_a_first_answer_comes_before_all_is_known_and_nothing_flickers(root):
    @run(root)
    async def _(client):
        def shown():
            return [[one.code for one in params.diagnostics] for params in client.history]

        uri = client.open(root / "a.py", LONG)
        assert await client.first_answer(uri) == []
        (found,) = await client.answer(uri)
        before = len(client.history)
        longer = f"import os\n{LONG}"
        (first,) = await client.first_answer(uri, client.change(uri, longer))
        assert first.range.start.line == found.range.start.line + 1
        assert await client.answer(uri, 2) == [first]
        # What takes the mistake away takes its diagnostic away at once.
        assert (
            await client.first_answer(uri, client.change(uri, LONG.replace("    y.mul_(2)", "    pass")))
            == []
        )
        assert await client.answer(uri, 3) == []
        assert shown()[before:] == [["GL201"], ["GL201"], [], []]


def test_an_editor_that_does_not_wait_gets_the_last_word(root):
    """Each key comes when the first answer to the one before is there, while its check goes on."""

    @run(root)
    async def _(client):
        uri = client.open(root / "a.py", LONG_HEAD)
        for end in range(0, len(TAIL) + 1, 9):
            version = client.change(uri, LONG_HEAD + TAIL[:end])
            await client.first_answer(uri, version)
        assert await client.codes(uri, client.change(uri, LONG)) == ["GL201"]


def test_a_diagnostic_tells_the_story(root):
    @run(root)
    async def _(client):
        uri = client.open(root / "new.py", WRONG)
        (found,) = await client.answer(uri)
        assert (found.source, found.code, found.severity) == (
            "gradlint",
            "GL201",
            types.DiagnosticSeverity.Error,
        )
        assert found.code_description.href == rule_link("GL201")
        assert found.range == types.Range(types.Position(5, 0), types.Position(5, 18))
        assert "predicts: one of the variables" in found.message
        told = [
            (one.location.uri, one.location.range.start.line, one.message)
            for one in found.related_information
        ]
        assert [(place, row) for place, row, _ in told] == [(uri, 3), (uri, 4), (uri, 5)]
        assert told[0][2] == "1: `x.exp()` saves its result here"


def test_a_program_that_was_never_saved(root):
    @run(root)
    async def _(client):
        assert await client.codes(client.open("untitled:Untitled-1", WRONG)) == ["GL201"]


def test_characters_are_counted_as_the_editor_counts_them(root):
    text = WRONG.replace("y.mul_(2)", '"😀"; y.mul_(2)')

    @run(root)
    async def _(client):
        (found,) = await client.answer(client.open(root / "a.py", text))
        assert found.related_information[1].location.range.start.character == 6

    @run(root, encodings=[types.PositionEncodingKind.Utf32])
    async def _(client):
        (found,) = await client.answer(client.open(root / "a.py", text))
        assert found.related_information[1].location.range.start.character == 5


def test_what_another_open_file_says_counts(root):
    (root / "net.py").write_text("def spoil(y):\n    return y\n")
    text = "from net import spoil\n" + HEAD + "spoil(y)\ny.sum().backward()\n"
    (root / "train.py").write_text(text)

    @run(root)
    async def _(client):
        train = client.open(root / "train.py", text)
        assert await client.codes(train) == []
        net = client.open(root / "net.py", "def spoil(y):\n    y.mul_(2)\n    return y\n")
        await client.until(lambda: client.told[train].diagnostics)
        client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(net)))
        client.workspace_did_change_watched_files(
            types.DidChangeWatchedFilesParams([types.FileEvent(net, types.FileChangeType.Changed)])
        )
        await client.until(lambda: not client.told[train].diagnostics)


def test_each_root_has_its_configuration_and_they_are_read_again(root):
    first, second = root / "one", root / "two"
    for folder in (first, second):
        folder.mkdir()
        (folder / "a.py").write_text(WRONG)
    (first / "gradlint.toml").write_text('ignore = ["GL201"]')
    (second / "gradlint.toml").write_text("")

    @run(first, second)
    async def _(client):
        one, two = (client.open(folder / "a.py", WRONG) for folder in (first, second))
        assert (await client.codes(one), await client.codes(two)) == ([], ["GL201"])
        await client.until(lambda: types.WORKSPACE_DID_CHANGE_WATCHED_FILES in client.registered)
        (first / "gradlint.toml").write_text("")
        event = types.FileEvent((first / "gradlint.toml").as_uri(), types.FileChangeType.Changed)
        client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
        await client.until(lambda: client.told[one].diagnostics)


def test_settings_of_the_editor_and_what_cannot_be_used(root):
    @run(root, options={"ignore": ["GL201"]})
    async def _(client):
        uri = client.open(root / "a.py", WRONG)
        assert await client.codes(uri) == []
        client.workspace_did_change_configuration(
            types.DidChangeConfigurationParams({"gradlint": {"ignore": []}})
        )
        await client.until(lambda: client.told[uri].diagnostics)
        (root / "gradlint.toml").write_text("nonsense = 1")
        event = types.FileEvent((root / "gradlint.toml").as_uri(), types.FileChangeType.Changed)
        client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
        await client.until(lambda: any("nonsense" in message for message in client.messages))


def test_fixes_suppressions_and_all_fixes_at_once(root):
    @run(root)
    async def _(client):
        uri = client.open(root / "a.py", OLD)
        found = await client.answer(uri)
        assert len(found) == 2
        actions = await client.actions(uri, found[0])
        titles = [action.title for action in actions]
        fix, suppress = actions[:2]
        assert titles[1:] == ["GL902: suppress it here, and say why", "Make all safe fixes of gradlint"]
        assert fix.is_preferred
        (document,) = suppress.edit.document_changes
        assert document.text_document.version == 1
        assert "# gradlint: ignore[GL902] say why" in changed(OLD, document.edits)
        assert await client.codes(uri, client.change(uri, changed(OLD, document.edits))) == ["GL902"]

        found = await client.answer(uri, client.change(uri, OLD))
        (everything,) = await client.actions(uri, found[0], only=["source.fixAll"])
        assert everything.edit is None
        resolved = await client.code_action_resolve_async(everything)
        (document,) = resolved.edit.document_changes
        text = changed(OLD, document.edits)
        assert "saved_variables" not in text
        assert await client.codes(uri, client.change(uri, text)) == []


def test_unsafe_fixes_are_marked(root):
    text = """\
import torch

model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(9):
    loss = model(torch.ones(2, 3)).sum()
    loss.backward()
    optimizer.step()
"""

    @run(root)
    async def _(client):
        uri = client.open(root / "a.py", text)
        (found,) = await client.answer(uri)
        fix, _ = await client.actions(uri, found)
        assert fix.title == "GL401: Clear the gradients before backward (unsafe: read it before you keep it)"
        assert not fix.is_preferred


def test_hover_has_the_page_of_the_rule(root):
    @run(root)
    async def _(client):
        uri = client.open(root / "a.py", WRONG)
        await client.answer(uri)
        document = types.TextDocumentIdentifier(uri)
        hover = await client.text_document_hover_async(types.HoverParams(document, types.Position(5, 4)))
        for part in ("GL201", "## Why it is wrong", "## Use instead"):
            assert part in hover.contents.value
        assert (
            await client.text_document_hover_async(types.HoverParams(document, types.Position(0, 1))) is None
        )


def notebook(root):
    """A notebook on disk that is empty yet."""
    path = root / "nb.ipynb"
    path.write_text(json.dumps({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    return path


def test_all_fixes_of_a_notebook_at_once(root):
    cells = [
        "import torch\nw = [torch.ones(2, requires_grad=True)]",
        "# words",
        "%matplotlib inline\ntorch.nn.utils.clip_grad_norm(w, 1.0)\n",
        "print('ü')",
        "loss = torch.nn.L1Loss(size_average=False)",
    ]

    @run(root)
    async def _(client):
        addresses = client.open_notebook(notebook(root), cells)
        (found,) = await client.answer(addresses[2])
        assert await client.actions(addresses[2], found, only=["source.fixAll"]) == []
        # Editors ask at any cell.
        (everything,) = await client.actions(addresses[3], found, only=["notebook.source.fixAll"])
        resolved = await client.code_action_resolve_async(everything)
        fixed = {each.text_document.uri: each.edits for each in resolved.edit.document_changes}
        assert {uri: changed(cells[addresses.index(uri)], edits) for uri, edits in fixed.items()} == {
            addresses[2]: "%matplotlib inline\ntorch.nn.utils.clip_grad_norm_(w, 1.0)\n",
            addresses[4]: 'loss = torch.nn.L1Loss(reduction="sum")',
        }


def test_cells_of_a_notebook(root):
    cells = [HEAD, "y.mul_(2)", "# no code", "y.sum().backward()"]
    path = notebook(root)

    @run(root)
    async def _(client):
        addresses = client.open_notebook(path, cells)
        (found,) = await client.answer(addresses[3])
        assert found.code == "GL201"
        assert [one.location.uri for one in found.related_information] == [
            addresses[0],
            addresses[1],
            addresses[3],
        ]
        (suppress,) = await client.actions(addresses[3], found)
        (document,) = suppress.edit.document_changes
        assert document.text_document.uri == addresses[3]

        change = types.NotebookDocumentChangeEvent(
            cells=types.NotebookDocumentCellChanges(
                text_content=[
                    types.NotebookDocumentCellContentChanges(
                        types.VersionedTextDocumentIdentifier(2, addresses[1]),
                        [types.TextDocumentContentChangeWholeDocument("pass")],
                    )
                ]
            )
        )
        client.notebook_document_did_change(
            types.DidChangeNotebookDocumentParams(
                types.VersionedNotebookDocumentIdentifier(2, path.as_uri()), change
            )
        )
        await client.until(lambda: not client.told[addresses[3]].diagnostics)


def test_lenses_over_functions(root):
    text = "import torch\n\n\nclass Double(torch.autograd.Function):\n    pass\n"
    (root / "ops.py").write_text(text)

    @run(root)
    async def _(client):
        uri = client.open(root / "ops.py", text)
        await client.answer(uri)
        document = types.TextDocumentIdentifier(uri)
        (lens,) = await client.text_document_code_lens_async(types.CodeLensParams(document))
        assert (lens.range.start.line, lens.command.title) == (3, "not checked by gradcheck yet")


def test_closing_a_document_takes_its_diagnostics_away(root):
    @run(root)
    async def _(client):
        uri = client.open(root / "a.py", WRONG)
        assert await client.codes(uri) == ["GL201"]
        client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))
        await client.until(lambda: not client.told[uri].diagnostics)


def test_questions_are_answered_while_a_check_is_at_work(root):
    """Many changes at once: the last is answered, and not all before it are."""

    @run(root)
    async def _(client):
        uri = client.open(root / "a.py", WRONG)
        await client.answer(uri)
        for count in range(60):
            last = client.change(uri, f"{WRONG}z = {count}\n")
        assert await client.codes(uri, last) == ["GL201"]
        answered = {params.version for params in client.history if params.uri == uri}
        assert len(answered) < 60

"""An editor, as far as a language server can tell: pygls' own client over the streams of a real process."""

from __future__ import annotations

import asyncio
import sys
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.lsp.client import LanguageClient

from gradcheck_tool.server.app import CHECKED

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

# Seconds after which an answer is missing. Nothing is measured against it.
PATIENCE = 120.0
ROOT = Path(__file__).parents[2]


class Editor(LanguageClient):
    """Opens and changes documents, and waits for what is said of them."""

    def __init__(self) -> None:
        super().__init__("tests", "0")
        self.told: dict[str, types.PublishDiagnosticsParams] = {}
        self.history: list[types.PublishDiagnosticsParams] = []
        self.messages: list[str] = []
        self.registered: list[str] = []
        self.checked: dict[str, int | None] = {}
        self._heard = asyncio.Event()
        self._versions: dict[str, int] = {}

        @self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def on_diagnostics(params: types.PublishDiagnosticsParams) -> None:
            self.told[params.uri] = params
            self.history.append(params)
            self._heard.set()

        @self.feature(CHECKED)
        def on_checked(params: Any) -> None:
            self.checked |= {one.uri: one.version for one in params.documents}
            self._heard.set()

        @self.feature(types.WINDOW_SHOW_MESSAGE)
        def on_message(params: types.ShowMessageParams) -> None:
            self.messages.append(params.message)
            self._heard.set()

        @self.feature(types.CLIENT_REGISTER_CAPABILITY)
        def on_register(params: types.RegistrationParams) -> None:
            self.registered += [one.method for one in params.registrations]
            self._heard.set()

    async def until(self, what: Any) -> Any:
        """Wait until something holds of what was heard; its value."""
        deadline = time.monotonic() + PATIENCE
        while not (value := what()):
            self._heard.clear()
            await asyncio.wait_for(self._heard.wait(), max(0.01, deadline - time.monotonic()))
        return value

    def open(self, path: Path | str, text: str) -> str:
        """Open a document; its address."""
        uri = path if isinstance(path, str) else path.as_uri()
        self._versions[uri] = 1
        item = types.TextDocumentItem(uri, "python", 1, text)
        self.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return uri

    def open_notebook(self, path: Path, cells: Sequence[str]) -> list[str]:
        """Open a notebook, in which what begins with `#` is words; the addresses of its cells."""
        addresses = [f"vscode-notebook-cell://nb#{number}" for number in range(len(cells))]
        kinds = [
            types.NotebookCellKind.Markup if text.startswith("#") else types.NotebookCellKind.Code
            for text in cells
        ]
        notebook = types.NotebookDocument(
            uri=path.as_uri(),
            notebook_type="jupyter-notebook",
            version=1,
            cells=[types.NotebookCell(kind, address) for kind, address in zip(kinds, addresses, strict=True)],
        )
        documents = [
            types.TextDocumentItem(address, "python", 1, text)
            for address, text in zip(addresses, cells, strict=True)
            if not text.startswith("#")
        ]
        self.notebook_document_did_open(types.DidOpenNotebookDocumentParams(notebook, documents))
        return addresses

    def change(self, uri: str, text: str) -> int:
        """Give a document another text; its version."""
        self._versions[uri] += 1
        document = types.VersionedTextDocumentIdentifier(version=self._versions[uri], uri=uri)
        whole = types.TextDocumentContentChangeWholeDocument(text)
        self.text_document_did_change(types.DidChangeTextDocumentParams(document, [whole]))
        return self._versions[uri]

    async def answer(self, uri: str, version: int = 1) -> list[types.Diagnostic]:
        """What is said of a version of a document when all is known."""
        await self.until(lambda: self.checked.get(uri) == version)
        return [*self.told[uri].diagnostics]

    async def first_answer(self, uri: str, version: int = 1) -> list[types.Diagnostic]:
        """What is said first of a version of a document."""

        def told() -> list[types.PublishDiagnosticsParams]:
            return [one for one in self.history if (one.uri, one.version) == (uri, version)]

        return [*(await self.until(told))[0].diagnostics]

    async def codes(self, uri: str, version: int = 1) -> list[str]:
        """The codes of what is said of a version of a document."""
        return [str(one.code) for one in await self.answer(uri, version)]

    async def actions(
        self, uri: str, diagnostic: types.Diagnostic, only: Sequence[str] | None = None
    ) -> list[types.CodeAction]:
        """What can be done at a place."""
        context = types.CodeActionContext([diagnostic], only=only and [*only])
        document = types.TextDocumentIdentifier(uri)
        found = await self.text_document_code_action_async(
            types.CodeActionParams(document, diagnostic.range, context)
        )
        return [one for one in found or [] if isinstance(one, types.CodeAction)]


@asynccontextmanager
async def editor(
    *roots: Path, options: Any = None, encodings: Sequence[types.PositionEncodingKind] = ()
) -> AsyncIterator[Editor]:
    """An editor with these folders, and a server that has begun; both end with the block."""
    client = Editor()
    command = [sys.executable, "-m", "gradcheck_tool", "server"]
    await client.start_io(*command, cwd=str(ROOT))
    watching = types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True)
    able = types.ClientCapabilities(
        workspace=types.WorkspaceClientCapabilities(did_change_watched_files=watching),
        general=types.GeneralClientCapabilities(position_encodings=[*encodings] or None),
    )
    folders = [types.WorkspaceFolder(root.as_uri(), root.name) for root in roots]
    asked = types.InitializeParams(
        capabilities=able, workspace_folders=folders, initialization_options=options, process_id=None
    )
    await client.initialize_async(asked)
    client.initialized(types.InitializedParams())
    try:
        yield client
    finally:
        await asyncio.wait_for(client.shutdown_async(None), PATIENCE)
        client.exit(None)
        await asyncio.wait_for(client.stop(), PATIENCE)


def changed(text: str, edits: Sequence[types.TextEdit]) -> str:
    """A text of ASCII characters after some edits."""
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def at(position: types.Position) -> int:
        return starts[min(position.line, len(lines))] + position.character

    for edit in sorted(edits, key=lambda one: at(one.range.start), reverse=True):
        text = text[: at(edit.range.start)] + edit.new_text + text[at(edit.range.end) :]
    return text

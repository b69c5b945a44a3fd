"""The language server: what the editor says and asks, and what it is told. Nothing here takes long."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from gradcheck_tool import __version__
from gradcheck_tool.config import FILE_NAMES
from gradcheck_tool.server.actions import FIX_ALL, FIX_NOTEBOOK, actions, fix_all, rewritten
from gradcheck_tool.server.diagnostics import by_document, diagnostic
from gradcheck_tool.server.documents import Places, Program, programs
from gradcheck_tool.server.engine import Engine
from gradcheck_tool.server.found import Found
from gradcheck_tool.server.tasks import Answer, Check, FixAll, Forget, Lenses, Page, Reload, Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.findings import Finding

_NOTEBOOKS = types.NotebookDocumentSyncOptions(
    [types.NotebookDocumentFilterWithCells(cells=[types.NotebookCellLanguage("python")])]
)
# What the editor is told once no more findings follow for these versions of documents.
CHECKED = "$/gradlint/checked"
# Seconds without a change after which other files that are open are checked with what has changed.
_QUIET = 1.0


class Server(LanguageServer):
    """Keeps what was found of each open program, and tells the editor where it has changed."""

    def __init__(self) -> None:
        super().__init__("gradlint", __version__, notebook_document_sync=_NOTEBOOKS)
        self.engine = Engine()
        self._found: dict[Path, Found] = {}
        self._told: dict[str, list[Finding]] = {}
        self._pages: dict[str, str] = {}
        self._said: set[str] = set()
        self._known: set[Path] = set()
        self._later: asyncio.TimerHandle | None = None

    # -- what is open ------------------------------------------------------------------------------

    def programs(self) -> dict[str, Program]:
        """All open programs, by the addresses of their documents."""
        folders = [folder for uri in self.workspace.folders if (folder := _path(uri)) is not None]
        return programs(self.workspace, folders[0] if folders else Path.cwd())

    def check(self, uri: str, *, is_change: bool = True) -> None:
        """Check the program that a document is of, and later the others that are open."""
        program = self.programs().get(uri)
        if program is None:
            return
        self._known.add(program.path)
        task = Check(self.engine.number(), program.root, program.path, program.text, program.unnamed)
        loop = asyncio.get_running_loop()
        then = lambda answer: loop.call_soon_threadsafe(self._on_answer, program, answer)  # noqa: E731
        self.engine.check(task, then, is_urgent=is_change)
        if is_change:
            self._check_others_later(loop, program)

    def check_all(self, but: Path | None = None) -> None:
        """Check everything that is open."""
        for program in dict.fromkeys(self.programs().values()):
            if program.path != but:
                self.check(program.uri, is_change=False)

    def _check_others_later(self, loop: asyncio.AbstractEventLoop, program: Program) -> None:
        if self._later is not None:
            self._later.cancel()
        self._later = loop.call_later(_QUIET, self.check_all, program.path)

    def close(self, uris: set[str]) -> None:
        """Documents are closed: nothing is told any more of what was found in them, or by them."""
        still = {program.path for program in self.programs().values()}
        for path in self._known - still:
            self.engine.forget(Forget(0, path.parent, path))
            self._found.pop(path, None)
        self._known &= still
        self._publish(uris)

    def changed_on_disk(self, paths: Sequence[Path]) -> None:
        """Read files anew that something else has written, or configurations."""
        if any(path.name in FILE_NAMES for path in paths):
            self.reload()
            return
        opened = {program.path for program in self.programs().values()}
        others = [path for path in paths if path not in opened]
        for path in others:
            self.engine.forget(Forget(0, path.parent, path))
        if others:
            self.check_all()

    def warm_up(self) -> None:
        """Have rules and models loaded before the first text asks for them."""
        root = next(filter(None, map(_path, self.workspace.folders)), Path.cwd())
        text = "import torch\n\ntorch.ones(1, requires_grad=True).sum().backward()\n"
        warm = Check(self.engine.number(), root, root / "untitled-warm-up.py", text, unnamed=True)
        self.engine.ask(warm, lambda _: None)

    def reload(self, settings: Settings | None = None) -> None:
        """Read configurations anew, and check everything that is open with them."""
        self.engine.reload(Reload(0, Path.cwd(), Path.cwd()), settings)
        self._pages.clear()
        self._said.clear()
        self.check_all()

    # -- what is found -----------------------------------------------------------------------------

    def _on_answer(self, program: Program, answer: Answer) -> None:
        if answer.error is not None and answer.error not in self._said:
            self._said.add(answer.error)
            told = types.ShowMessageParams(types.MessageType.Error, f"gradlint: {answer.error}")
            self.window_show_message(told)
        if program.uri not in self.programs():
            return
        # While a text is no program, what was found last stays in sight.
        if not answer.is_broken and answer.error is None:
            self._found[program.path] = self._found.get(program.path, Found()).after(program, answer)
        self._publish({part.uri for part in program.parts}, program)
        if not answer.is_first:
            checked = [{"uri": part.uri, "version": part.version} for part in program.parts]
            self.protocol.notify(CHECKED, {"documents": checked})

    def _publish(self, also: set[str], answered: Program | None = None) -> None:
        """Tell the editor of the documents whose findings have changed, and of some others."""
        opened = self.programs()
        places = self._places(opened)
        told = [(str(path), one) for path, found in self._found.items() for one in found.shown]
        own = [one for filename, one in told if one.location.filename == filename]
        now = by_document([*own, *(one for _, one in told)], places)
        versions = {part.uri: part.version for part in (answered.parts if answered is not None else ())}
        for uri in now.keys() | self._told.keys() | also:
            if uri in also or now.get(uri) != self._told.get(uri):
                shown = [diagnostic(finding, places) for finding in now.get(uri, ())]
                self.text_document_publish_diagnostics(
                    types.PublishDiagnosticsParams(uri, shown, version=versions.get(uri))
                )
        self._told = now

    def _places(self, opened: dict[str, Program]) -> Places:
        return Places(self.workspace.position_codec, opened.values())

    # -- what is asked -----------------------------------------------------------------------------

    def actions(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        """What can be done about the findings at a place."""
        opened = self.programs()
        program = opened.get(params.text_document.uri)
        if program is None:
            return []
        part = program.part(program.cell_of(params.text_document.uri))
        if part is None:
            return []
        only = None if params.context.only is None else [_word(kind) for kind in params.context.only]
        found = self._told.get(part.uri, ())
        everything = [one for each in program.parts for one in self._told.get(each.uri, ())]
        places = self._places(opened)
        return [*actions(found, part, params.range, only, places), *fix_all(everything, program, only)]

    async def resolved(self, action: types.CodeAction) -> types.CodeAction:
        """The changes of all fixes of a program, which are made one after the other."""
        uri = action.data["uri"] if isinstance(action.data, dict) else ""
        program = self.programs().get(uri)
        if program is None:
            return action
        number = self.engine.number()
        answer = await self._asked(FixAll(number, program.root, program.path, program.text))
        if answer.text is not None:
            action.edit = rewritten(program, answer.text)
        return action

    async def hover(self, params: types.HoverParams) -> types.Hover | None:
        """The page of the rule of what was found at a place."""
        opened = self.programs()
        program = opened.get(params.text_document.uri)
        places, at = self._places(opened), params.position
        for finding in self._told.get(params.text_document.uri, ()) if program is not None else ():
            within = places.range(finding.location)
            if within.start <= at <= within.end:
                page = await self._page(program, finding.code)  # type: ignore[arg-type]
                text = f"**{finding.code}**: {finding.message}\n\n---\n\n{page}"
                return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text), within)
        return None

    async def _page(self, program: Program, code: str) -> str:
        if code not in self._pages:
            answer = await self._asked(Page(self.engine.number(), program.root, program.path, code))
            self._pages[code] = answer.text or ""
        return self._pages[code]

    async def lenses(self, params: types.CodeLensParams) -> list[types.CodeLens]:
        """What the last `gradlint gradcheck` said of the Functions of a program."""
        program = self.programs().get(params.text_document.uri)
        if program is None or program.is_notebook or program.unnamed:
            return []
        answer = await self._asked(Lenses(self.engine.number(), program.root, program.path, program.text))
        return [_lens(row, words) for row, words in answer.lenses]

    async def _asked(self, task: FixAll | Page | Lenses) -> Answer:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Answer] = loop.create_future()

        def settle(answer: Answer) -> None:
            if not future.done():
                future.set_result(answer)

        self.engine.ask(task, lambda answer: loop.call_soon_threadsafe(settle, answer))
        return await future


def _path(uri: str) -> Path | None:
    from pygls.uris import to_fs_path

    place = to_fs_path(uri)
    return None if place is None else Path(place)


def _lens(row: int, words: str) -> types.CodeLens:
    at = types.Position(row - 1, 0)
    return types.CodeLens(types.Range(at, at), types.Command(words, ""))


def _word(kind: types.CodeActionKind | str) -> str:
    return kind.value if isinstance(kind, types.CodeActionKind) else kind


def settings_of(given: Any) -> Settings:
    """The settings that an editor sends, by themselves or under the name of the server."""
    table = given.get("gradlint", given) if isinstance(given, dict) else {}
    table = table if isinstance(table, dict) else {}
    codes = {key: table.get(key) for key in ("select", "ignore")}
    chosen = {
        key: tuple(code for code in value if isinstance(code, str))
        for key, value in codes.items()
        if isinstance(value, list)
    }
    file = table.get("configuration")
    return Settings(**chosen, configuration=Path(file) if isinstance(file, str) and file else None)


_OPEN = types.TEXT_DOCUMENT_DID_OPEN, types.TEXT_DOCUMENT_DID_CHANGE, types.TEXT_DOCUMENT_DID_SAVE
_OPEN_NOTEBOOK = (
    types.NOTEBOOK_DOCUMENT_DID_OPEN,
    types.NOTEBOOK_DOCUMENT_DID_CHANGE,
    types.NOTEBOOK_DOCUMENT_DID_SAVE,
)
_KINDS = types.CodeActionOptions(
    [types.CodeActionKind.QuickFix, FIX_ALL, FIX_NOTEBOOK], resolve_provider=True
)


def make() -> Server:
    """A server with everything that it answers."""
    server = Server()
    _follow_documents(server)
    _follow_settings(server)
    _answer_questions(server)
    return server


def _answer_questions(server: Server) -> None:
    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, _KINDS)
    def on_actions(params: types.CodeActionParams) -> list[types.CodeAction]:
        return server.actions(params)

    @server.feature(types.CODE_ACTION_RESOLVE)
    async def on_action(params: types.CodeAction) -> types.CodeAction:
        return await server.resolved(params)

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def on_hover(params: types.HoverParams) -> types.Hover | None:
        return await server.hover(params)

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    async def on_lenses(params: types.CodeLensParams) -> list[types.CodeLens]:
        return await server.lenses(params)


def _follow_documents(server: Server) -> None:
    def on_document(params: Any) -> None:
        server.check(params.text_document.uri)

    def on_notebook(params: Any) -> None:
        server.check(params.notebook_document.uri)

    for method in _OPEN:
        server.feature(method)(on_document)
    for method in _OPEN_NOTEBOOK:
        server.feature(method)(on_notebook)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def on_close(params: types.DidCloseTextDocumentParams) -> None:
        server.close({params.text_document.uri})

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def on_close_notebook(params: types.DidCloseNotebookDocumentParams) -> None:
        server.close({one.uri for one in params.cell_text_documents})


def _follow_settings(server: Server) -> None:
    @server.feature(types.INITIALIZE)
    def on_initialize(params: types.InitializeParams) -> None:
        server.engine.reload(Reload(0, Path.cwd(), Path.cwd()), settings_of(params.initialization_options))

    @server.feature(types.INITIALIZED)
    def on_initialized(_: types.InitializedParams) -> None:
        server.warm_up()
        able = server.client_capabilities.workspace
        watching = able and able.did_change_watched_files
        if watching and watching.dynamic_registration:
            patterns = [f"**/{name}" for name in (*FILE_NAMES, "*.py")]
            watchers = [types.FileSystemWatcher(pattern) for pattern in patterns]
            options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
            method = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
            server.client_register_capability(
                types.RegistrationParams([types.Registration("gradlint", method, options)])
            )

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def on_files(params: types.DidChangeWatchedFilesParams) -> None:
        server.changed_on_disk([path for change in params.changes if (path := _path(change.uri)) is not None])

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def on_settings(params: types.DidChangeConfigurationParams) -> None:
        server.reload(settings_of(params.settings) if params.settings else None)

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def on_folders(_: types.DidChangeWorkspaceFoldersParams) -> None:
        server.check_all()

    @server.feature(types.SHUTDOWN)
    def on_shutdown(_: None) -> None:
        server.engine.close()

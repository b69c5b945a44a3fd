"""`gradlint server`."""

from __future__ import annotations

from gradcheck_tool.cli.console import fail


def server() -> None:
    """Talk to an editor over the Language Server Protocol.

    Editors start it and speak with it over its standard streams.
    """
    try:
        from gradcheck_tool.server.app import make
    except ImportError:
        fail("the language server needs pygls: pip install 'gradcheck-tool[server]'")
    make().start_io()

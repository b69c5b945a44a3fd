"""The group of commands. A command's module is imported when it runs or its help is asked for."""

from __future__ import annotations

import gc
from importlib import import_module
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

COMMANDS = ("check", "gradcheck", "record", "rule", "config", "clean", "version")


class LazyGroup(TyperGroup):
    """Finds a command in the module of its name, so that starting one does not import the others."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Every command, in the order of the help text."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """Import the command's module and build the command from the function of the same name.

        A module that takes the rest of the command line as it is says so in `CONTEXT_SETTINGS`.
        """
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"gradcheck_tool.cli.{cmd_name}")
        settings = getattr(module, "CONTEXT_SETTINGS", None)
        single = typer.Typer(add_completion=False, rich_markup_mode=None)
        single.command(name=cmd_name, context_settings=settings)(getattr(module, cmd_name))
        command = typer.main.get_command(single)
        command.name = cmd_name
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that the arguments begin with; for another word, say what may be meant."""
        word = args[0]
        if word not in COMMANDS and not word.startswith("-"):
            from gradcheck_tool.spelling import nearest

            close = f"check {word}" if Path(word).exists() else nearest(word, COMMANDS)
            ctx.fail(f"No such command {word!r}." + (f" Did you mean `gradlint {close}`?" if close else ""))
        return super().resolve_command(ctx, args)


app = typer.Typer(
    name="gradlint",
    cls=LazyGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def gradlint() -> None:
    """A borrow checker for PyTorch autograd.

    Exit status: 0 nothing found, 1 findings, 2 the tool could not do its work.
    """
    gc.enable()

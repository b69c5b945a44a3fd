"""The group of commands. A command's module is imported when it runs or its help is asked for."""

from __future__ import annotations

import gc
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from gradcheck_tool import __version__
from gradcheck_tool.cli.console import note

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = (
    "check",
    "gradcheck",
    "run",
    "record",
    "explain",
    "server",
    "rule",
    "config",
    "trust",
    "clean",
    "version",
)


class LazyGroup(TyperGroup):
    """Finds a command in the module of its name, so that starting one does not import the others."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command and exit. Of wrong usage one line tells, as of everything else that ends a run."""
        try:
            status = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
        except _USAGE_ERROR as error:
            if not standalone_mode:
                raise
            status = _misused(error)
        if standalone_mode:
            sys.exit(status or 0)
        return status

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


# Typer brings its own click, and shows one of its errors.
_USAGE_ERROR: Any = typer.BadParameter.__base__


def _misused(error: Any) -> int:
    """Say what is wrong with the command line; without any words on it, show the help."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
    else:
        command = error.ctx.command_path if error.ctx else "gradlint"
        message = error.format_message().rstrip(".")
        note(f"gradlint: error: {message}{'' if message.endswith('?') else '.'} See `{command} --help`.")
    return 2


app = typer.Typer(
    name="gradlint",
    cls=LazyGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"gradlint {__version__}")
        raise typer.Exit


@app.callback()
def gradlint(
    version: Annotated[  # noqa: ARG001 - its callback does all there is to do
        bool,
        typer.Option("--version", "-V", help="Print the version.", is_eager=True, callback=_print_version),
    ] = False,
) -> None:
    """A borrow checker for PyTorch autograd.

    Exit status: 0 nothing found, 1 findings, 2 the tool could not do its work.
    """
    gc.enable()

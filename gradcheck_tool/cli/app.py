"""The group of commands. A command's module is imported when it runs or its help is asked for."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from signal import SIGINT
from typing import Any

import click

from gradcheck_tool import __version__

COMMANDS = ("check", "gradcheck", "record", "rule", "config", "clean", "version")
SHELLS = ("bash", "fish", "zsh")


class LazyGroup(click.Group):
    """Finds a command in the module of its name, so that starting one does not import the others."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Every command, in the order of the help text."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the command's module; the command has the same name in it."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"gradcheck_tool.cli.{cmd_name}"), cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the arguments begin with; for another word, say what may be meant."""
        word = args[0]
        if word not in COMMANDS and not word.startswith("-"):
            from gradcheck_tool.config import nearest

            close = f"check {word}" if Path(word).exists() else nearest(word, COMMANDS)
            ctx.fail(f"No such command {word!r}." + (f" Did you mean `gradlint {close}`?" if close else ""))
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Ctrl+C ends it with the status that shells expect: 1 would mean findings."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise click.exceptions.Exit(128 + SIGINT) from None


def _show_completion(ctx: click.Context, _: Any, shell: str | None) -> None:
    """Print the script that makes a shell complete the command, for its start-up file to run."""
    if shell is None or ctx.resilient_parsing:
        return
    from click.shell_completion import get_completion_class

    # Bash older than 4.4 cannot run the script, and click says so; what it prints is right for others.
    kind = get_completion_class(shell)
    if kind is not None:
        click.echo(kind(ctx.command, {}, "gradlint", "_GRADLINT_COMPLETE").source())
    ctx.exit()


@click.group(cls=LazyGroup, no_args_is_help=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "--version", "-V", prog_name="gradlint", message="%(prog)s %(version)s")
@click.option(
    "--show-completion",
    metavar="SHELL",
    type=click.Choice(SHELLS),
    is_eager=True,
    expose_value=False,
    callback=_show_completion,
    help=f"Print the completion script for a shell: {', '.join(SHELLS)}.",
)
def app() -> None:
    """A borrow checker for PyTorch autograd.

    Exit status: 0 nothing found, 1 findings, 2 the tool could not do its work.
    """

"""`gradlint rule`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gradcheck_tool.cli.completion import rules
from gradcheck_tool.cli.console import fail
from gradcheck_tool.cli.options import Isolated


def rule(
    code: Annotated[str | None, typer.Argument(autocompletion=rules, help="Code or name of a rule.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Print every rule.")] = False,
    isolated: Isolated = False,
) -> None:
    """Explain a rule.

    Tells what it detects, why that is wrong, and what to use instead.
    """
    from gradcheck_tool.codes import find_code
    from gradcheck_tool.config import ConfigError, Configs, Overrides
    from gradcheck_tool.rulebook.documentation import render, render_catalogue, render_code
    from gradcheck_tool.rulebook.ruleset import RulePackError, RuleSet, UnknownCodeError
    from gradcheck_tool.rulebook.selection import UNUSED_SUPPRESSION
    from gradcheck_tool.session import unused_suppressions as unused

    if (code is None) == (not every):
        fail("name one rule, or give --all")
    if code in (UNUSED_SUPPRESSION, unused.NAME):
        typer.echo(unused.DOCUMENTATION, nl=False)
        return
    if code is not None and (entry := find_code(code)) is not None:
        typer.echo(render_code(entry), nl=False)
        return
    try:
        folder = Path.cwd()
        config = Configs(folder, Overrides(isolated=isolated)).for_folder(folder)
        known = RuleSet.load(config.rule_packs)
        text = render_catalogue(list(known.known)) if code is None else render(known.rule(code))
    except (ConfigError, RulePackError, UnknownCodeError) as error:
        fail(str(error))
    typer.echo(text, nl=False)

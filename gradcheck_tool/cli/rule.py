"""`gradlint rule`."""

from __future__ import annotations

import json
import sys
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gradcheck_tool.cli.completion import rules
from gradcheck_tool.cli.console import When, fail, look, tell_left_out
from gradcheck_tool.cli.options import Color, Isolated, Trust

if TYPE_CHECKING:
    from gradcheck_tool.rulebook.ruleset import RuleSet


class RuleFormat(str, Enum):
    """How rules are printed."""

    TEXT = "text"
    JSON = "json"


def rule(
    code: Annotated[
        str | None,
        typer.Argument(autocompletion=rules, help="Code, name, or prefix of codes (GL2)."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Print every rule.")] = False,
    output_format: Annotated[
        RuleFormat, typer.Option("--output-format", help="How to print the rules.")
    ] = RuleFormat.TEXT,
    isolated: Isolated = False,
    trust: Trust = False,
    color: Color = When.AUTO,
) -> None:
    """Explain a rule, or several.

    Shows what it detects, why that is wrong, and what to use instead.
    """
    from gradcheck_tool.config import ConfigError, Overrides
    from gradcheck_tool.configs import Configs
    from gradcheck_tool.rulebook.ruleset import RulePackError, RuleSet, UnknownCodeError

    if (code is None) == (not every):
        fail("name one rule, or give --all")
    try:
        folder = Path.cwd()
        config = Configs(folder, Overrides(isolated=isolated, trust=trust)).for_folder(folder)
        tell_left_out([config], folder)
        known = RuleSet.load(config.rule_packs)
        text = _as_json(known, code) if output_format is RuleFormat.JSON else _as_text(known, code)
    except (ConfigError, RulePackError, UnknownCodeError) as error:
        fail(str(error))
    if output_format is RuleFormat.TEXT and sys.stdout.isatty():
        from gradcheck_tool.report.markdown import WIDEST, Page

        shown = look(sys.stdout, color)
        text = Page(shown["width"] or WIDEST, shown["color"], shown["links"]).render(text)
    typer.echo(text, nl=False, color=True)


def _as_text(known: RuleSet, code: str | None) -> str:
    """What people read: the page of one rule, or a catalogue of several."""
    from gradcheck_tool.codes import find_code
    from gradcheck_tool.rulebook.documentation import render, render_catalogue, render_code
    from gradcheck_tool.rulebook.selection import UNUSED_SUPPRESSION, spelt
    from gradcheck_tool.session import unused_suppressions as unused

    if code is None:
        return render_catalogue(list(known.known))
    if code == unused.NAME or spelt(code) == UNUSED_SUPPRESSION:
        return unused.DOCUMENTATION
    if (entry := find_code(code) or find_code(spelt(code))) is not None:
        return render_code(entry)
    found = known.rules(code)
    return render(found[0]) if len(found) == 1 else render_catalogue(found)


def _as_json(known: RuleSet, code: str | None) -> str:
    """What programs read: an array of objects, one for each rule of `check`."""
    from gradcheck_tool.rulebook.documentation import as_data

    found = known.known if code is None else known.rules(code)
    return json.dumps([as_data(rule) for rule in found], indent=2, ensure_ascii=False) + "\n"

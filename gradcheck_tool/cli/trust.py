"""`gradlint trust`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gradcheck_tool.cli.console import count, fail, note
from gradcheck_tool.config import DEFAULT_EXCLUDE, ConfigError, config_in, load_config
from gradcheck_tool.sources.discover import absolute
from gradcheck_tool.trust.consents import Consent, consent, consents, withdraw
from gradcheck_tool.trust.packs import UnreadablePackError
from gradcheck_tool.trust.visible import visible_name

if TYPE_CHECKING:
    from collections.abc import Iterator


def trust(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FOLDERS]...", help="Packs, or folders of which you trust all packs."),
    ] = None,
    list_only: Annotated[bool, typer.Option("--list", help="List the packs that you trust.")] = False,
    remove: Annotated[
        bool, typer.Option("--withdraw", help="No longer trust the packs in these folders.")
    ] = False,
) -> None:
    """Consent to the rule packs and model packs in a folder.

    A configuration can name packs of rules and models, which are code. gradlint loads only those that
    you have consented to; after any change they need your consent again. Read them first. Consents are stored
    in your home, not in the folder.
    """
    if list_only:
        if folders or remove:
            fail("--list cannot be combined with folders or --withdraw")
        _list(consents())
        return
    if not folders:
        fail("name a pack, or a folder with packs")
    for folder in map(absolute, folders):
        if remove:
            _withdraw(folder)
        else:
            _consent(folder)


def _consent(folder: Path) -> None:
    if not folder.is_dir():
        fail(f"{_shown(folder)}: no such folder")
    try:
        packs = sorted(set(_named_packs(folder))) or [folder]
    except ConfigError as error:
        fail(str(error))
    if packs == [folder] and not any(folder.rglob("*.py")):
        fail(f"{_shown(folder)}: no configuration names a pack in it, and it has no Python files itself")
    for pack in packs:
        try:
            given = consent(pack)
        except UnreadablePackError as error:
            fail(f"{_shown(pack)} cannot be trusted: {error}")
        except OSError as error:
            fail(f"the consent cannot be kept: {error}")
        note(f"trusted {_shown(given.pack)} ({count(given.files, 'file')})")


def _named_packs(folder: Path) -> Iterator[Path]:
    """The packs in a folder that configurations in it, below it and above it name."""
    for place in (*_below(folder), *folder.parents):
        path = config_in(place)
        config = None if path is None else load_config(path)
        for pack in (*config.rule_packs, *config.model_packs) if config is not None else ():
            if pack.is_relative_to(folder) and pack.is_dir():
                yield pack


def _below(folder: Path) -> Iterator[Path]:
    for parent, folders, _ in os.walk(folder):
        folders[:] = [name for name in folders if name not in DEFAULT_EXCLUDE]
        yield Path(parent)


def _withdraw(folder: Path) -> None:
    try:
        packs = withdraw(folder)
    except OSError as error:
        fail(f"the consent cannot be withdrawn: {error.strerror}")
    for pack in packs:
        note(f"no longer trusted: {_shown(pack)}")
    if not packs:
        note(f"You have not trusted anything in {_shown(folder)}.")


def _list(known: list[Consent]) -> None:
    for one in known:
        state = "" if one.state == "trusted" else f" ({one.state} since)"
        typer.echo(f"{_shown(one.pack)}{state}")
    if not known:
        note("You have not trusted any pack.")


def _shown(folder: Path) -> str:
    return visible_name(str(folder))

"""`gradlint config`."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gradcheck_tool.cli.console import fail
from gradcheck_tool.config import ConfigError, Configs, Overrides

if TYPE_CHECKING:
    from gradcheck_tool.config import Config


def config(
    path: Annotated[Path, typer.Argument(help="The file or folder to print the configuration of.")] = Path(),
    isolated: Annotated[bool, typer.Option("--isolated", help="Read no configuration file.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print the configuration that is in force for a file or folder, and where it comes from."""
    target = path.absolute()
    if not target.exists():
        fail(f"{path}: no such file or folder")
    try:
        configs = Configs(Path.cwd(), Overrides(isolated=isolated))
        found = configs.for_folder(target if target.is_dir() else target.parent)
    except ConfigError as error:
        fail(str(error))
    values = _values(found)
    if as_json:
        source = str(found.source) if found.source else None
        typer.echo(json.dumps({"source": source, "root": str(found.root), **values}, indent=2))
        return
    typer.echo(f"# from {found.source or 'the defaults'}")
    for key, value in values.items():
        typer.echo(f"{key} = {_toml(value)}")


def _values(config: Config) -> dict[str, Any]:
    """Every key as it is spelt in a configuration file."""
    return {
        item.name.replace("_", "-"): _plain(getattr(config, item.name))
        for item in fields(config)
        if item.name not in ("root", "source")
    }


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


def _toml(value: Any) -> str:
    """A value as TOML; TOML has no null, so what is not set reads as a comment."""
    if value is None:
        return "# not set"
    if isinstance(value, dict):
        inner = ", ".join(f"{json.dumps(key)} = {_toml(item)}" for key, item in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    return json.dumps(value, ensure_ascii=False)

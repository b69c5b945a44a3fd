"""`gradlint config`."""

from __future__ import annotations

import json
import os
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gradcheck_tool.cli import options
from gradcheck_tool.cli.console import fail, tell_left_out
from gradcheck_tool.config import KEYS, ConfigError, Overrides
from gradcheck_tool.configs import Configs
from gradcheck_tool.sources.discover import absolute
from gradcheck_tool.trust.visible import escaped_json, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.config import Config

# Lists longer than this are printed one item a line, and prose is broken there.
WIDTH = 80


def config(
    path: Annotated[Path, typer.Argument(help="The file or folder whose configuration to print.")] = Path(),
    config: options.Config = None,
    isolated: options.Isolated = False,
    trust: options.Trust = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON schema of configuration files, for editors.")
    ] = False,
) -> None:
    """Print the configuration in force for a file or folder.

    Each value is shown with the file that it comes from.
    """
    if schema:
        typer.echo((Path(__file__).parents[1] / "config.schema.json").read_text(encoding="utf-8"), nl=False)
        return
    from gradcheck_tool.harness.settings import read_settings

    target = absolute(path)
    if not target.exists():
        fail(f"{path}: no such file or folder")
    try:
        overrides = Overrides(isolated, options.config_file(config), options.settings(config), trust=trust)
        found = Configs(Path.cwd(), overrides).for_folder(target if target.is_dir() else target.parent)
        read_settings(found.gradcheck, str(found.origin("gradcheck")))
        settings = _Settings(found, _rules_in_force(found))
    except ConfigError as error:
        fail(str(error))
    tell_left_out([found], Path.cwd())
    typer.echo(settings.as_json() if as_json else settings.as_toml(), nl=False)


@dataclass(frozen=True)
class _Settings:
    """A configuration as it is printed, and the codes of the rules that it turns on."""

    config: Config
    rules: Sequence[str]

    def as_json(self) -> str:
        source = self.config.source
        document = {
            "source": None if source is None else str(source),
            "root": str(self.config.root),
            **{key: self._value(key) for key in _PRINTED},
            "origins": {key: [str(file) for file in self.config.origins.get(key, ())] for key in _PRINTED},
            "untrusted": [str(pack) for pack in self.config.untrusted],
            "rules": list(self.rules),
        }
        return escaped_json(json.dumps(document, indent=2)) + "\n"

    def as_toml(self) -> str:
        """A configuration file that says the same, with the origin of each value in a comment."""
        lines = [visible(f"# from {self.config.source or 'the defaults'}"), ""]
        for key in _PRINTED:
            value = self._value(key)
            if value is None:
                lines.append(f"# {key} is not set")
            else:
                lines.append(f"{key} = {_toml(value)}  # {self._origin(key)}")
        rules = f"{len(self.rules)} rules are in force: {', '.join(self.rules)}"
        lines += ["", textwrap.fill(rules, WIDTH, initial_indent="# ", subsequent_indent="#   ")]
        return escaped_json("\n".join(lines) + "\n")

    def _value(self, key: str) -> Any:
        return _plain(getattr(self.config, key.replace("-", "_")))

    def _origin(self, key: str) -> str:
        files = self.config.origins.get(key, ())
        return ", ".join(visible(os.path.relpath(file)) for file in files) or "default"


# `extend` is what has been done when there is a configuration to print.
_PRINTED = tuple(key for key in KEYS if key != "extend")


def _rules_in_force(config: Config) -> list[str]:
    from gradcheck_tool.session.files import FileChecker

    return [rule.code for rule in FileChecker().ruleset(config).active]


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        inner = ", ".join(f"{json.dumps(key)} = {_toml(item)}" for key, item in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    text = json.dumps(value, ensure_ascii=False)
    if isinstance(value, list) and len(text) > WIDTH:
        return "".join(["[\n", *(f"    {json.dumps(item, ensure_ascii=False)},\n" for item in value), "]"])
    return text

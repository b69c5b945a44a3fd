"""Build hook: a wheel carries the built-in rules; an editable install uses the repository's."""

from __future__ import annotations

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class RulesHook(BuildHookInterface[Any]):
    """Puts `rules/` into the wheel as `gradcheck_tool/_rules`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before a build; `version` is `standard` or `editable`."""
        if version != "editable":
            build_data["force_include"]["rules"] = "gradcheck_tool/_rules"

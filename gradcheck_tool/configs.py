"""Which configuration is in force where, and which of the packs that it names may be loaded."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gradcheck_tool.config import FILE_NAMES, Config, Overrides, config_in, load_config, with_settings
from gradcheck_tool.trust.consents import is_trusted, place_of

if TYPE_CHECKING:
    from pathlib import Path


class Configs:
    """Finds and remembers the configuration in force for each folder.

    Packs are code, and a configuration comes with the tree that is checked: a pack that a file names is in
    force where the user has consented to it, or the command line does. One that the command line names is.
    """

    def __init__(self, folder: Path, overrides: Overrides) -> None:
        """`folder` is where the command runs: patterns of the defaults start from it.

        Raises:
            ConfigError: the file or a setting that the command line names cannot be used.
        """
        self._overrides = overrides
        self._folder = folder
        self._default = self._overridden(Config(folder))
        self._explicit = None
        self._trusted: dict[Path, bool] = {}
        if overrides.path is not None:
            # The patterns of a file from elsewhere speak of the folder that the command runs in.
            loaded = self._consented(load_config(overrides.path))
            self._explicit = self._overridden(replace(loaded, root=folder))
        self._by_folder: dict[Path, Config] = {}
        self._by_file: dict[Path, Config] = {}

    def looked_at(self) -> set[Path]:
        """Every path that decided what is in force, packs aside, whether there is something or not."""
        found = {folder / name for folder in self._by_folder for name in FILE_NAMES}
        for config in self.in_force():
            found.update(config.files)
            if config.baseline is not None:
                found.add(config.baseline)
        return found | {place for pack in self._trusted if (place := place_of(pack)) is not None}

    def in_force(self) -> list[Config]:
        """The configurations that were found so far."""
        explicit = [] if self._explicit is None else [self._explicit]
        return [self._default, *explicit, *self._by_file.values()]

    def for_folder(self, folder: Path) -> Config:
        """The configuration in force for the files of a folder (absolute path).

        Raises:
            ConfigError: the nearest configuration file cannot be used.
        """
        if self._explicit is not None:
            return self._explicit
        if self._overrides.isolated:
            return self._default
        if folder not in self._by_folder:
            self._by_folder[folder] = self._find(folder)
        return self._by_folder[folder]

    def _find(self, folder: Path) -> Config:
        path = config_in(folder)
        if path is None:
            return self._default if folder == folder.parent else self.for_folder(folder.parent)
        if path not in self._by_file:
            self._by_file[path] = self._overridden(self._consented(load_config(path)))
        return self._by_file[path]

    def _overridden(self, config: Config) -> Config:
        return self._overrides.apply(with_settings(config, self._overrides.settings, self._folder))

    def _consented(self, config: Config) -> Config:
        """The configuration without the packs that nobody has consented to."""
        if self._overrides.trust:
            return config
        return replace(
            config,
            rule_packs=tuple(filter(self._may_load, config.rule_packs)),
            model_packs=tuple(filter(self._may_load, config.model_packs)),
            untrusted=tuple(
                pack
                for pack in dict.fromkeys((*config.rule_packs, *config.model_packs))
                if not self._may_load(pack)
            ),
        )

    def _may_load(self, pack: Path) -> bool:
        # What is not there is an error of the configuration, which loading it tells.
        if pack not in self._trusted:
            self._trusted[pack] = not pack.is_dir() or is_trusted(pack)
        return self._trusted[pack]

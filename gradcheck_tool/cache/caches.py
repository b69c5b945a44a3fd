"""What a result depends on, and therefore which cached results may stand in for checking."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gradcheck_tool.analysis.result import FileResult
from gradcheck_tool.cache.cache_key import identity
from gradcheck_tool.cache.results import Remembered, ResultCache
from gradcheck_tool.cache.store import digest, digest_file, stamp
from gradcheck_tool.sources.modules import find_module

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradcheck_tool.cache.results import Import
    from gradcheck_tool.config import Config


# What stands for the number of dots where a result depends on who calls a function of the file, or on which
# classes have attributes of such names.
CALLERS = -1
HAVING = -2


class Caches:
    """The result caches of one run: one for each configuration, in its cache folder.

    Attributes:
        looked_at: the paths that imports were looked for at, whether there is something or not.
    """

    def __init__(self, elsewhere: Callable[[Path, str, int], str]) -> None:
        """`elsewhere` is the digest of the files that answer a question about the repository."""
        self._elsewhere = elsewhere
        self.looked_at: set[Path] = set()
        self._caches: dict[int, tuple[Config, ResultCache]] = {}
        self._digests: dict[Path, str | None] = {}

    def get(self, path: Path, config: Config) -> FileResult | None:
        """The remembered result of a file, if everything it depends on is as it was."""
        content = self._digest(path)
        if content is None:
            return None
        known = self._cache(config).get(str(path), content, self._resolve)
        return None if known is None else FileResult(**known._asdict())

    def put(self, path: Path, config: Config, result: FileResult) -> None:
        """Remember a result. One with a problem is not kept, so that the problem is reported every time."""
        dependencies = [(asked, self._resolve(asked)) for asked in result.imports]
        if result.problem is not None:
            return
        told = Remembered(result.findings, result.entered, result.used, result.unfinished, result.mistaken)
        self._cache(config).put(str(path), result.content, dependencies, told)

    def save(self) -> None:
        """Write what is new."""
        for _, cache in self._caches.values():
            cache.save()

    def _cache(self, config: Config) -> ResultCache:
        # Configurations are few and live as long as the run: their identity is quick to look up.
        if id(config) not in self._caches:
            self._caches[id(config)] = (config, ResultCache(config.cache, self._key(config)))
        return self._caches[id(config)][1]

    def _key(self, config: Config) -> str:
        return digest(repr((identity(), stamp((*config.rule_packs, *config.model_packs)), config)).encode())

    def _resolve(self, asked: Import) -> str | None:
        importer, dotted, level = asked
        if level in (CALLERS, HAVING):
            return self._elsewhere(Path(importer), dotted, level)
        path = find_module(Path(importer), dotted, level, self.looked_at)
        return None if path is None else self._digest(path)

    def _digest(self, path: Path) -> str | None:
        if path not in self._digests:
            self._digests[path] = digest_file(path)
        return self._digests[path]

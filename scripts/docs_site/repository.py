"""Files of the repository that are pages of the site, and links between them."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from gradcheck_tool.links import RULES
from scripts.docs_site.rule_pages import INDEX, PLAYGROUND, source

ROOT = Path(__file__).resolve().parents[2]
DOCS = "docs/"

# Files outside of `docs` that are pages, too.
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing/index.md",
    "SECURITY.md": "security.md",
    "editors/vscode/README.md": "guides/vscode.md",
}

_CODE = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")


class BrokenLinkError(Exception):
    """A page links to a file that is not there."""


def text_of(path: str) -> str:
    """A file of the repository."""
    return (ROOT / path).read_text(encoding="utf-8")


def for_site(text: str, page: str) -> str:
    """The text of a page with links between files made links between pages.

    What a page links to that is in the repository alone is named without a link.

    Args:
        text: Markdown.
        page: the page's file, from the root of the pages.

    Raises:
        BrokenLinkError: a file is not there.
    """
    # A link may have code in it, so it is found in the text with code made unrecognisable.
    kept: list[str] = []

    def keep(found: re.Match[str]) -> str:
        kept.append(found[0])
        return f"\x00{len(kept) - 1}\x00"

    hidden = _CODE.sub(keep, text)
    linked = _LINK.sub(lambda found: _link(found[1], found[2], page), hidden)
    return re.sub(r"\x00(\d+)\x00", lambda found: kept[int(found[1])], linked)


def _link(words: str, target: str, page: str) -> str:
    path, _, heading = target.partition("#")
    if "://" in target or target.startswith("mailto:") or not path:
        return f"[{words}]({target})"
    there = _page(_in_repository(path, page), heading)
    if there is None:
        return words
    name, heading = there
    relative = posixpath.relpath(name, posixpath.dirname(page) or ".")
    return f"[{words}]({relative}{'#' if heading else ''}{heading})"


def _in_repository(path: str, page: str) -> str:
    """The file that a page means, from the root of the repository."""
    of_page = next((file for file, name in PAGES.items() if name == page), f"{DOCS}{page}")
    file = posixpath.normpath(posixpath.join(posixpath.dirname(of_page), path))
    if not _is_made(file) and not (ROOT / file).exists():
        raise BrokenLinkError(f"{page}: there is no {file}")
    return file


def _is_made(file: str) -> bool:
    """Whether the file is made with the site."""
    return file.startswith(f"{DOCS}rules/") or file == f"{DOCS}{PLAYGROUND}"


def _page(file: str, heading: str) -> tuple[str, str] | None:
    """The page, and the heading on it, that a file is on the site."""
    if file == RULES:
        return (source(heading), "") if heading else (INDEX, "")
    if file in PAGES:
        return PAGES[file], heading
    is_page = _is_made(file) or (file.startswith(DOCS) and file.endswith(".md"))
    return (file.removeprefix(DOCS), heading) if is_page else None

"""What MkDocs asks while it builds the site: pages of rules, pages from outside of `docs`, links, pictures.

`mkdocs.yml` names this file. The site is built by `mkdocs build --strict`.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from gradcheck_tool.codes import CODES  # noqa: E402
from gradcheck_tool.links import HOME, RULES  # noqa: E402
from gradcheck_tool.rulebook.documentation import described  # noqa: E402
from gradcheck_tool.rulebook.ruleset import RuleSet  # noqa: E402
from gradcheck_tool.rulebook.selection import UNUSED_SUPPRESSION  # noqa: E402
from scripts.docs_site import pictures, rule_pages  # noqa: E402
from scripts.docs_site.repository import DOCS, PAGES, BrokenLinkError, for_site, text_of  # noqa: E402

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

STYLE = "assets/pictures.css"
# What `npm run build` has made, if it has.
BUILT_PLAYGROUND = ROOT / "playground" / "dist" / "index.html"

# MkDocs counts what is logged here, and `--strict` fails on a warning.
_log = logging.getLogger("mkdocs.hooks.docs_site")
_pictures: dict[str, str] = {}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The address, which has one home, and the codes of each family below `Rules` in the navigation."""
    config.site_url = HOME
    config.extra_css.append(STYLE)
    families = rule_pages.by_family(RuleSet.load().known)
    listed = [{title: [rule_pages.source(code) for code in codes]} for title, codes in families.items()]
    config.nav = [_with_rules(entry, listed) for entry in config.nav or []]
    return config


def _with_rules(entry: Any, listed: list[dict[str, list[str]]]) -> Any:
    return {"Rules": [rule_pages.INDEX, *listed]} if entry == {"Rules": rule_pages.INDEX} else entry


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The files that are pages, with those that are made here."""
    catalogue = files.get_file_from_path(RULES.removeprefix(DOCS))
    if catalogue is not None:
        files.remove(catalogue)
    made = {page: text_of(path) for path, page in PAGES.items()}
    # There is nothing else in its part of the navigation.
    made["index.md"] = f"---\nhide: [navigation]\n---\n\n{made['index.md']}"
    made |= _pages_of_rules()
    made[STYLE] = pictures.style()
    for name, text in made.items():
        files.append(File.generated(config, name, content=text))
    if BUILT_PLAYGROUND.is_file():
        files.append(File.generated(config, rule_pages.PLAYGROUND, abs_src_path=str(BUILT_PLAYGROUND)))
    return files


def _pages_of_rules() -> dict[str, str]:
    rules = RuleSet.load().known
    made = {rule_pages.INDEX: rule_pages.index(rules)}
    for rule in rules:
        page = rule_pages.source(rule.code)
        drawn = pictures.picture_of(described(type(rule)).wrong[0], rule.code)
        playground = BUILT_PLAYGROUND.is_file()
        made[page] = rule_pages.page_of(rule, drawn=drawn is not None, playground=playground)
        if drawn is not None:
            _pictures[page] = drawn
    made |= {rule_pages.source(code): rule_pages.page_of_code(code) for code in CODES}
    made[rule_pages.source(UNUSED_SUPPRESSION)] = rule_pages.page_of_unused()
    return made


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """A page with links that lead to pages."""
    try:
        return for_site(markdown, page.file.src_uri)
    except BrokenLinkError as error:
        _log.warning("%s", error)
        return markdown


def on_page_content(html: str, page: Page, **_: object) -> str:
    """A page with its picture."""
    return html.replace(rule_pages.PICTURE, _pictures.get(page.file.src_uri, ""))

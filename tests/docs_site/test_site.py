"""The documentation site is built without a warning, and has a page for each code."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin

import pytest

from gradcheck_tool.codes import CODES
from gradcheck_tool.links import HOME, rule_link
from gradcheck_tool.rulebook.ruleset import RuleSet

pytest.importorskip("material", reason="the extra `docs` is not installed")

ROOT = Path(__file__).resolve().parents[2]
RULES = RuleSet.load().known
CODES_WITH_A_PAGE = [*(rule.code for rule in RULES), *CODES, "GL001"]


class Links(HTMLParser):
    """Where a page leads to, what it loads, and the headings that one can lead to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag in ("script", "img", "iframe") and "src" in given:
            self.loaded.append(given["src"])
        elif tag == "link" and given.get("rel") == "stylesheet":
            self.loaded.append(given["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Links]:
    """The pages by their address below the root."""
    found = {}
    for path in site.rglob("index.html"):
        address = path.parent.relative_to(site).as_posix()
        found["" if address == "." else f"{address}/"] = Links(path.read_text(encoding="utf-8"))
    return found


def text_of(site: Path, address: str) -> str:
    return (site / address / "index.html").read_text(encoding="utf-8")


def test_every_code_leads_to_a_page_that_names_it(site: Path) -> None:
    for code in CODES_WITH_A_PAGE:
        address = rule_link(code).removeprefix(HOME)
        assert f'<h1 id="{code.lower()}-' in text_of(site, address), code


def test_no_link_is_broken(site: Path, pages: dict[str, Links]) -> None:
    for address, page in pages.items():
        for link in page.links:
            there, heading = urldefrag(urljoin(f"{HOME}{address}", link))
            if there.startswith(HOME):
                name = unquote(there.removeprefix(HOME))
                assert name in pages or (site / name).is_file(), (address, link)
                # The playground, where it has been built, reads what comes after the `#` itself.
                is_example = name == "play/" and heading.removeprefix("rule=") in CODES_WITH_A_PAGE
                assert not heading or is_example or unquote(heading) in pages[name].anchors, (address, link)
            else:
                assert there.startswith("https://"), (address, link)


def test_nothing_is_loaded_from_elsewhere(pages: dict[str, Links]) -> None:
    assert {source for page in pages.values() for source in page.loaded if "://" in source} == set()


def test_the_index_lists_every_code(pages: dict[str, Links]) -> None:
    assert {f"{code.lower()}/" for code in CODES_WITH_A_PAGE} <= {
        link.removeprefix("../rules/") for link in pages["rules/"].links
    }


def test_a_page_has_all_that_the_rule_says_and_the_picture(site: Path) -> None:
    text = text_of(site, "rules/gl201/")
    headings = re.findall(r"<h2 id=\"([\w-]+)\"", text)
    assert headings == [
        "what-it-detects", "why-it-is-wrong", "example", "how-it-comes-about", "use-instead", "fix-safety",
        "references", "switch-it-off",
    ]  # fmt: skip
    assert "has been modified by an inplace operation" in text
    picture = text[text.index('class="picture"') : text.index('id="use-instead"')]
    assert "needs 0, finds 1" in picture
    assert picture.count("<tr id=") >= 3


def test_what_happens_in_several_places_has_a_picture(site: Path) -> None:
    drawn = [rule.code for rule in RULES if 'class="picture"' in text_of(site, f"rules/{rule.code.lower()}/")]
    assert len(drawn) > 60
    for rule in RULES:
        text = text_of(site, f"rules/{rule.code.lower()}/")
        assert ('id="how-it-comes-about"' in text) == (rule.code in drawn)
        assert "<!-- picture" not in text


def test_lists_are_lists(site: Path) -> None:
    """Markdown that only GitHub takes for a list stays a paragraph here."""
    for path in site.rglob("index.html"):
        text = re.sub(r"<pre.*?</pre>", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        for paragraph in re.findall(r"<p>(.*?)</p>", text, re.DOTALL):
            assert not re.search(r"^\s*([-*]|\d\.) |```|^\|", paragraph, re.MULTILINE), (path, paragraph)

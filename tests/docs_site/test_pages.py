"""What the pages of the site are made from."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gradcheck_tool.links import HOME, rule_link
from gradcheck_tool.rulebook.documentation import Program, described
from gradcheck_tool.rulebook.ruleset import RuleSet
from scripts.docs_site.pictures import picture_of, style
from scripts.docs_site.repository import BrokenLinkError, for_site
from scripts.docs_site.rule_pages import PICTURE, by_family, page_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
RULES = RuleSet.load()


def test_the_address_of_the_documentation_is_one() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["urls"] == {"Documentation": HOME}
    assert HOME.endswith("/")
    assert "site_url" not in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")


def test_rules_of_other_packs_have_no_page() -> None:
    assert rule_link("GL201") == f"{HOME}rules/gl201/"
    assert rule_link("GC101") == f"{HOME}rules/gc101/"
    assert rule_link("TEAM001") == ""


@pytest.mark.parametrize(
    ("page", "text", "made"),
    [
        ("index.md", "[all](docs/rules.md)", "[all](rules/index.md)"),
        ("guides/a.md", "[one](../rules.md#gl201)", "[one](../rules/gl201.md)"),
        ("guides/a.md", "[it](../../README.md#consent)", "[it](../index.md#consent)"),
        ("guides/a.md", "[`it`](../run.md)", "[`it`](../run.md)"),
        ("contributing/index.md", "[a](docs/contributing/rule.md)", "[a](rule.md)"),
        ("guides/a.md", "see [the models](../../gradcheck_tool/library/models).", "see the models."),
        ("guides/a.md", "[out](https://a.b/c) [here](#x)", "[out](https://a.b/c) [here](#x)"),
        ("index.md", "`[a](no.md)`\n\n```sh\n[b](no.md)\n```\n", "`[a](no.md)`\n\n```sh\n[b](no.md)\n```\n"),
    ],
)
def test_links_between_files_become_links_between_pages(page: str, text: str, made: str) -> None:
    assert for_site(text, page) == made


def test_rules_lead_to_their_example_in_the_playground_if_there_is_one() -> None:
    link = "[Change it in the playground](../play/index.html#rule=GL101)"
    assert link in page_of(RULES.rule("GL101"), drawn=False, playground=True)
    assert for_site(link, "rules/gl101.md") == link
    assert "playground" not in page_of(RULES.rule("GL101"), drawn=False)
    assert "playground" not in page_of(
        next(rule for rule in RULES.known if not rule.default), drawn=False, playground=True
    )


def test_a_link_to_nothing_is_an_error() -> None:
    with pytest.raises(BrokenLinkError, match=r"guides/a.md: there is no docs/none.md"):
        for_site("[a](../none.md)", "guides/a.md")


def test_a_page_has_the_picture_behind_the_example() -> None:
    text = page_of(RULES.rule("GL101"), drawn=True)
    assert text.index("## Example") < text.index(PICTURE) < text.index("## Use instead")
    without = page_of(RULES.rule("GL101"), drawn=False)
    assert PICTURE not in without
    assert "How it comes about" not in without


def test_a_picture_is_that_of_the_rule() -> None:
    drawn = picture_of(described(type(RULES.rule("GL101"))).wrong[0], "GL101")
    assert drawn is not None
    assert "needed, but freed" in drawn
    assert "<script" not in drawn


def test_what_happens_in_one_place_needs_no_picture() -> None:
    program = Program("import torch\nfrom torch.autograd import Variable\nx = Variable(torch.ones(2))\n", ())
    assert picture_of(program, "GL901") is None


def test_pictures_have_both_colour_schemes() -> None:
    text = style()
    assert text.count("--marked: #") == 2
    assert '[data-md-color-scheme="slate"] .picture {' in text
    assert ":root" not in text


def test_every_family_has_its_codes() -> None:
    families = by_family(RULES.known)
    assert all(families.values())
    assert families["Graph lifetime"][0] == "GL101"
    assert families["Environment (run time)"][0] == "GC301"

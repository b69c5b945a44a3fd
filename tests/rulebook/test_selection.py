"""Which rules `select`, `extend-select` and `ignore` put in force."""

from __future__ import annotations

import pytest

from gradcheck_tool.findings import Severity
from gradcheck_tool.rulebook.rule import Rule
from gradcheck_tool.rulebook.ruleset import RuleSet, UnknownCodeError


def rule(
    code: str,
    *,
    default: bool = True,
    since: str | None = None,
    until: str | None = None,
    preview: bool = False,
) -> Rule:
    body = {
        "code": code,
        "name": f"rule-{code.lower()}",
        "severity": Severity.ERROR,
        "default": default,
        "since": since,
        "until": until,
        "preview": preview,
    }
    return type(f"Rule{code}", (Rule,), body)()


@pytest.fixture
def rules() -> RuleSet:
    return RuleSet([rule("GL201"), rule("GL202"), rule("GL203", default=False), rule("GL301"), rule("XY101")])


def active(rules: RuleSet) -> list[str]:
    return [rule.code for rule in rules.active]


def test_rules_that_are_on_by_default_are_in_force_at_first(rules: RuleSet) -> None:
    assert active(rules) == ["GL201", "GL202", "GL301", "XY101"]
    assert active(rules.select()) == active(rules)


@pytest.mark.parametrize(
    ("select", "extend", "ignore", "expected"),
    [
        (["GL2"], [], [], ["GL201", "GL202", "GL203"]),
        (["GL203"], [], [], ["GL203"]),
        (["ALL"], [], ["GL2"], ["GL301", "XY101"]),
        (["default"], ["GL203"], [], ["GL201", "GL202", "GL203", "GL301", "XY101"]),
        (["default"], [], ["GL"], ["XY101"]),
        (["gl2"], ["Xy101"], ["gl202"], ["GL201", "GL203", "XY101"]),
        (["all"], [], ["Default"], ["GL203"]),
        (["GL201"], [], ["GL2"], ["GL201"]),
        (["GL201"], [], ["GL201"], []),
        (["ALL"], ["GL201"], ["ALL"], ["GL201"]),
        ([], [], [], []),
    ],
)
def test_the_most_specific_selector_decides(
    rules: RuleSet, select: list[str], extend: list[str], ignore: list[str], expected: list[str]
) -> None:
    assert active(rules.select(select, extend, ignore)) == expected


@pytest.mark.parametrize(
    ("key", "selectors", "nearest"),
    [
        ("select", {"select": ["GL2O1"]}, "GL201"),
        ("extend-select", {"extend_select": ["gl3o1"]}, "GL301"),
        ("ignore", {"ignore": ["defaults"]}, "default"),
        ("select", {"select": ["GL20x"]}, "GL20"),
    ],
)
def test_an_unknown_selector_is_an_error_that_names_key_and_nearest(
    rules: RuleSet, key: str, selectors: dict[str, list[str]], nearest: str
) -> None:
    with pytest.raises(UnknownCodeError) as caught:
        rules.select(**selectors)
    assert caught.value.key == key
    assert caught.value.nearest == nearest
    assert key in str(caught.value)
    assert repr(nearest) in str(caught.value)


def test_a_rule_holds_from_since_until_before_until() -> None:
    rules = RuleSet([rule("GL901", since="2.1"), rule("GL902", until="2.4"), rule("GL903")])
    assert active(rules.select(target_torch="2.0.1")) == ["GL902", "GL903"]
    assert active(rules.select(target_torch="2.1")) == ["GL901", "GL902", "GL903"]
    assert active(rules.select(target_torch="2.13.0+cpu")) == ["GL901", "GL903"]
    assert active(rules.select(target_torch=None)) == ["GL901", "GL902", "GL903"]


def test_a_rule_is_found_by_code_and_by_name(rules: RuleSet) -> None:
    assert rules.rule("GL201") is rules.rule("rule-gl201")
    with pytest.raises(UnknownCodeError, match="'GL202'"):
        rules.rule("GL222")


class TestPreview:
    @pytest.fixture
    def rules(self) -> RuleSet:
        return RuleSet(
            [rule("GL201"), rule("GL202", preview=True), rule("GL203", preview=True, default=False)]
        )

    def test_rules_that_are_tried_out_are_off(self, rules: RuleSet) -> None:
        assert active(rules) == active(rules.select(["ALL"])) == active(rules.select(["GL20"])) == ["GL201"]

    def test_preview_makes_them_rules_like_others(self, rules: RuleSet) -> None:
        assert active(rules.select(preview=True)) == ["GL201", "GL202"]
        assert active(rules.select(["GL203"], preview=True)) == ["GL203"]
        assert active(rules.select(["ALL"], [], ["GL202"], preview=True)) == ["GL201", "GL203"]

    @pytest.mark.parametrize(
        ("key", "selectors"), [("select", [["gl202"]]), ("extend-select", [[], ["GL202"]])]
    )
    def test_naming_one_without_it_is_an_error(
        self, rules: RuleSet, key: str, selectors: list[list[str]]
    ) -> None:
        with pytest.raises(
            UnknownCodeError, match=f"{key}: GL202 is a preview rule: turn on `preview` as well"
        ):
            rules.select(*selectors)

    def test_ignoring_one_needs_nothing(self, rules: RuleSet) -> None:
        assert active(rules.select(ignore=["GL202"])) == ["GL201"]

    def test_its_page_says_so(self, rules: RuleSet) -> None:
        from gradcheck_tool.rulebook.documentation import as_data

        assert [as_data(one)["preview"] for one in rules.known] == [False, True, True]
        assert "· preview" in as_data(rules.known[1])["explanation"]

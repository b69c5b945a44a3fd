"""`gradlint rule`, `config` and `version`."""

import json

import pytest

from gradcheck_tool import __version__


def test_rule_is_explained(gradlint):
    result = gradlint("rule", "GL201")
    assert result.exit_code == 0
    for heading in ("# GL201", "## What it detects", "## Why it is wrong", "## Example", "## Use instead"):
        assert heading in result.stdout


def test_rule_by_name(gradlint):
    assert gradlint("rule", "inplace-on-saved").stdout == gradlint("rule", "GL201").stdout


def test_rule_about_suppressions_is_explained(gradlint):
    assert "report-unused-suppressions" in gradlint("rule", "GL001").stdout
    assert gradlint("rule", "unused-suppression").exit_code == 0


def test_all_rules_are_listed(gradlint):
    result = gradlint("rule", "--all")
    assert result.exit_code == 0
    assert "GL101" in result.stdout
    assert "GL201" in result.stdout


def test_unknown_rule_names_the_nearest(gradlint):
    result = gradlint("rule", "GL20l")
    assert result.exit_code == 2
    assert "did you mean" in result.stderr


@pytest.mark.parametrize("arguments", [[], ["GL201", "--all"]])
def test_one_rule_or_all_of_them(gradlint, arguments):
    assert gradlint("rule", *arguments).exit_code == 2


def test_config_prints_what_is_in_force_and_where_it_comes_from(gradlint, write):
    path = write("sub/gradlint.toml", 'select = ["GL2"]\nper-file-ignores = { "tests/**" = ["GL4"] }\n')
    result = gradlint("config", "sub")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"# from {path}\n")
    assert 'select = ["GL2"]\n' in result.stdout
    assert 'per-file-ignores = { "tests/**" = ["GL4"] }' in result.stdout
    data = json.loads(gradlint("config", "sub", "--json").stdout)
    assert (data["source"], data["select"], data["target-torch"]) == (str(path), ["GL2"], None)


def test_printed_configuration_can_be_read_back(gradlint, write, project):
    from gradcheck_tool.config import load_config

    text = gradlint("config").stdout
    path = project / "gradlint.toml"
    path.write_text("\n".join(line for line in text.splitlines() if "not set" not in line))
    assert load_config(path).select == ("default",)


def test_config_of_nothing(gradlint):
    assert gradlint("config", "none").exit_code == 2


def test_version(gradlint):
    assert gradlint("version").stdout == f"gradlint {__version__}\n"

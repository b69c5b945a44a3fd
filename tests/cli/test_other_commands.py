"""`gradlint rule`, `config` and `version`."""

import json

import pytest

from gradcheck_tool import __version__
from gradcheck_tool.cli.app import COMMANDS


def test_rule_is_explained(gradlint):
    result = gradlint("rule", "GL201")
    assert result.exit_code == 0
    for heading in ("# GL201", "## What it detects", "## Why it is wrong", "## Example", "## Use instead"):
        assert heading in result.stdout


def test_rule_by_name(gradlint):
    assert gradlint("rule", "inplace-on-saved").stdout == gradlint("rule", "GL201").stdout


@pytest.mark.parametrize("code", ["gl201", "Gl201"])
def test_codes_are_read_in_either_case(gradlint, code):
    assert gradlint("rule", code).stdout == gradlint("rule", "GL201").stdout
    assert gradlint("rule", "gc101").stdout == gradlint("rule", "GC101").stdout


def test_the_beginning_of_codes_means_all_of_them(gradlint):
    result = gradlint("rule", "gl2")
    assert result.exit_code == 0
    assert "## GL201" in result.stdout
    assert "## GL212" in result.stdout
    assert "GL101" not in result.stdout


def test_rules_are_there_for_programs(gradlint):
    listed = json.loads(gradlint("rule", "--all", "--output-format", "json").stdout)
    (one,) = json.loads(gradlint("rule", "GL401", "--output-format", "json").stdout)
    assert one in listed
    assert (one["name"], one["severity"], one["default"], one["fix"]) == (
        "never-cleared",
        "error",
        True,
        True,
    )
    assert one["explanation"] == gradlint("rule", "GL401").stdout


def test_rule_about_suppressions_is_explained(gradlint):
    assert "report-unused-suppressions" in gradlint("rule", "GL001").stdout
    assert gradlint("rule", "unused-suppression").exit_code == 0


def test_all_rules_are_listed(gradlint):
    result = gradlint("rule", "--all")
    assert result.exit_code == 0
    assert "GL101" in result.stdout
    assert "GL201" in result.stdout


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("GL20l", "GL201"), ("inplace-on-savd", "inplace-on-saved")],
)
def test_unknown_rule_names_the_nearest(gradlint, wrong, right):
    result = gradlint("rule", wrong)
    assert result.exit_code == 2
    assert f"did you mean {right!r}?" in result.stderr


@pytest.mark.parametrize("arguments", [[], ["GL201", "--all"]])
def test_one_rule_or_all_of_them(gradlint, arguments):
    assert gradlint("rule", *arguments).exit_code == 2


def test_config_prints_what_is_in_force_and_where_it_comes_from(gradlint, write):
    write("base.toml", 'target-torch = "2.4"\n')
    path = write(
        "sub/gradlint.toml",
        'extend = "../base.toml"\nselect = ["GL2"]\nper-file-ignores = { "tests/**" = ["GL4"] }\n',
    )
    result = gradlint("config", "sub")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == f"# from {path}"
    assert 'select = ["GL2"]  # sub/gradlint.toml' in lines
    assert 'per-file-ignores = { "tests/**" = ["GL4"] }  # sub/gradlint.toml' in lines
    assert 'target-torch = "2.4"  # base.toml' in lines
    assert "ignore = []  # default" in lines
    assert "# baseline is not set" in lines
    assert "rules are in force: GL201, GL202" in result.stdout
    data = json.loads(gradlint("config", "sub", "--json").stdout)
    assert (data["source"], data["select"], data["baseline"]) == (str(path), ["GL2"], None)
    assert data["origins"]["select"] == [str(path)]
    assert {rule[:3] for rule in data["rules"]} == {"GL2"}


def test_config_shows_what_the_command_line_would_change(gradlint, write):
    write("gradlint.toml", 'target-torch = "2.4"')
    write("other.toml", 'ignore = ["GL2"]')
    printed = gradlint("config", "--config", "other.toml", "--config", 'target-torch="2.6"').stdout
    assert 'target-torch = "2.6"  # --config\n' in printed
    assert 'ignore = ["GL2"]  # other.toml\n' in printed


def test_printed_configuration_can_be_read_back(gradlint, write, project):
    from gradcheck_tool.config import Config, load_config

    write("sub/gradlint.toml", 'ignore = ["GL2"]\ngradcheck = { devices = ["cpu"] }\n')
    path = project / "sub" / "again.toml"
    path.write_text(gradlint("config", "sub").stdout)
    assert load_config(path) == Config(project / "sub", path, ignore=("GL2",), gradcheck={"devices": ["cpu"]})


def test_config_refuses_rules_that_there_are_not(gradlint, write):
    path = write("gradlint.toml", 'select = ["GL299"]\n')
    result = gradlint("config")
    assert result.exit_code == 2
    assert f"{path}: select: no rule matches 'GL299'" in result.stderr


def test_schema_for_editors_is_printed(gradlint):
    assert "target-torch" in json.loads(gradlint("config", "--schema").stdout)["properties"]


def test_config_names_files_plainly(gradlint, write, project, monkeypatch):
    write("gradlint.toml", "")
    write("sub/a.py", "")
    monkeypatch.chdir("sub")
    assert gradlint("config", "..").stdout.startswith(f"# from {project / 'gradlint.toml'}\n")


def test_cleaning_says_when_there_is_nothing_to_do(gradlint):
    result = gradlint("clean")
    assert (result.exit_code, result.stderr) == (0, "There is no cache to remove.\n")
    result = gradlint("clean", "nowhere")
    assert (result.exit_code, result.stderr) == (2, "gradlint: error: nowhere: no such folder\n")


def test_config_of_nothing(gradlint):
    assert gradlint("config", "none").exit_code == 2


@pytest.mark.parametrize("word", ["version", "--version", "-V"])
def test_version(gradlint, word):
    assert gradlint(word).stdout == f"gradlint {__version__}\n"


def test_help_describes_every_command_in_full(gradlint):
    lines = gradlint("--help").stdout.partition("Commands:\n")[2].splitlines()
    assert [line.split()[0] for line in lines] == list(COMMANDS)
    assert [line for line in lines if line.endswith("...")] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "--unheard-of"], "No such option: --unheard-of. See `gradlint check --help`."),
        (["check", "--output-file"], "Option '--output-file' requires an argument. See `gradlint --help`."),
        (["clean", "a", "b"], "Got unexpected extra argument(s) (b). See `gradlint clean --help`."),
        (["chekc"], "No such command 'chekc'. Did you mean `gradlint check`? See `gradlint --help`."),
    ],
)
def test_wrong_usage_is_one_line(gradlint, arguments, message):
    result = gradlint(*arguments)
    assert (result.exit_code, result.stderr) == (2, f"gradlint: error: {message}\n")


def test_without_a_command_there_is_help(gradlint):
    result = gradlint()
    assert result.exit_code == 2
    assert result.stderr.startswith("Usage: gradlint")


def test_misspelt_command_names_the_nearest(gradlint, write):
    assert "Did you mean `gradlint check`?" in gradlint("chekc").stderr
    write("train.py", "")
    result = gradlint("train.py")
    assert result.exit_code == 2
    assert "Did you mean `gradlint check train.py`?" in result.stderr


def test_an_interrupt_is_no_finding(gradlint, monkeypatch):
    def interrupted(*_arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("gradcheck_tool.cache.store.remove_caches", interrupted)
    assert gradlint("clean").exit_code == 130


class TestCompletion:
    @pytest.fixture
    def complete(self, gradlint, monkeypatch):
        """What bash would offer after these words."""
        from typer.testing import CliRunner

        from gradcheck_tool.cli.app import app

        def offer(*words):
            environment = {
                "_GRADLINT_COMPLETE": "complete_bash",
                "COMP_WORDS": " ".join(("gradlint", *words)),
                "COMP_CWORD": str(len(words)),
            }
            result = CliRunner().invoke(app, prog_name="gradlint", env=environment)
            return result.stdout.split()

        return offer

    def test_commands_and_options(self, complete):
        assert complete("ch") == ["check"]
        assert complete("check", "--stat") == ["--statistics"]

    def test_formats(self, complete):
        assert complete("check", "--output-format", "s") == ["sarif"]

    def test_rules(self, complete):
        assert complete("rule", "GL20")[:2] == ["GL201", "GL202"]
        assert complete("rule", "GC30")[0] == "GC301"
        assert complete("rule", "inplace-on-s") == ["inplace-on-saved"]

    def test_selectors(self, complete):
        assert complete("check", "--select", "de") == ["default"]
        assert complete("check", "--select", "GL2")[:2] == ["GL2", "GL201"]
        assert complete("check", "--ignore", "GL301,GL20")[0] == "GL301,GL201"

    def test_a_broken_configuration_leaves_the_built_in_rules(self, complete, write):
        write("gradlint.toml", "nonsense")
        assert complete("rule", "GL201") == ["GL201"]

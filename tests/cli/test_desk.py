"""What users of ruff expect of the command line: which fixes, which status, where from, in which colours."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from gradcheck_tool.cli.console import When, wants_color

BAD = "x = BAD\n"
GOOD = "x = good\n"


def codes(result):
    return [item["code"] for item in json.loads(result.stdout)]


class TestFailOn:
    # BAD and UGLY are errors of the stand-in engine.
    @pytest.mark.parametrize(
        ("words", "status"),
        [
            (["error"], 1),
            (["warning"], 1),
            (["info"], 1),
            (["GL201"], 1),
            (["gl2"], 1),
            (["GL3,GL2"], 1),
            (["GL3"], 0),
            (["GL301"], 0),
        ],
    )
    def test_what_makes_the_status_one(self, gradlint, write, words, status):
        write("a.py", BAD)
        result = gradlint("check", "--fail-on", *words)
        assert result.exit_code == status
        assert "GL201" in result.stdout

    @pytest.mark.parametrize(("severity", "status"), [("error", 0), ("warning", 0), ("info", 1)])
    def test_a_severity_means_the_higher_ones_as_well(self, gradlint, write, severity, status):
        write("a.py", "x = 1  # gradlint: ignore[GL201]\n")
        result = gradlint("check", "--report-unused-suppressions", "--fail-on", severity)
        assert (result.exit_code, "GL001" in result.stdout) == (status, True)

    def test_a_code_of_no_rule(self, gradlint, write):
        write("a.py", GOOD)
        result = gradlint("check", "--fail-on", "GL299")
        assert result.exit_code == 2
        assert result.stderr == "gradlint: error: --fail-on: no rule matches 'GL299'; did you mean 'GL209'?\n"

    def test_a_misspelt_severity(self, gradlint, write):
        write("a.py", GOOD)
        result = gradlint("check", "--fail-on", "GL2,eror")
        assert result.exit_code == 2
        assert result.stderr == "gradlint: error: --fail-on: no rule matches 'eror'; did you mean 'error'?\n"

    def test_what_could_not_be_checked_fails_all_the_same(self, gradlint, write):
        write("a.py", BAD)
        assert gradlint("check", "a.py", "none.py", "--fail-on", "GL3").exit_code == 2


class TestFixes:
    def test_what_was_fixed_is_listed(self, gradlint, write):
        write("a.py", "x = BAD\ny = BAD\nz = UGLY\n")
        result = gradlint("check", "--fix", "--unsafe-fixes", "--show-fixes")
        assert result.stderr.startswith(
            "Fixed 3 problems:\n- a.py:\n    2 x GL201 (inplace-on-saved)\n    1 x GL301 (inplace-on-saved)\n"
        )

    def test_so_is_what_would_be(self, gradlint, write):
        path = write("a.py", BAD)
        result = gradlint("check", "--diff", "--show-fixes")
        assert "Would fix 1 problem.\n- a.py:\n    1 x GL201" in result.stderr
        assert "BAD" in path.read_text()

    def test_fixes_and_nothing_else(self, gradlint, write):
        path = write("a.py", "x = BAD\ny = UGLY\n")
        result = gradlint("check", "--fix-only")
        assert (result.exit_code, result.stdout, result.stderr) == (0, "", "Fixed 1 problem.\n")
        assert path.read_text().endswith("x = good\ny = UGLY\n")

    def test_a_file_that_cannot_be_checked_is_still_said(self, gradlint, write):
        write("a.py", BAD)
        result = gradlint("check", "a.py", "none.py", "--fix-only")
        assert result.exit_code == 2
        assert "none.py: no such file" in result.stderr

    @pytest.mark.parametrize(("text", "status"), [(BAD, 1), (GOOD, 0)])
    @pytest.mark.parametrize("how", ["--fix", "--fix-only"])
    def test_fixes_that_make_the_status_one(self, gradlint, write, text, status, how):
        write("a.py", text)
        assert gradlint("check", how, "--exit-non-zero-on-fix").exit_code == status

    def test_standard_input(self, gradlint):
        text = "import torch.autograd\nx = BAD\ny = UGLY\n"
        result = gradlint("check", "-", "--fix-only", input=text)
        assert (result.exit_code, result.stdout) == (0, text.replace("BAD", "good"))
        assert gradlint("check", "-", "--fix-only", "--exit-non-zero-on-fix", input=text).exit_code == 1

    @pytest.mark.parametrize(
        ("options", "left"),
        [
            (["--unfixable", "GL2"], "x = BAD\ny = good\n"),
            (["--unfixable", "gl201"], "x = BAD\ny = good\n"),
            (["--fixable", "GL201"], "x = good\ny = UGLY\n"),
            (["--fixable", "GL2,GL3", "--unfixable", "GL301"], "x = good\ny = UGLY\n"),
            (["--unfixable", "ALL", "--fixable", "GL3"], "x = BAD\ny = good\n"),
        ],
    )
    def test_only_the_fixes_of_some_rules(self, gradlint, write, options, left):
        path = write("a.py", "x = BAD\ny = UGLY\n")
        gradlint("check", "--fix", "--unsafe-fixes", *options)
        assert path.read_text().endswith(left)

    def test_a_fix_that_is_not_wanted_is_not_offered(self, gradlint, write):
        write("a.py", BAD)
        write("gradlint.toml", 'unfixable = ["GL201"]\n')
        assert gradlint("check").stderr == "Found 1 problem in 1 file.\n"
        result = gradlint("check", "--output-format", "json")
        assert [item["fix"] for item in json.loads(result.stdout)] == [None]

    @pytest.mark.parametrize("key", ["fixable", "unfixable"])
    def test_codes_of_no_rule(self, gradlint, write, key):
        write("a.py", GOOD)
        result = gradlint("check", f"--{key}", "GL299")
        assert result.exit_code == 2
        assert result.stderr == f"gradlint: error: --{key}: no rule matches 'GL299'; did you mean 'GL209'?\n"

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            (["--show-fixes"], "--show-fixes needs --fix"),
            (["--exit-non-zero-on-fix"], "--exit-non-zero-on-fix needs --fix"),
            (["--fix-only", "--diff"], "--diff and --fix-only cannot be combined"),
            (["--since", "HEAD", "--fix"], "--fix and --since cannot be combined"),
            (["--since", "HEAD", "--add-noqa"], "--add-noqa and --since cannot be combined"),
            (["-", "--since", "HEAD"], "--since is for files"),
        ],
    )
    def test_options_that_cannot_be_meant(self, gradlint, options, words):
        result = gradlint("check", *options)
        assert result.exit_code == 2
        assert words in result.stderr


class TestSuppressedFindings:
    @pytest.mark.parametrize(
        "text",
        [
            "x = BAD  # noqa: GL201\n",
            "x = BAD  # noqa\n",
            "x = BAD  # gradlint: ignore[GL201]\n",
            "# gradlint: skip-file\nx = BAD\n",
            "# gradlint: skip-file[GL201]\nx = BAD\n",
        ],
    )
    def test_are_reported_on_request(self, gradlint, write, text):
        write("a.py", text)
        assert gradlint("check").exit_code == 0
        assert codes(gradlint("check", "--ignore-noqa", "--output-format", "json")) == ["GL201"]
        assert gradlint("check").exit_code == 0


class TestSince:
    @pytest.fixture
    def git(self, project, monkeypatch):
        for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
            monkeypatch.delenv(name, raising=False)

        def run(*words):
            identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
            subprocess.run(["git", *identity, *words], cwd=project, check=True, capture_output=True)

        run("init", "-q")
        return run

    def test_findings_on_lines_that_have_changed(self, gradlint, write, git):
        write("a.py", "x = BAD\ny = good\n")
        git("add", ".")
        git("commit", "-q", "-m", "work")
        result = gradlint("check", "--since", "HEAD")
        assert (result.exit_code, result.stdout) == (0, "")
        write("a.py", "x = BAD\ny = BAD\n")
        result = gradlint("check", "--since", "HEAD", "--output-format", "json")
        assert [item["location"]["row"] for item in json.loads(result.stdout)] == [3]
        git("commit", "-q", "-a", "-m", "more")
        # Nothing that was printed before is printed again: what has changed is git's to say.
        assert codes(gradlint("check", "--since", "HEAD", "--output-format", "json")) == []
        assert codes(gradlint("check", "--since", "HEAD~1", "--output-format", "json")) == ["GL201"]

    def test_a_commit_that_is_not_there(self, gradlint, write, git):
        write("a.py", GOOD)
        result = gradlint("check", "--since", "nowhere")
        assert result.exit_code == 2
        assert "--since: git knows no commit 'nowhere'" in result.stderr


class TestCacheFolder:
    def test_results_lie_where_they_are_wanted(self, gradlint, write, project, tmp_path_factory):
        write("a.py", BAD)
        folder = tmp_path_factory.mktemp("caches") / "mine"
        for _ in range(2):
            assert gradlint("check", "--cache-dir", folder).exit_code == 1
        assert list(folder.glob("check-*.json"))
        assert not (project / ".gradlint_cache").exists()
        result = gradlint("clean", "--cache-dir", folder)
        assert "removed" in result.stderr
        assert not folder.exists()

    def test_a_folder_of_something_else_is_refused(self, gradlint, write, project):
        write("a.py", BAD)
        result = gradlint("check", "--cache-dir", project)
        assert result.exit_code == 2
        assert "--cache-dir: " in result.stderr
        assert "a.py, which gradlint has not made" in result.stderr


class TestPreview:
    @pytest.fixture
    def trying_out(self, monkeypatch):
        """GL201 is still being tried out."""
        from gradcheck_tool.rulebook.ruleset import RuleSet

        (rule,) = RuleSet.load().rules("GL201")
        monkeypatch.setattr(type(rule), "preview", True)

    def test_rules_that_are_tried_out(self, gradlint, write, project, trying_out, monkeypatch):
        write("a.py", BAD)
        rules = lambda *options: json.loads(gradlint("config", "--json", *options).stdout)["rules"]  # noqa: E731
        assert "GL201" not in rules()
        assert "GL201" in rules("--config", "preview=true")
        result = gradlint("check", "--select", "GL201")
        assert result.exit_code == 2
        assert "--select: GL201 is a preview rule: turn on `preview` as well" in result.stderr
        assert gradlint("check", "--select", "GL201", "--preview").exit_code == 1
        monkeypatch.setenv("GRADLINT_PREVIEW", "1")
        assert gradlint("check", "--select", "GL201").exit_code == 1
        assert "· preview" in gradlint("rule", "GL201").stdout


class TestRuff:
    """What ruff makes of the comments, as the README says."""

    @pytest.mark.parametrize(
        ("comment", "options", "removed"),
        [
            ("# noqa: GL201", [], True),
            ("# noqa: GL201", ["--config", 'lint.external = ["GL"]'], False),
            ("# gradlint: ignore[GL201] known", [], False),
        ],
    )
    def test_comments_that_it_removes(self, project, comment, options, removed):
        import sys

        path = project / "a.py"
        path.write_text(f"x = 1  {comment}\n")
        command = [sys.executable, "-m", "ruff", "check", "--isolated", "--preview", "--no-cache", "--fix"]
        subprocess.run(
            [*command, "--select", "RUF100,RUF102", *options, "a.py"],
            cwd=project,
            check=False,
            capture_output=True,
        )
        assert (comment not in path.read_text()) == removed


class TestEnvironment:
    def test_formats(self, gradlint, write, monkeypatch):
        write("a.py", BAD)
        monkeypatch.setenv("GRADLINT_OUTPUT_FORMAT", "concise json=found.json")
        result = gradlint("check")
        assert result.stdout.startswith("a.py:2:5: GL201")
        assert gradlint("check", "--output-format", "json").stdout.startswith("[")

    def test_file(self, gradlint, write, project, monkeypatch):
        write("a.py", BAD)
        monkeypatch.setenv("GRADLINT_OUTPUT_FILE", "found.txt")
        assert gradlint("check").stdout == ""
        assert "GL201" in (project / "found.txt").read_text()

    def test_cache(self, gradlint, write, project, monkeypatch):
        write("a.py", BAD)
        monkeypatch.setenv("GRADLINT_NO_CACHE", "1")
        gradlint("check")
        assert not (project / ".gradlint_cache").exists()
        monkeypatch.delenv("GRADLINT_NO_CACHE")
        monkeypatch.setenv("GRADLINT_CACHE_DIR", str(project / "caches"))
        gradlint("check")
        assert (project / "caches").exists()

    @pytest.mark.parametrize(("when", "colored"), [("always", True), ("never", False), ("auto", False)])
    def test_color(self, gradlint, write, monkeypatch, when, colored):
        write("a.py", BAD)
        monkeypatch.setenv("GRADLINT_COLOR", when)
        assert ("\x1b[" in gradlint("check").stdout) == colored

    def test_the_help_names_them(self, gradlint):
        text = " ".join(gradlint("check", "--help").stdout.split())
        for name in ("CACHE_DIR", "COLOR", "JOBS", "NO_CACHE", "OUTPUT_FILE", "OUTPUT_FORMAT"):
            assert f"GRADLINT_{name}" in text


class TestJobSummary:
    """What GitHub shows on the page of a job."""

    @pytest.fixture
    def page(self, project, monkeypatch):
        path = project / "page.md"
        path.write_text("# before\n")
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
        return path

    def test_a_report_for_github_adds_to_it(self, gradlint, write, page):
        write("a.py", BAD)
        # The second run finds everything as it was, and still writes.
        for times in (1, 2):
            assert gradlint("check", "--output-format", "github").exit_code == 1
            text = page.read_text()
            assert text.startswith("# before\n## gradlint check\n\nFound 1 problem")
            assert text.count("| error | `a.py:2:5` | [GL201](") == times

    def test_other_reports_do_not(self, gradlint, write, page):
        write("a.py", BAD)
        gradlint("check")
        assert page.read_text() == "# before\n"

    def test_a_page_that_cannot_be_written(self, gradlint, write, project, monkeypatch):
        write("a.py", BAD)
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(project))
        result = gradlint("check", "--output-format", "github")
        assert result.exit_code == 2
        assert "cannot be written" in result.stderr
        assert "::error" in result.stdout


class TestPage:
    """docs/command-line.md."""

    def test_options_and_variables_are_those_that_there_are(self):
        from typer.main import get_command

        from gradcheck_tool.cli.app import app

        page = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text()
        group = get_command(app)
        parameters = [
            parameter
            for name in group.list_commands(None)
            for parameter in group.get_command(None, name).params
        ]
        options = {option for parameter in parameters for option in parameter.opts}
        variables = {parameter.envvar for parameter in parameters} - {None}
        assert set(re.findall(r"--[a-z]+(?:-[a-z]+)*", page)) <= {*options, "--help"}
        assert set(re.findall(r"GRADLINT_\w+", page)) == {*variables, "GRADLINT_STATE_DIR"}


class TestColor:
    @pytest.fixture(autouse=True)
    def plain(self, monkeypatch):
        for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
            monkeypatch.delenv(name, raising=False)

    def test_the_command_line_goes_before_the_environment(self, gradlint, write, monkeypatch):
        write("a.py", BAD)
        monkeypatch.setenv("NO_COLOR", "1")
        assert "\x1b[" in gradlint("check", "--color", "always").stdout
        monkeypatch.delenv("NO_COLOR")
        monkeypatch.setenv("FORCE_COLOR", "1")
        assert "\x1b[" in gradlint("check").stdout
        assert "\x1b[" not in gradlint("check", "--color", "never").stdout

    def test_a_dumb_terminal_has_none(self, monkeypatch):
        assert wants_color(True)
        assert not wants_color(False)
        monkeypatch.setenv("TERM", "dumb")
        assert not wants_color(True)
        assert wants_color(True, When.ALWAYS)
        monkeypatch.setenv("FORCE_COLOR", "1")
        assert wants_color(True)

    def test_another_word(self, gradlint):
        result = gradlint("check", "--color", "sometimes")
        assert result.exit_code == 2
        assert "'sometimes'" in result.stderr

"""`gradlint check` as a user meets it."""

import json
import os
import subprocess
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gradcheck_tool.cli.app import app
from gradcheck_tool.report import FORMATS

BAD = "x = BAD\n"
GOOD = "x = good\n"


def findings(result):
    return [(item["filename"], item["location"]["row"], item["code"]) for item in json.loads(result.stdout)]


class TestExitStatus:
    def test_nothing_found(self, gradlint, write):
        write("a.py", GOOD)
        result = gradlint("check")
        assert (result.exit_code, result.stdout) == (0, "")

    def test_findings(self, gradlint, write):
        write("a.py", BAD)
        result = gradlint("check")
        assert result.exit_code == 1
        assert "a.py:2:5" in result.stdout
        assert "GL201" in result.stdout
        assert result.stderr == "Found 1 problem in 1 file (1 fixable with --fix).\n"

    def test_nothing_to_check_is_said(self, gradlint):
        result = gradlint("check")
        assert (result.exit_code, result.stderr) == (0, "There are no Python files to check.\n")

    def test_exit_zero(self, gradlint, write):
        write("a.py", BAD)
        assert gradlint("check", "--exit-zero").exit_code == 0

    def test_path_that_is_not_there(self, gradlint, write):
        write("a.py", BAD)
        result = gradlint("check", "a.py", "none.py")
        assert result.exit_code == 2
        assert "gradlint: none.py: no such file or folder\n" in result.stderr
        assert "a.py:2:5" in result.stdout

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            (["-", "a.py"], "give no other path"),
            (["a.py", "--stdin-filename", "b.py"], "--stdin-filename is the name"),
            (["-", "--add-noqa"], "--add-noqa is for files"),
            (["--stdin-filename", "a.py", "--show-files"], "--show-files is for files"),
            (["--add-noqa", "--fix"], "--add-noqa and --fix do not go together"),
            (["--write-baseline", "b.json", "--diff"], "--write-baseline and --diff do not go together"),
            (["--show-files", "--watch"], "--show-files and --watch do not go together"),
            (["--statistics", "--output-format", "sarif"], "not as sarif"),
            (["--select", ","], "--select: no rule is named"),
            (["--target-torch", "newest"], "--target-torch: 'newest' is not a version"),
            (["--config", "none.toml"], "none.toml: No such file"),
            (["--config", "a.toml", "--config", "b.toml"], "a.toml and b.toml cannot both be in force"),
            (["--config", "selct=[]"], "--config: unknown key `selct`"),
            (["--config", 'select=["QQ1"]'], "--config: select: no rule matches 'QQ1'"),
        ],
    )
    def test_options_that_cannot_be_meant(self, gradlint, write, options, words):
        write("a.py", BAD)
        result = gradlint("check", *options)
        assert (result.exit_code, result.stdout) == (2, "")
        assert words in result.stderr
        assert len(result.stderr.splitlines()) == 1

    def test_wrong_option(self, gradlint):
        assert gradlint("check", "--no-such-option").exit_code == 2


class TestFilesThatCannotBeChecked:
    def test_in_a_folder_are_reported_and_the_others_continue(self, gradlint, write, project):
        write("bad.py", BAD)
        write("broken.py", "def f(:\n    BAD\n")
        (project / "latin.py").write_bytes(b"import torch.autograd\ns = '\xe9'\n")
        result = gradlint("check", "--output-format", "concise")
        assert result.exit_code == 1
        assert result.stdout.startswith("bad.py:2:5: GL201")
        assert "broken.py: does not parse as Python (row " in result.stderr
        assert "latin.py: cannot be decoded" in result.stderr

    def test_in_a_folder_leave_the_status_alone(self, gradlint, write):
        write("broken.py", "def f(:\n")
        assert gradlint("check").exit_code == 0

    def test_named_make_the_run_fail_however_they_are_named(self, gradlint, write):
        write("sub/a.py", "def broken(:\n    BAD\n")
        assert gradlint("check", "sub/../sub/a.py").exit_code == 2

    def test_named_make_the_run_fail(self, gradlint, write):
        write("broken.py", "def f(:\n")
        assert gradlint("check", "broken.py").exit_code == 2

    @pytest.mark.parametrize("arguments", [["a.py"], ["-"]])
    def test_named_make_the_run_fail_where_nothing_in_them_would_be_executed(
        self, project, monkeypatch, arguments
    ):
        monkeypatch.undo()
        monkeypatch.chdir(project)
        (project / "a.py").write_text("import torch\ndef f(:\n")
        (project / "b.py").write_text("def f(:\n")
        program = (project / "a.py").read_text()
        result = CliRunner().invoke(app, ["check", *arguments], input=program)
        assert result.exit_code == 2
        assert "does not parse as Python (row 2, " in result.stderr
        assert CliRunner().invoke(app, ["check", "."]).exit_code == 0
        assert CliRunner().invoke(app, ["check", "b.py"]).exit_code == 0

    def test_unreadable(self, gradlint, write, monkeypatch):
        path = write("a.py", BAD)
        write("b.py", BAD)
        read = Path.read_bytes

        def forbidden(self):
            if self == path:
                raise PermissionError(13, "Permission denied")
            return read(self)

        monkeypatch.setattr(Path, "read_bytes", forbidden)
        result = gradlint("check", "--output-format", "concise")
        assert result.exit_code == 2
        assert "a.py: Permission denied" in result.stderr
        assert result.stdout.startswith("b.py:2:5")

    def test_unreadable_folder(self, gradlint, write, monkeypatch):
        write("closed/a.py", BAD)
        write("b.py", BAD)
        scan = os.scandir

        def forbidden(path):
            if Path(path).name == "closed":
                raise PermissionError(13, "Permission denied")
            return scan(path)

        monkeypatch.setattr("gradcheck_tool.sources.discover.os.scandir", forbidden)
        result = gradlint("check", "--output-format", "concise")
        assert result.exit_code == 2
        assert "closed: folder cannot be read" in result.stderr
        assert result.stdout.startswith("b.py:2:5")
        listed = gradlint("check", "--show-files")
        assert (listed.exit_code, listed.stdout) == (2, "b.py\n")
        assert "closed: folder cannot be read" in listed.stderr

    def test_a_fault_of_the_engine_is_reported_and_the_others_continue(self, gradlint, write, monkeypatch):
        from tests.fakes import fake_check_source

        def fragile(source, filename, *rest, **options):
            if filename.endswith("odd.py"):
                raise KeyError("surprise")
            return fake_check_source(source, filename, *rest, **options)

        monkeypatch.setattr("gradcheck_tool.session.files.check_source", fragile)
        write("bad.py", BAD)
        write("odd.py", GOOD)
        result = gradlint("check", "--output-format", "concise")
        assert result.exit_code == 2
        assert "odd.py: internal error: KeyError: 'surprise'" in result.stderr
        assert "bad.py:2:5" in result.stdout


class TestSelection:
    @pytest.fixture(autouse=True)
    def program(self, write):
        write("a.py", "x = BAD\ny = UGLY\n")

    def codes(self, result):
        assert result.exit_code in (0, 1), result.stderr
        return [item["code"] for item in json.loads(result.stdout)]

    @pytest.mark.parametrize(
        ("options", "codes"),
        [
            ([], ["GL201", "GL301"]),
            (["--select", "GL2"], ["GL201"]),
            (["--select", "GL201,GL3"], ["GL201", "GL301"]),
            (["--select", "GL201", "--select", "GL301"], ["GL201", "GL301"]),
            (["--ignore", "GL2"], ["GL301"]),
            (["--select", "GL2", "--extend-select", "GL301"], ["GL201", "GL301"]),
        ],
    )
    def test_options(self, gradlint, options, codes):
        assert self.codes(gradlint("check", "--output-format", "json", *options)) == codes

    def test_configuration(self, gradlint, write):
        write("gradlint.toml", 'ignore = ["GL2"]\n')
        assert self.codes(gradlint("check", "--output-format", "json")) == ["GL301"]
        assert self.codes(gradlint("check", "--output-format", "json", "--isolated")) == ["GL201", "GL301"]
        assert self.codes(gradlint("check", "--output-format", "json", "--select", "GL2")) == ["GL201"]

    def test_a_setting_on_the_command_line_wins(self, gradlint, write):
        write("gradlint.toml", 'select = ["GL3"]')
        result = gradlint("check", "--config", 'select = ["GL2"]', "--output-format", "concise")
        assert "GL201" in result.stdout
        assert "GL301" not in result.stdout

    def test_patterns_may_have_commas_between_them(self, gradlint, write):
        for name in ("a.py", "b.py", "c.py"):
            write(name, BAD)
        result = gradlint("check", "--exclude", "a.py, {b,d}.py", "--show-files")
        assert result.stdout == "c.py\n"

    def test_per_file_ignores(self, gradlint, write):
        write("gradlint.toml", '[per-file-ignores]\n"tests/**" = ["GL2"]\n"a.py" = ["GL3"]\n')
        write("tests/b.py", "x = BAD\ny = UGLY\n")
        result = gradlint("check", "--output-format", "concise")
        assert [line.split(" ")[:2] for line in result.stdout.splitlines()] == [
            ["a.py:2:5:", "GL201"],
            ["tests/b.py:3:5:", "GL301"],
        ]

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ('select = ["GL299"]', ["select", "GL299"]),
            ('[per-file-ignores]\n"a.py" = ["GX1"]', ["per-file-ignores.a.py", "GX1"]),
            ('rule-packs = ["none"]', ["none", "no such folder"]),
            ('model-packs = ["none"]', ["none", "is not a folder"]),
            ("slect = []", ["slect", "did you mean `select`"]),
            ("[gradcheck]\nsed = 1", ["gradcheck.sed", "did you mean `seed`"]),
        ],
    )
    def test_wrong_configuration_is_one_line_and_status_2(self, gradlint, write, text, words):
        path = write("gradlint.toml", text)
        result = gradlint("check")
        assert result.exit_code == 2
        assert result.stdout == ""
        assert len(result.stderr.splitlines()) == 1
        for word in (str(path), *words):
            assert word in result.stderr

    def test_a_wrong_setting_of_gradient_checks_is_refused_on_stdin_too(self, gradlint, write):
        write("gradlint.toml", "[gradcheck]\nsed = 1")
        result = gradlint("check", "-", input="x = 1\n")
        assert result.exit_code == 2
        assert "gradcheck.sed" in result.stderr

    def test_wrong_code_on_the_command_line_names_the_nearest(self, gradlint):
        result = gradlint("check", "--select", "gl201")
        assert result.exit_code == 2
        assert "did you mean 'GL201'?" in result.stderr

    def test_the_name_of_a_rule_is_answered_with_its_code(self, gradlint):
        result = gradlint("check", "--ignore", "inplace-on-saved")
        assert "did you mean 'GL201'?" in result.stderr

    def test_wrong_codes_are_refused_even_where_no_file_needs_rules(self, gradlint, project):
        (project / "a.py").write_text("x = 1\n")
        assert gradlint("check", "--select", "GL299").exit_code == 2


class TestOutput:
    @pytest.fixture(autouse=True)
    def program(self, write):
        write("b.py", BAD)
        write("a.py", "y = UGLY\nx = BAD\n")

    def test_findings_are_in_order_of_place(self, gradlint, project):
        result = gradlint("check", "--output-format", "json", "b.py", "a.py")
        assert findings(result) == [
            (str(project / "a.py"), 2, "GL301"),
            (str(project / "a.py"), 3, "GL201"),
            (str(project / "b.py"), 2, "GL201"),
        ]

    def test_machine_formats_say_nothing_on_standard_error(self, gradlint):
        assert gradlint("check", "--output-format", "json").stderr == ""

    def test_file(self, gradlint, project):
        result = gradlint("check", "--output-format", "json", "-o", "out/report.json")
        assert (result.exit_code, result.stdout) == (1, "")
        assert len(json.loads((project / "out/report.json").read_text())) == 3

    def test_several_formats_in_one_run(self, gradlint, project):
        formats = [
            "--output-format",
            "sarif=r.sarif",
            "--output-format",
            "concise",
            "--output-format",
            "junit=r.xml",
        ]
        result = gradlint("check", *formats)
        assert len(result.stdout.splitlines()) == 3
        assert json.loads((project / "r.sarif").read_text())["version"] == "2.1.0"
        assert (project / "r.xml").read_text().startswith("<?xml")

    def test_a_dash_is_standard_output(self, gradlint, project):
        assert gradlint("check", "--output-format", "json=-").stdout.startswith("[")
        assert gradlint("check", "--output-file", "-").stdout.startswith("error[GL301]")
        assert not (project / "-").exists()

    def test_two_formats_to_one_place_are_refused(self, gradlint):
        result = gradlint("check", "--output-format", "json", "--output-format", "full")
        assert result.exit_code == 2
        assert "same place" in result.stderr

    def test_wrong_format_names_the_nearest(self, gradlint):
        result = gradlint("check", "--output-format", "sarrif")
        assert result.exit_code == 2
        assert "did you mean 'sarif'?" in result.stderr

    def test_statistics(self, gradlint):
        result = gradlint("check", "--statistics")
        assert result.exit_code == 1
        assert [line.split() for line in result.stdout.splitlines()] == [
            ["2", "GL201", "inplace-on-saved"],
            ["1", "GL301", "inplace-on-saved"],
        ]
        rows = json.loads(gradlint("check", "--statistics", "--output-format", "json").stdout)
        assert rows[0] == {"code": "GL201", "name": "inplace-on-saved", "count": 2}

    def test_show_files(self, gradlint):
        result = gradlint("check", "--show-files")
        assert (result.exit_code, result.stdout) == (0, "a.py\nb.py\n")

    def test_colour_only_on_request(self, gradlint, monkeypatch):
        assert "\x1b[" not in gradlint("check").stdout
        monkeypatch.setenv("FORCE_COLOR", "1")
        assert "\x1b[" in gradlint("check").stdout
        monkeypatch.setenv("NO_COLOR", "1")
        assert "\x1b[" not in gradlint("check").stdout

    def test_quiet_and_verbose(self, gradlint):
        for task in ([], ["--diff"], ["--write-baseline", "b.json"], ["--fix"], ["--add-noqa"]):
            assert gradlint("check", "--quiet", *task).stderr == ""
        assert "2 files in" in gradlint("check", "--verbose").stderr


class TestNamesThatAreNoText:
    @pytest.fixture(autouse=True)
    def program(self, project):
        path = project / os.fsdecode(b"x\xff.py")
        try:
            path.write_text(f"import torch.autograd\n{BAD}")
        except OSError:
            pytest.skip("this file system has no such names")

    @pytest.mark.parametrize("form", FORMATS)
    def test_are_reported(self, gradlint, project, form):
        assert gradlint("check", "--output-format", f"{form}=report").exit_code == 1
        name = {"sarif": "x%FF.py", "junit": "x\N{REPLACEMENT CHARACTER}.py"}.get(form, "x\\udcff.py")
        assert name in (project / "report").read_text(encoding="utf-8")

    def test_are_known_to_a_baseline(self, gradlint):
        assert gradlint("check", "--write-baseline", "b.json").exit_code == 0
        assert gradlint("check", "--baseline", "b.json").exit_code == 0


class TestSuppression:
    def test_comment(self, gradlint, write):
        write("a.py", "x = BAD  # noqa: GL201\ny = BAD  # noqa: GL301\n")
        assert gradlint("check", "--output-format", "concise").stdout.startswith("a.py:3:5")

    def test_skip_file(self, gradlint, write):
        write("a.py", "# gradlint: skip-file\nx = BAD\n")
        assert gradlint("check").exit_code == 0

    def test_unused_ones_are_reported_and_removed(self, gradlint, write):
        path = write(
            "a.py",
            "x = BAD  # noqa: E501, GL201, GL301\n"
            "y = 1  # gradlint: ignore[GL201]\n"
            "z = 1  # noqa\n"
            "w = 1  # noqa: E501\n"
            "v = 1  # gradlint: ignore[no-such-rule] because\n",
        )
        result = gradlint("check", "--report-unused-suppressions", "--output-format", "concise")
        assert [line.split(" ")[:2] for line in result.stdout.splitlines()] == [
            ["a.py:2:10:", "GL001"],
            ["a.py:3:8:", "GL001"],
            ["a.py:6:8:", "GL001"],
        ]
        assert gradlint("check").exit_code == 0
        assert gradlint("check", "--report-unused-suppressions", "--fix").exit_code == 0
        assert path.read_text().splitlines()[1:] == [
            "x = BAD  # noqa: E501, GL201",
            "y = 1",
            "z = 1  # noqa",
            "w = 1  # noqa: E501",
            "v = 1  # because",
        ]

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("# gradlint: ignore[GL201]\nx = 1\n", "x = 1\n"),
            ("if x:\n    # noqa: GL201\n    y = 1\n", "if x:\n    y = 1\n"),
            ("x = 1  # gradlint: ignore[GL201]  # noqa: GL201\n", "x = 1\n"),
            ("x = 1  # noqa: GL201  # why\n", "x = 1  # why\n"),
            ("x = 1  # why  # noqa: GL201\n", "x = 1  # why\n"),
            ("x = 1\n# gradlint: ignore", "x = 1\n"),
        ],
    )
    def test_nothing_is_left_of_unused_ones(self, gradlint, write, before, after):
        path = write("a.py", before)
        gradlint("check", "--report-unused-suppressions", "--fix")
        assert path.read_text() == f"import torch.autograd\n{after}"

    def test_rules_that_are_off_are_not_called_unused(self, gradlint, write):
        write("a.py", "x = 1  # noqa: GL201\n")
        assert gradlint("check", "--report-unused-suppressions", "--ignore", "GL201").exit_code == 0

    def test_selecting_its_code_turns_the_report_on_like_a_rule(self, gradlint, write):
        write("a.py", "x = 1  # gradlint: ignore[GL201]\n")
        assert gradlint("check", "--ignore", "GL001").exit_code == 0
        for options in (["--extend-select", "GL001"], ["--select", "ALL"]):
            assert "GL001" in gradlint("check", *options).stdout
        assert gradlint("check", "--select", "ALL", "--ignore", "GL001").exit_code == 0

    def test_configuration_turns_the_report_on(self, gradlint, write):
        write("gradlint.toml", "report-unused-suppressions = true\n")
        write("a.py", "x = 1  # gradlint: ignore\n")
        assert "GL001" in gradlint("check").stdout

    def test_add_noqa_suppresses_everything(self, gradlint, write):
        path = write(
            "a.py", "x = BAD\ny = f(\n    BAD,\n    UGLY,\n)  # why\nz = BAD  # noqa: E501\ns = '''BAD\n'''\n"
        )
        result = gradlint("check", "--add-noqa")
        assert result.exit_code == 0
        assert "Suppressed 5 problems." in result.stderr
        assert path.read_text() == (
            "import torch.autograd\n"
            "x = BAD  # noqa: GL201\ny = f(\n    BAD,\n    UGLY,\n)  # why  # noqa: GL201, GL301\n"
            "z = BAD  # noqa: E501, GL201\ns = '''BAD\n'''  # noqa: GL201\n"
        )
        assert gradlint("check").exit_code == 0

    def test_add_noqa_leaves_unused_suppressions_alone(self, gradlint, write):
        path = write("a.py", "x = 1  # noqa: GL201\n")
        gradlint("check", "--report-unused-suppressions", "--add-noqa")
        assert path.read_text() == "import torch.autograd\nx = 1  # noqa: GL201\n"


class TestFix:
    def test_safe_fixes_only_by_default(self, gradlint, write):
        path = write("a.py", "x = BAD\ny = UGLY\n")
        result = gradlint("check", "--fix")
        assert result.exit_code == 1
        assert "Fixed 1 problem." in result.stderr
        assert path.read_text().endswith("x = good\ny = UGLY\n")
        assert gradlint("check", "--fix", "--unsafe-fixes").exit_code == 0
        assert path.read_text().endswith("x = good\ny = good\n")

    def test_diff_changes_nothing(self, gradlint, write):
        path = write("a.py", BAD)
        before = path.read_bytes()
        result = gradlint("check", "--diff")
        assert result.exit_code == 1
        assert result.stdout.splitlines()[:2] == ["--- a.py", "+++ a.py"]
        assert "-x = BAD\n+x = good\n" in result.stdout
        assert path.read_bytes() == before
        assert gradlint("check", "--diff", "--ignore", "GL2").exit_code == 0

    def test_diff_is_a_patch_whatever_the_encoding_and_the_lines(self, gradlint, project):
        before = b"# coding: latin-1\nimport torch.autograd\n\x0c\nx = BAD  # \xe9\r\ny = 1"
        path = project / "a.py"
        path.write_bytes(before)
        patch = gradlint("check", "--diff", "--quiet").stdout_bytes
        subprocess.run(["git", "apply", "-p0", "-"], cwd=project, input=patch, check=True)
        assert path.read_bytes() == before.replace(b"BAD", b"good")

    def test_diff_names_what_it_leaves_out(self, gradlint, write):
        write("a.py", "x = UGLY\n")
        assert gradlint("check", "--diff").stderr == "Would fix 0 problems (1 more with --unsafe-fixes).\n"
        assert gradlint("check", "--diff", "--unsafe-fixes").stderr == "Would fix 1 problem.\n"

    def test_suppressed_ignored_and_known_findings_are_not_fixed(self, gradlint, write):
        text = "x = BAD  # noqa: GL201\ny = UGLY\nz = BAD\n"
        path = write("a.py", text)
        write("gradlint.toml", 'ignore = ["GL3"]\nbaseline = "b.json"\n')
        gradlint("check", "--write-baseline", "b.json")
        assert gradlint("check", "--fix", "--unsafe-fixes").exit_code == 0
        assert path.read_text().endswith(text)

    def test_files_with_nothing_to_fix_are_not_written(self, gradlint, write):
        path = write("a.py", "y = UGLY\n")
        os.utime(path, (1, 1))
        gradlint("check", "--fix")
        assert path.stat().st_mtime == 1


class TestBaseline:
    def test_known_findings_are_not_reported_wherever_they_move(self, gradlint, write):
        path = write("pkg/a.py", "x = BAD\nx = BAD\n")
        result = gradlint("check", "--write-baseline", "lint/known.json")
        assert result.exit_code == 2
        (path.parent.parent / "lint").mkdir()
        result = gradlint("check", "--write-baseline", "lint/known.json")
        assert result.exit_code == 0
        assert "Wrote 2 findings" in result.stderr
        write("pkg/a.py", "\n\n# moved\nif True:\n    x = BAD\n\nx = BAD\n")
        assert gradlint("check", "--baseline", "lint/known.json").exit_code == 0
        write("gradlint.toml", 'baseline = "lint/known.json"\n')
        assert gradlint("check").exit_code == 0

    def test_new_findings_are_reported_even_like_known_ones(self, gradlint, write):
        write("a.py", "x = BAD\n")
        gradlint("check", "--write-baseline", "b.json")
        write("a.py", "x = BAD\nx = BAD\ny = BAD\n")
        result = gradlint("check", "--baseline", "b.json", "--output-format", "concise")
        assert [line.split(":")[1] for line in result.stdout.splitlines()] == ["3", "4"]
        assert result.stderr.endswith(" 1 problem in the baseline.\n")

    @pytest.mark.parametrize("options", [[], ["--no-cache"]])
    def test_the_last_line_counts_known_findings(self, gradlint, write, options, monkeypatch):
        monkeypatch.setattr(time, "time_ns", lambda: 10**19)  # long after the files were written
        write("a.py", "x = BAD\ny = BAD\n")
        gradlint("check", "--write-baseline", "b.json")
        for _ in range(2):
            result = gradlint("check", "--baseline", "b.json", *options)
            assert result.stderr == "No new autograd mistakes found. 2 problems in the baseline.\n"

    @pytest.mark.parametrize(("text", "words"), [(None, "no such baseline"), ("{}", "not a baseline")])
    def test_baseline_that_cannot_be_used(self, gradlint, write, text, words):
        write("a.py", BAD)
        if text is not None:
            write("b.json", text)
        result = gradlint("check", "--baseline", "b.json")
        assert result.exit_code == 2
        assert words in result.stderr


class TestStandardInput:
    def test_program(self, gradlint, project):
        result = gradlint(
            "check", "-", "--output-format", "concise", input="import torch.autograd\nx = BAD\n"
        )
        assert result.exit_code == 1
        assert result.stdout.startswith("-:2:5: GL201")

    def test_name_gives_place_and_configuration(self, gradlint, write):
        write("sub/gradlint.toml", 'ignore = ["GL2"]\n')
        text = "import torch.autograd\nx = BAD\ny = UGLY\n"
        result = gradlint(
            "check", "-", "--stdin-filename", "sub/a.py", "--output-format", "concise", input=text
        )
        assert [line.split(" ")[:2] for line in result.stdout.splitlines()] == [["sub/a.py:3:5:", "GL301"]]

    def test_name_above_the_folder_finds_the_configuration_there(self, gradlint, write, monkeypatch):
        write("gradlint.toml", 'ignore = ["GL2"]')
        write("sub/gradlint.toml", "")
        monkeypatch.chdir("sub")
        result = gradlint("check", "--stdin-filename", "../a.py", input=f"import torch.autograd\n{BAD}")
        assert result.exit_code == 0

    def test_full_report_shows_the_program(self, gradlint):
        result = gradlint("check", "-", input="import torch.autograd\nx = BAD  # here\n")
        assert "x = BAD  # here" in result.stdout

    def test_fix_prints_the_program_alone(self, gradlint):
        result = gradlint("check", "-", "--fix", input="import torch.autograd\nx = BAD\n")
        assert (result.exit_code, result.stdout) == (0, "import torch.autograd\nx = good\n")

    def test_broken_program(self, gradlint):
        result = gradlint("check", "-", input="import torch.autograd\ndef f(:\n")
        assert result.exit_code == 2
        assert "No autograd mistakes found in what could be checked." in result.stderr

    def test_a_name_alone_means_standard_input(self, gradlint):
        text = "import torch.autograd\nx = BAD\n"
        result = gradlint("check", "--stdin-filename", "a.py", "--output-format", "concise", input=text)
        assert result.stdout.startswith("a.py:2:5: GL201")

    def test_excluded_name_is_not_checked_when_exclusions_are_forced(self, gradlint):
        text = "import torch.autograd\nx = BAD\n"
        options = ["-", "--stdin-filename", "gen/a.py", "--exclude", "gen"]
        assert gradlint("check", *options, input=text).exit_code == 1
        result = gradlint("check", *options, "--force-exclude", input=text)
        assert (result.exit_code, result.stdout) == (0, "")
        assert gradlint("check", *options, "--force-exclude", "--fix", input=text).stdout == text

    def test_notebook(self, gradlint, project):
        cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": "import torch.autograd\nBAD"}
        text = json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4})
        options = ["-", "--stdin-filename", "n.ipynb"]
        result = gradlint("check", *options, "--output-format", "concise", input=text)
        assert result.stdout.startswith("n.ipynb:cell 1:2:1: GL201")
        assert gradlint("check", *options, "--fix", input=text).stdout == text.replace("BAD", "good")


class TestNotebooks:
    @pytest.fixture
    def notebook(self, project):
        def write(*sources):
            cells = [
                {"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": [], "source": source}
                for source in sources
            ]
            document = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
            path = project / "n.ipynb"
            path.write_text(json.dumps(document, indent=1) + "\n")
            return path

        return write

    def test_findings_are_in_cells(self, gradlint, notebook):
        notebook("import torch.autograd", "%matplotlib inline\nx = BAD", "y = UGLY  # noqa: GL301")
        result = gradlint("check", "--output-format", "concise")
        assert result.stdout.startswith("n.ipynb:cell 2:2:5: GL201")
        assert len(result.stdout.splitlines()) == 1
        item = json.loads(gradlint("check", "--output-format", "json").stdout)[0]
        assert (item["cell"], item["location"], item["fix"]["edits"][0]["location"]) == (
            2,
            {"row": 2, "column": 5},
            {"row": 2, "column": 5},
        )

    def test_findings_are_in_the_order_of_the_cells(self, gradlint, notebook):
        notebook("import torch.autograd\n\nx = BAD", "y = BAD")
        result = gradlint("check", "--output-format", "concise")
        assert [line[:18] for line in result.stdout.splitlines()] == [
            "n.ipynb:cell 1:3:5",
            "n.ipynb:cell 2:1:5",
        ]

    def test_fix_changes_one_cell(self, gradlint, notebook):
        path = notebook("import torch.autograd", "!ls\nx = BAD")
        before = path.read_text()
        assert gradlint("check", "--fix").exit_code == 0
        assert path.read_text() == before.replace("BAD", "good")

    def test_baseline_and_noqa(self, gradlint, notebook):
        path = notebook("import torch.autograd", "x = BAD")
        gradlint("check", "--write-baseline", "b.json")
        assert gradlint("check", "--baseline", "b.json").exit_code == 0
        gradlint("check", "--add-noqa")
        assert json.loads(path.read_text())["cells"][1]["source"] == "x = BAD  # noqa: GL201"
        assert gradlint("check").exit_code == 0

    def test_broken_cell_is_reported_and_the_others_are_checked(self, gradlint, notebook):
        notebook("import torch.autograd", "def f(:", "x = BAD")
        result = gradlint("check", "n.ipynb", "--output-format", "concise")
        assert result.exit_code == 1
        assert "cell 2 is not Python, left out" in result.stderr
        assert result.stdout.startswith("n.ipynb:cell 3:1:5")


def test_no_path_is_the_current_folder(gradlint, write):
    write("deep/er/a.py", BAD)
    assert "deep/er/a.py:2:5" in gradlint("check", "--output-format", "concise").stdout


def test_files_without_torch_are_not_parsed(gradlint, project):
    (project / "a.py").write_text("def broken(:\n    BAD\n")
    result = gradlint("check", "a.py")
    assert (result.exit_code, result.stdout) == (0, "")

"""`gradlint check` as a user meets it."""

import json
import os
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
            (["-", "a.py"], "cannot be combined with other paths"),
            (["a.py", "--stdin-filename", "b.py"], "--stdin-filename is the name"),
            (["-", "--add-noqa"], "--add-noqa is for files"),
            (["--stdin-filename", "a.py", "--show-files"], "--show-files is for files"),
            (["--add-noqa", "--fix"], "--add-noqa and --fix cannot be combined"),
            (["--write-baseline", "b.json", "--diff"], "--write-baseline and --diff cannot be combined"),
            (["--show-files", "--watch"], "--show-files and --watch cannot be combined"),
            (["--statistics", "--output-format", "sarif"], "not as sarif"),
            (["--select", ","], "--select: no rule is named"),
            (["--target-torch", "newest"], "--target-torch: 'newest' is not a version"),
            (["--config", "none.toml"], "none.toml: No such file"),
            (["--config", "a.toml", "--config", "b.toml"], "a.toml and b.toml cannot both be used"),
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

    def test_in_a_folder_are_reported_where_nothing_in_them_would_be_executed(self, project, monkeypatch):
        monkeypatch.undo()
        monkeypatch.chdir(project)
        (project / "a.py").write_text("import torch\ndef f(:\n")
        (project / "b.py").write_text("def f(:\n")
        (project / "c.py").write_text("x = 1\n")
        (project / "n.ipynb").write_text('{"cells": [')
        result = CliRunner().invoke(app, ["check", "."])
        assert (result.exit_code, result.stdout) == (0, "")
        *told, last = result.stderr.splitlines()
        assert [line.split(": ", 1)[1] for line in told] == [
            "a.py: does not parse as Python (row 2, column 7)",
            "b.py: does not parse as Python (row 1, column 7)",
            "n.ipynb: is not a notebook: Expecting value: line 1 column 12 (char 11)",
        ]
        assert "1 file" in last

    @pytest.mark.parametrize(
        ("name", "text", "words"),
        [
            ("b.py", "def f(:\n", "b.py: does not parse as Python (row 1, column 7)"),
            ("b.py", "x = 1\ny = = 2\nz = 3\n", "(row 2, column 5)"),
            ("b.py", "x = " + "(" * 1300 + "1" + ")" * 1300, "b.py: is nested too deeply to be analysed"),
            ("n.ipynb", '{"cells": [', "n.ipynb: is not a notebook"),
        ],
    )
    def test_named_make_the_run_fail_whatever_they_are_about(self, gradlint, project, name, text, words):
        (project / name).write_text(text)
        result = gradlint("check", name)
        assert (result.exit_code, result.stdout) == (2, "")
        assert words in result.stderr
        assert "No file could be checked.\n" in result.stderr
        assert gradlint("check", ".").exit_code == 0

    def test_the_last_line_counts_the_files(self, gradlint, write):
        write("a.py", GOOD)
        write("broken.py", "def f(:\n")
        assert gradlint("check", "a.py").stderr == "No autograd mistakes found in 1 file.\n"
        last = "No autograd mistakes found in 1 file; 1 file could not be checked.\n"
        assert gradlint("check").stderr.endswith(last)

    def test_unreadable(self, gradlint, write, monkeypatch):
        path = write("a.py", BAD)
        write("b.py", BAD)

        def forbidden(place):
            if place == path:
                raise PermissionError(13, "Permission denied")
            return place.read_bytes()

        monkeypatch.setattr("gradcheck_tool.session.modules.read_program", forbidden)
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
        result = gradlint("check", "--select", "GL20l")
        assert result.exit_code == 2
        assert "did you mean 'GL20'?" in result.stderr

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
        name = {"sarif": "x%FF.py"}.get(form, "x\\udcff.py")
        assert name in (project / "report").read_text(encoding="utf-8")

    def test_are_known_to_a_baseline(self, gradlint):
        assert gradlint("check", "--write-baseline", "b.json").exit_code == 0
        assert gradlint("check", "--baseline", "b.json").exit_code == 0


def test_no_path_is_the_current_folder(gradlint, write):
    write("deep/er/a.py", BAD)
    assert "deep/er/a.py:2:5" in gradlint("check", "--output-format", "concise").stdout


def test_files_without_torch_are_not_analysed(gradlint, project):
    (project / "a.py").write_text("def fine():\n    BAD\n")
    result = gradlint("check")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "No autograd mistakes found in 1 file.\n"

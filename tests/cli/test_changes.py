"""`gradlint check` where it changes files or leaves findings out: suppressions, fixes, baselines."""

import json
import os
import subprocess
import time

import pytest

BAD = "x = BAD\n"
GOOD = "x = good\n"


def findings(result):
    return [(item["filename"], item["location"]["row"], item["code"]) for item in json.loads(result.stdout)]


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

    PROGRAM = "x = BAD\ny = f(\n    BAD,\n    UGLY,\n)  # why\nz = BAD  # noqa: E501\ns = '''BAD\n'''\n"

    def test_add_noqa_suppresses_everything_in_a_form_that_other_linters_leave_alone(self, gradlint, write):
        path = write("a.py", f"{self.PROGRAM}t = BAD  # gradlint: ignore[GL301] old\n")
        result = gradlint("check", "--add-noqa")
        assert (result.exit_code, result.stderr) == (0, "Suppressed 6 problems.\n")
        assert path.read_text() == (
            "import torch.autograd\n"
            "x = BAD  # gradlint: ignore[GL201]\n"
            "y = f(\n    BAD,\n    UGLY,\n)  # why  # gradlint: ignore[GL201, GL301]\n"
            "z = BAD  # noqa: E501  # gradlint: ignore[GL201]\n"
            "s = '''BAD\n'''  # gradlint: ignore[GL201]\n"
            "t = BAD  # gradlint: ignore[GL301, GL201] old\n"
        )
        assert gradlint("check").exit_code == 0

    def test_add_noqa_in_the_form_of_other_linters(self, gradlint, write):
        path = write("a.py", self.PROGRAM)
        result = gradlint("check", "--add-noqa", "--comment-form", "noqa")
        assert result.exit_code == 0
        assert "Suppressed 5 problems." in result.stderr
        assert "ruff removes these comments where RUF100 or RUF102 is on" in result.stderr
        assert '`[tool.ruff.lint] external = ["GL"]`' in result.stderr
        assert path.read_text() == (
            "import torch.autograd\n"
            "x = BAD  # noqa: GL201\ny = f(\n    BAD,\n    UGLY,\n)  # why  # noqa: GL201, GL301\n"
            "z = BAD  # noqa: E501, GL201\ns = '''BAD\n'''  # noqa: GL201\n"
        )
        assert gradlint("check").exit_code == 0

    @pytest.mark.parametrize(
        ("form", "comment"),
        [
            ("gradlint", "# gradlint: ignore[GL201] known, see GL301 in #12"),
            ("noqa", "# noqa: GL201 - known, see GL301 in #12"),
        ],
    )
    def test_add_noqa_with_a_reason(self, gradlint, write, form, comment):
        path = write("a.py", BAD)
        gradlint("check", "--add-noqa", "--comment-form", form, "--reason", " known,\nsee GL301 in #12 ")
        assert path.read_text().endswith(f"x = BAD  {comment}\n")
        # No word of the reason suppresses anything.
        path.write_text(f"import torch.autograd\nx = UGLY  {comment}\n")
        assert gradlint("check").exit_code == 1

    @pytest.mark.parametrize("options", [["--reason", "known"], ["--comment-form", "noqa"]])
    def test_how_a_comment_is_written_matters_where_one_is(self, gradlint, write, options):
        write("a.py", BAD)
        result = gradlint("check", *options)
        assert result.exit_code == 2
        assert f"{options[0]} needs --add-noqa" in result.stderr

    @pytest.mark.parametrize(
        "comment", ["# noqa: GL2", "# gradlint: ignore[gl2]", "# gradlint: ignore[GL20]"]
    )
    def test_the_beginning_of_codes(self, gradlint, write, comment):
        write("a.py", f"x = BAD  {comment}\ny = UGLY  {comment}\n")
        result = gradlint("check", "--output-format", "json")
        assert [(row, code) for _, row, code in findings(result)] == [(3, "GL301")]

    @pytest.mark.parametrize(
        ("comment", "told"),
        [
            ("# gradlint: ignore[GL299]", "GL299, but there is no such rule; did you mean GL209?"),
            (
                "# gradlint: ignore[inplace-on-savd]",
                "inplace-on-savd, but there is no such rule; did you mean ",
            ),
            ("# noqa: E501, GL999", "GL999, but there is no such rule"),
            ("# gradlint: skip-file[GC999]", "GC999, but there is no such rule"),
        ],
    )
    def test_a_code_of_no_rule_is_said(self, gradlint, write, comment, told):
        write("a.py", f"x = BAD\ny = 1  {comment}\n")
        # The second time, the result comes from the cache.
        for options in ([], ["--fail-on", "GL2"]):
            result = gradlint("check", *options)
            assert result.exit_code == 1
            assert f"gradlint: a.py: line 3: a comment suppresses {told}" in result.stderr

    @pytest.mark.parametrize(
        "comment",
        [
            "# noqa: E999, G201",
            "# gradlint: ignore[GL201, GL2, GC101, GL001, inplace-on-saved, unused-suppression]",
            "# gradlint: ignore",
            "# noqa",
        ],
    )
    def test_codes_of_rules_and_of_other_linters_are_not(self, gradlint, write, comment):
        write("a.py", f"y = 1  {comment}\n")
        assert gradlint("check").stderr == "No autograd mistakes found in 1 file.\n"

    def test_a_code_of_no_rule_in_a_notebook(self, gradlint, write):
        cells = ["x = 1", "y = 2\nz = 3  # gradlint: ignore[GL299]"]
        listed = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": cell} for cell in cells]
        write("a.ipynb", json.dumps({"cells": listed, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
        assert "a.ipynb: cell 2, line 2: a comment suppresses GL299" in gradlint("check").stderr

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

    def test_a_fix_that_was_refused_is_offered_no_more(self, gradlint, write):
        write("a.py", "def f(good, BAD): pass\n")
        assert gradlint("check").stderr == "Found 1 problem in 1 file (1 fixable with --fix).\n"
        assert gradlint("check", "--fix").stderr == "Found 1 problem in 1 file.\n"
        write("a.py", "def f(good, UGLY): pass\n")
        unsafe = "Found 1 problem in 1 file (1 fixable with --fix --unsafe-fixes).\n"
        assert gradlint("check", "--fix").stderr == unsafe
        assert gradlint("check", "--fix", "--unsafe-fixes").stderr == "Found 1 problem in 1 file.\n"

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
            assert result.stderr == "No new autograd mistakes found in 1 file. 2 problems in the baseline.\n"

    @pytest.mark.parametrize(("text", "words"), [(None, "no such baseline"), ("{}", "not a baseline")])
    def test_baseline_that_cannot_be_used(self, gradlint, write, text, words):
        write("a.py", BAD)
        if text is not None:
            write("b.json", text)
        result = gradlint("check", "--baseline", "b.json")
        assert result.exit_code == 2
        assert words in result.stderr

"""What `gradlint check` reads besides files of Python: standard input and notebooks."""

import json

import pytest

BAD = "x = BAD\n"
GOOD = "x = good\n"


class TestStandardInput:
    def test_program(self, gradlint, project):
        result = gradlint(
            "check", "-", "--output-format", "concise", input="import torch.autograd\nx = BAD\n"
        )
        assert result.exit_code == 1
        assert result.stdout.startswith("-:2:5: GL201")

    def test_verbose(self, gradlint, project):
        assert "1 file in" in gradlint("check", "-", "--verbose", input="import torch\n").stderr

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
        assert "No file could be checked." in result.stderr

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
        assert json.loads(path.read_text())["cells"][1]["source"] == "x = BAD  # gradlint: ignore[GL201]"
        assert gradlint("check").exit_code == 0

    def test_broken_cell_is_reported_and_the_others_are_checked(self, gradlint, notebook):
        notebook("import torch.autograd", "def f(:", "x = BAD")
        for path, status in ((".", 1), ("n.ipynb", 2)):
            result = gradlint("check", path, "--output-format", "concise")
            assert result.exit_code == status
            assert "cell 2 is not Python, left out" in result.stderr
            assert result.stdout.startswith("n.ipynb:cell 3:1:5")

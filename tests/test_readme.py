"""What the README and the page on writing rules say is true."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from gradcheck_tool.cli.app import app
from gradcheck_tool.config import KEYS, parse_config
from gradcheck_tool.report import FORMATS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language, text=README):
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def shell_lines():
    return [line.split("  #")[0].strip() for block in blocks("sh") for line in block.splitlines() if line]


def gradlint(*arguments, cwd):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "gradcheck_tool", *arguments]
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=300
    )


def test_begins_with_the_two_set_up_commands():
    first, second = shell_lines()[:2]
    assert "gradlint check --exit-zero fixtures" in first
    assert "torch" not in first
    assert "-c constraints.txt" in second
    assert "[dev]" in second
    assert "-m pytest" in second


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", "docs/writing-rules.md", "docs/gradcheck/index.md"]
)
def test_links_lead_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+?)(?:#[\w-]*)?\)", text):
        if not target.startswith("http"):
            assert (ROOT / page).parent.joinpath(target).exists(), target
    for anchor in re.findall(r"\]\(#([\w-]+)\)", text):
        headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
        assert anchor in {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


class TestFirstExample:
    @pytest.fixture
    def program(self, tmp_path):
        (tmp_path / "attention.py").write_text(blocks("python")[0])
        return tmp_path

    def test_prints_what_is_shown(self, program):
        (shown,) = re.findall(r"```text\n\$ gradlint check attention.py\n(.*?)```", README, re.DOTALL)
        printed = gradlint("check", "--no-cache", "attention.py", cwd=program).stdout
        assert printed.rstrip("\n") == shown.rstrip("\n")

    @pytest.mark.parametrize("anomaly", [False, True])
    def test_pytorch_names_the_lines_that_the_text_says(self, program, anomaly):
        start = f"import torch; torch.autograd.set_detect_anomaly({anomaly})\n"
        code = f"{start}import runpy; runpy.run_path('attention.py')"
        result = subprocess.run(
            [sys.executable, "-c", code],
            cwd=program,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        named = set(map(int, re.findall(r'attention\.py", line (\d+)', result.stderr)))
        assert "modified by an inplace operation" in result.stderr
        assert 21 in named
        assert (13 in named, 14 in named) == (anomaly, False)
        assert ("was changed in there or anywhere later. Good luck!" in result.stderr) is anomaly


def test_second_example_prints_what_is_shown_but_for_digits(tmp_path):
    after = README[README.index("## Checking gradients") :]
    (tmp_path / "ops.py").write_text(blocks("python", after)[0])
    (shown,) = re.findall(r"```text\n\$ gradlint gradcheck ops.py\n(.*?)```", after, re.DOTALL)
    result = gradlint("gradcheck", "--no-cache", "ops.py", cwd=tmp_path)

    def without_numbers(text):
        return re.sub(r"-?\d+\.\d+(e[-+]\d+)?", "#", text).rstrip("\n")

    assert without_numbers(result.stdout) == without_numbers(shown)
    assert result.returncode == 1


@pytest.mark.parametrize("line", [line for line in shell_lines() if line.startswith("gradlint ")])
def test_command_lines_are_accepted(line):
    _, first, *rest = shlex.split(line.split(" < ")[0])
    group = typer.main.get_command(app)
    context = group.make_context("gradlint", [first, *rest], resilient_parsing=True)
    if first.startswith("-"):
        assert first in {option for item in group.get_params(context) for option in item.opts}
    else:
        group.get_command(context, first).make_context(first, rest)


def test_every_key_and_format_is_described_and_no_other():
    assert set(re.findall(r"^\| `([a-z-]+)` \|", README, re.MULTILINE)) == set(KEYS)
    (listed,) = re.findall(r"`--output-format` takes (.*?), and may be", README, re.DOTALL)
    assert set(re.findall(r"`(\w+)`", listed)) == set(FORMATS)


def test_every_extra_for_users_is_described():
    metadata = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = set(metadata["optional-dependencies"]) - {"dev"}
    assert set(re.findall(r"^\| `gradcheck-tool\[(\w+)\]`", README, re.MULTILINE)) == extras


def test_configuration_is_one():
    from gradcheck_tool.harness.settings import read_settings

    (table,) = blocks("toml")
    config = parse_config(tomllib.loads(table)["tool"]["gradlint"], Path("/r/pyproject.toml"))
    read_settings(config.gradcheck, "README")


def test_editors_pattern_reads_the_lines_and_knows_when_a_round_begins_and_ends(tmp_path):
    (task,) = json.loads(blocks("json")[0])["tasks"]
    matcher = task["problemMatcher"]
    (tmp_path / "a.py").write_text("import torch\n\nw = torch.zeros(3, requires_grad=True)\nw += 1\n")
    line = gradlint("check", "--no-cache", "--output-format", "concise", cwd=tmp_path).stdout
    found = re.match(matcher["pattern"]["regexp"], line)
    assert found.group(1, 2, 3, 4) == ("a.py", "4", "1", "GL301")
    source = (ROOT / "gradcheck_tool" / "cli" / "watch.py").read_text()
    said = re.findall(r'note\("(.+?)"\)', source)
    for pattern in matcher["background"].values():
        assert any(re.match(pattern, words) for words in said)


def test_the_rules_that_the_page_on_rules_shows_report_what_it_shows(tmp_path):
    page = (ROOT / "docs" / "writing-rules.md").read_text(encoding="utf-8")
    name_rule, rule, program, triggers, tracker = blocks("python", page)
    (tmp_path / "tools" / "gradlint_rules").mkdir(parents=True)
    (tmp_path / "tools" / "gradlint_rules" / "team001.py").write_text(rule)
    (tmp_path / "tools" / "gradlint_rules" / "team002.py").write_text(name_rule)
    (tmp_path / "pyproject.toml").write_text(blocks("toml", page)[0])
    (tmp_path / "train.py").write_text(program)
    gradlint("trust", "tools/gradlint_rules", cwd=tmp_path)
    result = gradlint("check", "--no-cache", cwd=tmp_path)
    assert result.stdout.rstrip("\n") == blocks("text", page)[0].rstrip("\n")
    assert "keeps the memory" in gradlint("rule", "TEAM001", cwd=tmp_path).stdout
    (tmp_path / "train.py").write_text("import torch\n\n\ndef f():\n    torch.autograd.detect_anomaly()\n")
    assert "warning[TEAM002]" in gradlint("check", "--no-cache", cwd=tmp_path).stdout
    exec(triggers, {"__name__": "triggers"})
    whole = (ROOT / "tests" / "rules" / "pack_of_three" / "team003_steps_twice.py").read_text(
        encoding="utf-8"
    )
    assert all(line.strip().strip('"') in whole for line in tracker.splitlines())

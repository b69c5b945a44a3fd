"""Texts of a checked tree reach no terminal as control characters, and no CI service as commands."""

import json
import os
import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradcheck_tool.report import FORMATS
from gradcheck_tool.trust.visible import escaped_json, visible, visible_lines, visible_name

WRONG = (
    "import torch\nloss = torch.ones(2, requires_grad=True).exp().sum()\nloss.backward()\nloss.backward()\n"
)
# What GitHub, GitLab and Azure take for commands, what moves a cursor, and what turns the direction.
EVIL = [
    "a\n::error file=t.py,line=1::forged.py",
    "a\n  ::add-mask::b.py",
    "a\r::warning::forged.py",
    "\x1b[31mred.py",
    "\x1b]8;;http:evil\x07link.py",
    "\u202eyp.exe.py",
    "\u2066x\u2069\u200f.py",
    "\x9b31m.py",
    "::error::forged.py",
    "##[error]forged.py",
    "##vso[task.setvariable variable=x]y.py",
    "section_start:0:x\r\x1b[0K.py",
    "\x7f\x08\x08.py",
    "\udcff\udc9b.py",
    "l\u2028p\u2029n\x85.py",
]
COMMAND = re.compile(
    r"^\s*::(?!error title=gradlint|warning title=gradlint)|(?!^##vso\[task\.logissue type=)##\w*\[",
    re.MULTILINE,
)


def is_harmless(text):
    """Whether a text can do nothing to a terminal or a CI service."""
    return text.replace("\n", "").isprintable() and COMMAND.search(text) is None


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """Programs with mistakes, and with syntax errors, under evil names; and evil things in programs."""
    folder = tmp_path_factory.mktemp("tree")
    try:
        for name in EVIL:
            (folder / name).write_text(WRONG)
            (folder / f"bad{name}").write_text("import torch\nloss.backward(\n")
    except OSError:
        pytest.skip("this file system has no such names")
    (folder / "source.py").write_text(
        WRONG
        + "d = {}\nd['\x1b[31m \u202e ##[error]x'] = torch.ones(2, requires_grad=True)\n"
        + "d['\x1b[31m \u202e ##[error]x'].exp().sum().backward()\n"
        + "y = torch.ones(2, requires_grad=True)  # \x1b[31m \u202e ::error:: ##[error]x\n"
        + "y += 1  # ##vso[task.x]y \x9b \u2067\n"
    )
    return folder


def gradlint(folder, *arguments):
    command = [sys.executable, "-m", "gradcheck_tool", *arguments]
    ended = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    return ended.stdout.decode(), ended.stderr.decode(), ended.returncode


@pytest.mark.skipif(os.name != "posix", reason="such names are refused")
@pytest.mark.parametrize("name", FORMATS)
def test_no_format_lets_texts_through(tree, name):
    out, err, status = gradlint(tree, "check", "--no-cache", "--output-format", name)
    assert status == 1
    assert is_harmless(err), err
    assert is_harmless(out), out
    assert err.count("does not parse") == len(EVIL)
    assert err.count("\n") <= len(EVIL) + 1
    if name == "github":
        assert [line for line in out.splitlines() if not line.startswith("::")] == []
    if name == "azure":
        assert [line for line in out.splitlines() if not line.startswith("##vso[task.logissue type=")] == []
    else:
        assert "##vso[" not in out
    if name == "concise":
        assert [line for line in out.splitlines() if not re.search(r":\d+:\d+: GL\d{3} ", line)] == []


@pytest.mark.skipif(os.name != "posix", reason="such names are refused")
@pytest.mark.parametrize("name", ["json", "sarif", "gitlab"])
def test_data_stay_what_they_are(tree, name):
    out, _, _ = gradlint(tree, "check", "--no-cache", "--output-format", name)
    told = json.loads(out)
    if name == "json":
        assert {os.path.relpath(item["filename"], tree) for item in told} == {*EVIL, "source.py"}
    if name == "gitlab":
        assert {item["location"]["path"] for item in told} == {*EVIL, "source.py"}


@pytest.mark.skipif(os.name != "posix", reason="such names are refused")
@pytest.mark.parametrize("evil", EVIL)
def test_errors_are_one_line_that_does_nothing(tmp_path, evil):
    folder = tmp_path / evil.removesuffix(".py").replace("/", "")
    folder.mkdir()
    (folder / "gradlint.toml").write_text("wrong-key = 1\n")
    (folder / "a.py").write_text(WRONG)
    for words in (["check", "."], ["check", folder], ["config", folder], [evil], ["check", evil]):
        out, err, status = gradlint(tmp_path if words[-1] is folder else folder, *words)
        assert status == 2
        assert is_harmless(err + out), err + out
        assert err.count("\n") <= 2


@pytest.mark.skipif(os.name != "posix", reason="such names are refused")
@pytest.mark.parametrize("evil", EVIL)
def test_other_commands(tmp_path, evil):
    folder = tmp_path / evil.removesuffix(".py")
    folder.mkdir()
    (folder / "gradlint.toml").write_text(f"extend-exclude = [{json.dumps(evil)}]\n")
    (folder / "a.py").write_text(WRONG)
    for words in (
        ["config", folder],
        ["config", "--json", folder],
        ["check", "--show-files", folder],
        ["check", "--statistics", folder],
        ["check", "-v", folder],
        ["clean", folder],
        ["trust", folder],
    ):
        out, err, _ = gradlint(tmp_path, *words)
        assert is_harmless(out + err), out + err


@pytest.mark.skipif(os.name != "posix", reason="such names are refused")
@pytest.mark.parametrize("evil", [name for name in EVIL if "\udcff" not in name])
def test_a_patch_names_files_as_git_does(tmp_path, evil):
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    (tmp_path / evil).write_text(WRONG.replace("backward()", "backward(retain_variables=True)"))
    out, _, _ = gradlint(tmp_path, "check", "--no-cache", "--diff")
    names = [line for line in out.splitlines() if line.startswith(("---", "+++"))]
    assert len(names) == 2
    assert is_harmless("\n".join(names))
    subprocess.run(["git", "apply", "-p0"], cwd=tmp_path, input=out.encode(), check=True)
    assert "retain_graph=True" in (tmp_path / evil).read_text()


@given(st.text())
def test_visible_text_is_one_harmless_line(text):
    assert is_harmless(visible(text))
    assert "\n" not in visible(text)
    assert visible(visible(text)) == visible(text)


@given(st.text(alphabet=st.sampled_from("\n\r :#[]ea\x1b\u202e")))
def test_commands_are_recognised_however_they_are_written(text):
    assert is_harmless(visible_lines(text))
    assert is_harmless(visible_name(text))
    assert visible_lines(text).count("\n") == text.count("\n")


@given(
    st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))
)
def test_escaped_json_is_the_same_json(value):
    text = json.dumps(value, ensure_ascii=False, indent=2)
    assert json.loads(escaped_json(text)) == value
    assert escaped_json(text).replace("\n", "").isprintable()

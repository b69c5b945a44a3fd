"""Packs that a checked tree names run after consent to their content alone, whatever command comes upon them."""

import json
import os
import py_compile
import shutil
import subprocess
import sys

import pytest

from gradcheck_tool.trust.consents import consent, consents, is_trusted, place_of, withdraw
from gradcheck_tool.trust.packs import UnreadablePackError, content_of

RULE = '''
import pathlib
from gradcheck_tool import BackwardCall, Rule, Severity

pathlib.Path({mark!r}).touch()


class Own(Rule):
    """Every backward is reported."""

    code = "TEAM001"
    name = "own"
    severity = Severity.WARNING
    effect = "silent"
    predicts = "nothing"

    def on_backward_call(self, event: BackwardCall):
        yield self.finding(event, "seen by the pack")
'''
PROGRAM = "import torch\nloss = torch.ones(2, requires_grad=True).exp().sum()\nloss.backward()\n"


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    """A user who has consented to nothing."""
    monkeypatch.setenv("GRADLINT_STATE_DIR", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def mark(tmp_path):
    """The file that the pack makes when it is executed."""
    return tmp_path / "EXECUTED"


@pytest.fixture
def tree(tmp_path, mark):
    """A tree with a pack that a nested configuration names."""
    folder = tmp_path / "tree"
    (folder / "sub" / "pack").mkdir(parents=True)
    (folder / "sub" / "t.py").write_text(PROGRAM)
    (folder / "sub" / "pack" / "own.py").write_text(RULE.format(mark=str(mark)))
    (folder / "sub" / "gradlint.toml").write_text('rule-packs = ["pack"]\n')
    return folder


def gradlint(folder, *arguments, stdin=""):
    command = [sys.executable, "-m", "gradcheck_tool", *arguments]
    return subprocess.run(command, cwd=folder, input=stdin, capture_output=True, text=True, check=False)


COMMANDS = [
    ("", ["check", "--no-cache"]),
    ("", ["check", "--no-cache", "sub/t.py"]),
    ("", ["check", "--fix"]),
    ("", ["check", "--diff"]),
    ("", ["check", "--add-noqa"]),
    ("", ["check", "--write-baseline", "b.json"]),
    ("", ["check", "--config", "sub/gradlint.toml"]),
    ("sub", ["check", "-", "--stdin-filename", "t.py"]),
    ("sub", ["check", "--fix", "-", "--stdin-filename", "t.py"]),
    ("sub", ["config", "."]),
    ("sub", ["rule", "GL201"]),
    ("sub", ["rule", "--all"]),
    ("sub", ["run", "x.py"]),
]


@pytest.mark.parametrize(("where", "words"), COMMANDS, ids=[" ".join(words) for _, words in COMMANDS])
def test_without_consent_packs_are_named_and_left_out(tree, mark, where, words):
    (tree / "sub" / "x.py").write_text("x = 1\n")
    ended = gradlint(tree / where, *words, stdin=PROGRAM)
    assert ended.returncode == 0, ended.stderr
    assert not mark.exists()
    named = "pack" if where else "sub/pack"
    assert ended.stderr.count(f"gradlint: left out {named}: a pack is code; read it") == 1
    assert f"`gradlint trust {named}`" in ended.stderr


@pytest.mark.parametrize(
    "words", [["check", "--show-files"], ["check", "--isolated"], ["gradcheck", "--list"]]
)
def test_what_loads_no_pack_says_nothing_of_packs(tree, mark, words):
    ended = gradlint(tree, *words)
    assert (ended.returncode, "left out" in ended.stderr, mark.exists()) == (0, False, False)


@pytest.mark.parametrize(("where", "words"), [pair for pair in COMMANDS if "--fix" not in pair[1]], ids=str)
def test_trust_on_the_command_line_is_for_one_run(tree, mark, where, words):
    (tree / "sub" / "x.py").write_text("x = 1\n")
    ended = gradlint(tree / where, words[0], "--trust", *words[1:], stdin=PROGRAM)
    assert "left out" not in ended.stderr
    assert mark.exists()
    mark.unlink()
    gradlint(tree / where, *words, stdin=PROGRAM)
    assert not mark.exists()


def test_consent_is_kept_until_the_pack_changes(tree, mark):
    assert gradlint(tree, "trust", ".").stderr == f"trusted {tree / 'sub' / 'pack'} (1 file)\n"
    ended = gradlint(tree, "check")
    assert (ended.returncode, "TEAM001" in ended.stdout, mark.exists()) == (1, True, True)
    assert "left out" not in ended.stderr
    mark.unlink()
    with (tree / "sub" / "pack" / "own.py").open("a") as file:
        file.write("# another line\n")
    ended = gradlint(tree, "check")
    assert (ended.returncode, "left out sub/pack" in ended.stderr, mark.exists()) == (0, True, False)
    gradlint(tree, "trust", "sub/pack")
    assert "TEAM001" in gradlint(tree, "check").stdout


def test_worker_processes_load_what_is_trusted(tree, mark):
    for number in range(20):
        (tree / "sub" / f"t{number}.py").write_text(PROGRAM)
    gradlint(tree, "check", "--jobs", "2", "--no-cache")
    assert not mark.exists()
    gradlint(tree, "trust", ".")
    ended = gradlint(tree, "check", "--jobs", "2", "--no-cache", "--output-format", "json")
    assert [item["code"] for item in json.loads(ended.stdout)] == ["TEAM001"] * 21


def test_consent_is_withdrawn(tree, mark):
    gradlint(tree, "trust", ".")
    assert gradlint(tree, "trust", "--list").stdout == f"{tree / 'sub' / 'pack'}\n"
    assert "no longer trusted" in gradlint(tree, "trust", "--withdraw", ".").stderr
    assert gradlint(tree, "trust", "--list").stdout == ""
    gradlint(tree, "check")
    assert not mark.exists()


def test_the_list_says_what_has_changed(tree):
    gradlint(tree, "trust", ".")
    (tree / "sub" / "pack" / "new.py").write_text("")
    assert gradlint(tree, "trust", "--list").stdout == f"{tree / 'sub' / 'pack'} (changed since)\n"
    shutil.rmtree(tree / "sub" / "pack")
    assert gradlint(tree, "trust", "--list").stdout == f"{tree / 'sub' / 'pack'} (gone since)\n"


def test_consents_are_the_users_alone(tree, state):
    consent(tree / "sub" / "pack")
    place = place_of(tree / "sub" / "pack")
    assert place.parent.parent == state
    assert place.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in place.parent.iterdir()] == [place.name]


@pytest.mark.parametrize(
    ("variable", "folder"), [("XDG_STATE_HOME", "gradlint"), ("HOME", ".local/state/gradlint")]
)
@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="the folder is another one there")
def test_they_lie_in_the_users_home(tree, tmp_path, monkeypatch, variable, folder):
    monkeypatch.delenv("GRADLINT_STATE_DIR")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv(variable, str(tmp_path / "home"))
    consent(tree / "sub" / "pack")
    assert place_of(tree / "sub" / "pack").is_relative_to(tmp_path / "home" / folder)


def test_without_a_home_there_is_no_consent(tree, mark, monkeypatch):
    monkeypatch.setenv("GRADLINT_STATE_DIR", "relative")
    monkeypatch.setenv("HOME", "")
    monkeypatch.setenv("XDG_STATE_HOME", "also/relative")
    ended = gradlint(tree, "trust", ".")
    assert ended.returncode == 2
    assert "GRADLINT_STATE_DIR" in ended.stderr
    assert "left out" in gradlint(tree, "check").stderr
    assert not mark.exists()


def test_a_copy_elsewhere_needs_a_consent_of_its_own(tree, tmp_path):
    """What a pack loads from around it is not part of it."""
    consent(tree / "sub" / "pack")
    shutil.copytree(tree, tmp_path / "copy")
    assert is_trusted(tree / "sub" / "pack")
    assert not is_trusted(tmp_path / "copy" / "sub" / "pack")


def add(pack):
    (pack / "more.py").write_text("")


def change_data(pack):
    (pack / "data.json").write_text("[2]")


def remove(pack):
    (pack / "data.json").unlink()


def rename(pack):
    (pack / "own.py").rename(pack / "owm.py")


def swap(pack):
    (pack / "a.py").write_text("b")
    (pack / "b.py").write_text("a")


def move(pack):
    (pack / "inner" / "deep.py").rename(pack / "deep.py")


def make_link(pack):
    (pack / "own.py").rename(pack.parent / "own.py")
    (pack / "own.py").symlink_to("../own.py")
    (pack.parent / "own.py").write_text("x = 1")


def bytecode_beside(pack):
    (pack / "helper.pyc").write_bytes(b"")


@pytest.mark.parametrize("change", [add, change_data, remove, rename, swap, move, make_link, bytecode_beside])
def test_every_change_ends_a_consent(tree, change):
    pack = tree / "sub" / "pack"
    (pack / "inner").mkdir()
    for name, text in {"data.json": "[1]", "a.py": "a", "b.py": "b", "inner/deep.py": ""}.items():
        (pack / name).write_text(text)
    consent(pack)
    assert is_trusted(pack)
    change(pack)
    assert not is_trusted(pack)


def test_content_behind_a_link_is_content(tree):
    pack = tree / "sub" / "pack"
    (pack.parent / "real.py").write_text("x = 1")
    (pack / "link.py").symlink_to("../real.py")
    consent(pack)
    (pack.parent / "real.py").write_text("x = 2")
    assert not is_trusted(pack)


@pytest.mark.skipif(os.name != "posix", reason="there are no pipes among files")
@pytest.mark.parametrize("kind", ["link to a folder", "pipe", "device"])
def test_what_cannot_be_told_cannot_be_consented_to(tree, kind):
    pack = tree / "sub" / "pack"
    if kind == "pipe":
        os.mkfifo(pack / "x.py")
    else:
        (pack / "x.py").symlink_to("/dev/zero" if kind == "device" else "../..")
    with pytest.raises(UnreadablePackError):
        content_of(pack)
    ended = gradlint(tree, "trust", "sub/pack")
    assert ended.returncode == 2
    assert "cannot be trusted" in ended.stderr
    assert consents() == []


def test_bytecode_in_a_pack_is_not_executed(tree, mark, tmp_path):
    """Bytecode that is not checked against its source runs in the place of a source that looks harmless."""
    pack = tree / "sub" / "pack"
    harmless = (pack / "own.py").read_text().replace(f"pathlib.Path({str(mark)!r}).touch()", "import helper")
    (pack / "own.py").write_text(f"import sys\nsys.path.insert(0, {str(pack)!r})\n" + harmless)
    (pack / "helper.py").write_text("x = 1\n")
    evil = tmp_path / "evil.py"
    evil.write_text(f"import pathlib\npathlib.Path({str(mark)!r}).touch()\n")
    for name in ("own", "helper"):
        target = pack / "__pycache__" / f"{name}.{sys.implementation.cache_tag}.pyc"
        mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
        py_compile.compile(str(evil), cfile=str(target), invalidation_mode=mode)
    gradlint(tree, "trust", ".")
    ended = gradlint(tree, "check", "--no-cache")
    assert "TEAM001" in ended.stdout
    assert not mark.exists()


def test_using_a_pack_leaves_its_consent(tree):
    pack = tree / "sub" / "pack"
    consent(pack)
    (pack / "__pycache__").mkdir()
    (pack / "__pycache__" / "own.cpython-311.pyc").write_bytes(b"")
    assert is_trusted(pack)


def test_selectors_that_name_rules_of_a_pack_that_is_left_out_are_no_error(tree):
    (tree / "sub" / "gradlint.toml").write_text(
        'rule-packs = ["pack"]\nextend-select = ["TEAM"]\nignore = ["TEAM002"]\n'
        'report-unused-suppressions = true\nper-file-ignores = { "x.py" = ["TEAM001"] }\n'
    )
    (tree / "sub" / "t.py").write_text(PROGRAM.replace("()\n", "()  # gradlint: ignore[TEAM001]\n"))
    ended = gradlint(tree, "check", "--no-cache")
    assert (ended.returncode, ended.stdout) == (0, "")
    gradlint(tree, "trust", ".")
    assert gradlint(tree, "check", "--no-cache").returncode == 2  # TEAM002 is nobody's


def test_a_pack_that_the_command_line_names_is_consented_to(tree, mark):
    ended = gradlint(tree, "check", "--no-cache", "--isolated", "--config", 'rule-packs = ["sub/pack"]')
    assert "TEAM001" in ended.stdout


def test_model_packs_need_consent_too(tree):
    (tree / "sub" / "gradlint.toml").write_text('model-packs = ["models"]\n')
    (tree / "sub" / "models").mkdir()
    (tree / "sub" / "models" / "booster.py").write_text("def boost(loss):\n    loss.backward()\n")
    (tree / "sub" / "t.py").write_text(
        PROGRAM.replace("\n", "\nimport booster\n", 1) + "booster.boost(loss)\n"
    )
    ended = gradlint(tree, "check", "--no-cache")
    assert (ended.returncode, "left out sub/models" in ended.stderr) == (0, True)
    ended = gradlint(tree, "check", "--no-cache", "--trust")
    assert (ended.returncode, "GL101" in ended.stdout) == (1, True)


def test_models_are_never_imported(tree, mark):
    """A model that is trusted can say wrong things of a library; it cannot do anything."""
    (tree / "sub" / "gradlint.toml").write_text('model-packs = ["models"]\n')
    (tree / "sub" / "models").mkdir()
    (tree / "sub" / "models" / "booster.py").write_text(
        f"import os, pathlib\npathlib.Path({str(mark)!r}).touch()\nos.system('touch ' + {str(mark)!r})\n"
        f"open({str(mark)!r}, 'w')\neval('open({str(mark)!r}, chr(119))')\nexec('import os')\n"
        "def boost(loss):\n    loss.backward()\n"
    )
    (tree / "sub" / "t.py").write_text(
        PROGRAM.replace("\n", "\nimport booster\n", 1) + "booster.boost(loss)\n"
    )
    gradlint(tree, "check", "--no-cache", "--trust")
    assert not mark.exists()


def test_only_packs_in_the_folder_that_is_named_are_trusted(tree, tmp_path, mark):
    shutil.move(tree / "sub" / "pack", tmp_path / "pack")
    (tree / "sub" / "gradlint.toml").write_text('rule-packs = ["../../pack"]\n')
    assert gradlint(tree, "trust", ".").returncode == 0
    assert not is_trusted(tmp_path / "pack")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "name a pack"),
        (["missing"], "no such folder"),
        (["empty"], "no configuration names a pack in it"),
        (["--list", "sub"], "cannot be combined"),
    ],
)
def test_wrong_usage(tree, words, said):
    (tree / "empty").mkdir()
    ended = gradlint(tree, "trust", *words)
    assert ended.returncode == 2
    assert said in ended.stderr


@pytest.mark.skipif(os.name != "posix", reason="such names are refused")
def test_the_command_that_is_offered_runs_nothing_but_gradlint(tree, tmp_path):
    name = "p; touch OWNED; \x1b[31m'\n::error::x"
    (tree / "sub" / "pack").rename(tree / "sub" / name)
    (tree / "sub" / "gradlint.toml").write_text(f"rule-packs = [{json.dumps(name)}]\n")
    said = gradlint(tree, "check", "--no-cache").stderr
    assert said.count("\n") == 2
    assert "\x1b" not in said
    offered = said.partition("`gradlint trust ")[2].partition("`")[0]
    subprocess.run(["sh", "-c", f"true {offered}"], cwd=tree, check=False)
    assert not (tree / "OWNED").exists()


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"pack": 1}', '{"pack": "/x", "content": [], "files": "x"}']
)
def test_damaged_consents_are_none(tree, text):
    consent(tree / "sub" / "pack")
    place_of(tree / "sub" / "pack").write_text(text)
    assert not is_trusted(tree / "sub" / "pack")
    assert consents() == []
    assert withdraw(tree) == []

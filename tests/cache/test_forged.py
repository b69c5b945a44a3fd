"""Entries that this user has not made are not believed, and damaged ones are misses, never errors."""

import copy
import json
import random
import subprocess
import sys

import pytest

from gradcheck_tool.cache.packing import pack, unpack
from gradcheck_tool.cache.results import Remembered, ResultCache
from gradcheck_tool.cache.snapshot import Printed, Snapshot, _unchanged
from gradcheck_tool.cache.store import read_entries, write
from gradcheck_tool.config import CACHE_FOLDER
from gradcheck_tool.findings import Finding
from gradcheck_tool.report import FORMATS, render
from gradcheck_tool.report.context import ReportContext
from gradcheck_tool.trust.signing import signed, verified
from tests.fakes import finding, replacement, step

WRONG = (
    "import torch\nloss = torch.ones(2, requires_grad=True).exp().sum()\nloss.backward()\nloss.backward()\n"
)


def gradlint(folder, *arguments, **environment):
    import os

    command = [sys.executable, "-m", "gradcheck_tool", *arguments]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )


@pytest.fixture
def checked(tmp_path):
    """A project whose outcome is remembered: its files are old enough."""
    import os

    (tmp_path / "a.py").write_text(WRONG)
    os.utime(tmp_path / "a.py", (1, 1))
    assert gradlint(tmp_path, "check").returncode == 1
    return tmp_path


def forged(path, change):
    """Rewrite the JSON of a cache file as who has no key can: the tag stays."""
    tag, _, body = path.read_bytes().partition(b"\n")
    data = json.loads(body)
    change(data)
    path.write_bytes(tag + b"\n" + json.dumps(data).encode())


def test_findings_cannot_be_forged_away(checked):
    def without_findings(data):
        for entry in data.values():
            entry[2] = []

    (path,) = (checked / CACHE_FOLDER).glob("check-*.json")
    forged(path, without_findings)
    for other in (checked / CACHE_FOLDER).glob("run-*.json"):
        other.unlink()
    ended = gradlint(checked, "check")
    assert (ended.returncode, "GL101" in ended.stdout) == (1, True)


def test_output_cannot_be_forged(tmp_path, monkeypatch):
    snapshot = Snapshot(tmp_path, "words")
    (tmp_path / "a.py").write_text(WRONG)
    from gradcheck_tool.cache.seen import Seen

    seen = Seen.of([tmp_path], [tmp_path / "a.py"], [])
    monkeypatch.setattr(snapshot, "_started", 1 << 62)
    snapshot.save(tmp_path / CACHE_FOLDER, seen, Printed("GL101", "", 1))
    assert snapshot.load() == Printed("GL101", "", 1)
    (path,) = (tmp_path / CACHE_FOLDER).glob("run-*.json")
    forged(path, lambda data: data["printed"].update(out="", status=0))
    assert snapshot.load() is None


def test_the_cache_of_another_user_is_not_believed(checked, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    (path,) = (checked / CACHE_FOLDER).glob("check-*.json")
    assert read_entries(path)
    code = f"import pathlib; from gradcheck_tool.cache.store import read_entries as r; print(r(pathlib.Path({str(path)!r})))"
    import os

    ended = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "GRADLINT_STATE_DIR": str(other)},
    )
    assert ended.stdout == "{}\n"


def test_an_entry_counts_in_its_own_place_only():
    data = signed("/a/check-1.json", b"{}")
    assert verified("/a/check-1.json", data) == b"{}"
    assert verified("/b/check-1.json", data) is None


def test_the_key_is_the_users_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("GRADLINT_STATE_DIR", str(tmp_path / "state"))
    first = signed("x", b"{}")
    key = tmp_path / "state" / "cache.key"
    assert key.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700
    assert verified("x", first) == b"{}"


@pytest.mark.parametrize("place", ["relative", ""])
def test_without_a_home_nothing_is_remembered(checked, place):
    ended = gradlint(checked, "check", GRADLINT_STATE_DIR=place, HOME="", XDG_STATE_HOME="state")
    assert ended.returncode == 1
    assert not (checked / "relative").exists()
    assert not (checked / "state").exists()


# What damaged data may have in the place of a part.
_OTHERS = [
    *(None, True, False, 0, -1, 1.5, 10**30, float("nan"), "", "x", "\ud800", "\x1b[2J", "error"),
    *([], [[]], [None], {}, {"x": 1}, [1, 2, 3, 4, 5, 6], [["a", 1, 1, 1, 1, None]]),
]


def places(value, at=()):
    """The way to every part of plain data."""
    yield at
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from places(item, (*at, key))


def damaged(value, draw):
    """The same data with one part replaced, removed, doubled or moved."""
    value = copy.deepcopy(value)
    at = draw.choice([place for place in places(value) if place])
    parent = value
    for key in at[:-1]:
        parent = parent[key]
    how = draw.randrange(4)
    if how == 0:
        del parent[at[-1]]
    elif how == 1 and isinstance(parent, list):
        parent.append(copy.deepcopy(parent[at[-1]]))
    elif how == 2 and isinstance(parent, list):
        parent.reverse()
    else:
        parent[at[-1]] = copy.deepcopy(draw.choice(_OTHERS))
    return value


def whole_finding():
    story = (step("/b.py", 1, 2, 3, "saved", cell=4), step("/a.py", 5, 6, 7, "written"))
    return finding("/a.py", predicts="an error", trace=story, fix=replacement(1, 2, 3, "x", safe=False))


def test_damaged_results_are_misses_or_whole(tmp_path):
    """Even where somebody has the key: what is read is a finding with all its fields, or nothing."""
    told = Remembered((whole_finding(),), (("/b.py", "f"),), (("/b.py", 7),), ("g",))
    cache = ResultCache(tmp_path / CACHE_FOLDER, "key")
    cache.put("/a.py", "digest", [(("/a.py", "b", 1), "other")], told)
    cache.save()
    path = tmp_path / CACHE_FOLDER / "check-key.json"
    entries = read_entries(path)
    draw = random.Random(0)
    context = ReportContext(tmp_path, lambda name, cell: ["x = 1"] * 9)
    for _ in range(2000):
        write(path.parent, path, damaged(entries, draw))
        found = ResultCache(tmp_path / CACHE_FOLDER, "key").get("/a.py", "digest", lambda asked: "other")
        for each in found.findings if found else ():
            assert isinstance(each, Finding)
            hash(each)
            for name in FORMATS:
                render(name, [each], context)


def test_damaged_bytes_are_misses(tmp_path):
    cache = ResultCache(tmp_path / CACHE_FOLDER, "key")
    cache.put("/a.py", "digest", [], Remembered((whole_finding(),)))
    cache.save()
    path = tmp_path / CACHE_FOLDER / "check-key.json"
    data = path.read_bytes()
    draw = random.Random(0)
    for _ in range(1000):
        changed = bytearray(data)
        for _ in range(draw.randrange(1, 4)):
            changed[draw.randrange(len(changed))] = draw.randrange(256)
        if bytes(changed) == data:
            continue
        path.write_bytes(changed[: draw.randrange(len(data))] if draw.random() < 0.2 else changed)
        assert ResultCache(tmp_path / CACHE_FOLDER, "key").get("/a.py", "digest", lambda asked: None) is None


def test_damaged_snapshots_are_misses_or_whole(tmp_path):
    from dataclasses import asdict

    from gradcheck_tool.cache.seen import Seen

    (tmp_path / "a.py").write_text("x = 1\n")
    seen = Seen.of([tmp_path], [tmp_path / "a.py"], [tmp_path / "pack"])
    entries = {"seen": asdict(seen), "state": seen.state().digest, "printed": asdict(Printed("a", "b", 1))}
    entries = json.loads(json.dumps(entries))
    assert _unchanged(entries) == Printed("a", "b", 1)
    draw = random.Random(0)
    for _ in range(2000):
        found = _unchanged(damaged(entries, draw))
        assert found is None or (isinstance(found.out + found.err, str) and type(found.status) is int)


def test_a_finding_comes_back_as_it_was():
    assert unpack(json.loads(json.dumps(pack(whole_finding())))) == whole_finding()

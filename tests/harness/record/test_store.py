"""Recorded calls are read where this user has recorded them: to unpickle one runs code."""

import json
import os
import pickle

from gradcheck_tool.harness.record import store
from gradcheck_tool.harness.record.calls import RecordedCall
from gradcheck_tool.harness.record.places import folder_of


class Evil:
    """Pickled, it makes a folder when it is read."""

    def __init__(self, place):
        self.place = place

    def __reduce__(self):
        return os.mkdir, (self.place,)


def test_a_call_comes_back(tmp_path):
    cache = tmp_path / ".gradlint_cache"
    call = RecordedCall("ops", "Sine", "ops.py", "kind")
    store.save(cache, call, "one")
    (found,) = store.load(cache, "Sine")
    assert (found.module, found.qualname) == ("ops", "Sine")


def test_calls_that_came_with_the_tree_are_not_unpickled(tmp_path):
    cache = tmp_path / ".gradlint_cache"
    folder = folder_of(cache, "Sine")
    folder.mkdir(parents=True)
    body = pickle.dumps(Evil(str(tmp_path / "made")))
    header = json.dumps(["ops.Sine", None]).encode() + b"\n"
    for number, data in enumerate((header + body, header + b"0" * 64 + b"\n" + body, header, b"")):
        (folder / f"{number}.call").write_bytes(data)
    store.save(cache, RecordedCall("ops", "Sine", "ops.py", "kind"), "own")
    other = (folder / "own.call").read_bytes()
    (folder / "moved.call").write_bytes(other)
    tag = other.split(b"\n")[1]
    (folder / "tagged.call").write_bytes(header + tag + b"\n" + body)
    assert len(store.load(cache, "Sine")) == 1
    assert not (tmp_path / "made").exists()

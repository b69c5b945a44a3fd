"""The result cache and worker processes: quicker, and never different."""

import errno
import faulthandler
import json
import multiprocessing
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gradcheck_tool.cache import results, store
from gradcheck_tool.cache.results import Remembered, ResultCache
from gradcheck_tool.cache.store import read_entries
from gradcheck_tool.config import CACHE_FOLDER
from tests import fakes
from tests.fakes import finding, replacement, step


@pytest.fixture
def checked(monkeypatch):
    """The names of the files that the engine was asked to check."""
    seen = []

    def watching(source, filename, *rest, **options):
        seen.append(filename.rsplit("/", 1)[-1])
        return fakes.fake_check_source(source, filename, *rest, **options)

    monkeypatch.setattr("gradcheck_tool.session.files.check_source", watching)
    return seen


@pytest.fixture
def again(gradlint, checked):
    """Check everything and return what was printed and which files were looked into."""

    def run(*options):
        checked.clear()
        result = gradlint("check", "--output-format", "json", "--jobs", "1", *options)
        assert result.exit_code in (0, 1), result.stderr
        return [
            (item["code"], item["filename"].rsplit("/", 1)[-1]) for item in json.loads(result.stdout)
        ], set(checked)

    return run


class TestCache:
    def test_unchanged_files_are_not_checked_again_and_findings_stay(self, again, write):
        write("a.py", "x = BAD\n")
        write("b.py", "x = 1\n")
        assert again() == ([("GL201", "a.py")], {"a.py", "b.py"})
        assert again() == ([("GL201", "a.py")], set())

    def test_a_changed_file_is_checked_again(self, again, write):
        write("a.py", "x = BAD\n")
        write("b.py", "x = 1\n")
        again()
        write("b.py", "x = UGLY\n")
        assert again() == ([("GL201", "a.py"), ("GL301", "b.py")], {"b.py"})

    def test_a_changed_import_is_a_change(self, again, write):
        write("a.py", "import helper  # IMPORT helper\n")
        write("helper.py", "x = 1\n")
        assert again()[0] == []
        write("helper.py", "x = BAD\n")
        assert again() == ([("GL101", "a.py"), ("GL201", "helper.py")], {"a.py", "helper.py"})

    def test_an_import_that_begins_to_exist_is_a_change(self, again, write):
        write("a.py", "import helper  # IMPORT helper\n")
        again()
        write("helper.py", "x = BAD  # noqa\n")
        assert again()[0] == [("GL101", "a.py")]

    def test_another_configuration_is_another_cache(self, again, write):
        write("a.py", "x = BAD\ny = UGLY\n")
        again()
        assert again("--ignore", "GL2")[0] == [("GL301", "a.py")]
        assert again() == ([("GL201", "a.py"), ("GL301", "a.py")], set())

    def test_no_cache_neither_reads_nor_writes(self, again, write, project):
        write("a.py", "x = BAD\n")
        again("--no-cache")
        assert not (project / CACHE_FOLDER).exists()
        again()
        assert again("--no-cache")[1] == {"a.py"}

    def test_a_problem_is_reported_every_time(self, gradlint, write):
        write("broken.py", "def f(:\n")
        assert "does not parse" in gradlint("check").stderr
        assert "does not parse" in gradlint("check").stderr

    @pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"x": 1}', b"\x00\xff", None])
    def test_a_damaged_cache_is_an_empty_one(self, again, write, project, damage):
        write("a.py", "x = BAD\n")
        expected = again()
        for path in (project / CACHE_FOLDER).glob("*.json"):
            if damage is None:
                entries = read_entries(path)
                store.write(
                    path.parent, path, {name: [entry[0], [], [["?"]]] for name, entry in entries.items()}
                )
            else:
                path.write_bytes(damage)
        assert again() == expected
        assert again() == (expected[0], set())

    def test_git_and_backups_pass_it_over(self, again, write, project):
        write("a.py", "x = BAD\n")
        again()
        assert (project / CACHE_FOLDER / ".gitignore").read_text() == "*\n"
        assert (
            (project / CACHE_FOLDER / "CACHEDIR.TAG")
            .read_text()
            .startswith("Signature: 8a477f597d28d172789f06886806bc55")
        )

    def test_a_folder_that_cannot_be_written_is_no_error(self, again, write, project):
        (project / CACHE_FOLDER).write_text("in the way")
        write("a.py", "x = BAD\n")
        assert again()[0] == [("GL201", "a.py")]

    def test_files_that_are_gone_leave_the_cache(self, again, write, project):
        write("a.py", "x = BAD\n")
        gone = write("gone.py", "x = BAD\n")
        again()
        gone.unlink()
        write("a.py", "x = 1\n")
        again()
        entries = [read_entries(path) for path in (project / CACHE_FOLDER).glob("*.json")]
        assert [list(entry) for entry in entries] == [[str(project / "a.py")]]

    def test_results_of_ways_of_checking_long_gone_are_forgotten(self, again, write, project):
        write("a.py", "x = BAD\n")
        for number in range(results.KEPT + 3):
            again("--exclude", f"none{number}")
        assert len(list((project / CACHE_FOLDER).glob("check-*.json"))) == results.KEPT
        assert again("--exclude", f"none{number}")[1] == set()

    def test_what_cannot_be_written_to_its_end_leaves_nothing(self, again, write, project, monkeypatch):
        replace = Path.replace

        def full(path, target):
            if target.suffix == ".json":
                raise OSError(errno.ENOSPC, "No space left on device")
            return replace(path, target)

        write("a.py", "x = BAD\n")
        with monkeypatch.context() as patch:
            patch.setattr("pathlib.Path.replace", full)
            assert again()[0] == [("GL201", "a.py")]
        assert {path.name for path in (project / CACHE_FOLDER).iterdir()} == {".gitignore", "CACHEDIR.TAG"}

    def test_clean_removes_it_at_every_level(self, gradlint, again, write, project):
        write("a.py", "x = BAD\n")
        write("sub/gradlint.toml", "")
        write("sub/b.py", "x = BAD\n")
        again()
        assert {path.parent.name for path in project.rglob(CACHE_FOLDER)} == {project.name, "sub"}
        assert gradlint("clean").exit_code == 0
        assert list(project.rglob(CACHE_FOLDER)) == []


class TestWorkLimit:
    @pytest.fixture(autouse=True)
    def limited(self, project, monkeypatch):
        """The analysis of every `b.py` ends at its work limit."""

        def cut_off(source, filename, ruleset, surroundings):
            if filename.endswith("b.py"):
                surroundings.extent.unfinished = ["train"]
            return fakes.fake_check_source(source, filename, ruleset, surroundings)

        monkeypatch.setattr("gradcheck_tool.session.files.check_source", cut_off)

    SAID = " The analysis of 1 file ended at the work limit; --verbose says in which functions.\n"

    def test_is_said_each_time(self, gradlint, write, project):
        write("a.py", "x = 1\n")
        path = write("b.py", "x = 1\n")
        for _ in range(2):
            assert gradlint("check").stderr == f"No autograd mistakes found in 2 files.{self.SAID}"
        assert f"{path}: work limit reached in train\n" in gradlint("check", "-v").stderr

    def test_is_said_after_fixes(self, gradlint, write):
        write("a.py", "x = BAD\n")
        write("b.py", "x = UGLY\n")
        assert gradlint("check", "--fix").stderr.endswith(self.SAID)
        write("b.py", "x = BAD\n")
        assert gradlint("check", "--fix").stderr.endswith(self.SAID)


def test_a_result_comes_back_as_it_was(tmp_path):
    story = (step("/b.py", 1, 2, 3, "saved", cell=4), step("/a.py", 5, 6, 7, "written"))
    kept = finding("/a.py", predicts="an error", trace=story, fix=replacement(1, 2, 3, "x", safe=False))
    told = Remembered((kept, finding("/a.py")), (("/b.py", "Net.forward"),), (("/b.py", 7),), ("f",))
    cache = ResultCache(tmp_path / CACHE_FOLDER, "key")
    cache.put("/a.py", "digest", [(("/a.py", "b", 1), "other")], told)
    cache.save()
    loaded = ResultCache(tmp_path / CACHE_FOLDER, "key")
    assert loaded.get("/a.py", "digest", lambda asked: {("/a.py", "b", 1): "other"}[asked]) == told
    assert loaded.get("/a.py", "digest", lambda _: "changed") is None
    assert loaded.get("/a.py", "changed", lambda _: "other") is None
    assert loaded.get("/c.py", "digest", lambda _: "other") is None


def save_many(arguments):
    root, worker = arguments
    for number in range(20):
        cache = ResultCache(root / CACHE_FOLDER, "shared")
        name = f"{root}/w{worker}-{number}.py"
        (root / f"w{worker}-{number}.py").write_text("")
        cache.put(name, "digest", [], Remembered((finding(name),)))
        cache.save()
    return worker


def test_many_runs_at_once_leave_a_cache_that_can_be_read(tmp_path):
    with ThreadPoolExecutor(4) as threads, multiprocessing.get_context("spawn").Pool(2) as processes:
        jobs = threads.map(save_many, [(tmp_path, worker) for worker in range(4)])
        processes.map(save_many, [(tmp_path, worker) for worker in range(4, 6)])
        list(jobs)
    entries = read_entries(tmp_path / CACHE_FOLDER / "check-shared.json")
    assert entries
    loaded = ResultCache(tmp_path / CACHE_FOLDER, "shared")
    for name in entries:
        assert loaded.get(name, "digest", lambda _: None) == Remembered((finding(name),))
    assert not list((tmp_path / CACHE_FOLDER).glob("*.tmp"))


def test_processes_find_the_same_in_the_same_order(gradlint, write):
    for number in range(40):
        write(f"f{number:02}.py", "x = BAD\n" * (number % 3) + ("def f(:\n" if number == 7 else ""))
    alone = gradlint("check", "--no-cache", "--jobs", "1", "--output-format", "json")
    together = gradlint("check", "--no-cache", "--jobs", "3", "--output-format", "json")
    assert len(json.loads(alone.stdout)) > 30
    assert together.stdout == alone.stdout
    assert together.stderr == alone.stderr
    assert together.exit_code == alone.exit_code


def test_a_worker_that_dies_fails_the_run_and_says_so(gradlint, write, monkeypatch):
    import os

    def fatal(source, filename, *rest, **options):
        if filename.endswith("f07.py"):
            faulthandler.disable()  # that of pytest would print where it was
            os.kill(os.getpid(), signal.SIGSEGV)
        return fakes.fake_check_source(source, filename, *rest, **options)

    monkeypatch.setattr("gradcheck_tool.session.files.check_source", fatal)
    for number in range(40):
        write(f"f{number:02}.py", "x = BAD\n")
    result = gradlint("check", "--no-cache", "--jobs", "2", "--output-format", "json")
    assert result.exit_code == 2
    assert result.stderr == "gradlint: f07.py: not checked: its worker process died of SIGSEGV\n"
    found = [item["filename"].rsplit("/", 1)[-1] for item in json.loads(result.stdout)]
    assert found == [f"f{number:02}.py" for number in range(40) if number != 7]

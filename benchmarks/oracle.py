"""What the static engine reports on a fixed body of programs, sorted, to compare two versions of it.

    python benchmarks/oracle.py --repositories FOLDER > before.txt      # change the engine
    python benchmarks/oracle.py --repositories FOLDER > after.txt && cmp before.txt after.txt

For each program: its findings, its events with their stories, and the number of instructions that the
interpreter executed. The programs are those of `fixtures/`, the examples of all rules and models, every
program quoted in `tests/`, and the Python files of the repositories below at their commits. FOLDER has the
repositories as git clones, `OWNER+NAME/` or `OWNER+NAME/repo/`, bare or not; with `--clone`, the missing ones
are cloned. Without `--repositories`, only the small programs are checked.

A program that is quoted somewhere is called by a digest of its text, so that moving it changes nothing.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import inspect
import io
import re
import subprocess
import sys
import tarfile
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
REPOSITORIES = {
    "BorealisAI/advertorch": "e063e341c87d9a621ae1a8f72c3507d5ea5bd327",
    "DSE-MSU/DeepRobust": "92ad433645fef68c8e3d74458451842323809bf6",
    "Lightning-AI/pytorch-lightning": "7f0c3436cd3f6ad3753125672024fc415cbcb414",
    "Trustworthy-AI-Group/TransferAttack": "2663e4ab10ad6153050030c0247cd4a9e1a5f893",
    "amdegroot/ssd.pytorch": "5b0b77faa955c1917b0c710d770739ba8fbff9b7",
    "cornellius-gp/gpytorch": "7c4ec80f0f05cf530348a8a8972d67a11dd26ed2",
    "eriklindernoren/PyTorch-GAN": "36d3c77e5ff20ebe0aeefd322326a134a279b93e",
    "facebookresearch/mbrl-lib": "3f93cccfc8d635f74e335a2f07aab6e9a48fc021",
    "huggingface/pytorch-image-models": "aa4b5850c1543fa488abf260f18390eda46cf85d",
    "jeshraghian/snntorch": "634fc22385ec5581998e62787bbe39b53662140f",
    "kengz/SLM-Lab": "96be3938d3239edb595f41190ae2ae035d83c65a",
    "lucidrains/DALLE2-pytorch": "680dfc4d93b70f9ab23c814a22ca18017a738ef6",
    "lucidrains/vit-pytorch": "69d24fe9e3024c0d4b02761123b8583a24ebed1e",
    "mosaicml/composer": "6405188805a0054b4551ec49e4919c54c971d0e8",
    "pytorch/captum": "faac08773131888714b15709b28494ebeea7f6eb",
    "pytorch/examples": "77f55b912142e11fcfdf5b530231fb9c52f181e8",
    "rosinality/stylegan2-pytorch": "bef283a1c24087da704d16c30abc8e36e63efa0e",
    "seungeunrho/minimalRL": "c8efed8481e3cd40e9739cfde220a55522555b57",
    "thuml/Time-Series-Library": "4e938a1767106324dd753b2a44832bf870a0252e",
    "vwxyzjn/cleanrl": "fe8d8a03c41a7ef5b523e2e354bd01c363e786bb",
}


def main() -> None:
    """Print the lines of all bodies of programs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repositories", type=Path, metavar="FOLDER", help="clones of the repositories")
    parser.add_argument("--clone", action="store_true", help="clone what FOLDER lacks")
    parser.add_argument("--only", default="", metavar="TEXT", help="only repositories whose names contain it")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes (default: 2)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, ProcessPoolExecutor(options.jobs) as pool:
        tasks = [] if options.only else [pool.submit(_quoted_programs), pool.submit(_fixtures)]
        for name, commit in REPOSITORIES.items() if options.repositories else ():
            if options.only in name:
                clone = _clone(options.repositories, name, options.clone)
                tasks.append(pool.submit(_repository, clone, name, commit, Path(scratch)))
        for task in tasks:
            sys.stdout.writelines(f"{line}\n" for line in task.result())


def _clone(folder: Path, name: str, may_clone: bool) -> Path:
    """The git directory of a repository."""
    place = folder / name.replace("/", "+")
    for candidate in (place / "repo" / ".git", place / "repo", place / ".git", place):
        if (candidate / "objects").exists():
            return candidate
    if not may_clone:
        sys.exit(f"{place} is no clone of {name}; --clone makes one")
    subprocess.run(["git", "clone", "--quiet", "--bare", f"https://github.com/{name}", place], check=True)
    return place


def _repository(clone: Path, name: str, commit: str, scratch: Path) -> list[str]:
    """Lines about the files of one repository, unpacked so that imports between them are found."""
    tree = scratch / name.replace("/", "+")
    git = ["git", f"--git-dir={clone}"]
    listed = subprocess.run(
        [*git, "ls-tree", "-r", "--name-only", "-z", commit], capture_output=True, check=True
    )
    wanted = [path.decode() for path in listed.stdout.split(b"\0") if path.endswith(b".py")]
    for start in range(0, len(wanted), 500):
        archive = subprocess.run(
            [*git, "archive", "--format=tar", commit, "--", *wanted[start : start + 500]],
            capture_output=True,
            check=True,
        )
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as members:
            members.extractall(tree, filter="data")
    watcher = _Watcher()
    return [
        f"{name} {line}"
        for path in sorted(tree.rglob("*.py"))
        for line in watcher.lines(path.relative_to(tree).as_posix(), path, path.read_bytes())
    ]


def _fixtures() -> list[str]:
    watcher = _Watcher()
    files = sorted(path for path in (ROOT / "fixtures").rglob("*") if path.suffix in (".py", ".ipynb"))
    return [
        line
        for path in files
        for line in watcher.lines(path.relative_to(ROOT).as_posix(), path, path.read_bytes())
    ]


def _quoted_programs() -> list[str]:
    """Lines about all programs that the documentation of rules and models and the tests quote."""
    watcher = _Watcher()
    programs = {hashlib.sha256(text.encode()).hexdigest()[:16]: text for text in _quoted()}
    return [
        line
        for digest, text in sorted(programs.items())
        for line in watcher.lines(digest, Path("/nowhere/program.py"), text.encode())
    ]


def _quoted() -> Iterator[str]:
    folders = [ROOT / "rules", ROOT / "tests", ROOT / "gradcheck_tool" / "library" / "models"]
    for path in sorted(file for folder in folders for file in folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" in node.value:
                blocks = re.findall(r"^```python\n(.*?)^```", _dedented(node.value), re.DOTALL | re.MULTILINE)
                yield from (text for text in blocks or [_dedented(node.value)] if _is_program(text))


def _dedented(text: str) -> str:
    return inspect.cleandoc(text) + "\n"


def _is_program(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return "torch" in text


class _Watcher:
    """A checker with all rules, of which the events and instructions are seen."""

    def __init__(self) -> None:
        from gradcheck_tool.config import Config
        from gradcheck_tool.interp.solver import Solver
        from gradcheck_tool.rulebook.ruleset import RuleSet
        from gradcheck_tool.session.files import FileChecker

        self._checker = FileChecker()
        self._config = Config(ROOT, select=("ALL",))
        self._events: list[Any] = []
        self._machines: list[Any] = []
        judge, begin = RuleSet.evaluate, Solver.__init__

        def watched_judge(rules: RuleSet, events: Any, locate: Any) -> Any:
            events = tuple(events)
            self._events += ((event, locate) for event in events)
            return judge(rules, events, locate)

        def watched_begin(m: Any, emit: Any, *limits: int) -> None:
            begin(m, emit, *limits)
            self._machines.append(m)

        RuleSet.evaluate = watched_judge  # type: ignore[method-assign]
        Solver.__init__ = watched_begin  # type: ignore[method-assign]

    def lines(self, name: str, path: Path, data: bytes) -> Iterator[str]:
        """What is said of one program."""
        self._events.clear()
        self._machines.clear()
        result = self._checker.check_data(data, str(path), self._config)
        lines = {f"finding {_finding(finding)}" for finding in result.findings}
        lines |= {f"event {_event(event, locate)}" for event, locate in self._events}
        steps = sum(m.budget.executed for m in self._machines)
        yield f"{name}: {steps} steps{', ' + result.problem if result.problem else ''}"
        yield from (f"{name}: {line}" for line in sorted(lines))


def _finding(finding: Any) -> str:
    place = _place(finding.location)
    trace = "".join(f" <- {_place(step.location)} {step.message}" for step in finding.trace)
    fix = f" [{finding.fix.message}: {[edit.content for edit in finding.fix.edits]}]" if finding.fix else ""
    return f"{finding.code} {place} {finding.message!r}{fix}{trace}"


def _event(event: Any, locate: Any) -> str:
    """An event's class, place, facts and story, in words."""
    names = sorted({name for kind in type(event).__mro__ for name in getattr(kind, "__slots__", ())})
    facts = ", ".join(
        f"{name}={_fact(getattr(event, name), locate)}" for name in names if name not in ("site", "story")
    )
    story = "".join(f" <- {_place(locate(step.site))} {step.message}" for step in event.story)
    return f"{type(event).__name__} {_place(locate(event.site))} {facts}{story}"


def _fact(value: Any, locate: Any) -> str:
    """A fact in words; of what a rule would have to look into, only what it is."""
    kind = type(value).__name__
    if kind == "Site":
        return _place(locate(value))
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(_fact(item, locate) for item in value)}]"
    return str(value) if isinstance(value, (str, int, float, type(None))) or kind == "Label" else kind


def _place(location: Any) -> str:
    return f"{Path(location.filename).name}:{location.start.row}:{location.start.column}"


if __name__ == "__main__":
    main()

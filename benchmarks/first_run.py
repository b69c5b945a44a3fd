"""First runs: what `gradlint check` finds by default in repositories that nobody has looked at.

usage: first_run.py FOLDER --to FILE   check each checkout in FOLDER, and write what is found to FILE
       first_run.py --table FILE...    what is judged in one or more files, as docs/precision.md shows it

A checkout is a folder `OWNER+NAME`. Deprecated names (GL9) are counted and not listed. Each finding in FILE
has a `verdict`, null at first, and a `why`. Before anything is mended, write for all of them `true` (a
mistake that a maintainer would mend), `intended` (what is said is right, and nobody would change the code) or
`false` (what is said is wrong). Findings without a verdict are not in the table.
What a run says besides its findings (files at the work limit, errors) is kept in `notes`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

VERDICTS = ("true", "intended", "false")


def main() -> int:
    """Check, or print the table."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("folder", type=Path, nargs="?", metavar="FOLDER")
    parser.add_argument("--to", type=Path, metavar="FILE")
    parser.add_argument("--table", type=Path, nargs="+", metavar="FILE")
    options = parser.parse_args()
    if options.table:
        print(table([json.loads(path.read_text(encoding="utf-8")) for path in options.table]))
        return 0
    if options.folder is None or options.to is None:
        parser.error("a FOLDER and --to FILE, or --table FILE")
    checkouts = sorted(path for path in options.folder.iterdir() if path.is_dir())
    runs = {_name(checkout): checked(checkout) for checkout in checkouts}
    found = [finding for listed, _ in runs.values() for finding in listed]
    listed = [finding for finding in found if not finding["code"].startswith("GL9")]
    commits = {_name(checkout): _commit(checkout) for checkout in checkouts}
    notes = {name: told for name, (_, told) in runs.items() if told}
    run = {
        "repositories": commits,
        "deprecated": len(found) - len(listed),
        "notes": notes,
        "findings": listed,
    }
    options.to.write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")
    print(f"{len(checkouts)} repositories, {len(listed)} findings to judge")
    return 0


def checked(checkout: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """The findings in one checkout, without verdicts, and what is said besides: limits, errors, files."""
    command = [
        sys.executable,
        "-m",
        "gradcheck_tool",
        "check",
        "--isolated",
        "--no-cache",
        "--verbose",
        "--output-format",
        "json",
    ]
    done = subprocess.run([*command, "."], cwd=checkout, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1, 2):
        raise SystemExit(f"{checkout}: exit status {done.returncode}: {done.stderr.strip()[-200:]}")
    listed = [
        {
            "repo": _name(checkout),
            "file": Path(found["filename"]).resolve().relative_to(checkout.resolve()).as_posix(),
            "row": found["location"]["row"],
            "code": found["code"],
            "message": found["message"],
            "verdict": None,
            "why": "",
        }
        for found in json.loads(done.stdout or "[]")
    ]
    return listed, done.stderr.splitlines()


def _name(checkout: Path) -> str:
    return checkout.name.replace("+", "/")


def _commit(checkout: Path) -> str:
    command = ["git", "-C", str(checkout), "rev-parse", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def table(runs: list[dict[str, Any]]) -> str:
    """Each run as Markdown: what share is right, and every judged finding."""
    return "\n".join(line for number, run in enumerate(runs, 1) for line in _section(number, run))


def _section(number: int, run: dict[str, Any]) -> list[str]:
    judged = [finding for finding in run["findings"] if str(finding["verdict"]).lower() in VERDICTS]
    counts = Counter(str(finding["verdict"]).lower() for finding in judged)
    right = counts["true"] + counts["intended"]
    told = f"{len(run['repositories'])} repositories, {len(judged)} findings: " + ", ".join(
        f"{counts[verdict]} {verdict}" for verdict in VERDICTS
    )
    if judged:
        told += f". Claims right: {right / len(judged):.0%}; mistakes: {counts['true'] / len(judged):.0%}."
    return [
        f"## Run {number}",
        "",
        told,
        "",
        "| repository | commit | line | code | verdict | why |",
        "|---|---|---|---|---|---|",
        *(_row(finding, run["repositories"][finding["repo"]]) for finding in judged),
        "",
        f"Nothing is found in {_others(run)}.",
        "",
    ]


def _others(run: dict[str, Any]) -> str:
    """The repositories without a finding."""
    with_findings = {finding["repo"] for finding in run["findings"]}
    names = [
        f"{name} ({commit[:10]})" for name, commit in run["repositories"].items() if name not in with_findings
    ]
    return ", ".join(names) or "no other repository"


def _row(finding: dict[str, Any], commit: str) -> str:
    place, verdict = f"{finding['file']}:{finding['row']}", str(finding["verdict"]).lower()
    why = finding["why"].replace("|", "\\|").replace("<", "&lt;")
    cells = (finding["repo"], commit[:10], f"`{place}`", finding["code"], verdict, why)
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())

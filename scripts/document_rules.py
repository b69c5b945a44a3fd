"""Write docs/rules.md, the catalogue of all built-in rules, and docs/events.md, what rules judge, from the code.

usage: document_rules.py [--check]

With --check nothing is written, and the exit status is 1 when a page is not current.
"""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from gradcheck_tool.links import RULES  # noqa: E402
from gradcheck_tool.rulebook.documentation import render_catalogue  # noqa: E402
from gradcheck_tool.rulebook.ruleset import RuleSet  # noqa: E402
from scripts.docs_site.events import EVENTS, render_events  # noqa: E402


def main() -> int:
    """Write the pages, or compare them with what would be written."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("--check", action="store_true", help="compare only")
    pages = {RULES: render_catalogue(list(RuleSet.load().known)), EVENTS: render_events()}
    if not parser.parse_args().check:
        for name, text in pages.items():
            (ROOT / name).write_text(text, encoding="utf-8")
        return 0
    stale = [name for name, text in pages.items() if (ROOT / name).read_text(encoding="utf-8") != text]
    for name in stale:
        print(f"{name} is not current: run scripts/document_rules.py", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())

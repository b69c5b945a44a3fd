"""Write docs/rules.md, the catalogue of all built-in rules, from the rule files.

usage: document_rules.py [--check]

With --check nothing is written, and the exit status is 1 when the page is not current.
"""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from gradcheck_tool.links import RULES  # noqa: E402
from gradcheck_tool.rulebook.documentation import render_catalogue  # noqa: E402
from gradcheck_tool.rulebook.ruleset import RuleSet  # noqa: E402


def main() -> int:
    """Write the page, or compare it with what would be written."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("--check", action="store_true", help="compare only")
    page = ROOT / RULES
    text = render_catalogue(list(RuleSet.load().known))
    if not parser.parse_args().check:
        page.parent.mkdir(exist_ok=True)
        page.write_text(text, encoding="utf-8")
        return 0
    if page.is_file() and page.read_text(encoding="utf-8") == text:
        return 0
    print(f"{RULES} is not current: run scripts/document_rules.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())

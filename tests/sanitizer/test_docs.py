"""What the page about `gradlint run` shows is what is printed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_example_is_what_is_printed(tmp_path):
    page = (ROOT / "docs" / "run.md").read_text(encoding="utf-8")
    program = re.search(r"```python\n(import torch\n.*?)```", page, re.DOTALL).group(1)
    shown = re.search(r"```text\n(.*?)```", page, re.DOTALL).group(1)
    (tmp_path / "train.py").write_text(program)
    seen = subprocess.run(
        [sys.executable, "-m", "gradcheck_tool", "run", "--isolated", "train.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    printed = [line.rstrip() for line in seen.stderr.splitlines()]
    assert "\n".join(line.rstrip() for line in shown.splitlines()) in "\n".join(printed)

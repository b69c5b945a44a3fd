"""What a recorded process does once it has imported torch."""

from __future__ import annotations

import os
from pathlib import Path

from gradcheck_tool.harness.record.command import RECORD
from gradcheck_tool.harness.record.recorder import Recorder


def start() -> None:
    """Record the calls of Functions in this process from now on."""
    Recorder(Path(os.environ[RECORD])).install()

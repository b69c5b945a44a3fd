"""The HTML report, read by a headless browser where there is one."""

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from gradcheck_tool.codes import CODES
from gradcheck_tool.findings import Finding, Location, Position
from gradcheck_tool.harness.functions import FunctionRef, Rows
from gradcheck_tool.harness.outcomes import CaseResult, InputResult, Outcome
from gradcheck_tool.harness.page import page
from gradcheck_tool.harness.units import Unit

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


def outcomes() -> list[Outcome]:
    unit = Unit(FunctionRef("/x/ops.py", Rows(1, 9), "Cube", "ops", "/x"), "cpu", None)
    place = Location("/x/ops.py", Position(3, 5), Position(3, 20))
    entry = CODES["GC101"]
    found = Finding("GC101", entry.name, entry.severity, "2 <times> too large", place,
                    evidence={"diagnosis": "factor", "ratio": 2.0, "index": None})  # fmt: skip
    case = CaseResult("declared", "samples & more", (InputResult(0, "wrong", "forward body"),), 40,
                      text="the <evidence>", heat={0: [[0.0, 1.0], [0.5, 0.0]]}, largest={0: 0.25})  # fmt: skip
    lost = replace(unit, ref=replace(unit.ref, qualname="Lost"))
    return [
        Outcome(unit, (found,), (case,), seconds=1.25),
        Outcome(lost, cause="no inputs were found", stub="@samples(Lost)\ndef _(device, dtype):"),
    ]


def test_the_page_tells_of_every_function_and_hides_no_unchecked_one() -> None:
    text = page(outcomes(), [("/x/broken.py", "does not parse")], Path("/x"))
    assert "2 Functions: 1 wrong, 1 not checked." in text
    assert "2 &lt;times&gt; too large" in text
    assert "no inputs were found" in text
    assert "broken.py" in text
    assert "@samples(Lost)" in text
    assert '<th scope="row">index' not in text
    assert re.search(r"Error of the gradient of input 0: 0 <span.*</span> 0.25<", text)


def test_the_page_needs_no_other_file() -> None:
    text = page(outcomes(), [], Path("/x"))
    assert not re.search(r"(src|href)=\"(?!#)", text)
    assert "<<<<<<<" not in text


def test_a_browser_draws_the_heat_maps(tmp_path: Path) -> None:
    """The script sizes each canvas by its rows, so the document afterwards shows that it has run."""
    browser = next((path for path in map(shutil.which, BROWSERS) if path), None)
    if browser is None:
        pytest.skip("no headless browser is installed")
    (tmp_path / "report.html").write_text(page(outcomes(), [], Path("/x")), encoding="utf-8")
    shown = subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}",
         "--dump-dom", (tmp_path / "report.html").as_uri()],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    canvas = re.search(r"<canvas[^>]*>", shown.stdout)
    assert canvas is not None
    assert 'width="2"' in canvas[0]
    assert 'height="2"' in canvas[0]


def test_the_page_shows_the_source_the_argument_and_how_it_was_made(tmp_path: Path) -> None:
    file = tmp_path / "ops.py"
    file.write_text(
        "class Cube(Function):\n    @staticmethod\n    def forward(ctx, scale, weight):\n        return weight\n"
        "    @staticmethod\n    def backward(ctx, g):\n        return None, 2 * g\n"
    )
    first, _ = outcomes()
    ref = replace(first.unit.ref, filename=str(file), forward=Rows(3, 4), backward=Rows(6, 7))
    evidence = {
        "diagnosis": "factor",
        "argument": 1,
        "name": "weight",
        "row": 7,
        "analytic": 2.0,
        "numeric": 1.0,
    }
    found = replace(first.findings[0], evidence=evidence)
    text = page([replace(first, unit=replace(first.unit, ref=ref), findings=(found,))], [], tmp_path)
    assert "<mark>    7          return None, 2 * g</mark>" in text
    assert "<mark>    6" not in text
    assert '<th scope="row">found</th><td><code>2</code>' in text
    assert '<th scope="row">expected</th><td><code>1</code>' in text
    assert '<th scope="row">argument name</th><td><code>weight</code>' in text
    assert "PyTorch" in text

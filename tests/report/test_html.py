"""The HTML report: one file that needs no other, well formed, and safe from what the checked tree says."""

import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from gradcheck_tool.findings import TraceStep
from gradcheck_tool.report import render
from gradcheck_tool.report.context import ReportContext
from gradcheck_tool.report.html import page
from gradcheck_tool.report.picture.layout import picture
from tests.report.test_drawing import FINDING, PROGRAM, TRACE
from tests.report.test_reports import CONTEXT, FINDINGS

_VOID = {"meta", "br", "link", "img", "input", "hr"}
_SVG = {"path", "polygon"}
BROWSER = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chrome")


class Reader(HTMLParser):
    """Notes the elements, and refuses those that do not fit together."""

    def __init__(self):
        super().__init__()
        self.open, self.elements, self.text = [], [], ""

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        assert tag in _VOID | _SVG
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text += data


def read(text):
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader


@pytest.fixture(scope="module")
def report():
    return render("html", FINDINGS, CONTEXT)


def context(text=PROGRAM):
    return ReportContext(Path("/r"), lambda *_: text.split("\n"))


def test_elements_fit_together(report):
    reader = read(report)
    names = [tag for tag, _ in reader.elements]
    assert names.count("article") == len(FINDINGS)
    assert names.count("table") == sum(bool(finding.trace) for finding in FINDINGS)


def test_it_needs_neither_another_file_nor_a_script(report):
    reader = read(report)
    assert not {"script", "link", "img", "iframe"} & {tag for tag, _ in reader.elements}
    assert not [
        name for _, attrs in reader.elements for name in attrs if name.startswith("on") or name == "src"
    ]
    assert "url(" not in report
    assert "@import" not in report


def test_every_anchor_leads_to_an_element(report):
    reader = read(report)
    names = [attrs["id"] for _, attrs in reader.elements if "id" in attrs]
    assert len(names) == len(set(names))
    targets = [
        attrs["href"][1:] for tag, attrs in reader.elements if tag == "a" and attrs["href"].startswith("#")
    ]
    assert targets
    assert set(targets) <= set(names)


def test_it_says_what_the_other_reports_say(report):
    text = " ".join(read(report).text.split())
    for finding in FINDINGS:
        assert finding.message.replace("`", "") in text
        assert finding.code in text
    assert "nothing found" in read(render("html", [], CONTEXT)).text


def test_what_the_checked_tree_says_is_text():
    evil = PROGRAM.replace("y.mul_(2)", "y.mul_(2)  # </li><script>alert(1)</script>")
    reader = read(page([picture(FINDING, context(evil).lines)], context(evil)))
    assert "script" not in {tag for tag, _ in reader.elements}
    assert "</li><script>alert(1)</script>" in reader.text


def test_marks_may_stand_within_each_other():
    at = TRACE[0].location
    inner = replace(at, start=replace(at.start, column=at.start.column + 2), end=at.end)
    trace = (replace(TRACE[0], message="outer"), TraceStep(inner, "inner"), *TRACE[1:])
    text = page([picture(replace(FINDING, trace=trace), context().lines)], context())
    (line,) = [line for line in text.splitlines() if "<mark>x.<mark>" in line]
    assert "<mark>x.<mark>exp()</mark>" in line
    assert re.sub(r"<span.*?</span>|<[^>]*>", "", line) == "y = x.exp()"


def test_the_timeline_has_a_row_for_each_step_and_a_column_for_each_lane():
    reader = read(page([picture(FINDING, context().lines)], context()))
    heads = [attrs for tag, attrs in reader.elements if tag == "th"]
    rows = [attrs for tag, attrs in reader.elements if tag == "tr" and "id" in attrs]
    assert (len(heads), len(rows)) == (4, len(TRACE))
    cells = [
        attrs["class"].split()
        for tag, attrs in reader.elements
        if tag == "td" and "lane" in attrs.get("class", "")
    ]
    assert [set(cell) & {"set", "changed", "wrong"} for cell in cells] == [
        {"set"},
        {"set"},
        {"changed"},
        set(),
        set(),
        {"wrong"},
    ]


def test_colours_are_for_light_and_dark_and_for_paper(report):
    assert "prefers-color-scheme: dark" in report
    assert "@media print" in report
    style = re.search(r"<style>(.*?)</style>", report, re.DOTALL).group(1)
    used, made = set(re.findall(r"var\((--[a-z]+)\)", style)), set(re.findall(r"(--[a-z]+):", style))
    assert used - {"--row"} <= made


@pytest.mark.skipif(BROWSER is None, reason="there is no Chromium")
@pytest.mark.parametrize("width", [500, 900, 1500])
def test_a_browser_shows_it_without_cutting_the_page(tmp_path, report, width):
    """At each width nothing is wider than the page, and arrows end beside the rows of their steps."""
    measured = """<script>
      const rows = [...document.querySelectorAll('.sheet')].map(sheet => {
        const svg = sheet.querySelector('svg'), list = sheet.querySelector('ol');
        return !svg || Math.abs(svg.getBoundingClientRect().height - list.getBoundingClientRect().height) < 1;
      });
      document.title = JSON.stringify([document.documentElement.scrollWidth <= innerWidth, rows.every(Boolean)]);
    </script>"""
    assert titled(tmp_path, report, measured, width) == "[true,true]"


@pytest.mark.skipif(BROWSER is None, reason="there is no Chromium")
def test_long_names_of_files_do_not_widen_a_narrow_page(tmp_path):
    location = replace(FINDING.location, filename=f"/r/{'a_long_name_of_a_folder/' * 4}train.py")
    text = page([picture(replace(FINDING, location=location), context().lines)], context())
    measured = """<script>
      document.documentElement.style.width = '364px';
      const fits = one => one.scrollWidth <= one.clientWidth;
      document.title = [...document.querySelectorAll('h2, h3, p.place')].every(fits);
    </script>"""
    assert titled(tmp_path, text, measured, 500) == "true"


def titled(folder, text, script, width):
    """The title that a script gives a page in a browser."""
    path = folder / "report.html"
    path.write_text(text.replace("</body>", f"{script}</body>"), encoding="utf-8")
    command = [
        BROWSER,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--window-size={width},900",
        "--dump-dom",
    ]
    ended = subprocess.run([*command, path.as_uri()], capture_output=True, text=True, timeout=120, check=True)
    return re.search("<title>(.*?)</title>", ended.stdout).group(1)

"""Recorded screens: what a real terminal gets, at several widths and on light and dark grounds."""

import os
import re
import struct
import sys

import pytest

from gradcheck_tool.links import HOME
from gradcheck_tool.report import render
from gradcheck_tool.report.context import ReportContext
from gradcheck_tool.report.style import columns
from tests.fakes import finding

pty = pytest.importorskip("pty", reason="there are no pseudo-terminals")

PROGRAM = """\
import torch

class Attention(torch.nn.Module):
    def forward(self, queries, keys, values, mask):
        weights = torch.softmax(queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5 + mask.logical_not() * -1e9, dim=-1)
        weights.masked_fill_(mask.unsqueeze(1).unsqueeze(1).expand(-1, 8, -1, -1).logical_not(), 0.0); self.kept = weights
        return weights @ values

model = Attention()
q = torch.ones(2, 8, 5, 5, requires_grad=True)
mask = torch.ones(2, 5, 5, dtype=torch.bool)
model(q, q, q, mask).pow(2).mean().backward()
torch.nn.utils.clip_grad_norm([q], 1)
"""
CSI = re.compile(r"\x1b\[[\d;?]*[A-Za-z]")
OSC = re.compile(r"\x1b\]8;;([^\x1b]*)\x1b\\")
# What a terminal clears before the report: the progress bar.
CLEARED = re.compile(r".*\x1b\[2K", re.DOTALL)

# Grounds of common themes: xterm, VS Code (dark, light), Solarized (dark, light), GNOME.
GROUNDS = ("#000000", "#1e1e1e", "#002b36", "#300a24", "#ffffff", "#f8f8f8", "#fdf6e3")


@pytest.fixture
def screen(tmp_path):
    """What a command prints on a terminal of some width."""
    import fcntl
    import termios

    (tmp_path / "attention.py").write_text(PROGRAM)

    def record(*words, width=80, **environment):
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "PYTHONPATH") if name in os.environ}
        surroundings = {**kept, "TERM": "xterm-256color", "GRADLINT_NO_CACHE": "1", **environment}
        command = [sys.executable, "-m", "gradcheck_tool", *words]
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(tmp_path)
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
            os.execvpe(command[0], command, surroundings)
        told = b""
        while chunk := _read(terminal):
            told += chunk
        os.waitpid(child, 0)
        return CLEARED.sub("", told.decode().replace("\r\n", "\n"))

    return record


def _read(terminal):
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


def plain(text):
    return CSI.sub("", OSC.sub("", text))


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_line_is_wider_than_the_terminal_and_the_gutter_stays(screen, width):
    lines = plain(screen("check", "attention.py", width=width)).splitlines()
    assert max(map(columns, lines)) <= width
    frame = [line for line in lines if re.match(r" *\d* \|", line)]
    assert len({line.index("|") for line in frame}) == 1
    # All that is in a frame is behind its gutter, and all else is one of the parts of a report.
    parts = re.compile(r" *\d* \||\.\.\.|(error|warning)\[|  \S| +-->| +\(| += |  {8,}|$")
    end = next(number for number, line in enumerate(lines) if line.startswith("Found "))
    assert [line for line in lines[:end] if not parts.match(line)] == []


def test_no_word_is_broken(screen):
    wide, narrow = (plain(screen("check", "attention.py", width=width)) for width in (400, 80))
    words = set(re.findall(r"\w+", wide))
    assert {word for word in re.findall(r"\w+", narrow) if not word.isdigit()} <= words


def test_the_marks_stand_below_what_they_mark(screen):
    lines = plain(screen("check", "attention.py", width=60)).splitlines()
    (at,) = (
        number for number, line in enumerate(lines) if "weights.masked_fill_" in line and line[:2] == " 6"
    )
    source, marks = lines[at], lines[at + 1]
    start, end = marks.index("-"), marks.rindex("-") + 1
    assert source[start:].startswith("weights.masked_fill_(mask")
    assert end <= 60


def test_what_was_checked_is_said_with_the_time(screen):
    last = plain(screen("check", "attention.py")).splitlines()[-1]
    assert re.fullmatch(r"Found 2 problems in 1 file, \d+\.\d s \(1 fixable with --fix\)\.", last)


def test_a_run_that_is_printed_again_says_it_in_the_same_way(screen, tmp_path):
    first, again = (plain(screen("check", "attention.py", GRADLINT_NO_CACHE="")) for _ in range(2))
    (remembered,) = (tmp_path / ".gradlint_cache").glob("run-*.json")
    assert "1 file, " not in remembered.read_text()
    without_time = re.compile(r"\d+\.\d s")
    assert without_time.sub("", first) == without_time.sub("", again) != again


def test_places_and_addresses_are_links(screen, tmp_path):
    shown = screen("check", "attention.py")
    places = {address.rpartition(str(tmp_path))[2] for address in OSC.findall(shown) if address}
    codes = {f"{HOME}rules/{code}/" for code in ("gl201", "gl904")}
    assert places == {"/attention.py#12", "/attention.py#13"} | codes
    assert {address for address in OSC.findall(shown) if "file://" not in address} == {"", *codes}
    assert "https://docs.pytorch.org" in "".join(OSC.findall(screen("rule", "GL201")))


@pytest.mark.parametrize(
    "words",
    [
        ["check", "attention.py"],
        ["check", "attention.py", "--output-format", "concise"],
        ["check", "attention.py", "--output-format", "grouped"],
        ["explain", "attention.py:12"],
    ],
    ids=" ".join,
)
def test_codes_are_links_and_the_text_is_the_same_without_them(screen, words):
    shown = screen(*words, width=400)
    assert f"\x1b]8;;{HOME}rules/gl201/\x1b\\GL201\x1b]8;;\x1b\\" in shown
    without_time = re.compile(r"\d+\.\d s")
    without, plainly = screen(*words, width=400, FORCE_HYPERLINK="0"), OSC.sub("", shown)
    assert without_time.sub("", plainly) == without_time.sub("", without)


def test_codes_of_other_packs_are_no_links():
    context = ReportContext(folder="/repo", lines=lambda *_: (), color=True, links=True)
    addresses = OSC.findall(render("full", [finding(code="TEAM001")], context))
    assert all(address.startswith("file://") for address in addresses if address)


@pytest.mark.parametrize(
    "environment",
    [{"TERM": "dumb"}, {"NO_COLOR": "1"}, {"GRADLINT_COLOR": "never"}],
    ids=lambda environment: next(iter(environment)),
)
def test_no_colours_and_no_links(screen, environment):
    for words in (["check", "attention.py"], ["rule", "GL201"]):
        shown = screen(*words, **environment)
        assert not re.search(r"\x1b\[[\d;]*m", shown)
        assert not OSC.search(shown)
        assert "GL201" in shown


def test_links_on_request(screen):
    assert OSC.search(screen("check", "attention.py", FORCE_HYPERLINK="1", NO_COLOR="1"))
    assert not OSC.search(screen("check", "attention.py", FORCE_HYPERLINK="0"))


@pytest.mark.parametrize("words", [["check", "attention.py"], ["rule", "GL201"]], ids=lambda words: words[0])
def test_colours_are_read_on_light_and_on_dark_grounds(screen, words):
    painted = set(re.findall(r"\x1b\[(?:1;)?38;5;(\d+)m", screen(*words)))
    assert painted
    for number in painted:
        for ground in GROUNDS:
            # What WCAG asks for of large text and of what is no text; code frames say nothing by colour alone.
            assert contrast(fixed(int(number)), ground) >= 3, (number, ground)


def test_no_colour_is_that_of_a_theme(screen):
    shown = screen("check", "attention.py") + screen("rule", "GL201")
    assert {
        code for codes in re.findall(r"\x1b\[([\d;]*)m", shown) for code in [codes.split("38;5;")[0]]
    } <= {
        "0",
        "1",
        "1;",
        "",
    }


def fixed(number):
    """A colour of the fixed part of the palette of 256."""
    if number >= 232:
        return "#" + f"{8 + 10 * (number - 232):02x}" * 3
    steps = (0, 95, 135, 175, 215, 255)
    red, rest = divmod(number - 16, 36)
    return "#" + "".join(f"{steps[step]:02x}" for step in (red, *divmod(rest, 6)))


def contrast(one, other):
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(color):
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_the_first_command_of_the_page_shows_one_screen(screen):
    from pathlib import Path

    root = Path(__file__).parents[2]
    (arguments,) = re.findall(
        r"bin/gradlint (check --exit-zero fixtures\S*)\n", (root / "README.md").read_text()
    )
    *options, folder = arguments.split()
    lines = plain(screen(*options, str(root / folder))).splitlines()
    assert 10 < len(lines) <= 24

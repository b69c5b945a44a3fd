"""`gradlint explain`: from a place to a picture."""

import json

import pytest
from typer.testing import CliRunner

from gradcheck_tool.cli.app import app

PROGRAM = """\
import torch

x = torch.ones(3, requires_grad=True)
y = x.exp()
view = y
if x.numel() > 2:
    view.mul_(2)
y.sum().backward()
"""
NOTEBOOK = {
    "cells": [
        {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": part}
        for part in (
            "import torch\nx = torch.ones(3, requires_grad=True)\ny = x.exp()",
            "y.mul_(2)\ny.sum().backward()",
        )
    ],
    "metadata": {},
    "nbformat": 4,
    "nbformat_minor": 5,
}


@pytest.fixture
def explain(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    (tmp_path / "gradlint.toml").write_text("")
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "nb.ipynb").write_text(json.dumps(NOTEBOOK))
    return lambda *arguments: CliRunner().invoke(app, ["explain", *arguments])


def test_shows_the_way_to_the_finding(explain):
    result = explain("train.py:8")
    assert result.exit_code == 0, result.output
    for told in (
        "`view` names it",
        "`x.numel() > 2` holds",
        "saved version 0",
        "needs 0, finds 1",
        "memory of `x.exp()`",
    ):
        assert told in result.output, result.output


@pytest.mark.parametrize("place", ["train.py:8:1", "train.py:7", "train.py:4:5:"])
def test_a_place_is_read_as_reports_print_it_and_may_be_that_of_a_step(explain, place):
    result = explain(place, "gl201")
    assert result.exit_code == 0, result.output
    assert "error[GL201]" in result.output


def test_a_mistake_to_which_only_another_file_leads(explain, tmp_path):
    (tmp_path / "net.py").write_text("def spoil(y):\n    y.mul_(2)\n    y.sum().backward()\n")
    head = "import torch\nfrom net import spoil\n\nx = torch.ones(3, requires_grad=True)\n"
    (tmp_path / "main.py").write_text(f"{head}spoil(x.exp())\n")
    result = explain("net.py:3")
    assert result.exit_code == 0, result.output
    assert "main.py:5" in result.output


def test_cells_of_notebooks(explain):
    result = explain("nb.ipynb:cell 2:2:1")
    assert result.exit_code == 0, result.output
    assert "cell 1, row 3" in result.output


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("train.py",), "give a file and a row"),
        (("train.py:1",), "train.py:1: no finding here; there are findings in rows 8"),
        (("train.py:8", "GL101"), "no finding of GL101 here"),
        (("missing.py:3",), "no such file or folder"),
        (("train.py:8", "--output-format", "json"), "unknown format 'json'"),
    ],
)
def test_says_what_is_wrong(explain, arguments, told):
    result = explain(*arguments)
    assert result.exit_code == 2
    assert told in result.stderr


def test_a_file_of_html(explain, tmp_path):
    result = explain("train.py:8", "--output-format", "html=out/picture.html")
    assert (result.exit_code, result.output) == (0, "")
    text = (tmp_path / "out" / "picture.html").read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert "names it" in text

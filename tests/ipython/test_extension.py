"""`%load_ext gradcheck_tool` in a real IPython, without a terminal."""

import re

import pytest

pytest.importorskip("IPython")

TRAIN = "import torch\nw = torch.ones(3, requires_grad=True)\nloss = w.exp().sum()"
LOAD = "%load_ext gradcheck_tool"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run cells in a new shell; what each displays."""
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.testing.globalipapp import start_ipython  # noqa: F401 - a shell of its own is enough
    from IPython.utils.capture import capture_output

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    (tmp_path / "gradlint.toml").write_text("")
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    # What notebooks ask for beside text.
    shell.display_formatter.active_types = ["text/plain", "text/html"]

    def cells(*texts):
        shown = []
        for text in texts:
            with capture_output() as captured:
                shell.run_cell(text, store_history=True)
            shown.append(captured)
        return shown

    yield cells
    shell.run_cell("%unload_ext gradcheck_tool", silent=True)
    InteractiveShell.clear_instance()


def codes(captured):
    return [
        code
        for output in captured.outputs
        for code in re.findall(r"\[(GL\d+)\]", str(output.data["text/plain"]))
    ]


def test_a_cell_is_checked_and_runs(run):
    *_, shown, after = run(TRAIN, LOAD, "%%gradlint\nloss.backward()\n1 + 1", "w.grad is not None")
    assert "No autograd mistakes found in this cell." in shown.outputs[0].data["text/plain"]
    assert "2" in shown.stdout
    assert "True" in after.stdout


def test_findings_stand_below_the_cell_before_it_fails(run):
    *_, shown = run(LOAD, TRAIN, "loss.backward()", "%%gradlint\n\nloss.backward()")
    assert codes(shown) == ["GL101"]
    text = shown.outputs[0].data["text/plain"]
    assert "--> In:cell 4:3:1 (second-backward)" in text
    assert "::: In:cell" not in text.split("-->")[0]
    assert "second time" in shown.stdout + shown.stderr
    html = shown.outputs[0].data["text/html"]
    assert html.startswith('<div class="gradlint"><pre')
    assert "error[GL101]" in re.sub(r"<[^>]+>", "", html)
    assert "\x1b" not in html


def test_the_cells_that_have_run(run):
    *_, shown, failed, again = run(TRAIN, LOAD, "y = w * 2", "%gradlint", "y.grad.zero_()", "%gradlint")
    assert "No autograd mistakes found in the cells that have run." in shown.outputs[0].data["text/plain"]
    # A cell that has failed is no part of the program: it is mended and run again.
    assert failed.outputs == []
    assert codes(again) == []


def test_the_automatic_mode_shows_each_finding_once(run):
    shown = run(
        LOAD,
        TRAIN,
        "%gradlint on",
        "loss.backward()",
        "loss.backward()",
        "1 + 1",
        "%gradlint off",
        "loss.backward()",
    )
    assert [codes(one) for one in shown] == [[], [], [], [], ["GL101"], [], [], []]


def test_a_cell_that_runs_again_does_what_it_does_again(run):
    step = "loss.backward()"
    shown = run(LOAD, "%gradlint on", TRAIN, step, TRAIN, step, step)
    assert [codes(one) for one in shown][-2:] == [[], ["GL101"]]


def test_words_that_mean_nothing(run):
    _, shown = run(LOAD, "%gradlint perhaps")
    assert "UsageError" in shown.stdout + shown.stderr
    assert "%gradlint on" in shown.stdout + shown.stderr


def test_a_configuration_that_cannot_be_used_is_said_in_a_line(run, tmp_path):
    (tmp_path / "gradlint.toml").write_text("selct = []\n")
    _, shown, after = run(LOAD, "%%gradlint\nx = 41", "x + 1")
    assert "gradlint: error: " in shown.stderr
    assert "unknown key `selct`" in shown.stderr
    assert "Traceback" not in shown.stderr
    assert "42" in after.stdout


def test_it_can_be_unloaded(run):
    *_, shown = run(
        LOAD, "%gradlint on", "%unload_ext gradcheck_tool", TRAIN, "loss.backward()", "loss.backward()"
    )
    assert codes(shown) == []


def test_sources_of_others_are_text_in_html():
    from gradcheck_tool.ipython.shown import Shown
    from gradcheck_tool.report.context import ReportContext
    from tests.fakes import finding

    context = ReportContext("/repo", lambda *_: ["", "", "y = '<script>'"])
    html = Shown([finding(message="is <b>")], context, "")._repr_html_()
    assert "<script>" not in html
    assert "is &lt;b&gt;" in html
    assert html.count("<span") == html.count("</span>")


def test_long_messages_are_wrapped_in_html():
    from gradcheck_tool.ipython.shown import WIDTH, Shown
    from gradcheck_tool.report.context import ReportContext
    from tests.fakes import finding

    context = ReportContext("/repo", lambda *_: ["", "", "y = 1"])
    shown = Shown([finding(message="word " * 100)], context, "")
    text = re.sub(r"<[^>]+>", "", shown._repr_html_())
    assert text.count("word") == 100
    assert max(map(len, text.splitlines())) <= WIDTH
    assert max(map(len, repr(shown).splitlines())) > 400

"""What a job's page on GitHub shows."""

import pytest

from gradcheck_tool.findings import Severity
from gradcheck_tool.links import HOME
from gradcheck_tool.report.job_summary import MOST, job_summary
from tests.fakes import finding
from tests.report.test_reports import CONTEXT


@pytest.fixture(autouse=True)
def no_job(monkeypatch):
    for name in ("SERVER_URL", "REPOSITORY", "SHA", "WORKSPACE"):
        monkeypatch.delenv(f"GITHUB_{name}", raising=False)


def page(*findings):
    return job_summary("gradlint check", "Found 2 problems.", findings, CONTEXT)


def test_what_matters_most_comes_first():
    warning = finding(severity=Severity.WARNING, code="GL405", message="late")
    assert page(warning, finding()) == (
        "## gradlint check\n\nFound 2 problems.\n\n1 error, 1 warning\n\n"
        "| severity | place | finding |\n|---|---|---|\n"
        f"| error | `train.py:3:1` | [GL201]({HOME}rules/gl201/) `y` was changed in place after it was saved |\n"
        f"| warning | `train.py:3:1` | [GL405]({HOME}rules/gl405/) late |\n\n"
    )


def test_several_of_a_severity():
    notes = [finding(severity=Severity.INFO, code="GL001", row=row) for row in (1, 2)]
    assert "\n\n2 errors, 2 info\n\n" in page(finding(), finding(row=9), *notes)


def test_nothing_found():
    assert page() == "## gradlint check\n\nFound 2 problems.\n\n"


def test_places_lead_to_the_line_in_the_commit(monkeypatch):
    for name, value in (("SERVER_URL", "https://host"), ("REPOSITORY", "a/b"), ("SHA", "c0ffee")):
        monkeypatch.setenv(f"GITHUB_{name}", value)
    text = page(finding("/repo/my models/net.py"), finding("/elsewhere/x.py"))
    assert "[`my models/net.py:3:1`](https://host/a/b/blob/c0ffee/my%20models/net.py#L3)" in text
    assert "| `/elsewhere/x.py:3:1` |" in text


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("`a | b` is <script>", "`a \\| b` is &lt;script&gt;"),
        ("`x[0]` is [a](http://b) *c*", "`x[0]` is \\[a\\](http://b) \\*c\\*"),
        ("one ` tick | <b>", "one \\` tick \\| &lt;b&gt;"),
        ("two\nlines", "two\\\\nlines"),
    ],
)
def test_messages_are_text(message, shown):
    assert f"({HOME}rules/gl201/) {shown} |" in page(finding(message=message))


def test_a_page_is_not_endless():
    text = page(*[finding(row=row) for row in range(1, MOST + 4)])
    assert text.count("[GL201]") == MOST
    assert text.endswith("3 more findings are not listed here.\n\n")

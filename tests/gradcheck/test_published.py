"""Functions of the kinds that packages publish: right ones pass, meant deviations are remarks, mistakes are found."""

import pytest

from gradcheck_tool.gradcheck import check_function
from tests.gradcheck import published
from tests.gradcheck.published_deviations import INTENDED


@pytest.mark.parametrize(("klass", "args"), published.RIGHT, ids=[c.__name__ for c, _ in published.RIGHT])
def test_right_function_is_not_accused(klass, args):
    report = check_function(klass, args)
    assert report.ok, report.text()
    assert {f.code for f in report.findings} <= {"GC108"}, report.text()


@pytest.mark.parametrize(("klass", "args"), INTENDED, ids=[c.__name__ for c, _ in INTENDED])
def test_deviation_that_the_documentation_declares_is_no_mistake(klass, args):
    report = check_function(klass, args)
    assert report.ok, report.text()

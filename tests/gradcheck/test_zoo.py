"""Planted mistakes are reported and named; right Functions bring no error and no warning."""

import pytest

from gradcheck_tool.findings import Severity
from gradcheck_tool.gradcheck import check_function
from tests.gradcheck import right_cases, right_types, right_values, wrong_cases, wrong_contracts, wrong_values
from tests.gradcheck.deviations import SURROGATES

RIGHT = [*right_values.RIGHT, *right_types.RIGHT, *right_cases.RIGHT]
WRONG = [*wrong_values.WRONG, *wrong_contracts.WRONG, *wrong_cases.WRONG]


def _loud(report):
    return [f for f in report.findings if f.severity is not Severity.INFO]


@pytest.mark.parametrize(("klass", "args", "words"), WRONG, ids=[c.__name__ for c, _, _ in WRONG])
def test_planted_mistake_is_reported_and_named(klass, args, words):
    report = check_function(klass, args())
    assert words & {f.evidence["diagnosis"] for f in _loud(report)}, report.text()


@pytest.mark.parametrize(("func", "args"), RIGHT, ids=[c.__name__ for c, _ in RIGHT])
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::UserWarning")
def test_right_function_is_no_alarm(func, args):
    report = check_function(func, args())
    assert report.ok, report.text()
    assert report.conclusive, report.text()


@pytest.mark.parametrize(("klass", "args"), SURROGATES, ids=[c.__name__ for c, _ in SURROGATES])
def test_deviation_on_purpose_is_a_remark_only(klass, args):
    report = check_function(klass, args())
    assert report.ok, report.text()
    assert [f.evidence["diagnosis"] for f in report.findings if f.code == "GC190"] == ["surrogate"]

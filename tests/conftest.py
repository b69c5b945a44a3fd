import pytest

# What its checks compare is shown as it is in a test.
pytest.register_assert_rewrite("tests.cases")

import pytest
from hypothesis import settings

# What its checks compare is shown as it is in a test.
pytest.register_assert_rewrite("tests.cases")

# An example that a busy machine takes long for is no failure.
settings.register_profile("gradlint", deadline=None)
settings.load_profile("gradlint")

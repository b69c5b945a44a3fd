import os
import shutil
import subprocess

import pytest
from hypothesis import settings

# What its checks compare is shown as it is in a test.
pytest.register_assert_rewrite("tests.cases")

# An example that a busy machine takes long for is no failure.
settings.register_profile("gradlint", deadline=None)
settings.load_profile("gradlint")


@pytest.fixture
def small_disk(tmp_path):
    """The folder of a file system that 64 KiB fill."""
    place = tmp_path / "small"
    place.mkdir()
    if shutil.which("mount") is None:
        pytest.skip("there is no command to mount a file system")
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    mounted = subprocess.run(mount, capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.fixture(autouse=True, scope="session")
def state_folder(tmp_path_factory):
    """Consents and the key of the caches are not those of who runs the tests."""
    folder = tmp_path_factory.mktemp("state")
    os.environ["GRADLINT_STATE_DIR"] = str(folder)
    return folder

import compileall
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).parents[1]

# What its checks compare is shown as it is in a test.
pytest.register_assert_rewrite("tests.cases")

# An example that a busy machine takes long for is no failure.
settings.register_profile("gradlint", deadline=None)
settings.load_profile("gradlint")


def pytest_configure(config):
    """Hundreds of commands that tests start find the bytecode of the package, even if Python may write none.

    They hear of interrupts, which a shell lets what it runs in the background ignore.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if not hasattr(config, "workerinput"):
        for folder in ("gradcheck_tool", "rules"):
            compileall.compile_dir(ROOT / folder, quiet=2)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Tests of a module run in one process, which makes what they share once, until another has nothing to do."""
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log) if config.option.dist == "load" else None


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

"""`--engine ray` gives what the local engine gives, though workers and machines die during the run."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import gradcheck_tool
from gradcheck_tool.config import Overrides
from gradcheck_tool.harness.process import WorkerError
from gradcheck_tool.harness.ray_engine import TRIES, RayEngine
from gradcheck_tool.harness.run import Harness
from gradcheck_tool.harness.settings import Settings
from tests.harness.conftest import ends

MORTAL = """\
import os
import time
from pathlib import Path

import psutil

RAY_WORKER = psutil.Process().parent()


def once(name):
    '''Whether there was no file of that name here yet; there is now.'''
    try:
        Path(__file__).with_name(name).open("x").close()
    except FileExistsError:
        return False
    return True


class KillsRayWorker(Sine):
    @staticmethod
    def backward(ctx, g):
        if once("worker"):
            Path(__file__).with_name("orphan").write_text(str(os.getpid()))
            RAY_WORKER.kill()
            time.sleep(600)
        return Sine.backward(ctx, g)


class KillsMachine(Sine):
    @staticmethod
    def backward(ctx, g):
        if once("machine"):
            machine = RAY_WORKER.parent()
            assert machine.name() == "raylet"
            machine.kill()
            RAY_WORKER.wait()
            os._exit(0)
        return Sine.backward(ctx, g)


class Crashes(Sine):
    @staticmethod
    def backward(ctx, g):
        os.abort()


for function in (KillsRayWorker, KillsMachine, Crashes):
    gradcheck_tool.samples(function)(square)
"""
"""Added to a module with `Sine` and `Cube`. Where the files `worker` and `machine` are, two of them are harmless."""

ALWAYS = """\
import os

import psutil

RAY_WORKER = psutil.Process().parent()


class KillsEveryRayWorker(Sine):
    @staticmethod
    def backward(ctx, g):
        with open("begun", "a") as file:
            file.write(".")
        RAY_WORKER.kill()
        os._exit(0)


gradcheck_tool.samples(KillsEveryRayWorker)(square)
"""


@pytest.fixture
def cluster():
    """A cluster of three machines, all of them this one: a head without cores, and two with one core each."""
    ray = pytest.importorskip("ray", reason="Ray is an extra: pip install 'gradcheck-tool[ray]'")
    utils = pytest.importorskip("ray.cluster_utils")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("PYTHONPATH", str(Path(gradcheck_tool.__file__).parents[1]))
        small = {"object_store_memory": 80 * 2**20, "include_dashboard": False}
        made = utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **small})
        try:
            for _ in range(2):
                made.add_node(num_cpus=1, **small)
            patch.setenv("RAY_ADDRESS", made.address)
            yield made
        finally:
            ray.shutdown()
            made.shutdown()


def told_of(verdicts):
    """What a run tells, without the time it took."""
    return [replace(outcome, seconds=0.0) for outcome in verdicts.outcomes]


def test_the_outcomes_are_the_local_ones_though_a_worker_and_a_machine_die(cluster, project):
    project("ops.py", project.ops + MORTAL)
    harness = Harness(project.folder, Overrides())
    plan = harness.plan(["ops.py"], Settings(timeout=60))
    counted = []

    spread = harness.check(
        plan, 2, keep=False, make_engine=RayEngine, progress=lambda done, total: counted.append((done, total))
    )

    assert ends(int((project.folder / "orphan").read_text()))
    assert (project.folder / "machine").exists()
    assert told_of(spread) == told_of(harness.check(plan, 1, keep=False))
    assert [outcome.unit for outcome in spread.outcomes] == plan.units
    assert [outcome.status for outcome in spread.outcomes] == ["ok", "wrong", "ok", "ok", "wrong"]
    assert counted == [(done, 5) for done in range(6)]


def test_a_unit_that_every_worker_dies_of_is_not_checked(cluster, project, gradcheck):
    project("ops.py", project.ops + ALWAYS)
    result = gradcheck("--engine", "ray", "-n", "--jobs", 2, "--output-format", "json", "ops.py")
    assert [finding["function"] for finding in json.loads(result.stdout)] == ["ops.Cube"]
    assert result.exit_code == 1
    assert f"ops.KillsEveryRayWorker[cpu]: {TRIES} Ray workers died while they checked it: " in result.stderr
    assert (project.folder / "begun").read_text() == "." * TRIES


def test_without_any_machine_left_the_run_ends_with_one_message(project):
    pytest.importorskip("ray", reason="Ray is an extra: pip install 'gradcheck-tool[ray]'")
    project("ops.py", project.ops + MORTAL)
    # In a process of its own: here, Ray would go on to talk to a cluster that is gone.
    command = [sys.executable, "-m", "gradcheck_tool", "gradcheck", "--engine", "ray", "-n", "-k", "Machine"]
    environment = {**os.environ, "PYTHONPATH": str(Path(gradcheck_tool.__file__).parents[1])}
    environment.pop("RAY_ADDRESS", None)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    message = "gradlint: error: the Ray cluster has lost the last machine that could check anything"
    assert done.stderr.splitlines()[-1] == message


def test_no_cluster_at_the_address(ops, gradcheck, monkeypatch):
    pytest.importorskip("ray", reason="Ray is an extra: pip install 'gradcheck-tool[ray]'")
    monkeypatch.setenv("RAY_ADDRESS", "no such address")
    result = gradcheck("--engine", "ray", "-n", "ops.py")
    assert result.exit_code == 2
    assert result.stderr.startswith("gradlint: error: no Ray cluster at no such address: ")


def test_a_numbered_gpu_is_refused(tmp_path):
    pytest.importorskip("ray", reason="Ray is an extra: pip install 'gradcheck-tool[ray]'")
    with pytest.raises(WorkerError, match="say cuda instead of cuda:1"):
        RayEngine(Settings(devices=("cuda:1",)), 1, tmp_path).run([])


def test_without_ray(ops, gradcheck, monkeypatch):
    monkeypatch.setattr("gradcheck_tool.cli.gradcheck.find_spec", lambda name: None)
    result = gradcheck("--engine", "ray", "ops.py")
    assert result.exit_code == 2
    assert result.stderr == "gradlint: error: --engine ray needs Ray: `pip install 'gradcheck-tool[ray]'`\n"


def test_an_engine_that_there_is_not(ops, gradcheck):
    result = gradcheck("--engine", "slurm", "ops.py")
    assert result.exit_code == 2
    assert result.stderr == "gradlint: error: --engine: unknown value 'slurm'; choose from local, ray\n"

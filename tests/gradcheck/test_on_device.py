"""What only a CUDA device shows: compiled kernels, streams, atomic sums, a context that dies."""

import importlib.util
import os
import shutil

import pytest
import torch

from gradcheck_tool.findings import Severity
from gradcheck_tool.gradcheck import check_function
from tests.gradcheck import (
    on_device,
    right_cases,
    right_types,
    right_values,
    wrong_cases,
    wrong_contracts,
    wrong_values,
)

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")

triton = pytest.mark.skipif(
    importlib.util.find_spec("triton") is None or os.environ.get("TRITON_INTERPRET") == "1",
    reason="needs Triton's compiler",
)
RIGHT = [*right_values.RIGHT, *right_types.RIGHT, *right_cases.RIGHT]
WRONG = [*wrong_values.WRONG, *wrong_contracts.WRONG, *wrong_cases.WRONG]
FLOATS = [torch.float32, torch.bfloat16, torch.float16]


def _x(*shape, dtype=torch.float32, seed=0):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(seed))
    return x.to("cuda", dtype).requires_grad_()


def _kernels():
    from tests.gradcheck import kernels

    return kernels


def _errors(report):
    return {f.code for f in report.findings if f.severity is Severity.ERROR}


def _moved(args):
    """The arguments on the device; skips what is no plain tensor."""
    if not all(type(x) is torch.Tensor and x.layout is torch.strided for x in args if hasattr(x, "layout")):
        pytest.skip("an argument is no plain tensor")
    return tuple(
        x.detach().to("cuda").requires_grad_(x.requires_grad) if isinstance(x, torch.Tensor) else x
        for x in args
    )


def _called(klass, args):
    """Skip a Function that is made for a CPU only."""
    given = [x.clone() if isinstance(x, torch.Tensor) else x for x in args]
    try:
        outputs = (klass.apply if hasattr(klass, "apply") else klass)(*given)
        outputs = [y for y in (outputs if isinstance(outputs, tuple) else (outputs,)) if y is not None]
        asked = [x for x in args if isinstance(x, torch.Tensor) and x.requires_grad]
        made = [y for y in outputs if isinstance(y, torch.Tensor) and y.requires_grad]
        if asked:
            torch.autograd.grad(made, asked, [torch.ones_like(y) for y in made], allow_unused=True)
    except (RuntimeError, TypeError) as error:
        if any(word in str(error) for word in ("cuda", "device", "numpy", "CPU")):
            pytest.skip("made for a CPU only")


@pytest.mark.parametrize(("klass", "args", "words"), WRONG, ids=[c.__name__ for c, _, _ in WRONG])
def test_planted_mistake_is_named_on_the_device(klass, args, words):
    moved = _moved(args())
    _called(klass, moved)
    report = check_function(klass, moved)
    loud = {f.evidence["diagnosis"] for f in report.findings if f.severity is not Severity.INFO}
    assert words & loud, report.text()


@pytest.mark.parametrize(("func", "args"), RIGHT, ids=[c.__name__ for c, _ in RIGHT])
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::UserWarning")
def test_right_function_is_no_alarm_on_the_device(func, args):
    moved = _moved(args())
    _called(func, moved)
    report = check_function(func, moved)
    assert report.ok, report.text()


@triton
@pytest.mark.parametrize("dtype", FLOATS)
def test_a_compiled_kernel_is_right_in_every_dtype(dtype):
    report = check_function(_kernels().Silu, (_x(4, 20, dtype=dtype),))
    assert report.ok, report.text()
    assert report.findings == ()
    assert [v.verdict for v in report.inputs] == ["ok"]


@triton
@pytest.mark.parametrize("dtype", FLOATS)
def test_a_compiled_kernel_that_leaves_out_a_tail_is_wrong_in_every_dtype(dtype):
    report = check_function(_kernels().SiluWithoutTail, (_x(80, dtype=dtype),))
    assert "GC101" in _errors(report), report.text()
    (finding,) = [f for f in report.findings if f.code == "GC101"]
    assert finding.evidence["diagnosis"] == "region"


@triton
def test_an_illegal_access_is_told_with_isolation():
    report = check_function(_kernels().AlwaysReadsOutside, (_x(3, 4),), isolate=True)
    (finding,) = report.findings
    assert (finding.code, finding.severity) == ("GC304", Severity.ERROR)
    assert "leaves the device unusable" in finding.message
    assert float(_x(3).detach().abs().sum()) > 0  # the device of the caller lives


@triton
def test_an_illegal_access_at_a_derived_input_is_a_warning_with_isolation():
    report = check_function(_kernels().ReadsOutside, (_x(2, 4),), isolate=True)
    (finding,) = report.findings
    assert (finding.code, finding.severity) == ("GC304", Severity.WARNING)
    assert [v.verdict for v in report.inputs] == ["ok"]


def test_isolation_works_once_the_device_is_in_use():
    report = check_function(on_device.Gathered, _rows(), isolate=True)
    assert report.ok, report.text()


def test_a_check_on_the_cpu_does_not_start_the_device():
    import subprocess
    import sys

    program = (
        "import torch; from gradcheck_tool.gradcheck import check_function;"
        "from tests.gradcheck.test_modes import Sine;"
        "print(check_function(Sine, (torch.ones(3, requires_grad=True),)).ok, torch.cuda.is_initialized())"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ran.stdout == "True False\n", ran.stderr


@pytest.mark.parametrize("modes", [(), ("stream",)])
def test_a_stream_that_waits_is_right(modes):
    report = check_function(on_device.OnAnotherStream, (_x(64, 8),), modes=modes)
    assert report.ok, report.text()


def test_a_stream_that_does_not_wait_for_its_input_is_found():
    report = check_function(on_device.DoesNotWait, (_x(64, 8),), modes=("stream",))
    assert _errors(report), report.text()


def test_a_result_that_is_not_waited_for_is_found():
    report = check_function(on_device.IsNotAwaited, (_x(64, 8),), modes=("stream",))
    assert _errors(report), report.text()


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
def test_an_extension_that_ignores_the_current_stream_is_found(tmp_path):
    right, wrong = on_device.extension(tmp_path)
    report = check_function(right, (_x(64, 8),), modes=("stream",))
    assert report.ok, report.text()
    report = check_function(wrong, (_x(64, 8),))
    assert report.ok, report.text()  # on the default stream nothing is wrong
    report = check_function(wrong, (_x(64, 8),), modes=("stream",))
    assert "GC210" in _errors(report), report.text()


def _rows(dtype=torch.float32):
    index = torch.randint(5, (4000,), generator=torch.Generator().manual_seed(0)).to("cuda")
    return _x(5, 3, dtype=dtype), index


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_noise_of_atomic_additions_is_no_mistake(dtype):
    report = check_function(on_device.Gathered, _rows(dtype), modes=("stream", "saved_hooks", "checkpoint"))
    assert report.ok, report.text()


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_wrong_factor_under_atomic_additions_is_found(dtype):
    report = check_function(on_device.GatheredWrong, _rows(dtype))
    assert "GC101" in _errors(report), report.text()


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_noise_of_an_atomic_forward_is_no_mistake(dtype):
    _, index = _rows()
    report = check_function(on_device.Scattered, (_x(4000, dtype=dtype), index))
    assert report.ok, report.text()


def test_random_numbers_of_the_device_are_the_same_in_every_call():
    report = check_function(on_device.Dropped, (_x(6, 8),))
    assert report.ok, report.text()


@triton
@pytest.mark.parametrize("mode", ["stream", "autocast", "compile", "saved_hooks", "checkpoint"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_right_kernel_is_right_under_every_mode(mode, dtype):
    report = check_function(_kernels().Silu, (_x(4, 20, dtype=dtype),), modes=(mode,))
    assert report.ok, report.text()

"""Check PyTorch's own operators: every one is right, so every "wrong" is a false alarm (or a bug of PyTorch).

usage: op_db.py [--samples N] [--only TEXT] [--dtypes float64 float32] [--thorough]

Prints each operator reported as wrong, then those for which PyTorch itself skips or loosens gradcheck
with what this engine says about them, then totals. Needs `expecttest`, as PyTorch's test utilities do.
"""

from __future__ import annotations

import argparse
import itertools
import os
import pickle
import signal
import time
import warnings
from collections import Counter
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db

from gradcheck_tool.gradcheck import Report, check_function

LIMIT_S = 40
THOROUGH = False


class TooSlowError(Exception):
    """The operator's time is over."""


def _stop(*_: Any) -> None:
    raise TooSlowError


def loosened(op: Any) -> list[str]:
    """How PyTorch relaxes gradcheck for this operator."""
    marks = []
    if op.gradcheck_nondet_tol:
        marks.append(f"nondet_tol={op.gradcheck_nondet_tol}")
    if op.gradcheck_fast_mode is False:
        marks.append("slow mode only")
    if op.gradcheck_wrapper.__name__ != "<lambda>":
        marks.append(op.gradcheck_wrapper.__name__)
    for skip in op.skips:
        name = str(getattr(skip, "test_name", ""))
        if (
            "grad" in name.lower()
            and "Bwd" in str(getattr(skip, "cls_name", "")) + str(getattr(skip, "test_class", ""))
        ) or str(getattr(skip, "cls_name", "")) in ("TestBwdGradients", "TestFwdGradients"):
            marks.append(f"skips {name}")
    return marks


def check(op: Any, sample: Any) -> Report:
    """One sample of one operator, called as PyTorch's own gradient tests call it."""

    def call(*arguments: Any) -> Any:
        result = op.gradcheck_wrapper(op.get_op(), *arguments, **sample.kwargs)
        return sample.output_process_fn_grad(result)

    return check_function(call, (sample.input, *sample.args), builtin=THOROUGH)


def main() -> None:
    """Run over the operator database."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=2)
    parser.add_argument("--only", default="")
    parser.add_argument("--dtypes", nargs="*", default=["float64", "float32"])
    parser.add_argument("--thorough", action="store_true", help="variations and contracts too")
    options = parser.parse_args()
    globals()["THOROUGH"] = options.thorough
    torch.set_num_threads(1)  # a forked child must not inherit a thread pool
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, _stop)
    totals: Counter[str] = Counter()
    relaxed: dict[str, tuple[list[str], Counter[str]]] = {}
    start = time.perf_counter()
    for op, name in itertools.product(op_db, options.dtypes):
        dtype = getattr(torch, name)
        if options.only not in op.name or not op.supports_autograd or not op.supports_dtype(dtype, "cpu"):
            continue
        verdicts = isolated(op, dtype, options.samples)
        totals.update(verdicts)
        marks = loosened(op)
        if marks:
            relaxed.setdefault(f"{op.name} {op.variant_test_name}".strip(), (marks, Counter()))[1].update(
                verdicts
            )
    print("\nOperators for which PyTorch skips or loosens gradcheck, and the verdicts here:")
    for key, (marks, verdicts) in relaxed.items():
        print(f"  {key}: {', '.join(sorted(set(marks)))[:160]} -> {dict(verdicts)}")
    print(f"\n{dict(totals)} in {time.perf_counter() - start:.0f} s")


def isolated(op: Any, dtype: torch.dtype, most: int) -> Counter[str]:
    """`one` in a child process: operators called with unusual layouts may bring the process down."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        with os.fdopen(writer, "wb") as stream:
            pickle.dump(one(op, dtype, most), stream)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        data = stream.read()
    _, status = os.waitpid(child, 0)
    if status or not data:
        print(f"{op.name} {dtype}: the process died with status {status}", flush=True)
        return Counter({"died": 1})
    answer: Counter[str] = pickle.loads(data)
    return answer


def one(op: Any, dtype: torch.dtype, most: int) -> Counter[str]:
    """Verdicts over the first samples of an operator; prints what is reported as wrong."""
    verdicts: Counter[str] = Counter()
    signal.alarm(LIMIT_S)
    try:
        torch.manual_seed(0)
        for sample in itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=True), most):
            report = check(op, sample)
            if report.ok:
                verdicts["ok" if report.conclusive else "inconclusive"] += 1
                continue
            verdicts["reported"] += 1
            for finding in report.findings:
                if finding.severity.value != "info":
                    print(
                        f"{op.name} {op.variant_test_name} {dtype}: {finding.code} {finding.message[:220]}",
                        flush=True,
                    )
    except TooSlowError:
        verdicts["too slow"] += 1
        print(f"{op.name} {dtype}: stopped after {LIMIT_S} s", flush=True)
    except Exception as error:  # noqa: BLE001  (an operator's sample generator may raise)
        verdicts["not run"] += 1
        print(f"{op.name} {dtype}: {type(error).__name__}: {str(error)[:120]}", flush=True)
    finally:
        signal.alarm(0)
    return verdicts


if __name__ == "__main__":
    main()

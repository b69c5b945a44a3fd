"""Breaks of the run-time engine, which checks gradients by finite differences."""

from __future__ import annotations

from benchmarks.breaks.base import Break

_ENGINE = "gradcheck_tool/gradcheck"
_DIAGNOSES = ("tests/gradcheck/test_diagnoses.py",)
_NUMERICS = ("tests/gradcheck/test_numerics.py", "tests/gradcheck/test_dropin.py")
_PROBES = ("tests/gradcheck/test_probes.py",)
_ZOO = "tests/gradcheck/test_zoo.py"
_PLANTED = (f"{_ZOO}::test_planted_mistake_is_reported_and_named",)
_CONTRACTS = "tests/gradcheck/test_contracts.py"
_RIGHT = (f"{_ZOO}::test_right_function_is_no_alarm",)

BREAKS = [
    Break(
        "a wrong coefficient of the eighth-order stencil",
        f"{_ENGINE}/stencil.py",
        "_EIGHTH = (4 / 5, -1 / 5,",
        "_EIGHTH = (4 / 5, 1 / 5,",
        _NUMERICS,
    ),
    Break(
        "truncation is not part of the error bar",
        f"{_ENGINE}/stencil.py",
        "_BINOMIAL = (70.0, -56.0, 28.0, -8.0, 1.0)",
        "_BINOMIAL = (0.0, 0.0, 0.0, 0.0, 0.0)",
        (*_NUMERICS, *_RIGHT),
    ),
    Break(
        "every disagreement is explained",
        f"{_ENGINE}/stencil.py",
        "return abs(self.size) <= self.error",
        "return True",
        _NUMERICS,
    ),
    Break(
        "a disagreement at one step is enough",
        f"{_ENGINE}/stencil.py",
        "    if len(outside) >= 2:\n        sharp",
        "    if len(outside) >= 1:\n        sharp",
        (*_NUMERICS, *_RIGHT),
    ),
    Break(
        "a disagreement need not keep its size",
        f"{_ENGINE}/stencil.py",
        "        if steady and not denied:\n",
        "        if True:\n",
        (*_NUMERICS, *_RIGHT),
    ),
    Break(
        "the inner product forgets the conjugate",
        f"{_ENGINE}/stencil.py",
        "return float((a.conj() * b).real.sum())",
        "return float((a * b).real.sum())",
        (*_RIGHT, _CONTRACTS),
    ),
    Break(
        "inputs all move by the same amount",
        f"{_ENGINE}/probes.py",
        "return centred.add_(torch.sgn(centred), alpha=0.5)",
        "return torch.sgn(centred)",
        _PROBES,
    ),
    Break(
        "incoming gradients are all ones",
        f"{_ENGINE}/probes.py",
        "            out.append(draw.to(y.dtype))\n",
        "            out.append(torch.ones_like(y))\n",
        _PROBES,
    ),
    Break(
        "backward gets the caller's own tensors",
        f"{_ENGINE}/probes.py",
        "    return [None if v is None else v.detach().clone(memory_format=torch.contiguous_format) for v in cotangent]",
        "    return list(cotangent)",
        _PLANTED,
    ),
    Break(
        "a gradient that is not finite counts as right",
        f"{_ENGINE}/compare.py",
        "    return ~torch.isfinite(a.abs()) & torch.isfinite(r.abs())\n",
        "    return torch.zeros_like(r.abs(), dtype=torch.bool)\n",
        _PLANTED,
    ),
    Break(
        "an input without a gradient is right",
        f"{_ENGINE}/compare.py",
        "        torch.zeros_like(wide(like))\n        if gradient is None",
        "        torch.full_like(wide(like), torch.nan)\n        if gradient is None",
        (*_DIAGNOSES, *_PLANTED),
    ),
    Break(
        "a change of the incoming gradient is not reported",
        f"{_ENGINE}/contracts.py",
        "if before is not None and after is not None and not identical(before, after):",
        "if False:",
        _PLANTED,
    ),
    Break(
        "gradients that share memory are not reported",
        f"{_ENGINE}/contracts.py",
        "            if _overlap(gradient, again):\n",
        "            if False:\n",
        (_CONTRACTS,),
    ),
    Break(
        "an output on ctx is not reported",
        f"{_ENGINE}/contracts.py",
        "        if any(isinstance(t, Tensor) and t.grad_fn is node for t in held):\n",
        "        if False:\n",
        _PLANTED,
    ),
    Break(
        "inputs are never asked for alone",
        f"{_ENGINE}/contracts.py",
        "    _subsets(session, problem, cotangent)\n    _unused",
        "    _unused",
        _PLANTED,
    ),
    Break(
        "outputs are never left out of the loss",
        f"{_ENGINE}/contracts.py",
        "    _unused_outputs(session, cotangent, backward)\n    _inter",
        "    _inter",
        _PLANTED,
    ),
    Break(
        "no second backward is tried",
        f"{_ENGINE}/contracts.py",
        "        and _twice(session, problem, cotangent, graph, first)\n",
        "        and False\n",
        ("tests/gradcheck/test_contracts.py",),
    ),
    Break(
        "no call is made between forward and backward",
        f"{_ENGINE}/contracts.py",
        "    _interleaved(session, problem, cotangent)\n    _sizes",
        "    _sizes",
        _PLANTED,
    ),
    Break(
        "the body of forward is never doubted",
        f"{_ENGINE}/pointcheck.py",
        "if trust and body is not None and any(r.wrong for r in results[own:]):",
        "if False:",
        ("tests/gradcheck/test_report.py",),
    ),
    Break(
        "the cheap proof measures nothing",
        f"{_ENGINE}/quickproof.py",
        "    if not all(gap.explained and gap.error <= _PRECISE * abs(gap.numeric) for gap in gaps):\n",
        "    if False:\n",
        ("tests/gradcheck/test_quickproof.py",),
    ),
    Break(
        "a backward that draws random numbers is proven right",
        f"{_ENGINE}/quickproof.py",
        "        if not plainly_alike(got, reference, _DIGITS):\n",
        "        if False:\n",
        ("tests/gradcheck/test_quickproof.py",),
    ),
    Break(
        "slopes that grow without end are finite",
        f"{_ENGINE}/kinks.py",
        "    if not settled:\n        return None\n",
        "",
        _RIGHT,
    ),
    Break(
        "second derivatives are never wrong",
        f"{_ENGINE}/secondorder.py",
        "    if session.declared is None:\n        _report",
        "    if False:\n        _report",
        _PLANTED,
    ),
    Break(
        "the opposite sign is a factor",
        f"{_ENGINE}/diagnoses/factor.py",
        "    if abs(c + 1) < 1e-6:\n",
        "    if False:\n",
        (*_DIAGNOSES, *_PLANTED),
    ),
    Break(
        "None for a gradient is called zero",
        f"{_ENGINE}/diagnoses/absent.py",
        "    if e.none_returned:\n",
        "    if False:\n",
        _DIAGNOSES,
    ),
    Break(
        "the gradient of another input is not recognised",
        f"{_ENGINE}/diagnoses/swapped.py",
        "        if e.same(e.analytic, other, 10) and norm(other, e.known) > 0:\n",
        "        if False:\n",
        _DIAGNOSES,
    ),
]

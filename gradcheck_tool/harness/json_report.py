"""A run as one JSON object: the findings, and for every Function what became of it, checked or not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gradcheck_tool.report.json import to_dict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.findings import Finding
    from gradcheck_tool.harness.outcomes import Outcome


def json_report(
    outcomes: Sequence[Outcome], findings: Sequence[Finding], problems: Sequence[tuple[str, str]]
) -> str:
    """The text of the report; file names are absolute."""
    whole = {
        "findings": [to_dict(finding) for finding in findings],
        "outcomes": [_outcome(outcome) for outcome in outcomes],
        "problems": [{"filename": filename, "message": why} for filename, why in problems],
    }
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def _outcome(outcome: Outcome) -> dict[str, Any]:
    ref = outcome.unit.ref
    return {
        "function": ref.name,
        "filename": ref.filename,
        "row": (ref.backward or ref.rows).first,
        "device": outcome.unit.device,
        "dtype": outcome.unit.dtype,
        "status": outcome.status,
        "cause": outcome.cause,
        "death": outcome.death,
        "source": outcome.source,
        "codes": list(dict.fromkeys(finding.code for finding in outcome.findings)),
        "inputs": [
            {
                "index": v.index,
                "name": v.name,
                "verdict": v.verdict,
                "oracle": v.oracle,
                "sensitivity": v.sensitivity,
            }
            for case in outcome.cases
            for v in case.inputs
        ],
        "notes": list(outcome.notes),
        "seconds": round(outcome.seconds, 3),
        "cached": outcome.cached,
    }

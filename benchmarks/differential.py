"""Compare the machine with PyTorch on generated programs.

python benchmarks/differential.py --count 5000 --seed 0 --show 3
"""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch

from tests.differential.judge import Summary, Verdict, judge, judge_source
from tests.differential.shrink import kinds, shrink


def main() -> None:
    """Run the programs and print what the machine is right and wrong about."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--count", type=int, default=1000, help="how many programs")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the first")
    parser.add_argument("--show", type=int, default=0, help="how many disagreements of a kind to print")
    parser.add_argument("--watch", action="store_true", help="compare gradlint run with both, too")
    options = parser.parse_args()
    torch.set_num_threads(1)
    summary = Summary()
    shown: dict[str, int] = {}
    apart = 0
    # What there is so far is reported where the run is interrupted.
    with suppress(KeyboardInterrupt):
        for seed in range(options.seed, options.seed + options.count):
            verdict = judge(seed)
            summary.add(verdict)
            if options.watch:
                apart += _watched(seed)
            _show(verdict, shown, options.show)
    report(summary)
    if options.watch:
        print(f"under the watch    {apart} disagreements")


def _watched(seed: int) -> int:
    """Run a program under the watch as well, and print what the three disagree about."""
    from tests.differential.under_watch import judged_by_watch

    found = judged_by_watch(seed)
    for one in found:
        print(f"--- under the watch, seed {seed}: {one}", flush=True)
    return len(found)


def _show(verdict: Verdict, shown: dict[str, int], limit: int) -> None:
    """Print the smallest part of a program that the machine is wrong about, `limit` of each kind."""
    for kind in dict.fromkeys(["discarded"] if verdict.invalid else kinds(verdict)):
        shown[kind] = shown.get(kind, 0) + 1
        if shown[kind] > limit:
            continue
        small = verdict if verdict.invalid else judge_source(shrink(verdict.source, kind))
        print(f"--- {kind}, seed {verdict.seed}")
        for number, line in enumerate(small.source.splitlines(), 1):
            print(f"{number:3} {line}")
        print("PyTorch:", [(r.line, r.event, r.message[:150]) for r in small.raises])
        print("PyTorch, silently wrong:", sorted(small.silent), "missed:", sorted(small.silent_misses))
        print("Machine, silently wrong without cause:", sorted(small.silent_alarms))
        print("Machine:", [(p.line, p.event, p.text[:80]) for p in small.predicted], flush=True)


def report(summary: Summary) -> None:
    """Print the figures."""
    valid = summary.programs - summary.invalid.total()
    discarded = summary.invalid.total()
    print(f"programs           {summary.programs}, of them {discarded} discarded (raise for other reasons)")
    print(f"that raise         {summary.raising} of {valid} ({summary.raises} raises)")
    print(f"false alarms       {summary.false_alarms}")
    print(f"crashes            {len(summary.crashes)} {summary.crashes[:10]}")
    print(f"raises predicted   {100 * summary.recall:.2f}%")
    unknown = 100 * summary.unseen / max(valid, 1)
    print(f"unknown            {unknown:.2f}% of programs have a backward without a verdict")
    print(f"silently wrong     {summary.silent}, of them {summary.silent_misses} missed")
    print(f"called wrong       {summary.silent_alarms} that are right")
    for title, counts in (("missed", summary.misses), ("discarded", summary.invalid)):
        for cause, count in counts.most_common(12):
            print(f"{title:10} {count:5}  {cause}")


if __name__ == "__main__":
    main()

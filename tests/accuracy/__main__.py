"""Measure every case, estimate it, and write the table of both into the README.

    python tests/accuracy [--small] [--inline N] [--ordinary N] [--only WORD] [--anew] [--print]

What stands in results.json is not measured again: such a case is only estimated. New measurements are kept under
build/accuracy, so a run that was interrupted goes on where it stopped.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from importlib.metadata import version

from cases import ALL, SMALL, Case
from compared import Compared
from estimates import estimate
from report import line, markdown, sentences, summary, write_json, write_readme
from runs import RESULTS, ROOT, Runs

from planner_app.core.measure.measurement import Order
from planner_app.jobs.warm import WarmWorker

README = ROOT / "README.md"
INLINE = 1  # processes: kernels run in the same order in each
ORDINARY = 5  # processes: the order is another in each


def main() -> int:
    given = _arguments()
    cases = [case for case in (SMALL if given.small else ALL) if given.only in str(case)]
    if not cases:
        print(f'No case has "{given.only}" in its name.', file=sys.stderr)
        return 2
    runs = Runs(results=None if given.anew else RESULTS)
    runs.save_models(case.model for case in cases)
    _measure(runs, cases, given.inline, given.ordinary)
    failed: list[str] = []
    compared = list(_compared(runs, cases, given.inline, given.ordinary, failed))
    versions = f"TensorFlow {version('tensorflow')} and Keras {version('keras')}"
    if compared:
        whole = len(cases) == len(ALL) and not failed
        if whole and not given.print:
            write_json(RESULTS, compared, versions)
            print(markdown(compared, versions))
            if write_readme(README, markdown(compared, versions)):
                print(f"\nWrote {README.relative_to(ROOT)} and {RESULTS.relative_to(ROOT)}.")
        else:
            print(sentences(summary(compared), versions))
    for text in failed:
        print(text, file=sys.stderr)
    return 1 if failed else 0


def _measure(runs: Runs, cases: Sequence[Case], inline: int, ordinary: int) -> None:
    """One process of every case before a second one of any: interrupted, it has something about most."""
    rounds = [(Order.INLINE, number) for number in range(inline)]
    rounds += [(Order.ORDINARY, number) for number in range(ordinary)]
    began = time.monotonic()
    for place, (order, number) in enumerate(rounds, 1):
        for case in cases:
            if number < runs.kept(case, order):
                continue
            try:
                (runs.inline if order is Order.INLINE else runs.ordinary)(case, number)
                said = "measured"
            except Exception as error:  # tried once more when it is compared
                said = f"failed: {error}"
            print(f"[round {place}/{len(rounds)}, {time.monotonic() - began:.0f} s] {case}: {said}", flush=True)


def _compared(runs: Runs, cases: Sequence[Case], inline: int, ordinary: int, failed: list[str]) -> Iterator[Compared]:
    with WarmWorker() as worker:
        for case in cases:
            try:
                one = Compared(
                    case,
                    estimate(runs.model_file(case.model), case, worker),
                    tuple(runs.inline(case, number) for number in range(max(inline, runs.kept(case, Order.INLINE)))),
                    tuple(runs.ordinary(case, n) for n in range(max(ordinary, runs.kept(case, Order.ORDINARY)))),
                    runs.digest(case),
                )
            except Exception as error:  # one case that fails must not lose the others
                failed.append(f"{case}: {type(error).__name__}: {error}")
                continue
            print(line(one), flush=True)
            yield one


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python tests/accuracy", description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="only the cases of the test suite")
    parser.add_argument("--only", default="", metavar="WORD", help="only cases with this in their name")
    parser.add_argument("--inline", type=int, default=INLINE, metavar="N", help="processes one by one, at least")
    parser.add_argument("--ordinary", type=int, default=ORDINARY, metavar="N", help="ordinary processes, at least")
    parser.add_argument("--anew", action="store_true", help="measure on this machine what stands in results.json too")
    parser.add_argument("--print", action="store_true", help="write no file")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

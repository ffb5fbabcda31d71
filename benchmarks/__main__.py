"""``python -m benchmarks``: measure everything and write ``README.md``."""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import applying, controller, engines, report, running, starting

_EVERY = (
    applying.VOLARY,
    applying.FLOOR,
    applying.TWICE,
    applying.DIRECTORY,
)
#: One process per object is measured where it ends in a bearable time.
_EVERY_AND_EACH = (*_EVERY, applying.EACH)
_FULL = (
    applying.Size(1, 4, _EVERY_AND_EACH),
    applying.Size(3, 4, _EVERY_AND_EACH),
    applying.Size(3, 4, _EVERY, latency=0.02),
    applying.Size(10, 2, _EVERY),
    applying.Size(50, 1, _EVERY),
)
_QUICK = (applying.Size(1, 1, _EVERY_AND_EACH), applying.Size(3, 1, _EVERY))


def main() -> None:
    """Measure, and write what was found."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few clusters; under two minutes")
    parser.add_argument(
        "--output", type=Path, default=Path(__file__).parent / "README.md", help="file to write"
    )
    parser.add_argument("--only", choices=("server",), help="measure one section, keep the rest")
    chosen = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="volary-bench-") as compiled:
        # Every process imports compiled modules, as installed ones do, whatever this one does.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = compiled
        findings = None if chosen.only else _measure(quick=chosen.quick)
        of_server = controller.measure(_say, quick=chosen.quick)
    written = chosen.output.read_text() if chosen.output.exists() else ""
    page = report.render(findings) if findings else written
    chosen.output.write_text(controller.place(page, of_server))
    _say(f"wrote {chosen.output.name} after {time.monotonic() - began:.0f} s")


def _measure(*, quick: bool) -> report.Findings:
    load = os.getloadavg()[0]
    return report.Findings(
        quick=quick,
        load=load,
        started=starting.measure(3 if quick else 9),
        engines=_engines(quick=quick),
        applied=[applying.measure(size, _say) for size in (_QUICK if quick else _FULL)],
        runs=[running.measure(number, _say) for number in ((1,) if quick else (1, 50))],
    )


def _engines(*, quick: bool) -> list[engines.Measured]:
    found = []
    for runs, clusters in ((2, 25), (2, 100)) if quick else ((5, 25), (20, 25), (20, 100)):
        measured = engines.measure(runs, clusters, repetitions=3)
        _say(f"engine, {runs} runs on {clusters} clusters: {measured.per_task:.2f} ms a task")
        found.append(measured)
    return found


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()

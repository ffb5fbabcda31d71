"""``python -m benchmarks.claims [HEADING …]``: measure what is claimed, and write ``claims.md``."""

import argparse
import sys
import time

from benchmarks import simulation
from benchmarks.claims import claim, page, sections


def main() -> None:
    """Measure what is claimed under these headings, or all of it; the rest stays as written."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.claims", description=__doc__)
    parser.add_argument("heading", nargs="*", choices=[[], *sections.SECTIONS])
    chosen = parser.parse_args().heading or list(sections.SECTIONS)
    before = page.rows(page.WRITTEN.read_text()) if page.WRITTEN.exists() else {}
    rows = {
        heading: [_measured(one) for one in claims]
        if heading in chosen
        else before.get(heading, [])
        for heading, claims in sections.SECTIONS.items()
    }
    left = page.unmeasured(simulation.PAGE.read_text(), sections.SECTIONS)
    page.WRITTEN.write_text(page.render(rows, left))


def _measured(one: claim.Claim) -> tuple[str, ...]:
    began = time.process_time()
    row = claim.row(one)
    print(f"{time.process_time() - began:5.1f} s  {' | '.join(row)}", file=sys.stderr, flush=True)
    return row


if __name__ == "__main__":
    main()

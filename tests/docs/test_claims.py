"""What "How Volary decides" claims is measured, and holds.

Whoever edits a sentence of that page meets its claim in ``benchmarks/claims`` here.
"""

import importlib
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/explanation/how-volary-decides.md"


@pytest.fixture
def claims(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Return the modules of what the page claims."""
    monkeypatch.syspath_prepend(str(ROOT))
    for name in [each for each in sys.modules if each.split(".")[0] == "benchmarks"]:
        monkeypatch.delitem(sys.modules, name)
    names = ("claim", "page", "sections")
    return SimpleNamespace(
        **{name: importlib.import_module(f"benchmarks.claims.{name}") for name in names}
    )


def test_what_is_claimed_is_on_the_page_as_it_was_measured(claims: SimpleNamespace) -> None:
    """Else the sentence was edited: its claim in ``benchmarks/claims`` is to be, too."""
    page = " ".join(PAGE.read_text().split())
    written = claims.page.rows(claims.page.WRITTEN.read_text())

    for heading, every in claims.sections.SECTIONS.items():
        section = page.partition(f"## {heading} ")[2].partition(" ## ")[0]
        for one in every:
            assert one.sentence in section, heading
        claimed = [(one.sentence, one.where, str(one.claimed)) for one in every]
        assert claimed == [row[:3] for row in written[heading]], f'benchmarks.claims "{heading}"'


def test_every_claim_holds(claims: SimpleNamespace) -> None:
    """Where one does not, the code is at fault, or the sentence is."""
    written = claims.page.rows(claims.page.WRITTEN.read_text())

    for heading, every in claims.sections.SECTIONS.items():
        for one, (*_, measured, _, holds) in zip(every, written[heading], strict=True):
            number = float(measured.split()[0].replace(",", ""))
            assert one.claimed.holds(number), f"{one.sentence} ({one.where}): {measured}"
            assert holds == "yes"


def test_what_is_quick_is_measured_again(claims: SimpleNamespace) -> None:
    """Else: ``python -m benchmarks.claims``."""
    written = claims.page.rows(claims.page.WRITTEN.read_text())
    measured = 0

    for heading, every in claims.sections.SECTIONS.items():
        for one, row in zip(every, written[heading], strict=True):
            if one.is_quick:
                assert claims.claim.row(one) == row
                measured += 1

    assert measured > 0


def test_sentences_that_nothing_measures_are_listed(claims: SimpleNamespace) -> None:
    """Else: a claim for a new sentence that has a number, and ``python -m benchmarks.claims``."""
    rows = claims.page.rows(claims.page.WRITTEN.read_text())
    left = claims.page.unmeasured(PAGE.read_text(), claims.sections.SECTIONS)

    assert claims.page.render(rows, left) == claims.page.WRITTEN.read_text()

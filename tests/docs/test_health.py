"""The page about health names every kind that there is a rule for."""

from pathlib import Path

from volary.manifests.health import assessment

PAGE = (Path(__file__).parents[2] / "docs/reference/health.md").read_text()


def _names(kind: str, row: str) -> bool:
    return any(word in row for word in ((kind,) if kind else ("| all |", "other")))


def test_every_kind_with_a_rule_is_on_the_page() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| ")]
    missing = [
        (group, kind)
        for group, kind in assessment.kinds()
        if not any((group or "core") in row and _names(kind, row) for row in rows)
    ]

    assert missing == []

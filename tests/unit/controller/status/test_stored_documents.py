"""What an earlier release kept of an application and of a run's origin stays readable.

The files are never written again: each folder is what the release with that schema left behind.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from volary.controller.status import application_statuses, run_origins

CASES = Path(__file__).parents[3] / "cases" / "documents"
RELEASED = sorted(path.name for path in CASES.iterdir())


def document(release: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((CASES / release / f"{name}.json").read_text())
    return found


def holds(after: object, before: object) -> bool:
    """Say whether everything of `before` is in `after`."""
    if isinstance(before, dict):
        return isinstance(after, dict) and all(
            key in after and holds(after[key], value) for key, value in before.items()
        )
    if isinstance(before, list) and isinstance(after, list):
        return len(after) == len(before) and all(map(holds, after, before))
    return after == before


@pytest.mark.parametrize("release", RELEASED)
def test_a_standing_is_read_and_written_with_all_it_said(release: str) -> None:
    stored = document(release, "standing")

    assert holds(
        application_statuses.to_document(application_statuses.from_document(stored)), stored
    )


@pytest.mark.parametrize("release", RELEASED)
def test_an_origin_is_read_and_written_with_all_it_said(release: str) -> None:
    stored = document(release, "origin")

    assert holds(run_origins.to_document(run_origins.from_document(stored)), stored)


def test_what_came_later_is_empty() -> None:
    """Nothing of it may be taken for a fact: no place, no shares, no move, no pause."""
    read = application_statuses.from_document(document("0002", "standing"))
    fresh = application_statuses.ApplicationStatus()

    later = ("alerts", "assigned", "assigned_before", "pinned", "placed", "move", "coverage")
    later += ("catch_up", "pause", "address", "stood")
    assert {name: getattr(read, name) for name in later} == {
        name: getattr(fresh, name) for name in later
    }
    assert read.run_request is not None
    assert (read.run_request.shift, read.run_request.targets, read.run_request.takes_back) == (
        None,
        (),
        "",
    )


def test_an_empty_document_is_a_fresh_standing() -> None:
    """An application that was registered and never looked at has an empty document."""
    assert application_statuses.from_document({}) == application_statuses.ApplicationStatus()


def test_how_an_orphaned_application_stood_is_kept() -> None:
    stood = application_statuses.StatusBeforeOrphaned("failed", "web did not become ready")
    standing = application_statuses.ApplicationStatus(
        address="https://git.example.com/shop.git", stood=stood
    )

    assert (
        application_statuses.from_document(application_statuses.to_document(standing)) == standing
    )

"""The figures of delivery of histories that are written down by hand."""

from datetime import UTC, datetime, timedelta

import pytest

from volary.controller.api import insight_representations
from volary.controller.api.insights import delivery_figures
from volary.model.statuses import RunStatus
from volary.store import records

MIDNIGHT = datetime(2026, 1, 1, tzinfo=UTC)
UNTIL = datetime(2026, 1, 4, 12, tzinfo=UTC)


def at(hours: float) -> datetime:
    return MIDNIGHT + timedelta(hours=hours)


def run(
    name: str,
    status: RunStatus = RunStatus.SUCCEEDED,
    *,
    begins: float,
    ends: float,
    kind: str = "release",
    application: str = "shop",
    commit: str = "",
    seen: float | None = None,
    back: float | None = None,
) -> records.EndedRun:
    """A run that was asked for when it began; times are hours since midnight."""
    return records.EndedRun(
        name,
        application,
        kind,
        status,
        commit or f"commit-of-{name}",
        at(begins),
        at(begins),
        at(ends),
        None if seen is None else at(seen),
        None if back is None else at(back),
    )


def figures(*runs: records.EndedRun) -> dict[str, insight_representations.Distribution]:
    ended = sorted(runs, key=lambda each: each.finished)
    counted = delivery_figures.count(ended, MIDNIGHT, UNTIL)
    return {figure.name: figure for figure in counted.figures}


def values(figure: insight_representations.Distribution) -> dict[str, float]:
    return {point.run: point.value for point in figure.points}


def test_nothing_that_happened_is_no_number_but_for_the_frequency() -> None:
    counted = delivery_figures.count((), MIDNIGHT, UNTIL, project="shop", application="web")

    assert (counted.runs, counted.days) == (0, (0, 0, 0, 0))
    assert (counted.project, counted.application) == ("shop", "web")
    assert {figure.name: figure.value for figure in counted.figures} == {
        "deploymentFrequency": 0.0,
        "leadTime": None,
        "changeFailureRate": None,
        "timeToRestore": None,
    }
    assert all(figure.definition for figure in counted.figures)


def test_what_succeeded_is_counted_for_each_day() -> None:
    good = RunStatus.SUCCEEDED_WITH_EXCEPTIONS
    runs = (
        run("a", begins=1, ends=2),
        run("b", begins=3, ends=23.9),
        run("c", good, begins=24, ends=24.5),
        run("d", RunStatus.FAILED, begins=25, ends=26),
        run("e", begins=72, ends=73),
    )
    counted = delivery_figures.count(runs, MIDNIGHT, UNTIL)
    frequency = figures(*runs)["deploymentFrequency"]

    assert (counted.runs, counted.days) == (5, (2, 1, 0, 1))
    assert (frequency.value, frequency.median, frequency.high) == (1.0, 1.0, 2.0)
    assert [point.run for point in frequency.points] == ["a", "b", "c", "e"]


def test_moves_and_catching_up_are_no_releases() -> None:
    found = figures(
        run("move", begins=1, ends=2, kind="move", seen=0),
        run("backfill", RunStatus.FAILED, begins=1, ends=2, kind="backfill", seen=0),
    )

    assert {name: figure.points for name, figure in found.items()} == dict.fromkeys(found, ())


def test_lead_time_ends_with_the_first_run_that_brought_the_commit_everywhere() -> None:
    found = figures(
        run("failed", RunStatus.FAILED, begins=1, ends=2, commit="one", seen=0),
        run("a", begins=2, ends=3, commit="one", seen=0),
        run("again", begins=30, ends=31, commit="one", seen=0),
        run("other", begins=5, ends=6, commit="one", application="web", seen=4),
        run("unseen", begins=6, ends=7),
        run("future", begins=7, ends=8, seen=9),
    )["leadTime"]

    assert values(found) == {"a": 3 * 3600.0, "other": 2 * 3600.0, "future": 0.0}
    assert (found.value, found.median, found.high) == (6000.0, 7200.0, 10800.0)


def test_what_is_cancelled_superseded_or_abandoned_neither_fails_nor_succeeds() -> None:
    found = figures(
        run("superseded", RunStatus.CANCELLED, begins=1, ends=2),
        run("good", begins=2, ends=3),
        run("abandoned", RunStatus.CANCELLED, begins=4, ends=5),
        run("bad", RunStatus.FAILED, begins=6, ends=7),
    )

    assert values(found["changeFailureRate"]) == {"good": 0.0, "bad": 1.0}
    assert found["changeFailureRate"].value == 0.5


def test_a_run_that_never_began_does_not_count() -> None:
    refused = records.EndedRun(
        "refused", "shop", "release", RunStatus.FAILED, "c", at(1), None, at(2)
    )

    assert delivery_figures.count((refused,), MIDNIGHT, UNTIL).runs == 0


def test_failed_then_fixed_is_restored_by_the_fix() -> None:
    found = figures(
        run("good", begins=0, ends=1),
        run("bad", RunStatus.FAILED, begins=2, ends=3),
        run("worse", RunStatus.FAILED, begins=4, ends=5),
        run("move", begins=5, ends=5.5, kind="move"),
        run("fix", begins=6, ends=7),
        run("next", begins=8, ends=9),
    )

    # Failures in a row are one; neither a move nor the next release ends it.
    assert values(found["timeToRestore"]) == {"bad": 4 * 3600.0}
    assert values(found["changeFailureRate"]) == {
        "good": 0.0,
        "bad": 1.0,
        "worse": 1.0,
        "fix": 0.0,
        "next": 0.0,
    }


def test_a_run_that_rolled_itself_back_is_restored_by_that() -> None:
    found = figures(
        run("bad", RunStatus.ROLLED_BACK, begins=2, ends=4, back=3.5),
        run("next", begins=8, ends=9),
    )

    assert values(found["timeToRestore"]) == {"bad": 1800.0}
    assert values(found["changeFailureRate"]) == {"bad": 1.0, "next": 0.0}


def test_failures_before_a_run_that_rolled_itself_back_count_from_the_first() -> None:
    found = figures(
        run("first", RunStatus.FAILED, begins=1, ends=2),
        run("second", RunStatus.ROLLED_BACK, begins=3, ends=5, back=4),
    )

    assert values(found["timeToRestore"]) == {"first": 3 * 3600.0}


@pytest.mark.parametrize("kind", ["rollback", "rollback-to-commit"])
def test_a_release_that_is_taken_back_failed_from_the_request_on(kind: str) -> None:
    found = figures(
        run("before", begins=0, ends=1),
        run("bad", begins=2, ends=3),
        run("back", begins=10, ends=11, kind=kind),
        run("next", begins=20, ends=21),
    )

    assert values(found["changeFailureRate"]) == {"before": 0.0, "bad": 1.0, "next": 0.0}
    assert values(found["timeToRestore"]) == {"bad": 3600.0}
    # Going back delivers nothing.
    assert "back" not in values(found["deploymentFrequency"])


def test_a_rollback_that_fails_restores_nothing() -> None:
    found = figures(
        run("bad", RunStatus.FAILED, begins=2, ends=3),
        run("back", RunStatus.FAILED, begins=4, ends=5, kind="rollback"),
        run("again", begins=6, ends=7, kind="rollback"),
    )

    assert values(found["timeToRestore"]) == {"bad": 4 * 3600.0}


def test_what_is_still_broken_has_no_time_to_restore() -> None:
    found = figures(run("bad", RunStatus.FAILED, begins=2, ends=3))

    assert found["timeToRestore"].value is None
    assert found["changeFailureRate"].value == 1.0


def test_one_application_does_not_restore_another() -> None:
    found = figures(
        run("bad", RunStatus.FAILED, begins=1, ends=2),
        run("other", begins=3, ends=4, application="web"),
        run("back", begins=5, ends=6, application="web", kind="rollback"),
    )

    assert values(found["timeToRestore"]) == {"other": 3600.0}
    assert values(found["changeFailureRate"]) == {"bad": 1.0, "other": 1.0}


def test_points_are_bounded_and_all_of_them_counted() -> None:
    many = [run(f"r{number}", begins=1, ends=1 + number / 1000, seen=1) for number in range(600)]
    found = figures(*many)["leadTime"]

    assert (len(found.points), found.omitted) == (500, 100)
    assert found.points[-1].run == "r599"
    assert found.value == pytest.approx(299.5 * 3.6)


def test_days_begin_at_midnight_and_end_with_today() -> None:
    assert delivery_figures.first_day(UNTIL, 1) == datetime(2026, 1, 4, tzinfo=UTC)
    assert delivery_figures.first_day(UNTIL, 4) == MIDNIGHT


def test_a_percentile_is_one_of_the_values() -> None:
    assert delivery_figures.percentile([5, 1, 3], 0.9) == 5
    assert delivery_figures.percentile(list(range(1, 11)), 0.9) == 9
    with pytest.raises(ValueError, match="no values"):
        delivery_figures.percentile([], 0.9)

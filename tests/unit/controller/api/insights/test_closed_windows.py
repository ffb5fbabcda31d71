"""When nothing begins where: denied times, and times outside of those that are allowed."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from volary.controller.api.insights import closed_windows
from volary.engine.runs import policies
from volary.model.fleet import fleets
from volary.model.placement import rollouts

SINCE = datetime(2026, 11, 20, tzinfo=UTC)  # a Friday
UNTIL = SINCE + timedelta(days=3)
CLUSTERS = tuple(fleets.Cluster(name) for name in ("us", "eu", "asia"))
EVERY = ("us", "eu", "asia")


def window(name: str, schedule: str, hours: float) -> rollouts.Window:
    return rollouts.Window(name, schedule, timedelta(hours=hours))


NIGHT = window("night", "0 22 * * *", 8)
OFFICE = window("office", "0 9 * * 1-5", 8)


def closed(
    *rules: policies.WindowRule, waves: rollouts.Waves | None = None, until: datetime = UNTIL
) -> list[tuple[str, tuple[str, ...], float, float | None, str]]:
    """Return the closed windows by their start, in hours since the beginning."""
    known = closed_windows.ApplicationWindows("shop", CLUSTERS, waves or rollouts.Waves(), rules)

    def hours(at: datetime) -> float:
        return (at - SINCE) / timedelta(hours=1)

    found = [
        (
            each.reason,
            each.clusters,
            hours(each.starts),
            None if each.ends is None else hours(each.ends),
            each.wave,
        )
        for each in closed_windows.closed(known, SINCE, until)
    ]
    return sorted(found, key=lambda each: (each[2], each[0]))


def names(found: Iterable[tuple[object, ...]]) -> list[object]:
    return [each[0] for each in found]


def test_without_windows_it_is_never_closed() -> None:
    assert closed() == []


def test_what_is_denied_is_closed_from_before_the_span_to_beyond_it() -> None:
    assert closed(policies.WindowRule(NIGHT, EVERY, deny=True)) == [
        ("denied by night", (), -2, 6, ""),
        ("denied by night", (), 22, 30, ""),
        ("denied by night", (), 46, 54, ""),
        # The last one does not end within what was looked at.
        ("denied by night", (), 70, None, ""),
    ]


def test_a_window_that_begins_again_before_it_is_over_is_one() -> None:
    often = window("often", "0 0,6,12 * * *", 8)

    assert closed(
        policies.WindowRule(often, ("us",), deny=True), until=UNTIL - timedelta(days=2)
    ) == [("denied by often", ("us",), 0, 20, "")]


def test_outside_of_what_is_allowed_it_is_closed() -> None:
    assert closed(policies.WindowRule(OFFICE, ("us", "eu"))) == [
        ("outside office", ("us", "eu"), 0, 9, ""),
        ("outside office", ("us", "eu"), 17, None, ""),
    ]


def test_clusters_that_several_windows_allow_are_closed_outside_of_all_of_them() -> None:
    found = closed(policies.WindowRule(OFFICE, EVERY), policies.WindowRule(NIGHT, ("us",)))

    assert [each for each in found if each[1] == ("us",)] == [
        ("outside office or night", ("us",), 6, 9, ""),
        ("outside office or night", ("us",), 17, 22, ""),
        ("outside office or night", ("us",), 30, 46, ""),
        ("outside office or night", ("us",), 54, 70, ""),
    ]
    assert [each[2:4] for each in found if each[1] == ("eu", "asia")] == [(0, 9), (17, None)]


def test_a_project_closes_what_the_application_leaves_open() -> None:
    rules = (
        policies.WindowRule(OFFICE, EVERY),
        policies.WindowRule(window("noon of project p", "0 12 * * *", 1), EVERY, project="p"),
    )
    found = closed(*rules, until=SINCE + timedelta(days=1))

    assert names(found) == [
        "outside noon of project p",
        "outside office",
        "outside noon of project p",
        "outside office",
    ]


def test_a_window_that_never_begins_again_leaves_it_closed() -> None:
    once = rollouts.Window("move", "", timedelta(hours=1), recurrence="DTSTART:20201201T000000")

    assert closed(policies.WindowRule(once, EVERY)) == [("outside move", (), 0, None, "")]


def test_clusters_of_one_wave_are_named_after_it() -> None:
    waves = rollouts.Waves(
        (
            rollouts.Wave("first", rollouts.ClusterSelector(names=("us",))),
            rollouts.Wave("rest-of-them"),
        )
    )
    found = closed(
        policies.WindowRule(NIGHT, ("us",), deny=True),
        policies.WindowRule(OFFICE, ("eu", "asia"), deny=True),
        waves=waves,
        until=SINCE + timedelta(hours=12),
    )

    assert [(each[0], each[4]) for each in found] == [
        ("denied by night", "first"),
        ("denied by office", "rest-of-them"),
    ]


def test_a_window_that_comes_very_often_is_followed_for_so_long_only() -> None:
    often = window("often", "* * * * *", 0.01)
    denied = closed(policies.WindowRule(often, EVERY, deny=True))
    outside = closed(policies.WindowRule(often, EVERY))

    assert (len(denied), len(outside)) == (500, 500)
    # Nothing is said of the time that was not looked at.
    assert max(each[3] or 0 for each in outside) < 9

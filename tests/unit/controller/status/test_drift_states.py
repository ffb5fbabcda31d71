"""Drift stays known until it is gone, and the same is repaired ever later, then no more."""

from datetime import UTC, datetime, timedelta

import msgspec

from volary.controller.status import drift_states
from volary.model import json

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
FIELDS = frozenset({"us apps:Deployment:web:shop spec.replicas"})
OTHERS = frozenset({"us apps:Deployment:web:shop spec.paused"})
NOTHING = drift_states.DriftState()


def drifted(reason: str = "replicas", since: datetime = NOON) -> drift_states.DriftedCluster:
    return drift_states.DriftedCluster(since, reason)


def seen(
    state: drift_states.DriftState,
    now: datetime,
    *unknown: str,
    **clusters: drift_states.DriftedCluster,
) -> drift_states.DriftState:
    return drift_states.with_drifted(state, clusters, unknown=frozenset(unknown), now=now)


def test_since_is_when_it_was_first_seen() -> None:
    first = seen(NOTHING, NOON, us=drifted())
    later = seen(first, NOON + MINUTE, us=drifted("another", NOON + MINUTE), eu=drifted())

    assert later.clusters["us"] == drifted("another", NOON)
    assert later.since == NOON


def test_what_cannot_be_seen_now_is_not_gone() -> None:
    first = seen(NOTHING, NOON, us=drifted(), eu=drifted())

    assert set(seen(first, NOON + MINUTE, "us").clusters) == {"us"}
    assert seen(first, NOON + MINUTE).clusters == {}


def test_the_same_fields_are_repaired_ever_later() -> None:
    state, now, waits = NOTHING, NOON, []
    assert drift_states.next_repair(state, FIELDS, MINUTE) is None
    for _ in range(3):
        assert not drift_states.is_fought_over(state, FIELDS)
        state = drift_states.with_repair(state, FIELDS, now)
        due = drift_states.next_repair(state, FIELDS, MINUTE)
        assert due is not None
        waits.append(due - now)
        now = due

    assert waits == [MINUTE, 2 * MINUTE, 4 * MINUTE]
    assert drift_states.is_fought_over(state, FIELDS)
    assert not drift_states.is_fought_over(state, OTHERS)
    # Others are not held up by that, but for the window.
    assert drift_states.next_repair(state, OTHERS, MINUTE) == now - 3 * MINUTE
    assert drift_states.with_repair(state, OTHERS, now).repairs == drift_states.Repairs(
        1, now, tuple(OTHERS)
    )


def test_a_wait_has_an_end_whatever_the_window_is() -> None:
    state = drift_states.DriftState(repairs=drift_states.Repairs(20, NOON, tuple(FIELDS)))

    for window in (MINUTE, timedelta(days=2)):
        due = drift_states.next_repair(state, FIELDS, window)
        assert due == NOON + max(timedelta(hours=6), window)


def test_repairs_are_forgotten_only_after_all_was_calm_for_long() -> None:
    repaired = drift_states.with_repair(seen(NOTHING, NOON, us=drifted()), FIELDS, NOON)
    calm = seen(repaired, NOON + MINUTE)
    again = seen(calm, NOON + 2 * MINUTE, us=drifted())
    for_long = seen(seen(calm, NOON + 2 * MINUTE), NOON + timedelta(hours=2))

    assert again.repairs == repaired.repairs
    assert for_long == NOTHING


def test_it_outlives_the_process() -> None:
    state = drift_states.with_repair(seen(NOTHING, NOON, us=drifted()), FIELDS | OTHERS, NOON)
    document = msgspec.json.decode(msgspec.json.encode(state))

    assert json.convert(document, drift_states.DriftState) == state


def test_of_a_repair_a_bounded_number_of_fields_is_kept() -> None:
    many = frozenset(f"us a:b:c:d spec.{number}" for number in range(1000))
    repairs = drift_states.with_repair(NOTHING, many, NOON).repairs

    assert repairs is not None
    assert len(repairs.fields) == drift_states.MOST_FIELDS

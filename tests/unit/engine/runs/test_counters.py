"""What is carried over from one state to the next is what would be counted anew."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from volary.engine.runs import counters, state
from volary.model.statuses import TaskStatus

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
TASKS = st.builds(
    lambda status, minutes, rolling_back: (status, minutes, rolling_back),
    st.sampled_from(TaskStatus),
    st.none() | st.integers(0, 2),
    st.booleans(),
)


def task(place: int, drawn: tuple[TaskStatus, int | None, bool]) -> state.TaskState:
    status, minutes, rolling_back = drawn
    deadline = None if minutes is None else BEGINNING + timedelta(minutes=minutes)
    return state.TaskState(
        f"cluster-{place}",
        status=status,
        deadline=deadline,
        rolling_back="it failed" if rolling_back else "",
    )


@given(st.lists(TASKS, min_size=1, max_size=6), st.lists(st.tuples(st.integers(0, 5), TASKS)))
def test_counts_that_are_carried_over_are_those_of_a_fresh_look(drawn, changes) -> None:
    tasks = tuple(task(place, each) for place, each in enumerate(drawn))
    for number, each in changes:
        place = number % len(tasks)
        tasks = counters.replaced(tasks, place, task(place, each))
        carried = counters.of(tasks)
        fresh = counters.of(tuple(list(tasks)))
        assert carried.first_pending <= fresh.first_pending
        for name in ("pending", "running", "rolling_back", "waiting", "failing", "deadlines"):
            assert getattr(carried, name) == getattr(fresh, name), name
        pending = [i for i, found in enumerate(tasks) if found.status is TaskStatus.PENDING]
        assert counters.next_pending(tasks) == (pending[0] if pending else None)


def test_changes_are_found_by_identity() -> None:
    tasks = tuple(task(place, (TaskStatus.PENDING, None, False)) for place in range(5))
    changed = counters.replaced(tasks, 3, task(3, (TaskStatus.RUNNING, 1, False)))

    assert list(counters.changes(tasks, changed)) == [3]


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(("", "on fire"))), max_size=6))
def test_a_roster_follows_its_clusters(changes) -> None:
    clusters = tuple(state.ClusterState(f"c{place}") for place in range(4))
    for place, reason in changes:
        changed = state.ClusterState(f"c{place}", left_out=reason)
        clusters = counters.replaced_cluster(clusters, changed)
        assert counters.clusters(clusters).left_out == {
            each.name: each.left_out for each in clusters if each.left_out
        }
        assert counters.clusters(clusters).positions[f"c{place}"] == place
        assert clusters[place] is changed
    assert "nowhere" not in counters.clusters(clusters).positions


def test_one_cluster_that_is_left_out_or_comes_back_changes_nothing_for_the_others() -> None:
    clusters = tuple(state.ClusterState(name, left_out="cordoned") for name in ("us", "eu"))
    counters.clusters(clusters)

    for name, reason, expected in (
        ("us", "on fire", {"us": "on fire", "eu": "cordoned"}),
        ("eu", "", {"us": "on fire"}),
        ("us", "on fire", {"us": "on fire"}),
        ("us", "", {}),
    ):
        clusters = counters.replaced_cluster(clusters, state.ClusterState(name, left_out=reason))
        assert counters.clusters(clusters).left_out == expected

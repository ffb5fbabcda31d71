"""Who gets how much of a divided workload: golden rows of Karmada's, and what it promises."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.model import errors
from volary.model.fleet import fleets
from volary.model.objects import manifest
from volary.model.placement import overrides, rollouts
from volary.placement.replicas import assignment, capacity, divisible_workloads

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WEB = manifest.ResourceKey("apps", "Deployment", "", "web")
POD = {"containers": [{"name": "web", "resources": {"requests": {"cpu": "1"}}}]}
AVAILABLE = overrides.ReplicaDivision(
    overrides.Division.DIVIDED, preference=overrides.Preference.AVAILABLE
)
AGGREGATED = overrides.ReplicaDivision(
    overrides.Division.DIVIDED, preference=overrides.Preference.AGGREGATED
)


def clusters(*names: str) -> list[fleets.Cluster]:
    return [fleets.Cluster(each) for each in names]


def free(**pods: int) -> dict[str, capacity.ClusterCapacity]:
    return {
        name: capacity.ClusterCapacity(
            (capacity.Node("n", {"cpu": Decimal(count), "pods": Decimal(1000)}),), NOW
        )
        for name, count in pods.items()
    }


def web(total: int, *names: str) -> divisible_workloads.Workload:
    return divisible_workloads.Workload(
        WEB, dict.fromkeys(names, divisible_workloads.Share(total)), dict.fromkeys(names, POD)
    )


def had(**replicas: int) -> assignment.Assignment:
    shares = {name: divisible_workloads.Share(count) for name, count in replicas.items()}
    return assignment.Assignment((assignment.WorkloadAssignment(WEB, shares),))


def numbers(
    policy: overrides.ReplicaDivision,
    total: int,
    room: Mapping[str, int],
    before: Mapping[str, int] | None = None,
    **more: object,
) -> dict[str, int]:
    found = assignment.assign(
        policy,
        [web(total, *room)],
        clusters(*room),
        had(**(before or {})),
        free(**room),
        **more,  # type: ignore[arg-type]
    )
    return found.replicas(WEB)


@pytest.mark.parametrize(
    ("policy", "total", "room", "before", "after"),
    [
        # First time, by what is free.
        (AVAILABLE, 12, {"m1": 18, "m2": 12, "m3": 6}, {}, {"m1": 6, "m2": 4, "m3": 2}),
        # Up: the difference alone, by what is free beside what runs.
        (AVAILABLE, 12, {"m1": 9, "m2": 0, "m3": 3}, {"m1": 2, "m2": 4, "m3": 2},
         {"m1": 5, "m2": 4, "m3": 3}),
        # Down: all by what runs.
        (AVAILABLE, 6, {"m1": 0, "m2": 50, "m3": 0}, {"m1": 6, "m2": 4, "m3": 2},
         {"m1": 3, "m2": 2, "m3": 1}),
        # A cluster was lost: what was on it is placed anew, the others keep theirs.
        (AVAILABLE, 9, {"m1": 6, "m2": 3}, {"m1": 3, "m2": 3, "m3": 3}, {"m1": 5, "m2": 4}),
        # Steady: whatever is free by now.
        (AVAILABLE, 6, {"m1": 0, "m2": 99}, {"m1": 5, "m2": 1}, {"m1": 5, "m2": 1}),
        # As few clusters as hold it, those with most room first, used ones before others.
        (AGGREGATED, 12, {"m1": 5, "m2": 20, "m3": 6}, {}, {"m1": 0, "m2": 12, "m3": 0}),
        (AGGREGATED, 12, {"m1": 6, "m2": 7, "m3": 6}, {}, {"m1": 6, "m2": 6, "m3": 0}),
        (AGGREGATED, 8, {"m1": 5, "m2": 20, "m3": 6}, {"m1": 4}, {"m1": 8, "m2": 0, "m3": 0}),
        (AGGREGATED, 12, {"m1": 5, "m2": 20, "m3": 6}, {"m1": 4}, {"m1": 6, "m2": 6, "m3": 0}),
    ],
)  # fmt: skip
def test_by_capacity_as_karmada(
    policy: overrides.ReplicaDivision,
    total: int,
    room: Mapping[str, int],
    before: Mapping[str, int],
    after: Mapping[str, int],
) -> None:
    assert numbers(policy, total, room, before) == after


def test_static_weights_are_karmadas() -> None:
    def only(name: str) -> rollouts.ClusterSelector:
        return rollouts.ClusterSelector(names=(name,))

    policy = overrides.ReplicaDivision(
        overrides.Division.DIVIDED,
        tuple(
            overrides.Weight(only(name), weight)
            for name, weight in (("m1", 3), ("m2", 2), ("m3", 1))
        ),
    )
    names = ("m1", "m2", "m3")
    for total, expected in ((12, (6, 4, 2)), (13, (7, 4, 2)), (14, (7, 5, 2))):
        found = assignment.assign(policy, [web(total, *names)], clusters(*names), had(m3=14))
        assert tuple(found.replicas(WEB).values()) == expected
        assert found.workloads[0].reason.startswith(f"{total} by weight: m1 ")


def test_by_weight_who_is_not_there_has_a_share_to_catch_up_with() -> None:
    evenly = overrides.ReplicaDivision(overrides.Division.DIVIDED)

    found = assignment.assign(evenly, [web(9, "us", "ap")], clusters("us", "eu", "ap"))

    assert found.replicas(WEB) == {"us": 3, "eu": 3, "ap": 3}
    assert found.workloads[0].reason == "9 evenly: us 3, eu 3, ap 3"


def test_what_cannot_be_read_keeps_its_number_or_gets_none() -> None:
    names = ("a", "b", "new")
    found = assignment.assign(
        AVAILABLE,
        [web(10, *names)],
        clusters(*names),
        had(a=2, b=3),
        free(a=20),
        {"b": "no answer within 10 s", "new": "no answer within 10 s"},
    )
    assert found.replicas(WEB) == {"a": 7, "b": 3}
    assert found.unavailable == dict.fromkeys(("b", "new"), "no answer within 10 s")
    assert found.workloads[0].reason == "5 more by free capacity: a 7, b 3; b keeps 3"
    assert found.read_at == {"a": NOW}


def test_what_was_free_is_kept_only_where_it_decided() -> None:
    for total, room in ((7, {"a": 5, "b": 5}), (6, {}), (5, {})):
        found = assignment.assign(
            AVAILABLE, [web(total, "a", "b")], clusters("a", "b"), had(a=3, b=3), free(a=5, b=5)
        )
        assert found.workloads[0].room == room


def test_too_little_room_is_refused_with_what_is_there() -> None:
    with pytest.raises(errors.UserError, match=r"Deployment web: .* 5 are not enough.*a 2, b 3"):
        numbers(AVAILABLE, 6, {"a": 2, "b": 3})


def test_anew_when_asked() -> None:
    room, before = {"a": 0, "b": 6}, {"a": 6, "b": 0}
    assert numbers(AVAILABLE, 6, room, before) == {"a": 6, "b": 0}
    assert numbers(AVAILABLE, 6, room, before, fresh=True) == {"a": 3, "b": 3}


def test_capacity_is_needed_only_when_something_is_placed() -> None:
    for total, needed in ((5, False), (6, False), (7, True)):
        found = assignment.needs_capacity(
            AVAILABLE, [web(total, "a", "b")], clusters("a", "b"), had(a=3, b=3)
        )
        assert found is needed


def job(parallelism: int, completions: int, *names: str) -> divisible_workloads.Workload:
    amount = divisible_workloads.amount_of(
        manifest.Manifest(
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": {"name": "web"},
                "spec": {"parallelism": parallelism, "completions": completions},
            }
        )
    )
    assert amount is not None
    return divisible_workloads.Workload(
        WEB, dict.fromkeys(names, amount), dict.fromkeys(names, POD)
    )


def test_completions_follow_the_pods() -> None:
    found = assignment.assign(
        AVAILABLE, [job(6, 12, "a", "b")], clusters("a", "b"), capacity=free(a=4, b=2)
    )
    assert found.workloads[0].shares == {
        "a": divisible_workloads.Share(4, 8),
        "b": divisible_workloads.Share(2, 4),
    }
    even = overrides.ReplicaDivision(overrides.Division.DIVIDED)
    # Never more at once than have to be done at all.
    found = assignment.assign(even, [job(10, 3, "a", "b")], clusters("a", "b"))
    assert found.workloads[0].shares == {
        "a": divisible_workloads.Share(2, 2),
        "b": divisible_workloads.Share(1, 1),
    }


def scaler(least: int, most: int, *names: str) -> divisible_workloads.Workload:
    amount = divisible_workloads.Share(most, least=least)
    return divisible_workloads.Workload(
        WEB, dict.fromkeys(names, amount), dict.fromkeys(names, POD)
    )


def test_an_autoscaler_has_at_least_one_everywhere() -> None:
    even = overrides.ReplicaDivision(overrides.Division.DIVIDED)
    names = ("a", "b", "c")
    found = assignment.assign(even, [scaler(2, 10, *names)], clusters(*names))
    assert [(each.least, each.replicas) for each in found.workloads[0].shares.values()] == [
        (1, 4),
        (1, 3),
        (1, 3),
    ]
    assert found.workloads[0].reason == "10 evenly: a 1 to 4, b 1 to 3, c 1 to 3"
    with pytest.raises(errors.UserError, match="fewer than the 3 clusters"):
        assignment.assign(even, [scaler(1, 2, *names)], clusters(*names))


def test_other_numbers_for_clusters_are_not_divided_by_capacity() -> None:
    amounts = {"a": divisible_workloads.Share(2), "b": divisible_workloads.Share(3)}
    one = divisible_workloads.Workload(WEB, amounts, dict.fromkeys(amounts, POD))
    with pytest.raises(errors.UserError, match=r"other numbers of pods \(a 2, b 3\)"):
        assignment.assign(AVAILABLE, [one], clusters("a", "b"), capacity=free(a=9, b=9))


NAMES = ("a", "b", "c", "d")


@given(
    st.integers(0, 30),
    st.lists(st.integers(0, 30), min_size=4, max_size=4),
    st.lists(st.integers(0, 10), min_size=4, max_size=4),
    st.sampled_from([AVAILABLE, AGGREGATED]),
)
def test_sums_are_exact_and_growing_takes_nothing_away(
    total: int, room: list[int], before: list[int], policy: overrides.ReplicaDivision
) -> None:
    spaces, have = dict(zip(NAMES, room, strict=True)), dict(zip(NAMES, before, strict=True))
    if total > sum(before) + sum(room):
        with pytest.raises(errors.UserError):
            numbers(policy, total, spaces, have)
        return
    found = numbers(policy, total, spaces, have)
    assert sum(found.values()) == total
    for name in NAMES:
        if total >= sum(before):
            assert have[name] <= found[name] <= have[name] + spaces[name]
        else:
            assert found[name] <= have[name]


def test_what_is_gone_back_to_is_as_it_was_where_it_fits() -> None:
    names = ("a", "b", "c")
    earlier = had(a=9, b=3)

    found = assignment.restored(earlier, [web(12, *names)], clusters(*names), {"c": 0})

    assert found is not None
    assert found.replicas(WEB) == {"a": 9, "b": 3}
    assert found.workloads[0].reason == "12 as with the release that is gone back to: a 9, b 3"
    # Of a cluster that is gone and had nothing, nothing is missed.
    assert assignment.restored(had(a=9, b=3, z=0), [web(12, *names)], clusters(*names)) is not None
    # Another total, a cluster that is gone, one that cannot be changed and has something else,
    # or a workload that was not there.
    for workloads, members, fixed in (
        ([web(11, *names)], names, {}),
        ([web(12, *names)], ("a", "c"), {}),
        ([web(12, *names)], names, {"b": 2}),
        ([job(1, 1, *names), replace(web(3, *names), key=replace(WEB, name="x"))], names, {}),
        ([web(12, *names), replace(web(3, *names), key=replace(WEB, name="x"))], names, {}),
        ([], names, {}),
    ):
        assert assignment.restored(earlier, workloads, clusters(*members), fixed) is None


def test_what_single_clusters_get_makes_the_assignment_again() -> None:
    mine, other = had(a=1, b=2), had(b=5, c=6)

    assert mine.clusters == ("a", "b")
    assert mine.of("c") == ()
    by_cluster = {"a": mine.of("a"), "b": other.of("b"), "c": other.of("c"), "d": ()}
    assert assignment.of_clusters(by_cluster).replicas(WEB) == {"a": 1, "b": 5, "c": 6}
    assert assignment.of_clusters({"d": ()}) == assignment.EMPTY


def test_what_single_clusters_get_says_how_it_came_about() -> None:
    workload = had(a=1, b=2).workloads[0]
    mine, other = (
        assignment.Assignment((replace(workload, reason=reason),))
        for reason in ("3 evenly: a 1, b 2", "3 by weight: a 1, b 2")
    )

    assert assignment.of_clusters({"a": mine.of("a"), "b": mine.of("b")}) == mine
    both = assignment.of_clusters({"a": mine.of("a"), "b": other.of("b")})
    assert both.workloads[0].reason == "3 evenly: a 1, b 2; 3 by weight: a 1, b 2"
    part = assignment.of_clusters({"a": had(a=1).of("a"), "b": mine.of("b")})
    assert part.workloads[0].reason == "3 evenly: a 1, b 2"


def test_by_static_weights_a_cluster_that_cannot_be_read_has_its_part() -> None:
    evenly = overrides.ReplicaDivision(overrides.Division.DIVIDED)

    found = assignment.assign(
        evenly, [web(9, "a", "b")], clusters("a", "b"), had(), {}, {"b": "no answer within 10 s"}
    )

    assert found.replicas(WEB) == {"a": 5, "b": 4}
    assert found.unavailable == {}


def test_only_clusters_of_the_application_are_said_to_be_unavailable() -> None:
    found = assignment.assign(
        AVAILABLE, [web(2, "a")], clusters("a"), had(), free(a=5), {"elsewhere": "no answer"}
    )

    assert found.unavailable == {}

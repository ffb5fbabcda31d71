"""How full the memory of a pod is."""

from typing import Any

import pytest

from volary.manifests.workloads import pod_usage


def container(name: str, limit: str = "") -> dict[str, Any]:
    return {"name": name, "resources": {"limits": {"memory": limit}} if limit else {}}


def told(**used: str) -> dict[str, Any]:
    return {
        "containers": [
            {"name": name, "usage": {"cpu": "250000000n", "memory": memory}}
            for name, memory in used.items()
        ]
    }


def test_what_a_pod_uses_is_the_sum_of_its_containers() -> None:
    used = told(main="64Mi", proxy="16Mi")

    assert pod_usage.total(used, "memory") == 80 * 2**20
    assert pod_usage.total(used, "cpu") == 0.5
    assert pod_usage.total({"containers": "junk"}, "cpu") is None


@pytest.mark.parametrize(
    ("written", "used"),
    [
        ("1500000n", 0.0015),
        ("250u", 0.00025),
        ("5m", 0.005),
        ("2", 2),
        ("128974848", 128974848),
        ("123Mi", 123 * 2**20),
        ("129M", 129e6),
        ("128974848000m", 128974848),
        ("1Ki", 1024),
        ("12e3", 12000),
        ("0", 0),
        ("-5Mi", None),
        ("1e400", None),
        ("9223372036854775808", None),
        ("NaN", None),
        ("1" * 1000, None),
        ("5 Mi", None),
        ("", None),
    ],
)
def test_what_is_told_is_a_quantity_or_nothing(written: str, used: float | None) -> None:
    assert pod_usage.total(told(main=written), "memory") == used
    limit = {"spec": {"containers": [container("main", "1Ki")]}}
    share = None if used is None else used / 1024
    assert pod_usage.share_of_memory(limit, told(main=written)) == pytest.approx(share)


@pytest.mark.parametrize(
    ("spec", "used", "share"),
    [
        ({"containers": [container("main", "100Mi")]}, told(main="97Mi"), 0.97),
        # The fullest one is killed.
        (
            {"containers": [container("main", "100Mi"), container("proxy", "50Mi")]},
            told(main="10Mi", proxy="45Mi"),
            0.9,
        ),
        # A sidecar is an init container.
        (
            {"containers": [container("main")], "initContainers": [container("proxy", "50Mi")]},
            told(main="10Gi", proxy="45Mi"),
            0.9,
        ),
        # All of them together may have a limit.
        (
            {
                "containers": [container("main", "100Mi"), container("proxy")],
                "resources": {"limits": {"memory": "100Mi"}},
            },
            told(main="50Mi", proxy="48Mi"),
            0.98,
        ),
        ({"containers": [container("main")]}, told(main="97Mi"), None),
        ({"containers": [container("main", "0")]}, told(main="97Mi"), None),
        ({"containers": [container("main", "-1Mi")]}, told(main="97Mi"), None),
        # One that has no limit does not hide the one that has.
        (
            {"containers": [container("main"), container("proxy", "50Mi")]},
            told(main="10Gi", proxy="48Mi"),
            0.96,
        ),
        # An init container that has ended is not told any more.
        (
            {"containers": [container("main", "1Gi")], "initContainers": [container("i", "1Mi")]},
            told(main="512Mi"),
            0.5,
        ),
        ({"containers": [container("main", "100Mi")]}, told(other="97Mi"), None),
    ],
)
def test_how_full_a_pod_is(spec: Any, used: Any, share: float | None) -> None:
    assert pod_usage.share_of_memory({"spec": spec}, used) == share


def test_a_limit_that_was_changed_in_place_is_the_one_in_force() -> None:
    pod = {
        "spec": {"containers": [container("main", "100Mi")]},
        "status": {"containerStatuses": [container("main", "200Mi")]},
    }

    assert pod_usage.share_of_memory(pod, told(main="100Mi")) == 0.5


def test_a_limit_that_is_not_in_force_yet_does_not_count_and_a_sidecars_may_change_too() -> None:
    """The kubelet may put a smaller one off until less is used; an old one tells none at all."""
    pod = {
        "spec": {
            "containers": [container("main", "50Mi")],
            "initContainers": [container("proxy", "50Mi")],
        },
        "status": {
            "containerStatuses": [container("main", "100Mi")],
            "initContainerStatuses": [{"name": "proxy"}],
        },
    }

    assert pod_usage.share_of_memory(pod, told(main="60Mi", proxy="45Mi")) == 0.9

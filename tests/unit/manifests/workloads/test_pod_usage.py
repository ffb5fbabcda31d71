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
    assert pod_usage.total({"containers": "junk"}, "cpu") == 0


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

"""Quotas, limit ranges and priorities: what a namespace gives a pod, and what it refuses."""

from typing import Any

import pytest

from fixed_clock import FixedClock
from kube_sandbox.apimachinery.meta import api_errors
from kube_sandbox.apimachinery.scheme import kinds
from kube_sandbox.apiserver.registry import registry
from kube_sandbox.apiserver.registry.admission import quotas
from kube_sandbox.apiserver.storage import verbs


@pytest.fixture
def cluster() -> registry.Registry:
    made = registry.Registry(FixedClock())
    made.create(kinds.NAMESPACE, "", {"metadata": {"name": "a"}})
    return made


def _pod(
    cluster: registry.Registry, name: str, resources: dict[str, Any] | None = None, **spec: Any
) -> Any:
    container = {"name": "c", "image": "i", "resources": resources or {}}
    body = {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}
    return cluster.create(kinds.POD, "a", body).body


def _quota(cluster: registry.Registry, hard: dict[str, str], **spec: Any) -> None:
    body = {"metadata": {"name": "q"}, "spec": {"hard": hard, **spec}}
    cluster.create(kinds.RESOURCE_QUOTA, "a", body)


def _used(cluster: registry.Registry) -> Any:
    return cluster.get(kinds.RESOURCE_QUOTA, "a", "q")["status"].get("used")


def _limit(cluster: registry.Registry, **item: Any) -> None:
    body = {"metadata": {"name": "l"}, "spec": {"limits": [{"type": "Container", **item}]}}
    cluster.create(kinds.LIMIT_RANGE, "a", body)


def test_a_quota_adds_up_what_pods_ask_for(cluster: registry.Registry) -> None:
    _quota(cluster, {"requests.memory": "1Gi", "limits.cpu": "2", "count/pods": "5"})
    resources = {"requests": {"memory": "256Mi"}, "limits": {"cpu": "500m", "memory": "1Gi"}}

    _pod(cluster, "one", resources)
    _pod(cluster, "two", resources)

    assert _used(cluster) == {"requests.memory": "512Mi", "limits.cpu": "1", "count/pods": "2"}
    with pytest.raises(api_errors.StatusError) as refused:
        _pod(cluster, "three", {"requests": {"memory": "1Gi"}, "limits": {"cpu": "2"}})
    assert (
        "exceeded quota: q, requested: limits.cpu=2,requests.memory=1Gi, "
        "used: limits.cpu=1,requests.memory=512Mi, limited: limits.cpu=2,requests.memory=1Gi"
    ) in refused.value.message


def test_a_dry_run_uses_nothing(cluster: registry.Registry) -> None:
    _quota(cluster, {"configmaps": "1"})
    kind = cluster.kind("v1", "ConfigMap")

    cluster.create(kind, "a", {"metadata": {"name": "x"}}, verbs.Options(dry_run=True))
    assert _used(cluster) is None
    cluster.create(kind, "a", {"metadata": {"name": "x"}})

    assert _used(cluster) == {"configmaps": "1"}
    with pytest.raises(api_errors.StatusError, match="exceeded quota"):
        cluster.create(kind, "a", {"metadata": {"name": "y"}}, verbs.Options(dry_run=True))


def test_what_has_ended_or_is_gone_is_free_again(cluster: registry.Registry) -> None:
    _quota(cluster, {"pods": "1"})
    pod = _pod(cluster, "one")
    cluster.update_status(kinds.POD, "a", "one", {**pod, "status": {"phase": "Succeeded"}})

    _pod(cluster, "two")
    cluster.delete(kinds.POD, "a", "two")
    quota = cluster.get(kinds.RESOURCE_QUOTA, "a", "q")

    assert quotas.status(cluster.cluster, quota)["used"] == {"pods": "0"}


def test_growth_counts_too(cluster: registry.Registry) -> None:
    _quota(cluster, {"services.nodeports": "1"})
    spec = {"ports": [{"name": "a", "port": 1}, {"name": "b", "port": 2}]}
    cluster.create(kinds.SERVICE, "a", {"metadata": {"name": "s"}, "spec": spec})

    with pytest.raises(api_errors.StatusError, match=r"requested: services\.nodeports=2"):
        cluster.patch(
            kinds.SERVICE, "a", "s", {"spec": {"type": "NodePort"}}, verbs.PatchType.MERGE
        )


@pytest.mark.parametrize(
    ("scope", "spec", "counted"),
    [
        ("Terminating", {"activeDeadlineSeconds": 5}, True),
        ("Terminating", {}, False),
        ("NotTerminating", {"activeDeadlineSeconds": 5}, False),
        ("BestEffort", {}, True),
        ("NotBestEffort", {}, False),
    ],
)
def test_a_quota_may_be_for_some_pods_only(
    cluster: registry.Registry, scope: str, spec: dict[str, Any], counted: bool
) -> None:
    _quota(cluster, {"pods": "0"}, scopes=[scope])

    if counted:
        with pytest.raises(api_errors.StatusError, match="exceeded quota"):
            _pod(cluster, "one", **spec)
    else:
        assert _pod(cluster, "one", **spec)


def test_defaults_fill_what_is_left_open(cluster: registry.Registry) -> None:
    _limit(cluster, default={"cpu": "500m", "memory": "1Gi"}, defaultRequest={"cpu": "100m"})

    pod = _pod(cluster, "one", {"requests": {"cpu": "200m"}})

    (container,) = pod["spec"]["containers"]
    assert container["resources"] == {
        "limits": {"cpu": "500m", "memory": "1Gi"},
        "requests": {"cpu": "200m", "memory": "1Gi"},
    }
    assert pod["metadata"]["annotations"] == {
        "kubernetes.io/limit-ranger": "LimitRanger plugin set: memory request for container c; "
        "cpu, memory limit for container c"
    }


@pytest.mark.parametrize(
    ("limit", "resources", "message"),
    [
        (
            {"min": {"cpu": "100m"}},
            {"requests": {"cpu": "50m"}},
            "minimum cpu usage per Container is 100m, but request is 50m",
        ),
        (
            {"max": {"cpu": "1"}},
            {"limits": {"cpu": "2"}},
            "maximum cpu usage per Container is 1, but limit is 2",
        ),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}},
            {"requests": {"cpu": "100m"}, "limits": {"cpu": "300m"}},
            "cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000",
        ),
        (
            {"type": "Pod", "max": {"memory": "1Gi"}},
            {},
            "maximum memory usage per Pod is 1Gi.  No limit is specified",
        ),
    ],
)
def test_bounds(
    cluster: registry.Registry, limit: dict[str, Any], resources: dict[str, Any], message: str
) -> None:
    _limit(cluster, **limit)

    with pytest.raises(api_errors.StatusError) as refused:
        _pod(cluster, "one", resources)

    assert message in refused.value.message


def test_a_pod_has_the_priority_of_its_class(cluster: registry.Registry) -> None:
    for name, value, default in (("high", 1000, False), ("usual", 10, True)):
        body = {"metadata": {"name": name}, "value": value, "globalDefault": default}
        cluster.create(kinds.PRIORITY_CLASS, "", body)

    named, plain = _pod(cluster, "one", priorityClassName="high"), _pod(cluster, "two")

    assert named["spec"]["priority"] == 1000
    assert (plain["spec"]["priorityClassName"], plain["spec"]["priority"]) == ("usual", 10)

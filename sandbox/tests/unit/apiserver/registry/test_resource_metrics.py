"""What metrics-server tells of pods, and when: in virtual time."""

from datetime import UTC, datetime, timedelta

import pytest

from kube_sandbox import initial_objects, json
from kube_sandbox.apimachinery.meta import api_errors, times
from kube_sandbox.apimachinery.scheme import kinds
from kube_sandbox.apiserver.registry import registry, resource_metrics
from kube_sandbox.apiserver.storage import verbs

#: A moment at which the nodes are read.
START = datetime(2026, 1, 1, tzinfo=UTC)


class SetClock:
    def __init__(self) -> None:
        self.time = START

    def now(self) -> datetime:
        return self.time


class World:
    """A cluster with a metrics-server and without anything that lives."""

    def __init__(self, speed: float = 1.0) -> None:
        self.clock = SetClock()
        self.held = registry.Registry(self.clock, verbs.Settings(seed=1))
        self.held.create(kinds.NAMESPACE, "", initial_objects.namespace("shop"))
        usage = resource_metrics.Usage(0.25, 64 * 2**20)
        self.held.serve_metrics(lambda _: {"main": usage}, speed=speed)

    def pod(self, name: str, *, running: bool = True, **labels: str) -> None:
        state = {"running": {"startedAt": times.stamp(self.clock.time)}} if running else {}
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "shop", "labels": labels},
            "spec": {"containers": [{"name": "main", "image": "web:1"}]},
        }
        made = self.held.create(kinds.POD, "shop", body).body
        container = {
            "name": "main",
            "image": "web:1",
            "imageID": "",
            "ready": True,
            "restartCount": 0,
            "state": state,
        }
        status = {"phase": "Running", "containerStatuses": [container]}
        self.held.update_status(kinds.POD, "shop", name, {**made, "status": status})

    def after(self, seconds: float) -> None:
        self.clock.time = START + timedelta(seconds=seconds)

    @property
    def metrics(self) -> resource_metrics.ResourceMetrics:
        assert self.held.metrics is not None
        return self.held.metrics

    def told(self, selector: str = "") -> list[json.JsonObject]:
        query = verbs.Query(label_selector=selector)
        page = self.metrics.list(resource_metrics.PODS, "shop", query)
        return [each.body for each in page.items]


def test_nothing_is_told_before_two_readings_and_then_what_was_read_last() -> None:
    given = World()
    given.after(1)
    given.pod("web", app="web")
    given.after(29)
    assert given.told() == []

    given.after(37)
    (told,) = given.told()

    assert told["timestamp"] == "2026-01-01T00:00:30Z"
    assert told["window"] == "15s"
    assert told["metadata"]["labels"] == {"app": "web"}
    assert told["containers"] == [
        {"name": "main", "usage": {"cpu": "250000000n", "memory": "65536Ki"}}
    ]


def test_readings_of_a_fast_sandbox_can_be_told_apart() -> None:
    given = World(speed=30)
    given.pod("web")
    given.after(2.6)

    assert given.told()[0]["timestamp"] == "2026-01-01T00:00:02Z"


def test_pods_are_chosen_by_their_labels_and_those_that_do_not_run_are_left_out() -> None:
    given = World()
    given.pod("web", app="web")
    given.pod("other", app="other")
    given.pod("waiting", running=False, app="web")
    given.after(60)

    assert [each["metadata"]["name"] for each in given.told("app=web")] == ["web"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nobody", 'pods "nobody" not found'),
        ("waiting", 'podmetrics.metrics.k8s.io "shop/waiting" not found'),
    ],
)
def test_a_pod_of_which_nothing_is_told_is_not_found(name: str, message: str) -> None:
    given = World()
    given.pod("waiting", running=False)

    with pytest.raises(api_errors.StatusError, match=message):
        given.metrics.get(resource_metrics.PODS, "shop", name)


def test_the_group_is_served_only_where_it_is_installed() -> None:
    bare = registry.Registry(SetClock())

    assert not bare.cluster.served.versions(resource_metrics.GROUP)
    assert World().held.cluster.served.versions(resource_metrics.GROUP) == ("v1beta1",)

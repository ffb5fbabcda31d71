"""What is measured of pods, and when their memory says nothing, on a cluster in memory."""

from datetime import timedelta
from typing import Any

import pytest

import memory_client
import stage_contexts
from pods_world import APP, CANARY, KINDS, World, applied, deployment
from volary.analysis.metering import meters, query_names
from volary.model import analysis, errors, json
from volary.model.objects import manifest
from volary.model.pipeline import variant
from volary.stages.judgement import owned_pods, pod_metrics

V, START = variant.Variant, stage_contexts.START
POD_METRICS = memory_client.kind("metrics.k8s.io", "PodMetrics", "pods", version="v1beta1")
PRIMARY = {"app": "web", "pipecd.dev/variant": "primary"}
RULE = analysis.Rule(
    "pod-memory-limit",
    built_in="pod-memory-limit",
    expected=analysis.Range(maximum=0.95),
    spares_alike=True,
)


class Metered:
    """A canary and a primary with limits of 100 MiB, and whoever measures them."""

    def __init__(self, *, is_served: bool = True) -> None:
        self.given = World()
        if is_served:
            self.given.cluster.resources = [*KINDS, POD_METRICS]
        self.given.put(applied("web", V.PRIMARY, PRIMARY), "p1")
        self.given.put(applied("web-canary", V.CANARY, CANARY), "c1")
        for name in ("p1", "c1"):
            self.pod(name)["spec"] = {
                "containers": [{"name": "web", "resources": {"limits": {"memory": "100Mi"}}}]
            }
            self.pod(name)["metadata"]["creationTimestamp"] = "2026-03-01T12:00:00Z"
        target = [manifest.Manifest(deployment("web", {"app": "web"}))]
        client = self.given.cluster.client
        pods = owned_pods.OwnedPods(client, APP, target, [], "default")
        self.metrics = pod_metrics.PodMetrics(client, pods)

    def pod(self, name: str) -> json.JsonObject:
        found = self.given.cluster.find(memory_client.PODS, name)
        assert found is not None
        return found

    def tell(self, name: str, memory: str, at: int, cpu: str = "250m") -> None:
        """What metrics-server tells of a pod, as of so many seconds after noon."""
        labels = self.pod(name)["metadata"]["labels"]
        body = {
            "metadata": {"name": name, "labels": labels},
            "timestamp": f"2026-03-01T12:00:{at:02}Z",
            "containers": [{"name": "web", "usage": {"cpu": cpu, "memory": memory}}],
        }
        self.given.cluster.put(POD_METRICS, body)

    async def look(self, rule: analysis.Rule = RULE, **question: Any) -> analysis.Measurement:
        asked: dict[str, Any] = {
            "side": V.CANARY,
            "role": analysis.Role.JUDGED,
            "time": START,
            **question,
        }
        return await self.metrics.measure(
            meters.Question(
                rule=rule,
                application=APP,
                target="us",
                names=query_names.Names(),
                until=asked["time"],
                **asked,
            )
        )


async def test_three_measurements_say_how_full_a_pod_is_at_least() -> None:
    given = Metered()
    told = []
    for at, memory in ((15, "99Mi"), (30, "97Mi"), (30, "97Mi"), (45, "98Mi"), (59, "50Mi")):
        given.tell("c1", memory, at)
        told.append((await given.look()).values)

    # One that is told twice counts once, and a good one ends it.
    assert told == [(), (), (), (0.97,), (0.5,)]


async def test_replicas_of_a_metrics_server_that_take_turns_tell_no_more() -> None:
    given = Metered()
    told = []
    for at in (15, 20, 15, 20, 15, 30):
        given.tell("c1", "97Mi", at)
        told.append((await given.look()).values)

    assert told == [(), (), (), (), (), (0.97,)]


async def test_a_limit_that_is_raised_in_mid_analysis_ends_it() -> None:
    given = Metered()
    told = []
    for at, limit in ((15, "100Mi"), (30, "100Mi"), (45, "200Mi"), (59, "100Mi")):
        status = {"name": "web", "resources": {"limits": {"memory": limit}}}
        given.pod("c1")["status"] = {"containerStatuses": [status]}
        given.tell("c1", "97Mi", at)
        told.append((await given.look()).values)

    assert told == [(), (), (0.485,), (0.485,)]


async def test_what_was_told_long_ago_says_nothing_of_now() -> None:
    given = Metered()
    rule = analysis.Rule("pod-memory", built_in="pod-memory")
    given.tell("c1", "97Mi", 30)
    given.pod("c1")["metadata"]["creationTimestamp"] = "2026-03-01T11:00:00Z"
    for minutes, message in ((4, ""), (6, "what is told of its pods is more than 5m old")):
        measured = await given.look(rule, time=START + timedelta(minutes=minutes))

        assert measured.message == message


async def test_restarts_and_kills_of_sidecars_count_and_tries_of_init_containers_do_not() -> None:
    given = Metered()
    killed = {"terminated": {"reason": "OOMKilled"}}
    given.pod("c1")["spec"]["initContainers"] = [
        {"name": "wait"},
        {"name": "proxy", "restartPolicy": "Always"},
    ]
    given.pod("c1")["status"] = {
        "containerStatuses": [{"name": "web", "restartCount": 1}],
        "initContainerStatuses": [
            {"name": "wait", "restartCount": 7},
            {"name": "proxy", "restartCount": 3, "lastState": killed},
        ],
    }
    restarts, kills = [
        await given.look(analysis.Rule(name, built_in=name))
        for name in ("pod-restarts", "pod-oom-kills")
    ]

    assert (restarts.values, kills.values) == ((4,), (1,))


@pytest.mark.parametrize(
    ("primary", "values"), [("80Mi", (0.97,)), ("90Mi", (0.97,)), ("91Mi", ()), (None, (0.97,))]
)
async def test_it_says_nothing_where_primary_is_as_full(
    primary: str | None, values: tuple[float, ...]
) -> None:
    given = Metered()
    for at in (15, 30, 45):
        given.tell("c1", "97Mi", at)
        if primary:
            given.tell("p1", primary, at)
        measured = await given.look()

    assert measured.values == values
    if not values:
        assert measured.reading is analysis.Reading.NO_DATA
        assert measured.message == (
            "primary uses 91% of its memory limit too, so 97% says nothing about the release"
        )


async def test_a_rule_that_somebody_wrote_is_judged_whatever_primary_does() -> None:
    given = Metered()
    written = analysis.Rule(
        "pod-memory-limit", built_in="pod-memory-limit", expected=analysis.Range(maximum=0.95)
    )
    for at in (15, 30, 45):
        given.tell("c1", "97Mi", at)
        given.tell("p1", "99Mi", at)
        measured = await given.look(written)

    assert measured.values == (0.97,)


async def test_what_was_told_of_an_earlier_pod_of_that_name_is_not_of_this_one() -> None:
    given = Metered()
    given.tell("c1", "97Mi", 15)
    given.pod("c1")["metadata"]["creationTimestamp"] = "2026-03-01T12:00:20Z"
    rule = analysis.Rule("pod-memory", built_in="pod-memory")

    measured = await given.look(rule)

    assert measured.message == "nothing is told yet of its pods"
    given.tell("c1", "64Mi", 30)
    assert (await given.look(rule)).values == (64 * 2**20,)


async def test_a_pod_without_a_limit_says_nothing_of_it() -> None:
    given = Metered()
    given.pod("c1")["spec"] = {"containers": [{"name": "web"}]}
    given.tell("c1", "97Gi", 15)

    assert (await given.look()).message == "none of its pods has a memory limit"


async def test_a_cluster_without_metrics_is_said_to_have_none() -> None:
    given = Metered(is_served=False)

    assert not await pod_metrics.may_be_served(given.given.cluster.client)
    with pytest.raises(errors.PermanentError, match="no metrics-server"):
        await given.look()

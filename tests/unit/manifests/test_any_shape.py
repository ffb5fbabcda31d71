"""Whatever a cluster sends, there is an answer: nobody's object may break everybody's view."""

from hypothesis import given, settings
from hypothesis import strategies as some

from volary.manifests.health import assessment, fleet_status, status_aggregation
from volary.model import json
from volary.model.objects import object_health

WORDS = (
    *("conditions", "type", "status", "reason", "message", "observedGeneration", "generation"),
    *("phase", "replicas", "parents", "listeners", "parentRef", "name", "updateStrategy"),
    *("rollingUpdate", "partition", "paused", "loadBalancer", "ingress", "active", "sync"),
    *("health", "startTime", "disruptedPods", "Ready", "True", "False", "Healthy", "template"),
    *("spec", "containers", "image", "suspend", "pauseConditions", "workloadRef", "metadata"),
)
VALUES = some.recursive(
    some.none() | some.booleans() | some.integers() | some.sampled_from(WORDS),
    lambda inner: (
        some.lists(inner, max_size=3)
        | some.dictionaries(some.sampled_from(WORDS), inner, max_size=5)
    ),
    max_leaves=12,
)
RULE = object_health.Rule(
    "example.org", "Thing", healthy="object.status.phase == 'Ready'", message="object.status.phase"
)


KINDS = (*assessment.kinds(), ("example.org", "Thing"), ("x.org", "Thing"))


@settings(max_examples=20)
@given(spec=VALUES, status=VALUES, generation=VALUES)
def test_every_kind_judges_any_object(spec: object, status: object, generation: object) -> None:
    for group, name in KINDS:
        body: json.JsonObject = {
            "apiVersion": f"{group}/v1" if group else "v1",
            "kind": name or "Any",
            "metadata": {"name": "a", "generation": generation},
            "spec": spec,
            "status": status,
        }
        assert assessment.assess(body, [RULE]).reason
        state = fleet_status.of_cluster([body], rules=[RULE])
        both = [fleet_status.ClusterReport("eu", state), fleet_status.ClusterReport("us", state)]
        (summed,) = fleet_status.of_fleet(both).objects
        assert status_aggregation.aggregate({"eu": body, "us": body}) == summed.status

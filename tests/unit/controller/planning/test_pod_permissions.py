"""Which rights pods are measured with, and what their lack means for a run."""

from datetime import timedelta

import pytest

import memory_client
from volary.controller.planning import pod_permissions
from volary.model import analysis, applications, errors, json, routing_options
from volary.model.objects import manifest
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages, waiting_stages
from volary.stages.runtime import stage_runners

CANARY = pipelines.Stage(rollout_stages.CANARY_ROLLOUT.name, rollout_stages.VariantRolloutOptions())
SETS = memory_client.kind("apps", "ReplicaSet", "replicasets")
REVISIONS = memory_client.kind("apps", "ControllerRevision", "controllerrevisions")
METRICS = memory_client.kind("metrics.k8s.io", "PodMetrics", "pods", version="v1beta1")
RESTARTS, MEMORY = (
    analysis.Rule(name, built_in=name, expected=analysis.Range(maximum=0))
    for name in ("pod-restarts", "pod-memory")
)


class Reviewed(memory_client.MemoryCluster):
    """A cluster whose user may do nothing but what is named, as ``list pods.metrics.k8s.io``."""

    allowed: frozenset[str] = frozenset()

    async def review(self, kind: str, spec: json.JsonObject) -> json.JsonObject:
        if kind == "SelfSubjectRulesReview":
            return {"resourceRules": []}
        asked = spec["resourceAttributes"]
        title = ".".join(filter(None, (asked["resource"], asked["group"])))
        return {"allowed": f"{asked['verb']} {title} {asked['namespace']}" in self.allowed}


async def found(
    *metrics: analysis.Rule,
    pods: tuple[analysis.Rule, ...] = (),
    kind: str = "Deployment",
    before: tuple[pipelines.Stage, ...] = (CANARY,),
    is_served: bool = True,
    allowed: frozenset[str] = frozenset(),
) -> list[tuple[str, str]]:
    """What a review finds, each with how much it matters."""
    cluster = Reviewed([*memory_client.KINDS, SETS, REVISIONS, *([METRICS] if is_served else [])])
    cluster.allowed = allowed
    options = waiting_stages.AnalysisOptions(timedelta(minutes=5), metrics, pods=pods)
    stage = pipelines.Stage(waiting_stages.ANALYSIS.name, options)
    workload = {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "web"}}
    rollout = stage_runners.Rollout([manifest.Manifest(workload)])
    application = applications.Application(
        "shop", workloads=(routing_options.ObjectReference(kind, "web"),)
    )
    problems = await pod_permissions.check(cluster.client, [rollout], (*before, stage), application)
    return [(one.message.removeprefix("cluster us: "), one.severity.value) for one in problems]


def lacks(kind: str, *names: str) -> str:
    measured = ", ".join(names)
    return (
        f"the user may not list {kind} in namespace default, so this cannot be measured: {measured}"
    )


async def test_what_is_measured_unasked_is_only_warned_of() -> None:
    both = ("pod-restarts", "pod-memory")

    assert await found(pods=(RESTARTS, MEMORY)) == [
        (lacks("pods", *both), "warning"),
        (lacks("replicasets.apps", *both), "warning"),
        (lacks("pods.metrics.k8s.io", "pod-memory"), "warning"),
    ]
    # Without canary nothing is, nor where nothing tells what pods use.
    assert await found(pods=(RESTARTS, MEMORY), before=()) == []
    assert len(await found(pods=(RESTARTS, MEMORY), is_served=False)) == 2


@pytest.mark.parametrize(
    ("rule", "severity"),
    [
        (RESTARTS, errors.Severity.ERROR),
        (
            analysis.Rule("lenient", built_in="pod-restarts", no_data=analysis.NoData.PASS),
            "warning",
        ),
        (analysis.Rule("shown", built_in="pod-restarts", dry_run=True), "warning"),
    ],
)
async def test_a_rule_that_cannot_pass_without_keeps_the_run_from_beginning(
    rule: analysis.Rule, severity: str
) -> None:
    assert [each[1] for each in await found(rule)] == [severity] * 2


@pytest.mark.parametrize(
    ("kind", "asked"),
    [
        ("Deployment", ["pods", "replicasets.apps"]),
        ("DaemonSet", ["pods", "controllerrevisions.apps"]),
        ("StatefulSet", ["pods"]),
    ],
)
async def test_what_stands_between_is_asked_for_by_the_kind_of_workload(
    kind: str, asked: list[str]
) -> None:
    expected = [(lacks(each, "pod-restarts"), "error") for each in asked]
    allowed = frozenset(f"list {each} default" for each in asked)

    assert await found(RESTARTS, kind=kind) == expected
    assert await found(RESTARTS, kind=kind, allowed=allowed) == []
    # Other rules need none of it.
    assert await found(analysis.Rule("errors", "mesh", "q"), kind=kind) == []

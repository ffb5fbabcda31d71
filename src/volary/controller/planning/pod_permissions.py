"""What measuring pods takes besides waiting for them, as far as the stages of a run say so.

Pods are found by who made them, so what stands between a workload and its pods is listed too; what
they use is listed of the metrics API. A rule that somebody wrote cannot pass without; what is
measured unasked is left out, which is said before the run instead of in its middle.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from volary.clusters.client import clients, resource_mapping
from volary.clusters.observe import permissions
from volary.controller.planning import needed_permissions
from volary.manifests.services import service_targets
from volary.manifests.workloads import pod_owners, workloads
from volary.model import analysis, applications, errors
from volary.model.pipeline import pipelines, variant
from volary.stages.judgement import measured_stages, pod_metrics
from volary.stages.runtime import stage_runners

_VERB = "list"


@dataclass(frozen=True, slots=True)
class _Measured:
    """Rules of the pods of a run."""

    written: tuple[analysis.Rule, ...]
    unasked: tuple[analysis.Rule, ...]

    def needing(self, permission: permissions.Permission) -> "_Measured":
        """Return those that need a permission."""
        if permission.resource.group != pod_metrics.METRICS_GROUP:
            return self
        return _Measured(_of_usage(self.written), _of_usage(self.unasked))

    @property
    def names(self) -> str:
        """Which they are."""
        return ", ".join(dict.fromkeys(rule.name for rule in (*self.written, *self.unasked)))

    @property
    def is_decisive(self) -> bool:
        """Whether a release cannot pass without an answer."""
        return any(
            rule.no_data is not analysis.NoData.PASS and not rule.dry_run for rule in self.written
        )


async def check(
    client: clients.Client,
    rollouts: Sequence[stage_runners.Rollout],
    stages: Sequence[pipelines.Stage],
    application: applications.Application,
) -> tuple[errors.Problem, ...]:
    """Return a problem for each permission that a cluster says is missing, a warning among them."""
    measured = _measured(replace(application, pipeline=tuple(stages)))
    if not measured.names:
        return ()
    wanted: list[permissions.Permission] = []
    for kind, namespace in dict.fromkeys(_places(rollouts, application, client.namespace)):
        sought = [("", "Pod")]
        sought += [(workloads.GROUP, between)] if (between := pod_owners.BETWEEN.get(kind)) else []
        for group, name in sought:
            resource = await resource_mapping.require(client, group, name)
            wanted.append(permissions.Permission(_VERB, resource, namespace))
        metrics = (await client.discover()).find(*pod_metrics.POD_METRICS)
        if metrics is not None and _of_usage((*measured.written, *measured.unasked)):
            wanted.append(permissions.Permission(_VERB, metrics, namespace))
    lacking = await permissions.missing(client, wanted)
    return tuple(
        _described(problem, measured.needing(permission))
        for permission in lacking
        for problem in needed_permissions.problems_of(client, [permission])
    )


def _described(problem: errors.Problem, measured: _Measured) -> errors.Problem:
    """Say what cannot be measured, and whether the run can do without."""
    severity = errors.Severity.ERROR if measured.is_decisive else errors.Severity.WARNING
    message = f"{problem.message}, so this cannot be measured: {measured.names}"
    return replace(problem, message=message, severity=severity)


def _measured(application: applications.Application) -> _Measured:
    every = [options for _, options in measured_stages.find(application)]
    applied = {stage.kind.applies for stage in application.pipeline}
    # Primary's pods are not judged unasked.
    unasked = every if variant.Variant.CANARY in applied else ()
    return _Measured(
        tuple(rule for options in every for rule in options.metrics if rule.is_of_pods),
        tuple(rule for options in unasked for rule in options.pods),
    )


def _of_usage(rules: Sequence[analysis.Rule]) -> tuple[analysis.Rule, ...]:
    return tuple(rule for rule in rules if rule.is_of_usage)


def _places(
    rollouts: Sequence[stage_runners.Rollout],
    application: applications.Application,
    namespace: str,
) -> Iterator[tuple[str, str]]:
    """Yield the kinds of workloads, each with a namespace where pods of theirs are."""
    for rollout in rollouts:
        found = workloads.find(rollout.manifests, application.workloads)
        if application.rolls_out_service:
            services = service_targets.find(rollout.manifests, application)
            found = service_targets.selected(rollout.manifests, services)
        for item in found:
            yield item.kind, item.namespace or namespace

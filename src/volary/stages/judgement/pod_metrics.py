"""Metrics that the cluster itself tells: restarts, and what the pods of a variant use.

They need no system that keeps metrics, so a release can be judged by them anywhere. Restarts and
kills for lack of memory are in each pod's status; what pods use is told by the metrics API of
metrics-server, or of whatever serves it (``metrics.k8s.io``), and is about a quarter of a minute
old. Each pod of the variant gives one value.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from volary.analysis.metering import meters
from volary.clusters.api import label_selectors
from volary.clusters.client import clients, resource_mapping
from volary.manifests import objects
from volary.manifests.workloads import quantities
from volary.model import analysis, errors, json
from volary.stages.judgement import owned_pods

_METRICS_GROUP = "metrics.k8s.io"
_OUT_OF_MEMORY = "OOMKilled"
_USED = {analysis.PodMetric.CPU: "cpu", analysis.PodMetric.MEMORY: "memory"}


@dataclass(frozen=True, slots=True)
class PodMetrics:
    """Measures the pods of one application on one cluster."""

    client: clients.Client
    pods: owned_pods.OwnedPods

    async def measure(self, question: meters.Question) -> analysis.Measurement:
        """Return one value for each pod of a variant.

        Raises:
            errors.VolaryError: The cluster cannot be asked, or refuses.
        """
        metric = analysis.PodMetric(question.rule.built_in)
        query = f"{metric.value} of the pods of {question.side.value}"
        if question.is_past:
            return question.failure("a cluster tells what is now, and nothing of the past", query)
        is_new = question.role is analysis.Role.JUDGED
        groups = await self.pods.find(question.side, is_new=is_new)
        pods = [pod for group in groups for pod in group.pods]
        if not pods:
            return question.nothing(query, f"{question.side.value} has no pods")
        if (count := _COUNTS.get(metric)) is not None:
            return question.answer(query, tuple(count(pod) for pod in pods))
        used = [told for group in groups for _, told in await self._told(group)]
        return question.answer(query, tuple(_usage(item, _USED[metric]) for item in used))

    async def _told(self, group: owned_pods.Group) -> list[tuple[json.JsonObject, json.JsonObject]]:
        """Return the pods of a workload that the metrics API knows, each with what it tells.

        What it tells has the labels of the pod, and may be of one of that name that is gone.
        """
        catalog = await self.client.discover()
        if catalog.find(_METRICS_GROUP, "PodMetrics") is None:
            raise errors.PermanentError(
                "the cluster serves no metrics of pods: it has no metrics-server"
            )
        resource = await resource_mapping.require(self.client, _METRICS_GROUP, "PodMetrics")
        listed = await self.client.list(
            resource,
            namespace=group.namespace,
            label_selector=label_selectors.exact(group.labels),
            most=owned_pods.MOST_PODS,
        )
        by_name = {objects.text(item, "metadata", "name"): item for item in listed.items}
        return [
            (pod, told)
            for pod in group.pods
            if (told := by_name.get(objects.text(pod, "metadata", "name"))) is not None
            and not _is_older(told, pod)
        ]


def _is_older(told: json.JsonObject, pod: json.JsonObject) -> bool:
    """Say whether something was told before the pod was made: of another one of that name."""
    when, made = objects.text(told, "timestamp"), objects.text(pod, "metadata", "creationTimestamp")
    try:
        return datetime.fromisoformat(when) < datetime.fromisoformat(made)
    except (ValueError, TypeError):
        return False


def _restarts(pod: json.JsonObject) -> float:
    statuses = objects.mappings(pod, "status", "containerStatuses")
    return float(sum(objects.number(status, "restartCount") for status in statuses))


def _out_of_memory(pod: json.JsonObject) -> float:
    """Return how many containers were killed for lack of memory when they ended last."""
    return float(
        sum(
            any(
                objects.text(status, state, "terminated", "reason") == _OUT_OF_MEMORY
                for state in ("state", "lastState")
            )
            for status in objects.mappings(pod, "status", "containerStatuses")
        )
    )


_COUNTS: Mapping[analysis.PodMetric, Callable[[json.JsonObject], float]] = {
    analysis.PodMetric.RESTARTS: _restarts,
    analysis.PodMetric.OUT_OF_MEMORY: _out_of_memory,
}


def _usage(told: json.JsonObject, resource: str) -> float:
    """Return what the containers of a pod use: cores, or bytes."""
    written = (
        quantities.parse(objects.text(container, "usage", resource))
        for container in objects.mappings(told, "containers")
    )
    return float(sum(value for value in written if value is not None))

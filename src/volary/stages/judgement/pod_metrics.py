"""Metrics that the cluster itself tells: restarts, and what the pods of a variant use.

They need no system that keeps metrics, so a release can be judged by them anywhere. Restarts and
kills for lack of memory are in each pod's status; what pods use is told by the metrics API of
metrics-server, or of whatever serves it (``metrics.k8s.io``), and is about a quarter of a minute
old. Each pod of the variant gives one value.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from volary.analysis.metering import meters
from volary.clusters.api import label_selectors
from volary.clusters.client import clients, resource_mapping
from volary.manifests import objects
from volary.manifests.workloads import quantities, workloads
from volary.model import analysis, applications, errors, json
from volary.model.objects import manifest
from volary.model.pipeline import variant

_METRICS_GROUP = "metrics.k8s.io"
_OUT_OF_MEMORY = "OOMKilled"
#: Pods whose containers are not started any more.
_ENDED = ("Succeeded", "Failed")
_USED = {analysis.PodMetric.CPU: "cpu", analysis.PodMetric.MEMORY: "memory"}
#: Pods of a variant that are looked at.
_MOST_PODS = 5_000

Bodies = Sequence[json.JsonObject]


@dataclass(frozen=True, slots=True)
class PodMetrics:
    """Measures the pods of one application on one cluster."""

    client: clients.Client
    application: applications.Application
    #: Of the new version.
    target: Sequence[manifest.Manifest]
    #: Of the running version, where its pods are told from the new ones by other names only.
    running: Sequence[manifest.Manifest]
    #: Where manifests name no namespace.
    namespace: str

    async def measure(self, question: meters.Question) -> analysis.Measurement:
        """Return one value for each pod of a variant.

        Raises:
            errors.VolaryError: The cluster cannot be asked, or refuses.
        """
        metric = analysis.PodMetric(question.rule.built_in)
        query = f"{metric.value} of the pods of {question.side.value}"
        if question.is_past:
            return question.failure("a cluster tells what is now, and nothing of the past", query)
        pods = await self._pods("", "Pod", question)
        live = {objects.text(pod, "metadata", "name"): pod for pod in pods if _is_live(pod)}
        if not live:
            return question.nothing(query, f"{question.side.value} has no pods")
        if (count := _COUNTS.get(metric)) is not None:
            return question.answer(query, tuple(count(pod) for pod in live.values()))
        told = await self._pods(_METRICS_GROUP, "PodMetrics", question)
        used = [item for item in told if objects.text(item, "metadata", "name") in live]
        return question.answer(query, tuple(_usage(item, _USED[metric]) for item in used))

    async def _pods(
        self, group: str, kind: str, question: meters.Question
    ) -> list[json.JsonObject]:
        """Return the pods of a variant, or what is told of them: they have the same labels."""
        catalog = await self.client.discover()
        if group and catalog.find(group, kind) is None:
            raise errors.PermanentError(
                "the cluster serves no metrics of pods: it has no metrics-server"
            )
        resource = await resource_mapping.require(self.client, group, kind)
        found: dict[tuple[str, str], json.JsonObject] = {}
        for namespace, labels in self._selectors(question):
            listed = await self.client.list(
                resource,
                namespace=namespace,
                label_selector=label_selectors.exact(labels),
                most=_MOST_PODS,
            )
            for item in listed.items:
                if self._is_of(item, question.side):
                    found[namespace, objects.text(item, "metadata", "name")] = item
        return list(found.values())

    def _selectors(self, question: meters.Question) -> list[tuple[str, dict[str, str]]]:
        """Return where the workloads of a variant have their pods, and by which labels.

        Raises:
            errors.PermanentError: Nothing tells the pods of a workload from others.
        """
        is_other = question.role is not analysis.Role.JUDGED
        is_running = is_other and self.application.rolls_out_service
        manifests = self.running if is_running else self.target
        selectors = []
        for item in workloads.find(manifests, self.application.workloads):
            labels = dict(
                objects.mapping(item.body, "spec", "selector", "matchLabels")
                or objects.mapping(item.body, "spec", "template", "metadata", "labels")
            )
            labels.pop(self.application.variant_label.key, None)
            if not labels:
                raise errors.PermanentError(f"{item.kind} {item.name} has no labels for its pods")
            selectors.append((item.namespace or self.namespace, labels))
        return selectors

    def _is_of(self, pod: json.JsonObject, side: variant.Variant) -> bool:
        """Say whether a pod belongs to a variant: the label says so, and primary may lack it."""
        label = self.application.variant_label
        said = objects.text(pod, "metadata", "labels", label.key) or label.primary_value
        return self.application.rolls_out_service or said == label.value(side)


def _is_live(pod: json.JsonObject) -> bool:
    is_leaving = objects.text(pod, "metadata", "deletionTimestamp")
    return not is_leaving and objects.text(pod, "status", "phase") not in _ENDED


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

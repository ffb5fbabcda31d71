"""Metrics that the cluster itself tells: restarts, and what the pods of a variant use.

They need no system that keeps metrics, so a release can be judged by them anywhere. Restarts and
kills for lack of memory are in each pod's status; what pods use is told by the metrics API of
metrics-server, or of whatever serves it (``metrics.k8s.io``), and is about a quarter of a minute
old. Each pod of the variant gives one value.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from volary.analysis.metering import meters
from volary.clusters.api import label_selectors
from volary.clusters.client import clients
from volary.concurrency import single_flight
from volary.manifests import objects
from volary.manifests.workloads import pod_usage
from volary.model import analysis, errors, json, phrases
from volary.model.pipeline import variant
from volary.stages.judgement import owned_pods

#: Who tells what pods use.
METRICS_GROUP = "metrics.k8s.io"
POD_METRICS = (METRICS_GROUP, "PodMetrics")
_OUT_OF_MEMORY = "OOMKilled"
#: So many that follow each other tell what lasts.
_MEASUREMENTS = 3
#: Up to so much less of its limit, the other side is as full.
_ALIKE = 0.05
#: Told longer ago, it says nothing of now; clocks may differ by less.
_OLDEST = timedelta(minutes=5)
#: Of a share, that count.
_DIGITS = 6
_USED = {analysis.PodMetric.CPU: "cpu", analysis.PodMetric.MEMORY: "memory"}


#: A pod, and what the metrics API tells of it.
_Told = tuple[json.JsonObject, json.JsonObject]


async def may_be_served(client: clients.Client) -> bool:
    """Say whether a cluster tells what pods use, or may: it certainly does not, or else it may."""
    try:
        catalog = await client.discover()
    except errors.VolaryError:
        return True
    return catalog.find(*POD_METRICS) is not None or METRICS_GROUP in catalog.stale


@dataclass(frozen=True, slots=True)
class PodMetrics:
    """Measures the pods of one application on one cluster."""

    client: clients.Client
    pods: owned_pods.OwnedPods
    #: What canary is compared with.
    other: variant.Variant = variant.Variant.PRIMARY
    #: By uid of a pod: when it was measured, and how full its memory was.
    _measured: dict[str, list[tuple[str, float]]] = field(default_factory=dict)
    _flights: single_flight.SingleFlight = field(default_factory=single_flight.SingleFlight)

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
        return await self._usage(question, query, groups)

    async def _usage(
        self, question: meters.Question, query: str, groups: Sequence[owned_pods.Group]
    ) -> analysis.Measurement:
        """Return what each pod uses, or how full its memory is."""
        told = [pair for group in groups for pair in await self._told(group)]
        if not told:
            return question.nothing(query, "nothing is told yet of its pods")
        told = [(pod, used) for pod, used in told if not _is_stale(used, question.time)]
        if not told:
            age = phrases.duration(_OLDEST)
            return question.nothing(query, f"what is told of its pods is more than {age} old")
        metric = analysis.PodMetric(question.rule.built_in)
        if metric is analysis.PodMetric.MEMORY_LIMIT:
            return await self._fullness(question, query, told)
        resource = _USED[metric]
        totals = (pod_usage.total(used, resource) for _, used in told)
        return question.answer(query, tuple(total for total in totals if total is not None))

    async def _fullness(
        self, question: meters.Question, query: str, told: Sequence[_Told]
    ) -> analysis.Measurement:
        """Return how full the memory of each pod with a limit was at the last measurements."""
        shares = [
            (pod, used, share)
            for pod, used in told
            if (share := pod_usage.share_of_memory(pod, used)) is not None
        ]
        if not shares:
            return question.nothing(query, "none of its pods has a memory limit")
        values = tuple(
            least
            for pod, used, share in shares
            if (least := self._lasting(objects.uid(pod), used, share)) is not None
        )
        if not values:
            return question.nothing(
                query, f"none of its pods has been measured {_MEASUREMENTS} times yet"
            )
        expected = question.rule.expected
        limit = None if expected is None else expected.maximum
        if question.rule.spares_alike and limit is not None and max(values) > limit:
            other = await self._fullest_other()
            if other is not None and round(limit - other, _DIGITS) < _ALIKE:
                return question.nothing(
                    query,
                    f"{self.other.value} uses {other:.0%} of its memory limit too, so"
                    f" {max(values):.0%} says nothing about the release",
                )
        return question.answer(query, values)

    def _lasting(self, uid: str, used: json.JsonObject, share: float) -> float | None:
        """Return the least share of the last measurements of a pod; None: there are too few."""
        when = objects.text(used, "timestamp")
        known = self._measured.setdefault(uid, [])
        # One that is told twice is one measurement; replicas of a metrics-server take turns.
        if not when or when not in (time for time, _ in known):
            known.append((when, share))
        del known[:-_MEASUREMENTS]
        return min(share for _, share in known) if len(known) == _MEASUREMENTS else None

    async def _fullest_other(self) -> float | None:
        """Return how full the fullest pod of the other side is now; None: nobody knows."""
        groups = await self.pods.find(self.other, is_new=False)
        told = [pair for group in groups for pair in await self._told(group)]
        shares = (pod_usage.share_of_memory(pod, used) for pod, used in told)
        return max((share for share in shares if share is not None), default=None)

    async def _told(self, group: owned_pods.Group) -> list[_Told]:
        """Return the pods of a workload that the metrics API knows, each with what it tells.

        What it tells has the labels of the pod, and may be of one of that name that is gone. Who
        asks at the same time gets the same.
        """
        key = (group.namespace, label_selectors.exact(group.labels))
        shared = await self._flights.do(key, group.namespace, lambda: self._list(group))
        by_name = shared.value if shared is not None else {}
        return [
            (pod, told)
            for pod in group.pods
            if (told := by_name.get(objects.text(pod, "metadata", "name"))) is not None
            and not _is_older(told, pod)
        ]

    async def _list(self, group: owned_pods.Group) -> dict[str, json.JsonObject]:
        """Return what is told of pods with the labels of a workload's, by name."""
        resource = (await self.client.discover()).find(*POD_METRICS)
        if resource is None:
            raise errors.PermanentError(
                "the cluster serves no metrics of pods: it has no metrics-server that answers"
            )
        listed = await self.client.list(
            resource,
            namespace=group.namespace,
            label_selector=label_selectors.exact(group.labels),
            most=owned_pods.MOST_PODS,
        )
        return {objects.text(item, "metadata", "name"): item for item in listed.items}


def _is_older(told: json.JsonObject, pod: json.JsonObject) -> bool:
    """Say whether something was told before the pod was made: of another one of that name."""
    when, made = objects.text(told, "timestamp"), objects.text(pod, "metadata", "creationTimestamp")
    try:
        return datetime.fromisoformat(when) < datetime.fromisoformat(made)
    except (ValueError, TypeError):
        return False


def _is_stale(told: json.JsonObject, now: datetime) -> bool:
    """Say whether something was told so long ago that it says nothing of now."""
    try:
        return now - datetime.fromisoformat(objects.text(told, "timestamp")) > _OLDEST
    except (ValueError, TypeError):
        return False


def _restarts(pod: json.JsonObject) -> float:
    """Return the restarts of containers, sidecars among them; others are tried until they end."""
    sidecars = {
        objects.text(container, "name")
        for container in objects.mappings(pod, "spec", "initContainers")
        if container.get("restartPolicy") == "Always"
    }
    statuses = [
        *objects.mappings(pod, "status", "containerStatuses"),
        *(
            status
            for status in objects.mappings(pod, "status", "initContainerStatuses")
            if objects.text(status, "name") in sidecars
        ),
    ]
    return float(sum(objects.number(status, "restartCount") for status in statuses))


def _out_of_memory(pod: json.JsonObject) -> float:
    """Return how many containers were killed for lack of memory when they ended last."""
    return float(
        sum(
            any(
                objects.text(status, state, "terminated", "reason") == _OUT_OF_MEMORY
                for state in ("state", "lastState")
            )
            for kind in ("initContainerStatuses", "containerStatuses")
            for status in objects.mappings(pod, "status", kind)
        )
    )


_COUNTS: Mapping[analysis.PodMetric, Callable[[json.JsonObject], float]] = {
    analysis.PodMetric.RESTARTS: _restarts,
    analysis.PodMetric.OUT_OF_MEMORY: _out_of_memory,
}

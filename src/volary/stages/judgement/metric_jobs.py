"""Jobs that decide as a metric: what is run, and what its end says. Pure."""

import hashlib
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta

from volary.config.stages import query_placeholders
from volary.manifests import objects
from volary.manifests.health import conditions
from volary.model import json, safe_text

#: On a Job: the metric of a release that it is for. Whatever has another value, or none, is not
#: touched.
LABEL = "volary.dev/metric-job"
#: The same on pods, by Kubernetes itself.
POD_LABEL = "job-name"
#: How long the cluster keeps a Job that nobody removed.
_KEPT = timedelta(minutes=10)
#: Reasons why a Job failed without a container's having decided.
_UNDECIDED = ("DeadlineExceeded",)
_ID_LENGTH, _NAME_LENGTH = 16, 30
_SHOWN = 200


def identity(parts: Iterable[str]) -> str:
    """Return the value of `LABEL` for a metric of a release: the same after a restart."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:_ID_LENGTH]


def name(metric: str, label: str, at: datetime) -> str:
    """Return what a Job is called at a look: another name at each."""
    words = re.sub(r"[^a-z0-9]+", "-", metric.lower())[:_NAME_LENGTH].strip("-") or "metric"
    return f"volary-{words}-{label[:8]}-{int(at.timestamp()):x}"


def make(
    spec: json.JsonObject,
    values: query_placeholders.Values,
    *,
    called: str,
    label: str,
    timeout: timedelta,
) -> json.JsonObject:
    """Return the Job: what was written, ended by the cluster itself after `timeout`."""
    limit = max(1, math.ceil(timeout.total_seconds()))
    kept = round(_KEPT.total_seconds())
    bounds = {"activeDeadlineSeconds": limit, "ttlSecondsAfterFinished": kept}
    least = {
        key: min(objects.number(spec, key, default=most), most) for key, most in bounds.items()
    }
    template = objects.mapping(spec, "template")
    pod = {"restartPolicy": "Never", **objects.mapping(template, "spec")}
    environment = _environment(values)
    for key in ("initContainers", "containers"):
        if key in pod:
            pod[key] = [_told(one, environment) for one in objects.mappings(pod, key)]
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": called,
            "namespace": values.namespace,
            "labels": {LABEL: label},
            "annotations": {LABEL: f"{values.metric} of {values.application}, run {values.run}"},
        },
        "spec": {"backoffLimit": 0, **spec, **least, "template": {**template, "spec": pod}},
    }


def _environment(values: query_placeholders.Values) -> Mapping[str, str]:
    """Return what containers are told, by the name of the variable."""
    return {
        "VOLARY_APPLICATION": values.application,
        "VOLARY_METRIC": values.metric,
        "VOLARY_CLUSTER": values.cluster,
        "VOLARY_NAMESPACE": values.namespace,
        "VOLARY_VARIANT": values.variant,
        "VOLARY_WORKLOAD": values.workload,
        "VOLARY_SERVICE": values.service,
        "VOLARY_INTERVAL": query_placeholders.interval_text(values.interval),
        "VOLARY_RUN": values.run,
        "VOLARY_COMMIT": values.commit,
    }


def _told(container: json.JsonObject, environment: Mapping[str, str]) -> json.JsonObject:
    """Return a container that is told too; what it has by itself counts, and may refer to it."""
    own = list(objects.sequence(container, "env"))
    taken = {objects.text(one, "name") for one in own}
    ours = [{"name": key, "value": value} for key, value in environment.items() if key not in taken]
    return {**container, "env": [*ours, *own]}


def has_failed(job: json.JsonObject) -> bool:
    """Say whether a container decided against the release."""
    failed = conditions.find_true(job, "Failed")
    return failed is not None and failed.reason not in _UNDECIDED


def is_ours(job: json.JsonObject, label: str) -> bool:
    """Say whether a Job is the metric's, and is not on its way out."""
    metadata = objects.mapping(job, "metadata")
    return objects.text(metadata, "labels", LABEL) == label and "deletionTimestamp" not in metadata


def failed_container(pods: Iterable[json.JsonObject]) -> tuple[str, str, int, str] | None:
    """Return the pod and container that failed last, its exit code, and its own words if any."""
    ended = sorted(_ended(pods), key=lambda one: one[0])
    return ended[-1][1:] if ended else None


def _ended(pods: Iterable[json.JsonObject]) -> Iterator[tuple[str, str, str, int, str]]:
    for pod in pods:
        for listed in ("initContainerStatuses", "containerStatuses"):
            for status in objects.mappings(pod, "status", listed):
                state = objects.mapping(status, "state", "terminated")
                code = objects.number(state, "exitCode")
                if code:
                    yield (
                        objects.text(state, "finishedAt"),
                        objects.text(pod, "metadata", "name"),
                        objects.text(status, "name"),
                        code,
                        objects.text(state, "message"),
                    )


def last_line(log: Iterable[bytes]) -> str:
    """Return the last line of a log that says something, without its time."""
    said = ""
    for line in log:
        _, _, words = line.decode("utf-8", "replace").strip().partition(" ")
        said = words or said
    return shorten(said)


def shorten(text: str) -> str:
    """Return a container's words on one line, fit to be shown."""
    line = " ".join(safe_text.one_line(text[-4 * _SHOWN :]).split())
    return line if len(line) <= _SHOWN else f"… {line[-_SHOWN:]}"

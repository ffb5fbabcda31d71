"""ResourceQuotas: what a namespace may hold, counted when something is created or grows."""

from collections.abc import Iterator
from fractions import Fraction

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import quantities
from kube_sandbox.apimachinery.patching import managed_fields
from kube_sandbox.apimachinery.scheme import kinds
from kube_sandbox.apiserver.registry.admission import request, usage
from kube_sandbox.apiserver.storage import cluster_state


def charge(state: cluster_state.ClusterState, asked: request.Request) -> None:
    """Refuse what does not fit into its namespace's quotas, else note it in their status.

    What is used is counted afresh, so that it is true whatever became of earlier objects.

    Raises:
        api_errors.StatusError: 403.
    """
    if asked.body is None or asked.subresource or not asked.namespace:
        return
    quotas = state.storage.list(kinds.RESOURCE_QUOTA.bucket, asked.namespace)
    charged: list[tuple[json.JsonObject, usage.Usage]] = []
    for item in quotas:
        more = _growth(item.body, asked)
        if more:
            charged.append((item.body, _fitting(state, asked, item.body, more)))
    if not asked.dry_run:
        for quota, used in charged:
            _note(state, quota, used)


def _growth(quota: json.JsonObject, asked: request.Request) -> usage.Usage:
    """Return what a write costs more of a quota than what was there before.

    Raises:
        api_errors.StatusError: 403, a pod does not say what it needs.
    """
    hard, bucket = quota["spec"].get("hard") or {}, asked.kind.bucket
    body, old = asked.body or {}, asked.old
    if bucket not in usage.buckets(hard) or not usage.covers(quota, bucket, body):
        return {}
    if asked.kind is kinds.POD and old is None and (lacking := usage.missing(hard, body)):
        name = quota["metadata"]["name"]
        raise asked.refuse(f"failed quota: {name}: must specify {lacking}")
    before = usage.of(bucket, old) if old is not None else {}
    more = {
        name: value - before.get(name, Fraction(0))
        for name, value in usage.of(bucket, body).items()
        if name in hard
    }
    return {name: value for name, value in more.items() if value > 0}


def _fitting(
    state: cluster_state.ClusterState,
    asked: request.Request,
    quota: json.JsonObject,
    more: usage.Usage,
) -> usage.Usage:
    """Return what is used of a quota after the write.

    Raises:
        api_errors.StatusError: 403, it is more than the quota has.
    """
    hard = quota["spec"]["hard"]
    used = usage.total(_counted(state, quota), hard)
    over = sorted(
        name for name, value in more.items() if used[name] + value > quantities.parse(hard[name])
    )
    if over:
        raise asked.refuse(
            f"exceeded quota: {quota['metadata']['name']}, "
            f"requested: {_listed(more, hard, over)}, used: {_listed(used, hard, over)}, "
            f"limited: {','.join(f'{name}={hard[name]}' for name in over)}"
        )
    return {name: value + more.get(name, Fraction(0)) for name, value in used.items()}


def _counted(
    state: cluster_state.ClusterState, quota: json.JsonObject
) -> Iterator[tuple[str, json.JsonObject]]:
    """Yield the objects that count for a quota, each with its bucket."""
    for bucket in usage.buckets(quota["spec"]["hard"]):
        for item in state.storage.list(bucket, quota["metadata"]["namespace"]):
            if usage.covers(quota, bucket, item.body):
                yield bucket, item.body


def status(state: cluster_state.ClusterState, quota: json.JsonObject) -> json.JsonObject:
    """Return what a quota's status should be, counted afresh."""
    hard = quota["spec"].get("hard") or {}
    if not hard:
        return {}
    used = usage.total(_counted(state, quota), hard)
    return {"hard": dict(hard), "used": usage.shown(used, hard)}


def _listed(values: usage.Usage, hard: dict[str, str], names: list[str]) -> str:
    shown = usage.shown(values, hard)
    return ",".join(f"{name}={shown[name]}" for name in names)


def _note(state: cluster_state.ClusterState, quota: json.JsonObject, used: usage.Usage) -> None:
    hard = quota["spec"]["hard"]
    status = {"hard": dict(hard), "used": usage.shown(used, hard)}
    if quota.get("status") == status:
        return
    tracked = managed_fields.update(
        kinds.RESOURCE_QUOTA.schema,
        quota,
        {**quota, "status": status},
        manager="kube-apiserver",
        now=state.stamp(),
        subresource="status",
    )
    metadata = quota["metadata"]
    place = (metadata["namespace"], metadata["name"])
    state.storage.put(kinds.RESOURCE_QUOTA.bucket, *place, tracked)

"""Carries out what people ask for about clusters: taints added and removed by hand."""

from collections.abc import Iterable
from datetime import datetime

from volary.controller.fleet import cluster_registry
from volary.model import errors, json
from volary.model.fleet import cluster_health, fleets, taints
from volary.model.runs import run_records
from volary.placement import health_states
from volary.store import records

#: Kind of every request about a cluster.
KIND = "cluster"


async def carry_out(
    request: records.RequestRecord,
    known: cluster_registry.ClusterRegistry,
    now: datetime,
    *,
    fence: run_records.Fence | None,
) -> str:
    """Do what a request asks for, and answer it in the same transaction.

    Returns:
        Why not, or nothing.

    Raises:
        fencing.RequestAnswered: It was done, or refused, before.
    """
    said = request.document
    name = said.get("cluster", "")
    member = next((cluster for cluster in known.members.clusters if cluster.name == name), None)
    if member is None:
        return f"there is no cluster {name} in the fleet"
    refused, change = _decide(said, request.by, member, known.of(name), now)
    done = run_records.RequestAnswer(request.id, now)
    return refused or await known.change(name, change, fence=fence, answers=(done,))


def why_not(
    said: json.JsonObject,
    member: fleets.Cluster,
    known: cluster_health.ClusterHealth,
    now: datetime,
) -> str:
    """Return why what is asked for about a cluster is refused, one sentence; empty: it is done."""
    return _decide(said, "", member, known, now)[0]


def _decide(
    said: json.JsonObject,
    by: str,
    member: fleets.Cluster,
    known: cluster_health.ClusterHealth,
    now: datetime,
) -> tuple[str, cluster_registry.Change]:
    reason = said.get("reason", "")
    cordon = taints.Taint(taints.CORDONED, "", taints.Effect.NO_SCHEDULE, now, by, reason)
    match said.get("action", ""):
        case "cordon":
            refused = _why_already(member, known.cordon, "cordoned")
            change = _adding([cordon])
        case "drain":
            refused = _why_already(member, known.drain, "drained")
            drain = taints.Taint(taints.DRAINED, "", taints.Effect.NO_EXECUTE, now, by, reason)
            change = _adding([known.cordon or cordon, drain])
        case "uncordon":
            refused = "" if known.cordon or known.drain else f"{member.name} is not cordoned"
            change = _removing([taints.CORDONED, taints.DRAINED])
        case "taint":
            effect = taints.Effect(said["effect"])
            taint = taints.Taint(said["key"], said.get("value", ""), effect, now, by, reason)
            refused, change = "", _adding([taint])
        case "untaint":
            refused, change = _untaint(member, known, said["key"], said.get("effect", ""))
        case unknown:
            raise errors.PermanentError(f"there is no command {unknown} for clusters")
    return refused, change


def _why_already(member: fleets.Cluster, taint: taints.Taint | None, what: str) -> str:
    return f"{member.name} is already {what} by {_author(taint)}" if taint else ""


def _untaint(
    member: fleets.Cluster, known: cluster_health.ClusterHealth, key: str, effect: str
) -> tuple[str, cluster_registry.Change]:
    wanted = taints.Effect(effect) if effect else None

    def meant(taint: taints.Taint) -> bool:
        return taint.key == key and wanted in (None, taint.effect)

    title = f"{key}:{effect}" if effect else key
    matching = [taint for taint in known.taints if meant(taint)]
    if any(taint.by != taints.BY_RULE for taint in matching):
        return "", _removing([key], wanted)
    if matching:
        return f"{title} follows from how {member.name} is: {matching[0].reason}", _unchanged
    if any(map(meant, member.taints)):
        return f"{title} is written in the fleet file", _unchanged
    return f"{member.name} has no taint {title}", _unchanged


def _adding(added: list[taints.Taint]) -> cluster_registry.Change:
    return lambda known: health_states.taint(known, added)


def _removing(keys: Iterable[str], effect: taints.Effect | None = None) -> cluster_registry.Change:
    def change(known: cluster_health.ClusterHealth) -> cluster_health.ClusterHealth:
        for key in keys:
            known = health_states.untaint(known, key, effect)
        return known

    return change


def _unchanged(known: cluster_health.ClusterHealth) -> cluster_health.ClusterHealth:
    return known


def _author(taint: taints.Taint) -> str:
    return f"{taint.by}: {taint.reason}" if taint.reason else taint.by

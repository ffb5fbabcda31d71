"""How many pods a Deployment may have: surge, unavailability, proportions.

Rounding follows Kubernetes: a surge is rounded up, unavailability down, and when
both come to nothing one pod may be missing (ResolveFenceposts).
"""

from collections.abc import Sequence

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import objects

#: Size of the Deployment when it last sized the ReplicaSet.
DESIRED = "deployment.kubernetes.io/desired-replicas"
#: The same with the surge on top.
MAXIMUM = "deployment.kubernetes.io/max-replicas"


def is_rolling(deployment: json.JsonObject) -> bool:
    """Tell whether the strategy is RollingUpdate."""
    strategy = objects.spec(deployment).get("strategy") or {}
    return bool(strategy.get("type", "RollingUpdate") == "RollingUpdate")


def scaled(value: int | str | None, total: int, *, up: bool) -> int:
    """Turn ``2`` or ``"25%"`` of `total` into a number."""
    if isinstance(value, str) and value.endswith("%"):
        product = int(value[:-1]) * total
        return -(-product // 100) if up else product // 100
    return int(value or 0)


def max_surge(deployment: json.JsonObject) -> int:
    """Pods above the wanted number during a rolling update."""
    return _fenceposts(deployment)[0] if is_rolling(deployment) else 0


def max_unavailable(deployment: json.JsonObject) -> int:
    """Pods that may be missing during a rolling update."""
    wanted = objects.replicas(deployment)
    if not is_rolling(deployment) or wanted == 0:
        return 0
    return min(_fenceposts(deployment)[1], wanted)


def _fenceposts(deployment: json.JsonObject) -> tuple[int, int]:
    rolling = (objects.spec(deployment).get("strategy") or {}).get("rollingUpdate") or {}
    wanted = objects.replicas(deployment)
    surge = scaled(rolling.get("maxSurge", "25%"), wanted, up=True)
    unavailable = scaled(rolling.get("maxUnavailable", "25%"), wanted, up=False)
    return (surge, unavailable) if surge or unavailable else (0, 1)


def total(replica_sets: Sequence[json.JsonObject]) -> int:
    """Pods the ReplicaSets ask for."""
    return sum(objects.replicas(each) for each in replica_sets)


def new_size(
    deployment: json.JsonObject, new: json.JsonObject | None, others: Sequence[json.JsonObject]
) -> int:
    """The size the new ReplicaSet may have now (Kubernetes: NewRSNewReplicas).

    `new` is None when it has yet to be made.
    """
    wanted = objects.replicas(deployment)
    if not is_rolling(deployment):
        return wanted
    current = objects.replicas(new) if new is not None else 0
    room = wanted + max_surge(deployment) - total(others) - current
    return current if room <= 0 else current + min(room, wanted - current)


def proportion(
    deployment: json.JsonObject, replica_set: json.JsonObject, *, to_add: int, added: int
) -> int:
    """The part of `to_add` pods that falls to `replica_set` when scaling proportionally."""
    current = objects.replicas(replica_set)
    if current == 0 or to_add == 0 or to_add == added:
        return 0
    fraction = _fraction(deployment, replica_set)
    rest = to_add - added
    return min(fraction, rest) if to_add > 0 else max(fraction, rest)


def _fraction(deployment: json.JsonObject, replica_set: json.JsonObject) -> int:
    wanted, current = objects.replicas(deployment), objects.replicas(replica_set)
    if wanted == 0:
        return -current
    annotated = objects.annotations(replica_set).get(MAXIMUM)
    before = int(annotated) if annotated else objects.count(deployment, "replicas")
    if before == 0:
        return 0
    numerator = current * (wanted + max_surge(deployment))
    # Rounded half away from zero as Go does, in whole numbers.
    return (2 * numerator + before) // (2 * before) - current

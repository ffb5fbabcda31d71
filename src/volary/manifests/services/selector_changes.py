"""When a live Service gets its new selector or ports, so that it leads to ready pods all the while.

A Service and the pods behind it change in one commit, but not in one moment. Which of the two
comes first depends on which pods the old and the new selector fit:

- ``LAST``: the old selector also fits the pods that come, or the pods that it fits stay until
  something is pruned. The Service is changed once the new pods are ready.
- ``FIRST``: the new selector also fits the pods that are there. Nothing is lost by changing it
  before a rollout takes those away that the old one needs.
- ``BETWEEN``: old and new pods share labels that no other pod has. Those are selected while one
  kind replaces the other, and the new selector comes last.
- ``NEVER``: whatever comes first, the Service would lead to nobody for a while, or for good.

Pure. A Service that leads to no ready pod has nothing to lose and is not asked about.
"""

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from volary.manifests import objects
from volary.manifests.services import service_targets
from volary.manifests.workloads import workloads
from volary.model import json
from volary.model.objects import manifest

Labels = Mapping[str, str]


class Order(enum.Enum):
    """When a Service is written."""

    AT_ONCE = enum.auto()
    FIRST = enum.auto()
    BETWEEN = enum.auto()
    LAST = enum.auto()
    NEVER = enum.auto()


@dataclass(frozen=True, slots=True)
class Decision:
    """When, and why."""

    order: Order
    #: What is selected in between.
    shared: Labels = field(default_factory=dict)
    #: What stands in the way, and what helps.
    problem: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Rollout:
    """A workload of the set that is applied with the Service, and what it replaces."""

    wanted: manifest.Manifest
    live: json.JsonObject | None

    @property
    def comes(self) -> json.JsonObject:
        """The template of the pods that come."""
        return workloads.pod_template(self.wanted.body) or {}

    @property
    def goes(self) -> json.JsonObject:
        """The template of the pods that go; empty: none do."""
        return (workloads.pod_template(self.live) or {}) if self.live else {}

    @property
    def provides(self) -> bool:
        """Whether there will be pods: a workload may be scaled to none, also by an autoscaler."""
        body, live = self.wanted.body, self.live or {}
        if self.wanted.kind == workloads.DAEMON_SET:
            return objects.value(live, "status", "desiredNumberScheduled") != 0
        named = objects.value(body, "spec", "replicas") is not None
        return workloads.replicas(body if named or not live else live) > 0


def is_changed(wanted: manifest.Manifest, live: json.JsonObject) -> bool:
    """Say whether a live Service would lead elsewhere."""
    before = objects.mapping(live, "spec", "selector")
    return service_targets.selector(wanted) != before or bool(_moved_ports(wanted.body, live))


def decide(
    wanted: manifest.Manifest,
    live: json.JsonObject,
    rollouts: Sequence[Rollout],
    ready: Sequence[json.JsonObject],
    pods: Sequence[json.JsonObject],
    *,
    has_operated: bool = False,
) -> Decision:
    """Decide when a live Service is changed to what is wanted.

    Args:
        wanted: The Service of the set.
        live: As it is.
        rollouts: The workloads of the set in the Service's namespace, but for jobs.
        ready: The ready pods of the namespace.
        pods: All pods there that have not ended.
        has_operated: Something of the set may have pods made by an operator.
    """
    if not is_changed(wanted, live):
        return Decision(Order.AT_ONCE)
    old, new = objects.mapping(live, "spec", "selector"), service_targets.selector(wanted)
    served = [pod for pod in ready if old and fits(old, _labels(pod))]
    if (old and not served) or not (old or new):
        return Decision(Order.AT_ONCE)
    providers = [one for one in rollouts if one.provides and fits(new, _labels(one.comes))]
    is_led = providers or any(fits(new, _labels(pod)) for pod in ready)
    if not is_led and not has_operated:
        return _leads_nowhere(wanted, new)
    if not old or not new:
        return Decision(Order.LAST)
    return _in_order(wanted, live, rollouts, served, pods)


def _in_order(
    wanted: manifest.Manifest,
    live: json.JsonObject,
    rollouts: Sequence[Rollout],
    served: Sequence[json.JsonObject],
    pods: Sequence[json.JsonObject],
) -> Decision:
    """Decide by what becomes of the pods that the live Service leads to, `served`."""
    old, new = objects.mapping(live, "spec", "selector"), service_targets.selector(wanted)
    replaced = [one for one in rollouts if fits(old, _labels(one.goes))]
    leaving = [one for one in replaced if not (one.provides and fits(old, _labels(one.comes)))]
    moved = _moved_ports(wanted.body, live)
    comes_open = all(_opens(one.comes, before) for one in replaced for before, _ in moved)
    if comes_open and not leaving:
        return Decision(Order.LAST)
    goes_open = all(_opens(one.goes, after) for one in replaced for _, after in moved)
    if goes_open and all(fits(new, _labels(pod)) for pod in served):
        return Decision(Order.FIRST)
    if not comes_open:
        return _ports_differ(wanted, live)
    coming = [one for one in rollouts if one in leaving or fits(new, _labels(one.comes))]
    shared = _shared(_labels(item) for item in (*served, *(one.comes for one in coming)))
    strangers = [
        item
        for item in (*pods, *(one.comes for one in rollouts))
        if fits(shared, _labels(item)) and not any(fits(own, _labels(item)) for own in (old, new))
    ]
    if shared and not strangers and all(one.provides for one in coming):
        return Decision(Order.BETWEEN, shared)
    return _no_order(wanted, old, new)


def fits(selector: Labels, labels: Labels) -> bool:
    """Say whether pods with `labels` are selected; there are none without labels."""
    return bool(labels) and all(labels.get(key) == value for key, value in selector.items())


def title(labels: Labels) -> str:
    """Return labels as a selector is written."""
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items()))


def between(wanted: manifest.Manifest, live: json.JsonObject, shared: Labels) -> manifest.Manifest:
    """Return the Service as it leads to old and new pods, by the ports that it has."""
    ports = objects.value(live, "spec", "ports")
    return wanted.with_spec({"selector": dict(shared), "ports": ports})


def _labels(body: json.JsonObject) -> Labels:
    return objects.mapping(body, "metadata", "labels")


def _shared(every: Iterable[Labels]) -> dict[str, str]:
    first, *others = [dict(labels) for labels in every]
    return {
        key: value
        for key, value in first.items()
        if all(labels.get(key) == value for labels in others)
    }


def _moved_ports(
    wanted: json.JsonObject, live: json.JsonObject
) -> list[tuple[int | str, int | str]]:
    """Return the target ports, before and after, of ports that lead to another one."""
    before = {_port(port): _target(port) for port in objects.mappings(live, "spec", "ports")}
    return [
        (before[_port(port)], _target(port))
        for port in objects.mappings(wanted, "spec", "ports")
        if before.get(_port(port), _target(port)) != _target(port)
    ]


def _port(port: json.JsonObject) -> tuple[int, str]:
    return objects.number(port, "port"), objects.text(port, "protocol") or "TCP"


def _target(port: json.JsonObject) -> int | str:
    """Return where a port of a Service leads; without a word to the port of the same number."""
    written = port.get("targetPort")
    return written if isinstance(written, int | str) else objects.number(port, "port")


def _opens(template: json.JsonObject, target: int | str) -> bool:
    """Say whether pods may listen there: those that name no ports at all may do so anywhere."""
    declared = [
        port
        for container in workloads.containers(objects.mapping(template, "spec"))
        for port in objects.mappings(container, "ports")
    ]
    field = "name" if isinstance(target, str) else "containerPort"
    return not declared or any(port.get(field) == target for port in declared)


def _leads_nowhere(wanted: manifest.Manifest, new: Labels) -> Decision:
    return Decision(
        Order.NEVER,
        problem=f"{wanted.key.title} would lead to nobody: no workload of the application has pods"
        f" with {title(new)}, and no ready pod in the cluster fits",
        hint="correct its selector or the labels of the pods, or have the pods ready first and"
        " change the Service in a commit after that",
    )


def _no_order(wanted: manifest.Manifest, old: Labels, new: Labels) -> Decision:
    return Decision(
        Order.NEVER,
        problem=f"{wanted.key.title} would lead to nobody for a while: pods with {title(old)} go"
        f" while those with {title(new)} come, and no labels of both tell them from other pods",
        hint=f"do it in two commits: first have ready pods with {title(new)} beside the others, or"
        " with the labels of both, then change the Service's selector",
    )


def _ports_differ(wanted: manifest.Manifest, live: json.JsonObject) -> Decision:
    before, after = _moved_ports(wanted.body, live)[0]
    return Decision(
        Order.NEVER,
        problem=f"{wanted.key.title} would lead to closed ports for a while: the pods that run do"
        f" not listen at {after}, those that come not at {before}",
        hint="do it in two commits: first let the pods listen at both ports, then change the"
        " Service's targetPort; or give the port one name in both, and write that as targetPort",
    )

"""Workloads: what runs pods, and where their pod templates are."""

from collections.abc import Iterator, Sequence

from volary.manifests import objects
from volary.model import json, routing_options
from volary.model.objects import manifest

DEPLOYMENT = "Deployment"
STATEFUL_SET = "StatefulSet"
DAEMON_SET = "DaemonSet"
GROUP = "apps"
#: What a Deployment or StatefulSet without ``spec.replicas`` gets.
DEFAULT_REPLICAS = 1


def find(
    manifests: Sequence[manifest.Manifest], references: Sequence[routing_options.ObjectReference]
) -> list[manifest.Manifest]:
    """Return the manifests that carry the variants, each once, in the order of references.

    A reference without a kind means Deployments, one without a name any name. Without
    references: every Deployment, and when there is none every StatefulSet. Kinds are
    compared without their group (PipeCD: findWorkloadManifests).
    """
    if not references:
        return of_kind(manifests, DEPLOYMENT) or of_kind(manifests, STATEFUL_SET)
    workloads: list[manifest.Manifest] = []
    for reference in references:
        for item in of_kind(manifests, reference.kind or DEPLOYMENT):
            if reference.name in ("", item.name) and item not in workloads:
                workloads.append(item)
    return workloads


def of_kind(manifests: Sequence[manifest.Manifest], kind: str) -> list[manifest.Manifest]:
    """Return the manifests of a kind, whatever their group."""
    return [item for item in manifests if item.kind == kind]


def has_replicas(item: manifest.Manifest) -> bool:
    """Say whether this is a Deployment or StatefulSet, the kinds that have variants."""
    return item.group == GROUP and item.kind in (DEPLOYMENT, STATEFUL_SET)


def replicas(body: json.JsonObject) -> int:
    """Return ``spec.replicas``, or what the API server fills in."""
    return objects.number(body, "spec", "replicas", default=DEFAULT_REPLICAS)


def template_path(body: json.JsonObject) -> tuple[str, ...] | None:
    """Return where the pod template is; the object itself for a Pod; None without pods."""
    if body.get("kind") == "Pod":
        return ()
    for path in (("spec", "template"), ("spec", "jobTemplate", "spec", "template")):
        if objects.mapping(body, *path, "spec"):
            return path
    return None


def pod_template(body: json.JsonObject) -> json.JsonObject | None:
    """Return the pod template (``metadata`` and ``spec``), to read only; None without pods."""
    path = template_path(body)
    return None if path is None else objects.mapping(body, *path)


def pod_spec(body: json.JsonObject) -> json.JsonObject | None:
    """Return the pod specification, to read only; None without pods."""
    template = pod_template(body)
    return None if template is None else objects.mapping(template, "spec")


def containers(spec: json.JsonObject, *, ephemeral: bool = True) -> Iterator[json.JsonObject]:
    """Yield init containers, containers and ephemeral containers of a pod specification."""
    yield from objects.mappings(spec, "initContainers")
    yield from objects.mappings(spec, "containers")
    if ephemeral:
        yield from objects.mappings(spec, "ephemeralContainers")

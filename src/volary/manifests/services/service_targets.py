"""Applications whose new version is another Service, not other pods (Flagger: Service targets).

``workloads: [{kind: Service, name: app}]``. Pods of both versions may run all the time; which of
them users reach is what the Service's selector and ports say. So the variants are Services too:
``app-canary`` is what Git says now, ``app-primary`` what runs, and promotion changes the latter
to the former (Flagger: service controller). Pods that only the new Service leads to come with
canary, under their own names, since nobody reaches them before.
"""

from collections.abc import Mapping, Sequence

from volary.manifests import objects
from volary.manifests.ownership import tracking
from volary.manifests.services import backends, services
from volary.manifests.workloads import autoscalers, config_references, workloads
from volary.model import applications, errors, routing_options
from volary.model.objects import manifest
from volary.model.pipeline import variant

KIND = "Service"
#: On the copies, whose names are Flagger's: what it made is taken over.
_TAKEN_OVER = {"volary.dev/force-conflicts": "enabled"}
#: What pods need to start; brought with them where they are new.
_NEEDS = frozenset(
    {
        config_references.CONFIG_MAP,
        config_references.SECRET,
        "PersistentVolumeClaim",
        "Role",
        "RoleBinding",
        "ServiceAccount",
    }
)


def find(
    manifests: Sequence[manifest.Manifest], app: applications.Application
) -> manifest.Manifest | None:
    """Return the Service that is rolled out; None when it is not among the manifests."""
    names = [workload.name for workload in app.workloads if workload.kind == KIND]
    matching_services = services.find(manifests, routing_options.ObjectReference(name=names[0]))
    return matching_services[0] if matching_services else None


def variant_copy(
    item: manifest.Manifest, app: applications.Application, which: variant.Variant
) -> manifest.Manifest:
    """Return the Service of a variant: it leads where `item` does, inside the cluster only.

    Raises:
        UserError: when the Service has no selector, so that nothing is known of its pods.
    """
    made = services.duplicate(item, suffix=backends.suffix(app, which))
    annotations = {**objects.mapping(made.metadata, "annotations"), **_TAKEN_OVER}
    return made.with_metadata({"name": backends.of(app).name(which), "annotations": annotations})


def canary_service(
    manifests: Sequence[manifest.Manifest], app: applications.Application
) -> list[manifest.Manifest]:
    """Return canary's Service; `manifests` are the target source's.

    Raises:
        UserError: when the Service is not there, or has no selector.
    """
    service = find(manifests, app)
    if service is None:
        raise errors.user_error(
            f"there is no Service {app.workloads[0].name} among the manifests to make a canary of",
            hint="put it into the application's directory: its selector says what the new "
            "version is",
        )
    return [variant_copy(service, app, variant.Variant.CANARY)]


def dependencies(
    manifests: Sequence[manifest.Manifest],
    running: Sequence[manifest.Manifest],
    app: applications.Application,
) -> list[manifest.Manifest]:
    """Return what has to be there for the new Service to lead anywhere, and harms nobody.

    Workloads that it selects and the running one does not, their autoscalers, and what pods
    need, where it is new. What serves the running version is left for the promotion.

    Args:
        manifests: Of the new commit.
        running: Of the running commit; empty: there is none.
        app: Of the new commit.
    """
    now, before = find(manifests, app), find(running, app)
    known = {item.key for item in running}
    chosen = [item for item in selected(manifests, now) if not _selects(before, item)]
    return [
        item
        for item in manifests
        if item in chosen
        or (item.kind in _NEEDS and item.key not in known)
        or (item.kind in autoscalers.KINDS and _scales_any(item, chosen))
    ]


def untested_workloads(
    manifests: Sequence[manifest.Manifest],
    running: Sequence[manifest.Manifest],
    app: applications.Application,
) -> list[manifest.Manifest]:
    """Return changed workloads that are not tried: the running Service leads to their pods too."""
    now, before = find(manifests, app), find(running, app)
    old = {item.key: tracking.untrack(item).body for item in running}
    return [
        item
        for item in selected(manifests, now)
        if _selects(before, item) and old.get(item.key, item.body) != tracking.untrack(item).body
    ]


def check_ports(
    manifests: Sequence[manifest.Manifest],
    running: Sequence[manifest.Manifest],
    app: applications.Application,
) -> None:
    """Check that the new Service has every port of the running one.

    Routes name a Service and its port, and both cannot be changed in one moment.

    Raises:
        UserError: when one is missing.
    """
    now, before = find(manifests, app), find(running, app)
    if now is None or before is None:
        return
    missing = sorted(_ports(before) - _ports(now))
    if missing:
        listed = ", ".join(map(str, missing))
        raise errors.user_error(
            f"Service {now.name} has no longer the port {listed}: requests would be lost while"
            " routes still name it",
            hint="keep port and change targetPort, or keep the old port beside the new one until"
            " the routes name that",
            where=now.origin,
        )


def _ports(item: manifest.Manifest) -> set[int]:
    return {objects.number(port, "port") for port in objects.mappings(item.body, "spec", "ports")}


def selected(
    manifests: Sequence[manifest.Manifest], service: manifest.Manifest | None
) -> list[manifest.Manifest]:
    """Return the workloads among `manifests` whose pods a Service leads to."""
    return [item for item in manifests if _selects(service, item)]


def split_by_readiness(
    manifests: Sequence[manifest.Manifest], app: applications.Application
) -> tuple[list[manifest.Manifest], list[manifest.Manifest]]:
    """Return what is applied at once, and the Services that follow once their pods are ready."""
    names = {app.workloads[0].name, backends.of(app).primary}
    followers = [
        item
        for item in manifests
        if item.kind == KIND and not item.group and item.name in names and selector(item)
    ]
    return [item for item in manifests if item not in followers], followers


def selector(item: manifest.Manifest) -> Mapping[str, str]:
    """Return what a Service selects."""
    return objects.mapping(item.body, "spec", "selector")


def workload_name_pattern(
    manifests: Sequence[manifest.Manifest], app: applications.Application
) -> str:
    """Return the workloads that the Service leads to, for a pattern in a query; may be empty."""
    return "|".join(sorted(workload.name for workload in selected(manifests, find(manifests, app))))


def _selects(service: manifest.Manifest | None, item: manifest.Manifest) -> bool:
    wanted = selector(service) if service is not None else {}
    if not wanted or item.kind == "Pod" or not workloads.template_path(item.body):
        return False
    if service is not None and len({service.namespace, item.namespace} - {""}) > 1:
        return False
    template = workloads.pod_template(item.body) or {}
    labels = objects.mapping(template, "metadata", "labels")
    return all(labels.get(key) == value for key, value in wanted.items())


def _scales_any(scaler: manifest.Manifest, chosen: Sequence[manifest.Manifest]) -> bool:
    return any(autoscalers.is_for(scaler, item) for item in chosen)

"""Is it there? The health of one live object, from the object alone.

Nothing is fetched here (kstatus: Compute). Healthy means observed: where a kind has
a status, the status speaks of the newest generation.
"""

import functools
from collections.abc import Callable, Mapping, Sequence

from volary.manifests import objects
from volary.manifests.health import (
    builtin_health,
    conditions,
    custom_health,
    health_rules,
    pod_health,
    rollout_health,
    workload_health,
)
from volary.model import json, statuses
from volary.model.objects import manifest, object_health

_Rule = Callable[[json.JsonObject], object_health.Health]

#: Kinds that Kubernetes brings along.
_BUILT_IN: Mapping[tuple[str, str], _Rule] = {
    ("apps", "Deployment"): workload_health.deployment,
    ("apps", "StatefulSet"): workload_health.stateful_set,
    ("apps", "DaemonSet"): workload_health.daemon_set,
    ("apps", "ReplicaSet"): workload_health.replica_set,
    ("", "Pod"): pod_health.pod,
    ("batch", "Job"): builtin_health.job,
    ("batch", "CronJob"): builtin_health.cron_job,
    ("", "Service"): builtin_health.service,
    ("networking.k8s.io", "Ingress"): builtin_health.ingress,
    ("", "PersistentVolumeClaim"): builtin_health.persistent_volume_claim,
    ("", "PersistentVolume"): builtin_health.persistent_volume,
    ("", "Namespace"): builtin_health.namespace,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): builtin_health.custom_resource_definition,
    ("apiregistration.k8s.io", "APIService"): builtin_health.api_service,
    ("autoscaling", "HorizontalPodAutoscaler"): builtin_health.horizontal_pod_autoscaler,
    ("policy", "PodDisruptionBudget"): builtin_health.pod_disruption_budget,
}
_PROTOCOLS = ("HTTP", "GRPC", "TLS", "TCP", "UDP")
#: Groups of others whose controllers write ``Ready``.
_READY_GROUPS = (
    *("kustomize.toolkit.fluxcd.io", "helm.toolkit.fluxcd.io", "source.toolkit.fluxcd.io"),
    *("image.toolkit.fluxcd.io", "cert-manager.io"),
    "external-secrets.io",
    *("serving.knative.dev", "eventing.knative.dev", "messaging.knative.dev"),
)
#: What proxies and collectors read; nobody writes a status that tells more.
_READ_GROUPS = (
    # Since v1beta3 these are only read.
    *("notification.toolkit.fluxcd.io", "generators.external-secrets.io"),
    *("keda.sh", "traefik.io", "policy.linkerd.io", "cilium.io", "crd.projectcalico.org"),
    *("split.smi-spec.io", "specs.smi-spec.io", "access.smi-spec.io"),
    *("networking.istio.io", "security.istio.io", "telemetry.istio.io"),
)
_READ_KINDS = (
    *(("argoproj.io", kind) for kind in ("AnalysisTemplate", "ClusterAnalysisTemplate")),
    *(("argoproj.io", kind) for kind in ("WorkflowTemplate", "ClusterWorkflowTemplate")),
    *(("argoproj.io", "CronWorkflow"), ("gateway.networking.k8s.io", "ReferenceGrant")),
    *(("flagger.app", kind) for kind in ("MetricTemplate", "AlertProvider")),
    *(("monitoring.coreos.com", kind) for kind in ("ServiceMonitor", "PodMonitor", "Probe")),
    *(("monitoring.coreos.com", kind) for kind in ("PrometheusRule", "ScrapeConfig")),
    ("monitoring.coreos.com", "AlertmanagerConfig"),
)
#: Kinds of others that many clusters have; an empty kind: every other of the group.
_KNOWN: Mapping[tuple[str, str], _Rule] = {
    ("argoproj.io", "Rollout"): rollout_health.rollout,
    ("argoproj.io", "Application"): custom_health.argo_application,
    ("argoproj.io", "Workflow"): custom_health.argo_workflow,
    ("apps.kruise.io", "CloneSet"): rollout_health.clone_set,
    ("apps.kruise.io", "StatefulSet"): rollout_health.stateful_set,
    ("apps.kruise.io", "DaemonSet"): rollout_health.daemon_set,
    ("flagger.app", "Canary"): rollout_health.canary,
    ("notification.toolkit.fluxcd.io", "Receiver"): custom_health.by_ready,
    ("cert-manager.io", "Certificate"): custom_health.certificate,
    ("external-secrets.io", "ExternalSecret"): custom_health.external_secret,
    ("bitnami.com", "SealedSecret"): custom_health.sealed_secret,
    ("gateway.networking.k8s.io", "GatewayClass"): functools.partial(
        custom_health.by_condition, kind="Accepted"
    ),
    ("gateway.networking.k8s.io", "Gateway"): custom_health.gateway,
    ("policy.linkerd.io", "HTTPRoute"): custom_health.route,
    **{("keda.sh", kind): custom_health.scaled for kind in ("ScaledObject", "ScaledJob")},
    **{("gateway.networking.k8s.io", f"{kind}Route"): custom_health.route for kind in _PROTOCOLS},
    **{(group, ""): custom_health.by_ready for group in _READY_GROUPS},
    **{(group, ""): custom_health.by_existence for group in _READ_GROUPS},
    **{key: custom_health.by_existence for key in _READ_KINDS},
}
#: Groups of Kubernetes itself, whose other kinds are as they should be once they are written.
_OWN_GROUPS = frozenset(
    {
        *("", "apps", "batch", "autoscaling", "policy", "extensions"),
        *("admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io"),
        *("authentication.k8s.io", "authorization.k8s.io", "certificates.k8s.io"),
        *("coordination.k8s.io", "discovery.k8s.io", "events.k8s.io"),
        *("flowcontrol.apiserver.k8s.io", "internal.apiserver.k8s.io", "networking.k8s.io"),
        *("node.k8s.io", "rbac.authorization.k8s.io", "resource.k8s.io", "scheduling.k8s.io"),
        *("storage.k8s.io", "storagemigration.k8s.io"),
    }
)

MISSING = object_health.Health(statuses.HealthStatus.MISSING, "does not exist")


def assess(
    body: json.JsonObject | None, rules: Sequence[object_health.Rule] = ()
) -> object_health.Health:
    """Return the health of a live object; "missing" for None.

    The user's `rules` come first, then ours for the kind. Kubernetes' own kinds without one
    are healthy once they exist (ConfigMaps, roles and the like). Custom kinds are judged by
    the usual conditions; without any they are "unknown", and no rule says more.
    """
    if body is None:
        return MISSING
    if objects.is_terminating(body):
        return conditions.progressing(_deleting(body))
    item = manifest.Manifest(body)
    if (rule := health_rules.find(rules, item)) is not None:
        return health_rules.assess(body, rule)
    return _known(item.group, item.kind)(body)


def has_rule(item: manifest.Manifest, rules: Sequence[object_health.Rule] = ()) -> bool:
    """Say whether a rule of the user's or of ours is for this kind.

    Others may have the usual conditions all the same; only a live object shows that.
    """
    if health_rules.find(rules, item) is not None:
        return True
    return _known(item.group, item.kind) is not custom_health.by_conditions


def has_health(group: str, kind: str, rules: Sequence[object_health.Rule] = ()) -> bool:
    """Say whether objects of a kind can be anything but healthy once they exist."""
    if any((rule.group, rule.kind) == (group, kind) for rule in rules):
        return True
    return _known(group, kind) is not custom_health.by_existence


def _known(group: str, kind: str) -> _Rule:
    if built_in := _BUILT_IN.get((group, kind)):
        return built_in
    if group in _OWN_GROUPS:
        return custom_health.by_existence
    return _KNOWN.get((group, kind)) or _KNOWN.get((group, "")) or custom_health.by_conditions


def kinds() -> tuple[tuple[str, str], ...]:
    """Return group and kind of every rule of ours; an empty kind: every other of the group."""
    return (*_BUILT_IN, *_KNOWN)


def _deleting(body: json.JsonObject) -> str:
    finalizers = [str(finalizer) for finalizer in objects.sequence(body, "metadata", "finalizers")]
    held = f", held by {', '.join(finalizers)}" if finalizers else ""
    return f"is being deleted{held}"

"""Is it there? The health of one live object, from the object alone.

Nothing is fetched here (kstatus: Compute). Healthy means observed: where a kind has
a status, the status speaks of the newest generation.
"""

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
#: Kinds of others that many clusters have; an empty kind: every other of the group.
_KNOWN: Mapping[tuple[str, str], _Rule] = {
    ("argoproj.io", "Rollout"): rollout_health.rollout,
    ("argoproj.io", "Application"): custom_health.argo_application,
    ("argoproj.io", "AnalysisTemplate"): custom_health.by_existence,
    ("argoproj.io", "ClusterAnalysisTemplate"): custom_health.by_existence,
    ("argoproj.io", "Workflow"): custom_health.argo_workflow,
    ("argoproj.io", "WorkflowTemplate"): custom_health.by_existence,
    ("argoproj.io", "ClusterWorkflowTemplate"): custom_health.by_existence,
    ("argoproj.io", "CronWorkflow"): custom_health.by_existence,
    ("apps.kruise.io", "CloneSet"): rollout_health.clone_set,
    ("apps.kruise.io", "StatefulSet"): rollout_health.stateful_set,
    ("apps.kruise.io", "DaemonSet"): rollout_health.daemon_set,
    ("flagger.app", "Canary"): rollout_health.canary,
    ("flagger.app", "MetricTemplate"): custom_health.by_existence,
    ("flagger.app", "AlertProvider"): custom_health.by_existence,
    ("kustomize.toolkit.fluxcd.io", ""): custom_health.by_ready,
    ("helm.toolkit.fluxcd.io", ""): custom_health.by_ready,
    ("source.toolkit.fluxcd.io", ""): custom_health.by_ready,
    ("image.toolkit.fluxcd.io", ""): custom_health.by_ready,
    ("notification.toolkit.fluxcd.io", "Receiver"): custom_health.by_ready,
    # Since v1beta3 these are only read.
    ("notification.toolkit.fluxcd.io", ""): custom_health.by_existence,
    ("cert-manager.io", "Certificate"): custom_health.certificate,
    ("cert-manager.io", ""): custom_health.by_ready,
    ("keda.sh", "ScaledObject"): custom_health.scaled,
    ("keda.sh", "ScaledJob"): custom_health.scaled,
    ("keda.sh", ""): custom_health.by_existence,
    ("serving.knative.dev", ""): custom_health.by_ready,
    ("eventing.knative.dev", ""): custom_health.by_ready,
    ("messaging.knative.dev", ""): custom_health.by_ready,
    ("gateway.networking.k8s.io", "GatewayClass"): custom_health.gateway_class,
    ("gateway.networking.k8s.io", "Gateway"): custom_health.gateway,
    ("gateway.networking.k8s.io", "HTTPRoute"): custom_health.route,
    ("gateway.networking.k8s.io", "GRPCRoute"): custom_health.route,
    ("gateway.networking.k8s.io", "TLSRoute"): custom_health.route,
    ("gateway.networking.k8s.io", "TCPRoute"): custom_health.route,
    ("gateway.networking.k8s.io", "UDPRoute"): custom_health.route,
    ("gateway.networking.k8s.io", "ReferenceGrant"): custom_health.by_existence,
    # What proxies and collectors read; nobody writes a status that tells more.
    ("traefik.io", ""): custom_health.by_existence,
    ("split.smi-spec.io", ""): custom_health.by_existence,
    ("specs.smi-spec.io", ""): custom_health.by_existence,
    ("access.smi-spec.io", ""): custom_health.by_existence,
    ("policy.linkerd.io", "HTTPRoute"): custom_health.route,
    ("policy.linkerd.io", ""): custom_health.by_existence,
    ("cilium.io", ""): custom_health.by_existence,
    ("crd.projectcalico.org", ""): custom_health.by_existence,
    ("networking.istio.io", ""): custom_health.by_existence,
    ("security.istio.io", ""): custom_health.by_existence,
    ("telemetry.istio.io", ""): custom_health.by_existence,
    ("monitoring.coreos.com", "ServiceMonitor"): custom_health.by_existence,
    ("monitoring.coreos.com", "PodMonitor"): custom_health.by_existence,
    ("monitoring.coreos.com", "Probe"): custom_health.by_existence,
    ("monitoring.coreos.com", "PrometheusRule"): custom_health.by_existence,
    ("monitoring.coreos.com", "ScrapeConfig"): custom_health.by_existence,
    ("monitoring.coreos.com", "AlertmanagerConfig"): custom_health.by_existence,
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
    if objects.value(body, "metadata", "deletionTimestamp"):
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


def pod_trouble(body: json.JsonObject) -> pod_health.Trouble | None:
    """Return what keeps a pod from getting ready; None when nothing is known to be wrong."""
    return pod_health.pod_trouble(body)


def _deleting(body: json.JsonObject) -> str:
    finalizers = [str(finalizer) for finalizer in objects.sequence(body, "metadata", "finalizers")]
    held = f", held by {', '.join(finalizers)}" if finalizers else ""
    return f"is being deleted{held}"

"""Is it there? The health of one live object, from the object alone.

Nothing is fetched here (kstatus: Compute). Healthy means observed: where a kind has
a status, the status speaks of the newest generation.
"""

from collections.abc import Callable, Mapping, Sequence

from volary.manifests import (
    conditions,
    health_customs,
    health_gateways,
    health_others,
    health_pods,
    health_rollouts,
    health_rules,
    health_toolkits,
    health_workloads,
    objects,
)
from volary.model import health, json, manifest, status

_Rule = Callable[[json.JsonObject], health.Health]

#: Kinds that Kubernetes brings along.
_BUILT_IN: Mapping[tuple[str, str], _Rule] = {
    ("apps", "Deployment"): health_workloads.deployment,
    ("apps", "StatefulSet"): health_workloads.stateful_set,
    ("apps", "DaemonSet"): health_workloads.daemon_set,
    ("apps", "ReplicaSet"): health_workloads.replica_set,
    ("", "Pod"): health_pods.pod,
    ("batch", "Job"): health_others.job,
    ("batch", "CronJob"): health_others.cron_job,
    ("", "Service"): health_others.service,
    ("networking.k8s.io", "Ingress"): health_others.ingress,
    ("", "PersistentVolumeClaim"): health_others.persistent_volume_claim,
    ("", "PersistentVolume"): health_others.persistent_volume,
    ("", "Namespace"): health_others.namespace,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): health_others.custom_resource_definition,
    ("apiregistration.k8s.io", "APIService"): health_others.api_service,
    ("autoscaling", "HorizontalPodAutoscaler"): health_others.horizontal_pod_autoscaler,
    ("policy", "PodDisruptionBudget"): health_others.pod_disruption_budget,
}
#: Kinds of others that many clusters have; an empty kind: every other of the group.
_KNOWN: Mapping[tuple[str, str], _Rule] = {
    ("argoproj.io", "Rollout"): health_rollouts.rollout,
    ("argoproj.io", "Application"): health_toolkits.argo_application,
    ("argoproj.io", "AnalysisTemplate"): health_customs.at_once,
    ("argoproj.io", "ClusterAnalysisTemplate"): health_customs.at_once,
    ("argoproj.io", "Workflow"): health_toolkits.argo_workflow,
    ("argoproj.io", "WorkflowTemplate"): health_customs.at_once,
    ("argoproj.io", "ClusterWorkflowTemplate"): health_customs.at_once,
    ("argoproj.io", "CronWorkflow"): health_customs.at_once,
    ("apps.kruise.io", "CloneSet"): health_rollouts.clone_set,
    ("apps.kruise.io", "StatefulSet"): health_rollouts.stateful_set,
    ("apps.kruise.io", "DaemonSet"): health_rollouts.daemon_set,
    ("flagger.app", "Canary"): health_rollouts.canary,
    ("flagger.app", "MetricTemplate"): health_customs.at_once,
    ("flagger.app", "AlertProvider"): health_customs.at_once,
    ("kustomize.toolkit.fluxcd.io", ""): health_customs.ready,
    ("helm.toolkit.fluxcd.io", ""): health_customs.ready,
    ("source.toolkit.fluxcd.io", ""): health_customs.ready,
    ("image.toolkit.fluxcd.io", ""): health_customs.ready,
    ("notification.toolkit.fluxcd.io", "Receiver"): health_customs.ready,
    # Since v1beta3 these are only read.
    ("notification.toolkit.fluxcd.io", ""): health_customs.at_once,
    ("cert-manager.io", "Certificate"): health_toolkits.certificate,
    ("cert-manager.io", ""): health_customs.ready,
    ("keda.sh", "ScaledObject"): health_toolkits.scaled,
    ("keda.sh", "ScaledJob"): health_toolkits.scaled,
    ("keda.sh", ""): health_customs.at_once,
    ("serving.knative.dev", ""): health_customs.ready,
    ("eventing.knative.dev", ""): health_customs.ready,
    ("messaging.knative.dev", ""): health_customs.ready,
    ("gateway.networking.k8s.io", "GatewayClass"): health_gateways.gateway_class,
    ("gateway.networking.k8s.io", "Gateway"): health_gateways.gateway,
    ("gateway.networking.k8s.io", "HTTPRoute"): health_gateways.route,
    ("gateway.networking.k8s.io", "GRPCRoute"): health_gateways.route,
    ("gateway.networking.k8s.io", "TLSRoute"): health_gateways.route,
    ("gateway.networking.k8s.io", "TCPRoute"): health_gateways.route,
    ("gateway.networking.k8s.io", "UDPRoute"): health_gateways.route,
    ("gateway.networking.k8s.io", "ReferenceGrant"): health_customs.at_once,
    # What proxies and collectors read; nobody writes a status that tells more.
    ("traefik.io", ""): health_customs.at_once,
    ("split.smi-spec.io", ""): health_customs.at_once,
    ("specs.smi-spec.io", ""): health_customs.at_once,
    ("access.smi-spec.io", ""): health_customs.at_once,
    ("policy.linkerd.io", "HTTPRoute"): health_gateways.route,
    ("policy.linkerd.io", ""): health_customs.at_once,
    ("cilium.io", ""): health_customs.at_once,
    ("crd.projectcalico.org", ""): health_customs.at_once,
    ("networking.istio.io", ""): health_customs.at_once,
    ("security.istio.io", ""): health_customs.at_once,
    ("telemetry.istio.io", ""): health_customs.at_once,
    ("monitoring.coreos.com", "ServiceMonitor"): health_customs.at_once,
    ("monitoring.coreos.com", "PodMonitor"): health_customs.at_once,
    ("monitoring.coreos.com", "Probe"): health_customs.at_once,
    ("monitoring.coreos.com", "PrometheusRule"): health_customs.at_once,
    ("monitoring.coreos.com", "ScrapeConfig"): health_customs.at_once,
    ("monitoring.coreos.com", "AlertmanagerConfig"): health_customs.at_once,
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

MISSING = health.Health(status.HealthStatus.MISSING, "does not exist")


def assess(body: json.JsonObject | None, rules: Sequence[health.Rule] = ()) -> health.Health:
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


def is_ruled(item: manifest.Manifest, rules: Sequence[health.Rule] = ()) -> bool:
    """Say whether a rule of the user's or of ours is for this kind.

    Others may have the usual conditions all the same; only a live object shows that.
    """
    if health_rules.find(rules, item) is not None:
        return True
    return _known(item.group, item.kind) is not health_customs.by_conditions


def tells(group: str, kind: str, rules: Sequence[health.Rule] = ()) -> bool:
    """Say whether objects of a kind can be anything but healthy once they exist."""
    if any((rule.group, rule.kind) == (group, kind) for rule in rules):
        return True
    return _known(group, kind) is not health_customs.at_once


def _known(group: str, kind: str) -> _Rule:
    if built_in := _BUILT_IN.get((group, kind)):
        return built_in
    if group in _OWN_GROUPS:
        return health_customs.at_once
    return _KNOWN.get((group, kind)) or _KNOWN.get((group, "")) or health_customs.by_conditions


def kinds() -> tuple[tuple[str, str], ...]:
    """Return group and kind of every rule of ours; an empty kind: every other of the group."""
    return (*_BUILT_IN, *_KNOWN)


def pod_trouble(body: json.JsonObject) -> health_pods.Trouble | None:
    """Return what keeps a pod from getting ready; None when nothing is known to be wrong."""
    return health_pods.pod_trouble(body)


def _deleting(body: json.JsonObject) -> str:
    finalizers = [str(each) for each in objects.sequence(body, "metadata", "finalizers")]
    held = f", held by {', '.join(finalizers)}" if finalizers else ""
    return f"is being deleted{held}"

"""What the server fills in when an object is read, for every built-in kind.

Only what kube-apiserver does before field managers are told: cluster IPs, Job
selectors, finalizers, uids and the like belong to the server (`registry`), and
nobody owns them.
"""

import base64
from collections.abc import Callable, Mapping
from typing import Any

from kube_sandbox import json
from kube_sandbox.apimachinery.scheme import pod_defaults, schema, structural_schemas

Filler = Callable[[json.JsonObject], None]


def apply(kind: schema.Schema, body: json.JsonObject) -> json.JsonObject:
    """Return `body` with the kind's defaults.

    Args:
        kind: The object's kind.
        body: An object fresh from `decoding.decode`; it is completed in place.
    """
    if kind.declared is not None:
        filled = structural_schemas.fill(kind.declared.schema, body)
        return filled if isinstance(filled, dict) else body
    body.setdefault("apiVersion", kind.api_version)
    body.setdefault("kind", kind.kind)
    filler = _FILLERS.get((kind.group, kind.kind))
    if filler is not None:
        filler(body)
    return body


def _spec(body: json.JsonObject) -> json.JsonObject:
    spec: json.JsonObject = body.setdefault("spec", {})
    return spec


def _fill(target: json.JsonObject, values: Mapping[str, Any]) -> None:
    for key, value in values.items():
        if key not in target:
            target[key] = value


def _rolling(strategy: json.JsonObject, values: Mapping[str, Any]) -> None:
    strategy.setdefault("type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        _fill(strategy.setdefault("rollingUpdate", {}), values)


def _deployment(body: json.JsonObject) -> None:
    spec = _spec(body)
    pod_defaults.fill_template(spec)
    _fill(spec, {"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600})
    _rolling(spec.setdefault("strategy", {}), {"maxUnavailable": "25%", "maxSurge": "25%"})


def _replica_set(body: json.JsonObject) -> None:
    spec = _spec(body)
    pod_defaults.fill_template(spec)
    spec.setdefault("replicas", 1)


def _replication_controller(body: json.JsonObject) -> None:
    _replica_set(body)
    spec = _spec(body)
    labels = (spec.get("template") or {}).get("metadata", {}).get("labels")
    if labels:
        spec.setdefault("selector", dict(labels))
        body["metadata"].setdefault("labels", dict(labels))


def _stateful_set(body: json.JsonObject) -> None:
    spec = _spec(body)
    pod_defaults.fill_template(spec)
    _fill(
        spec,
        {"replicas": 1, "podManagementPolicy": "OrderedReady", "revisionHistoryLimit": 10},
    )
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    _fill(retention, {"whenDeleted": "Retain", "whenScaled": "Retain"})
    _rolling(spec.setdefault("updateStrategy", {}), {"partition": 0})
    for claim in spec.get("volumeClaimTemplates") or ():
        _fill(claim, {"kind": "PersistentVolumeClaim", "apiVersion": "v1"})
        _claim(claim)


#: Kept by the server on every DaemonSet; a leftover of an older version of the API.
TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"


def _daemon_set(body: json.JsonObject) -> None:
    spec = _spec(body)
    pod_defaults.fill_template(spec)
    spec.setdefault("revisionHistoryLimit", 10)
    _rolling(spec.setdefault("updateStrategy", {}), {"maxUnavailable": 1, "maxSurge": 0})
    annotations = body.setdefault("metadata", {}).setdefault("annotations", {})
    annotations.setdefault(TEMPLATE_GENERATION, "1")


def _job(body: json.JsonObject) -> None:
    spec = _spec(body)
    pod_defaults.fill_template(spec)
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    failure_policy = "podFailurePolicy" in spec
    _fill(
        spec,
        {
            "parallelism": 1,
            "completionMode": "NonIndexed",
            "suspend": False,
            "manualSelector": False,
            "podReplacementPolicy": "Failed" if failure_policy else "TerminatingOrFailed",
        },
    )
    per_index = "backoffLimitPerIndex" in spec
    spec.setdefault("backoffLimit", 2**31 - 1 if per_index else 6)
    for rule in (spec.get("podFailurePolicy") or {}).get("rules") or ():
        for pattern in rule.get("onPodConditions") or ():
            pattern.setdefault("status", "True")
    labels = (spec.get("template") or {}).get("metadata", {}).get("labels")
    metadata = body.setdefault("metadata", {})
    if labels and not metadata.get("labels"):
        metadata["labels"] = dict(labels)


def _cron_job(body: json.JsonObject) -> None:
    spec = _spec(body)
    pod_defaults.fill_template(spec.get("jobTemplate", {}).get("spec", {}))
    _fill(
        spec,
        {
            "concurrencyPolicy": "Allow",
            "suspend": False,
            "successfulJobsHistoryLimit": 3,
            "failedJobsHistoryLimit": 1,
        },
    )


def _pod(body: json.JsonObject) -> None:
    pod_defaults.fill_pod(_spec(body))
    status = body.setdefault("status", {})
    status.setdefault("phase", "Pending")


def _pod_template(body: json.JsonObject) -> None:
    pod_defaults.fill_template(body)


def _service(body: json.JsonObject) -> None:
    spec = _spec(body)
    _fill(spec, {"sessionAffinity": "None", "type": "ClusterIP"})
    if spec["sessionAffinity"] == "ClientIP":
        client = spec.setdefault("sessionAffinityConfig", {}).setdefault("clientIP", {})
        client.setdefault("timeoutSeconds", 10800)
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port.get("port", 0)
    if spec["type"] in ("NodePort", "LoadBalancer"):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if spec["type"] != "ExternalName":
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if spec["type"] == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)


def _secret(body: json.JsonObject) -> None:
    body.setdefault("type", "Opaque")
    plain = body.pop("stringData", None)
    if plain:
        encoded = {key: base64.b64encode(text.encode()).decode() for key, text in plain.items()}
        body["data"] = {**(body.get("data") or {}), **encoded}


def _claim(body: json.JsonObject) -> None:
    _spec(body).setdefault("volumeMode", "Filesystem")
    body.setdefault("status", {}).setdefault("phase", "Pending")


def _volume(body: json.JsonObject) -> None:
    spec = _spec(body)
    _fill(spec, {"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"})
    body.setdefault("status", {}).setdefault("phase", "Pending")
    if "hostPath" in spec:
        spec["hostPath"].setdefault("type", "")


def _namespace(body: json.JsonObject) -> None:
    metadata = body.setdefault("metadata", {})
    if metadata.get("name"):
        labels = metadata.setdefault("labels", {})
        labels.setdefault("kubernetes.io/metadata.name", metadata["name"])
    body.setdefault("status", {}).setdefault("phase", "Active")


def _endpoints(body: json.JsonObject) -> None:
    for subset in body.get("subsets") or ():
        for port in subset.get("ports") or ():
            port.setdefault("protocol", "TCP")


def _endpoint_slice(body: json.JsonObject) -> None:
    for port in body.get("ports") or ():
        _fill(port, {"name": "", "protocol": "TCP"})


def _network_policy(body: json.JsonObject) -> None:
    spec = _spec(body)
    spec.setdefault("policyTypes", ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"])
    for rule in (*(spec.get("ingress") or ()), *(spec.get("egress") or ())):
        for port in rule.get("ports") or ():
            port.setdefault("protocol", "TCP")


_DEFAULT_METRICS: tuple[json.JsonObject, ...] = (
    {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
    },
)


def _autoscaler(body: json.JsonObject) -> None:
    spec = _spec(body)
    spec.setdefault("minReplicas", 1)
    if body["apiVersion"] != "autoscaling/v2":
        return
    if not spec.get("metrics"):
        spec["metrics"] = list(_DEFAULT_METRICS)
    behavior = spec.get("behavior")
    if behavior is not None:
        _scaling_rules(behavior.setdefault("scaleUp", {}), _SCALE_UP)
        _scaling_rules(behavior.setdefault("scaleDown", {}), _SCALE_DOWN)


_SCALE_UP: json.JsonObject = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": (
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ),
}
_SCALE_DOWN: json.JsonObject = {
    "selectPolicy": "Max",
    "policies": ({"type": "Percent", "value": 100, "periodSeconds": 15},),
}


def _scaling_rules(rules: json.JsonObject, values: json.JsonObject) -> None:
    for key, value in values.items():
        rules.setdefault(key, [dict(each) for each in value] if key == "policies" else value)


_RBAC = "rbac.authorization.k8s.io"


def _role_binding(body: json.JsonObject) -> None:
    body.setdefault("roleRef", {}).setdefault("apiGroup", _RBAC)
    for subject in body.get("subjects") or ():
        if subject.get("kind") in ("User", "Group"):
            subject.setdefault("apiGroup", _RBAC)


def _storage_class(body: json.JsonObject) -> None:
    _fill(body, {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"})


def _priority_class(body: json.JsonObject) -> None:
    body.setdefault("preemptionPolicy", "PreemptLowerPriority")


def _limit_range(body: json.JsonObject) -> None:
    for item in _spec(body).get("limits") or ():
        if item.get("type") != "Container":
            continue
        default = item.setdefault("default", {})
        _fill(default, item.get("max") or {})
        request = item.setdefault("defaultRequest", {})
        _fill(request, default)
        _fill(request, item.get("min") or {})
        for name in ("default", "defaultRequest"):
            if not item[name]:
                del item[name]


def _webhooks(body: json.JsonObject) -> None:
    for hook in body.get("webhooks") or ():
        _fill(
            hook,
            {
                "failurePolicy": "Fail",
                "matchPolicy": "Equivalent",
                "namespaceSelector": {},
                "objectSelector": {},
                "timeoutSeconds": 10,
            },
        )
        if body["kind"] == "MutatingWebhookConfiguration":
            hook.setdefault("reinvocationPolicy", "Never")
        for rule in hook.get("rules") or ():
            rule.setdefault("scope", "*")
        service = (hook.get("clientConfig") or {}).get("service")
        if service is not None:
            service.setdefault("port", 443)


def _admission_policy(body: json.JsonObject) -> None:
    spec = _spec(body)
    spec.setdefault("failurePolicy", "Fail")
    _matching(spec.setdefault("matchConstraints", {}))


def _admission_policy_binding(body: json.JsonObject) -> None:
    matched = _spec(body).get("matchResources")
    if matched is not None:
        _matching(matched)


def _matching(resources: json.JsonObject) -> None:
    _fill(resources, {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}})
    for name in ("resourceRules", "excludeResourceRules"):
        for rule in resources.get(name) or ():
            rule.setdefault("scope", "*")


def _ingress_class(body: json.JsonObject) -> None:
    parameters = _spec(body).get("parameters")
    if parameters is not None:
        parameters.setdefault("scope", "Cluster")


def _definition(body: json.JsonObject) -> None:
    spec = _spec(body)
    names = spec.setdefault("names", {})
    kind = names.get("kind", "")
    if kind:
        _fill(names, {"singular": kind.lower(), "listKind": f"{kind}List"})
    spec.setdefault("conversion", {}).setdefault("strategy", "None")
    webhook = spec["conversion"].get("webhook") or {}
    service = (webhook.get("clientConfig") or {}).get("service")
    if service is not None:
        service.setdefault("port", 443)
    stored = [each.get("name", "") for each in spec.get("versions") or () if each.get("storage")]
    status = body.setdefault("status", {})
    if not status.get("storedVersions"):
        status["storedVersions"] = stored


def _csi_driver(body: json.JsonObject) -> None:
    _fill(
        _spec(body),
        {
            "attachRequired": True,
            "podInfoOnMount": False,
            "storageCapacity": False,
            "fsGroupPolicy": "ReadWriteOnceWithFSType",
            "volumeLifecycleModes": ["Persistent"],
            "requiresRepublish": False,
            "seLinuxMount": False,
        },
    )


_FILLERS: Mapping[tuple[str, str], Filler] = {
    ("", "Endpoints"): _endpoints,
    ("", "LimitRange"): _limit_range,
    ("", "Namespace"): _namespace,
    ("", "PersistentVolume"): _volume,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "Pod"): _pod,
    ("", "PodTemplate"): _pod_template,
    ("", "ReplicationController"): _replication_controller,
    ("", "Secret"): _secret,
    ("", "Service"): _service,
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): _webhooks,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): _admission_policy,
    (
        "admissionregistration.k8s.io",
        "ValidatingAdmissionPolicyBinding",
    ): _admission_policy_binding,
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): _webhooks,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _definition,
    ("apps", "DaemonSet"): _daemon_set,
    ("apps", "Deployment"): _deployment,
    ("apps", "ReplicaSet"): _replica_set,
    ("apps", "StatefulSet"): _stateful_set,
    ("autoscaling", "HorizontalPodAutoscaler"): _autoscaler,
    ("batch", "CronJob"): _cron_job,
    ("batch", "Job"): _job,
    ("discovery.k8s.io", "EndpointSlice"): _endpoint_slice,
    ("networking.k8s.io", "IngressClass"): _ingress_class,
    ("networking.k8s.io", "NetworkPolicy"): _network_policy,
    (_RBAC, "ClusterRoleBinding"): _role_binding,
    (_RBAC, "RoleBinding"): _role_binding,
    ("scheduling.k8s.io", "PriorityClass"): _priority_class,
    ("storage.k8s.io", "CSIDriver"): _csi_driver,
    ("storage.k8s.io", "StorageClass"): _storage_class,
}

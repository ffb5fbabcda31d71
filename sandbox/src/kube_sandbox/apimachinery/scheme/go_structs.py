"""How the server writes structs: facts of its Go types that OpenAPI does not carry.

A struct held by value is always written (``"strategy": {}``, ``"status": {}``), and
so is a field without ``omitempty``; the fields below matter for which fields a
creating manager owns, and for answers that are equal byte for byte.
"""

from collections.abc import Mapping

from kube_sandbox.apimachinery.scheme import types

#: Structs held by value, by definition; ``metadata``, ``spec`` and ``status`` of a
#: kind need no mention.
_BY_VALUE: Mapping[str, tuple[str, ...]] = {
    "PodTemplateSpec": ("metadata", "spec"),
    "PodTemplate": ("template",),
    "Container": ("resources",),
    "EphemeralContainer": ("resources",),
    "DeploymentSpec": ("template", "strategy"),
    "ReplicaSetSpec": ("template",),
    "StatefulSetSpec": ("template", "updateStrategy"),
    "DaemonSetSpec": ("template", "updateStrategy"),
    "JobSpec": ("template",),
    "JobTemplateSpec": ("metadata", "spec"),
    "CronJobSpec": ("jobTemplate",),
    "HorizontalPodAutoscalerSpec": ("scaleTargetRef",),
    "PersistentVolumeClaimSpec": ("resources",),
    "ServiceStatus": ("loadBalancer",),
    "IngressStatus": ("loadBalancer",),
    "NetworkPolicySpec": ("podSelector",),
    "NodeStatus": ("daemonEndpoints", "nodeInfo"),
    "NodeDaemonEndpoints": ("kubeletEndpoint",),
    "ContainerStatus": ("state", "lastState"),
    "CustomResourceDefinitionSpec": ("names",),
    "CustomResourceDefinitionStatus": ("acceptedNames",),
    "RoleBinding": ("roleRef",),
    "ClusterRoleBinding": ("roleRef",),
    "VolumeAttachmentSpec": ("source",),
    "Binding": ("target",),
    "Event": ("involvedObject", "source", "regarding", "deprecatedSource"),
    "PreferredSchedulingTerm": ("preference",),
    "WeightedPodAffinityTerm": ("podAffinityTerm",),
    "PersistentVolumeClaimTemplate": ("metadata", "spec"),
    "MutatingWebhook": ("clientConfig",),
    "ValidatingWebhook": ("clientConfig",),
    "ContainerResourceMetricSource": ("target",),
    "ExternalMetricSource": ("metric", "target"),
    "ObjectMetricSource": ("describedObject", "target", "metric"),
    "PodsMetricSource": ("metric", "target"),
    "ResourceMetricSource": ("target",),
    "ContainerResourceMetricStatus": ("current",),
    "ExternalMetricStatus": ("metric", "current"),
    "ObjectMetricStatus": ("metric", "current", "describedObject"),
    "PodsMetricStatus": ("metric", "current"),
    "ResourceMetricStatus": ("current",),
    "HTTPIngressPath": ("backend",),
    "IngressServiceBackend": ("port",),
}

#: Fields without ``omitempty`` whose zero value shows up in answers.
_ALWAYS: Mapping[str, Mapping[str, object]] = {
    "PodSpec": {"containers": None},
    "StatefulSetSpec": {"serviceName": ""},
    "StatefulSetStatus": {"replicas": 0, "availableReplicas": 0},
    "ReplicaSetStatus": {"replicas": 0},
    "ReplicationControllerStatus": {"replicas": 0},
    "DaemonSetStatus": {
        "currentNumberScheduled": 0,
        "numberMisscheduled": 0,
        "desiredNumberScheduled": 0,
        "numberReady": 0,
    },
    "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerStatus": {
        "desiredReplicas": 0,
        "currentMetrics": None,
    },
    "io.k8s.api.autoscaling.v1.HorizontalPodAutoscalerStatus": {
        "currentReplicas": 0,
        "desiredReplicas": 0,
    },
    "PodDisruptionBudgetStatus": {
        "disruptionsAllowed": 0,
        "currentHealthy": 0,
        "desiredHealthy": 0,
        "expectedPods": 0,
    },
    "CustomResourceDefinitionNames": {"plural": "", "kind": ""},
    "CustomResourceDefinitionStatus": {"conditions": None, "storedVersions": None},
    "Endpoint": {"addresses": None, "conditions": {}},
    "EndpointSlice": {"endpoints": None, "ports": None},
    "ClusterRole": {"rules": None},
    "Role": {"rules": None},
    "PriorityClass": {"value": 0},
    "io.k8s.api.core.v1.Event": {
        "lastTimestamp": None,
        "firstTimestamp": None,
        "eventTime": None,
        "reportingComponent": "",
        "reportingInstance": "",
    },
    "PodCondition": {"lastProbeTime": None, "lastTransitionTime": None},
    "ContainerStatus": {
        "restartCount": 0,
        "ready": False,
        "image": "",
        "imageID": "",
    },
}

#: Scalars that vanish when they are false or 0.
_DROPPED_ZERO: Mapping[str, frozenset[str]] = {
    "PodSpec": frozenset(("hostNetwork", "hostPID", "hostIPC")),
    "Container": frozenset(("stdin", "stdinOnce", "tty")),
    "EphemeralContainer": frozenset(("stdin", "stdinOnce", "tty")),
    "ContainerPort": frozenset(("hostPort",)),
    "VolumeMount": frozenset(("readOnly",)),
    "PersistentVolumeClaimVolumeSource": frozenset(("readOnly",)),
    "NFSVolumeSource": frozenset(("readOnly",)),
    "CSIPersistentVolumeSource": frozenset(("readOnly",)),
    "Probe": frozenset(
        (
            "initialDelaySeconds",
            "timeoutSeconds",
            "periodSeconds",
            "successThreshold",
            "failureThreshold",
        )
    ),
    "ServiceSpec": frozenset(("publishNotReadyAddresses", "healthCheckNodePort")),
    "ServicePort": frozenset(("nodePort",)),
    "DeploymentSpec": frozenset(("paused", "minReadySeconds")),
    "ReplicaSetSpec": frozenset(("minReadySeconds",)),
    "StatefulSetSpec": frozenset(("minReadySeconds",)),
    "DaemonSetSpec": frozenset(("minReadySeconds",)),
    "ReplicationControllerSpec": frozenset(("minReadySeconds",)),
    "DeploymentStatus": frozenset(
        (
            "observedGeneration",
            "replicas",
            "updatedReplicas",
            "readyReplicas",
            "availableReplicas",
            "unavailableReplicas",
        )
    ),
    "ReplicaSetStatus": frozenset(
        ("observedGeneration", "readyReplicas", "availableReplicas", "fullyLabeledReplicas")
    ),
    "StatefulSetStatus": frozenset(
        ("observedGeneration", "readyReplicas", "currentReplicas", "updatedReplicas")
    ),
    "DaemonSetStatus": frozenset(
        ("observedGeneration", "updatedNumberScheduled", "numberAvailable", "numberUnavailable")
    ),
    "JobStatus": frozenset(("active", "succeeded", "failed")),
    "HorizontalPodAutoscalerStatus": frozenset(("currentReplicas",)),
    "ReplicationControllerStatus": frozenset(
        ("observedGeneration", "readyReplicas", "availableReplicas", "fullyLabeledReplicas")
    ),
    "PodDisruptionBudgetStatus": frozenset(("observedGeneration",)),
    "NodeSpec": frozenset(("unschedulable",)),
    "EventSeries": frozenset(("count",)),
    "ISCSIVolumeSource": frozenset(
        (
            "readOnly",
            "chapAuthDiscovery",
            "chapAuthSession",
        )
    ),
    "FCVolumeSource": frozenset(("readOnly",)),
    "ContainerStateTerminated": frozenset(("signal",)),
    "PodCondition": frozenset(("observedGeneration",)),
    "Condition": frozenset(("observedGeneration",)),
    "ScaleSpec": frozenset(("replicas",)),
    "ServiceBackendPort": frozenset(("number",)),
    "AWSElasticBlockStoreVolumeSource": frozenset(
        (
            "partition",
            "readOnly",
        )
    ),
    "ObjectMeta": frozenset(("generation",)),
    "Event": frozenset(("count",)),
    "PriorityClass": frozenset(("globalDefault",)),
    "PodStatus": frozenset(("observedGeneration",)),
}

#: Strings that mean something when empty (in Go: pointers), by short name.
_KEPT_EMPTY: Mapping[str, frozenset[str]] = {
    "AppArmorProfile": frozenset(("localhostProfile",)),
    "Container": frozenset(("restartPolicy",)),
    "CronJobSpec": frozenset(("timeZone",)),
    "Endpoint": frozenset(("hostname", "nodeName", "zone")),
    "GRPCAction": frozenset(("service",)),
    "HostPathVolumeSource": frozenset(("type",)),
    "IngressClassParametersReference": frozenset(("apiGroup", "scope", "namespace")),
    "IngressSpec": frozenset(("ingressClassName",)),
    "JobSpec": frozenset(("managedBy",)),
    "LeaseSpec": frozenset(("holderIdentity", "strategy", "preferredHolder")),
    "PersistentVolumeClaimSpec": frozenset(("storageClassName", "volumeAttributesClassName")),
    "PodDNSConfigOption": frozenset(("value",)),
    "PodSpec": frozenset(("runtimeClassName", "hostnameOverride")),
    "SeccompProfile": frozenset(("localhostProfile",)),
    "ServicePort": frozenset(("appProtocol",)),
    "ServiceSpec": frozenset(("loadBalancerClass",)),
    "TypedLocalObjectReference": frozenset(("apiGroup",)),
    "TypedObjectReference": frozenset(("apiGroup", "namespace")),
    "VolumeAttachmentSource": frozenset(("persistentVolumeName",)),
    "WebhookClientConfig": frozenset(("url",)),
    "io.k8s.api.discovery.v1.EndpointPort": frozenset(("name", "protocol", "appProtocol")),
}

#: Kinds whose ``spec`` or ``status`` is absent or held by pointer.
_NO_BODY = frozenset(("Status",))


def always(name: str, short: str, built: types.Type) -> Mapping[str, object]:
    """Return the fields a struct always shows, with their zero values."""
    found: dict[str, object] = dict(_ALWAYS.get(name) or _ALWAYS.get(short, {}))
    is_kind = "kind" in built.fields and "apiVersion" in built.fields
    by_value = list(_BY_VALUE.get(short, ()))
    if is_kind and short not in _NO_BODY and "metadata" in built.fields:
        by_value += [each for each in ("metadata", "spec", "status") if each in built.fields]
    for each in by_value:
        field = built.fields.get(each)
        if field is not None and field.shape is types.Shape.OBJECT:
            found[each] = dict(field.always)
    return found


def dropped_zero(short: str) -> frozenset[str]:
    """Return the scalar fields of a definition that vanish when false or 0."""
    return _DROPPED_ZERO.get(short, frozenset())


def kept_empty(name: str, short: str) -> frozenset[str]:
    """Return the string fields of a definition that may be empty and still be written."""
    return _KEPT_EMPTY.get(name) or _KEPT_EMPTY.get(short, frozenset())

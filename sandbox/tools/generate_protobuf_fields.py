"""Generate the numbers of fields in Kubernetes' protobuf messages, for the sandbox.

Some kubectl commands (``kubectl create configmap``) write built-in kinds as protobuf.
Field numbers never change once they are released, so an old source will do; those
that came later, and groups the source leaves out, stand in `LATER`. A field nobody
numbered is refused when it arrives, never dropped.

    pip download --no-deps k8s-proto
    python tools/generate_protobuf_fields.py k8s-proto-*.tar.gz
"""

import json
import pathlib
import re
import sys
import tarfile

from kube_sandbox.apimachinery.scheme import catalog

TARGET = (
    pathlib.Path(__file__).parents[1] / "src/kube_sandbox/apiserver/endpoints/data/protobuf.json"
)
SOURCES = {
    "k8s.io.api.core.v1": "io.k8s.api.core.v1",
    "k8s.io.apimachinery.pkg.apis.meta.v1": "io.k8s.apimachinery.pkg.apis.meta.v1",
}
FIELD = re.compile(r"full_name='([\w.]+)\.(\w+)\.(\w+)', index=\d+,\s*number=(\d+),")

_OBJECT = "metadata spec status"
#: Names in the order of their numbers; ``-`` for numbers that are not in use.
LATER: dict[str, dict[str, str]] = {
    "io.k8s.api.apps.v1": {
        "Deployment": _OBJECT,
        "DeploymentSpec": "replicas selector template strategy minReadySeconds "
        "revisionHistoryLimit paused - progressDeadlineSeconds",
        "DeploymentStrategy": "type rollingUpdate",
        "RollingUpdateDeployment": "maxUnavailable maxSurge",
    },
    "io.k8s.api.authorization.v1": {
        "NonResourceAttributes": "path verb",
        "ResourceAttributes": "namespace verb group version resource subresource name",
        "SelfSubjectAccessReview": _OBJECT,
        "SelfSubjectAccessReviewSpec": "resourceAttributes nonResourceAttributes",
        "SelfSubjectRulesReview": _OBJECT,
        "SelfSubjectRulesReviewSpec": "namespace",
    },
    "io.k8s.api.authentication.v1": {
        "BoundObjectReference": "kind apiVersion name uid",
        "SelfSubjectReview": "metadata status",
        "TokenRequest": _OBJECT,
        "TokenRequestSpec": "audiences - boundObjectRef expirationSeconds",
    },
    "io.k8s.api.autoscaling.v1": {
        "CrossVersionObjectReference": "kind name apiVersion",
        "HorizontalPodAutoscaler": _OBJECT,
        "HorizontalPodAutoscalerSpec": "scaleTargetRef minReplicas maxReplicas "
        "targetCPUUtilizationPercentage",
    },
    "io.k8s.api.autoscaling.v2": {
        "CrossVersionObjectReference": "kind name apiVersion",
        "HorizontalPodAutoscaler": _OBJECT,
        "HorizontalPodAutoscalerSpec": "scaleTargetRef minReplicas maxReplicas metrics behavior",
        "MetricSpec": "type object pods resource external - containerResource",
        "MetricTarget": "type value averageValue averageUtilization",
        "ResourceMetricSource": "name target",
    },
    "io.k8s.api.batch.v1": {
        "CronJob": _OBJECT,
        "CronJobSpec": "schedule startingDeadlineSeconds concurrencyPolicy suspend jobTemplate "
        "successfulJobsHistoryLimit failedJobsHistoryLimit timeZone",
        "Job": _OBJECT,
        "JobSpec": "parallelism completions activeDeadlineSeconds selector manualSelector "
        "template backoffLimit ttlSecondsAfterFinished completionMode suspend podFailurePolicy "
        "backoffLimitPerIndex maxFailedIndexes podReplacementPolicy managedBy successPolicy",
        "JobTemplateSpec": "metadata spec",
    },
    "io.k8s.api.core.v1": {
        "ConfigMap": "- - - immutable",
        "Container": "- - - - - - - - - - - - - - - - - - - - - startupProbe resizePolicy "
        "restartPolicy",
        "Handler": "- - - grpc",
        "LifecycleHandler": "exec httpGet tcpSocket sleep",
        "Probe": "- - - - - - terminationGracePeriodSeconds",
        "Secret": "- - - - immutable",
        "ServicePort": "- - - - - appProtocol",
        "PodSpec": "- - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - "
        "topologySpreadConstraints ephemeralContainers setHostnameAsFQDN os hostUsers "
        "schedulingGates resourceClaims resources hostnameOverride",
        "ServiceSpec": "- - - - - - - - - - - - - - - - ipFamilyPolicy clusterIPs ipFamilies "
        "allocateLoadBalancerNodePorts loadBalancerClass internalTrafficPolicy "
        "trafficDistribution",
    },
    "io.k8s.api.networking.v1": {
        "HTTPIngressPath": "path backend pathType",
        "HTTPIngressRuleValue": "paths",
        "Ingress": _OBJECT,
        "IngressBackend": "- - resource service",
        "IngressRule": "host ingressRuleValue",
        "IngressRuleValue": "http",
        "IngressServiceBackend": "name port",
        "IngressSpec": "defaultBackend tls rules ingressClassName",
        "IngressTLS": "hosts secretName",
        "ServiceBackendPort": "name number",
    },
    "io.k8s.api.policy.v1": {
        "Eviction": "metadata deleteOptions",
        "PodDisruptionBudget": _OBJECT,
        "PodDisruptionBudgetSpec": "minAvailable selector maxUnavailable "
        "unhealthyPodEvictionPolicy",
    },
    "io.k8s.api.rbac.v1": {
        "AggregationRule": "clusterRoleSelectors",
        "ClusterRole": "metadata rules aggregationRule",
        "ClusterRoleBinding": "metadata subjects roleRef",
        "PolicyRule": "verbs apiGroups resources resourceNames nonResourceURLs",
        "Role": "metadata rules",
        "RoleBinding": "metadata subjects roleRef",
        "RoleRef": "apiGroup kind name",
        "Subject": "kind apiGroup name namespace",
    },
    "io.k8s.api.scheduling.v1": {
        "PriorityClass": "metadata value globalDefault description preemptionPolicy"
    },
}
#: Structs that are messages of their own in protobuf and part of their parent in JSON.
INLINE = ("IngressRuleValue",)


def collect(archive: pathlib.Path) -> dict[str, dict[str, str]]:
    """Return field names by message and number."""
    found: dict[str, dict[str, str]] = {}
    with tarfile.open(archive) as packed:
        for member in packed.getmembers():
            if not member.name.endswith("generated_pb2.py"):
                continue
            handle = packed.extractfile(member)
            text = handle.read().decode() if handle else ""
            for package, message, field, number in FIELD.findall(text):
                if package in SOURCES:
                    found.setdefault(f"{SOURCES[package]}.{message}", {})[number] = field
    for package, messages in LATER.items():
        for message, names in messages.items():
            numbers = found.setdefault(f"{package}.{message}", {})
            for number, name in enumerate(names.split(), start=1):
                if name != "-":
                    numbers[str(number)] = name
    return found


def wanted(found: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """Keep what requests hold: definitions of ours and what is inline in them, no statuses."""
    known = {}
    inlined = {
        field[0].upper() + field[1:]
        for fields in found.values()
        for field in fields.values()
        if field.endswith(("Source", "Reference", "Handler", "handler", "Value"))
    }
    for name, fields in sorted(found.items()):
        short = name.rpartition(".")[2]
        if short.endswith(("Status", "List", "State", "Options")) and short != "DeleteOptions":
            continue
        try:
            catalog.definition(name)
        except KeyError:
            if short not in inlined and short not in INLINE:
                continue
        known[name] = dict(sorted(fields.items(), key=lambda each: int(each[0])))
    return known


def main() -> None:
    """Write the file."""
    found = wanted(collect(pathlib.Path(sys.argv[1])))
    TARGET.parent.mkdir(exist_ok=True)
    lines = [f"{json.dumps(name)}: {json.dumps(fields)}" for name, fields in found.items()]
    TARGET.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()

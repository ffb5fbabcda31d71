"""Objects as a real server holds them, which is how its messages show them.

A server keeps objects in structs of its own, whose fields have Go's names and an order of their
own, and writes them into messages as JSON: ``{"Name":"data","HostPath":null,…}``. `STRUCTS` has
the fields of those that messages show most. Of other structs, the fields that are set are shown,
in the order of their names.
"""

import difflib
from collections.abc import Mapping
from typing import Any

import msgspec

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import causes
from kube_sandbox.apimachinery.scheme import catalog, types

_CONTAINER = """
    Name='' Image='' Command Args WorkingDir='' Ports EnvFrom Env Resources={} ResizePolicy
    RestartPolicy RestartPolicyRules VolumeMounts VolumeDevices LivenessProbe ReadinessProbe
    StartupProbe Lifecycle TerminationMessagePath='' TerminationMessagePolicy='' ImagePullPolicy=''
    SecurityContext Stdin=false StdinOnce=false TTY=false
"""
_VOLUME_SOURCE = """
    HostPath EmptyDir GCEPersistentDisk AWSElasticBlockStore GitRepo Secret NFS ISCSI Glusterfs
    PersistentVolumeClaim RBD Quobyte FlexVolume Cinder CephFS Flocker DownwardAPI FC AzureFile
    ConfigMap VsphereVolume AzureDisk PhotonPersistentDisk Projected PortworxVolume ScaleIO
    StorageOS CSI Ephemeral Image
"""
_PERSISTENT_SOURCE = """
    GCEPersistentDisk AWSElasticBlockStore HostPath Glusterfs NFS RBD Quobyte ISCSI FlexVolume
    Cinder CephFS FC Flocker AzureFile VsphereVolume AzureDisk PhotonPersistentDisk PortworxVolume
    ScaleIO Local StorageOS CSI
"""
#: Fields by struct, in order, with the zero value of those that are never null.
STRUCTS: Mapping[str, str] = {
    "PodSpec": """
        Volumes InitContainers Containers EphemeralContainers RestartPolicy=''
        TerminationGracePeriodSeconds ActiveDeadlineSeconds DNSPolicy='' NodeSelector
        ServiceAccountName='' AutomountServiceAccountToken NodeName='' SecurityContext
        ImagePullSecrets Hostname='' Subdomain='' SetHostnameAsFQDN Affinity SchedulerName=''
        Tolerations HostAliases PriorityClassName='' Priority PreemptionPolicy DNSConfig
        ReadinessGates RuntimeClassName Overhead EnableServiceLinks TopologySpreadConstraints OS
        SchedulingGates ResourceClaims Resources HostnameOverride SchedulingGroup
    """,
    "PodSecurityContext": """
        HostNetwork=false HostPID=false HostIPC=false ShareProcessNamespace HostUsers
        SELinuxOptions WindowsOptions RunAsUser RunAsGroup RunAsNonRoot SupplementalGroups
        SupplementalGroupsPolicy FSGroup FSGroupChangePolicy Sysctls SeccompProfile
        AppArmorProfile SELinuxChangePolicy
    """,
    "SecurityContext": """
        Capabilities Privileged SELinuxOptions WindowsOptions RunAsUser RunAsGroup RunAsNonRoot
        ReadOnlyRootFilesystem AllowPrivilegeEscalation ProcMount SeccompProfile AppArmorProfile
    """,
    "Capabilities": "Add Drop",
    "SeccompProfile": "Type='' LocalhostProfile",
    "Container": _CONTAINER,
    "EphemeralContainer": f"{_CONTAINER} TargetContainerName=''",
    "ContainerPort": "Name='' HostPort=0 ContainerPort=0 Protocol='' HostIP=''",
    "EnvVar": "Name='' Value='' ValueFrom",
    "EnvVarSource": "FieldRef ResourceFieldRef ConfigMapKeyRef SecretKeyRef FileKeyRef",
    "ObjectFieldSelector": "APIVersion='' FieldPath=''",
    "ResourceFieldSelector": "ContainerName='' Resource='' Divisor='0'",
    "ConfigMapKeySelector": "Name='' Key='' Optional",
    "SecretKeySelector": "Name='' Key='' Optional",
    "EnvFromSource": "Prefix='' ConfigMapRef SecretRef",
    "ConfigMapEnvSource": "Name='' Optional",
    "SecretEnvSource": "Name='' Optional",
    "LocalObjectReference": "Name=''",
    "ResourceRequirements": "Limits Requests Claims",
    "VolumeResourceRequirements": "Limits Requests",
    "VolumeMount": """
        Name='' ReadOnly=false RecursiveReadOnly MountPath='' SubPath='' MountPropagation
        SubPathExpr=''
    """,
    "VolumeDevice": "Name='' DevicePath=''",
    "Probe": """
        Exec HTTPGet TCPSocket GRPC InitialDelaySeconds=0 TimeoutSeconds=0 PeriodSeconds=0
        SuccessThreshold=0 FailureThreshold=0 TerminationGracePeriodSeconds
    """,
    "ExecAction": "Command",
    "HTTPGetAction": "Path='' Port=0 Host='' Scheme='' HTTPHeaders",
    "HTTPHeader": "Name='' Value=''",
    "TCPSocketAction": "Port=0 Host=''",
    "GRPCAction": "Port=0 Service",
    "Lifecycle": "PostStart PreStop StopSignal",
    "LifecycleHandler": "Exec HTTPGet TCPSocket Sleep",
    "Toleration": "Key='' Operator='' Value='' Effect='' TolerationSeconds",
    "Volume": f"Name='' {_VOLUME_SOURCE}",
    "HostPathVolumeSource": "Path='' Type",
    "EmptyDirVolumeSource": "Medium='' SizeLimit",
    "SecretVolumeSource": "SecretName='' Items DefaultMode Optional",
    "ConfigMapVolumeSource": "Name='' Items DefaultMode Optional",
    "KeyToPath": "Key='' Path='' Mode",
    "PersistentVolumeClaimVolumeSource": "ClaimName='' ReadOnly=false",
    "ProjectedVolumeSource": "Sources DefaultMode",
    "VolumeProjection": """
        Secret DownwardAPI ConfigMap ServiceAccountToken ClusterTrustBundle PodCertificate
    """,
    "SecretProjection": "Name='' Items Optional",
    "ConfigMapProjection": "Name='' Items Optional",
    "DownwardAPIProjection": "Items",
    "DownwardAPIVolumeSource": "Items DefaultMode",
    "DownwardAPIVolumeFile": "Path='' FieldRef ResourceFieldRef Mode",
    "ServiceAccountTokenProjection": "Audience='' ExpirationSeconds=0 Path=''",
    "PersistentVolumeClaimSpec": """
        AccessModes Selector Resources={} VolumeName='' StorageClassName VolumeMode DataSource
        DataSourceRef VolumeAttributesClassName
    """,
    "PersistentVolumeSpec": _PERSISTENT_SOURCE,
    "RoleRef": "APIGroup='' Kind='' Name=''",
    "PodFailurePolicy": "Rules",
    "PodFailurePolicyRule": "Action='' OnExitCodes OnPodConditions",
    "PodFailurePolicyOnExitCodesRequirement": "ContainerName Operator='' Values",
    "PodFailurePolicyOnPodConditionsPattern": "Type='' Status=''",
    "IngressSpec": "IngressClassName DefaultBackend TLS Rules",
    "PodDisruptionBudgetSpec": "MinAvailable Selector MaxUnavailable UnhealthyPodEvictionPolicy",
    "ServicePort": "Name='' Protocol='' AppProtocol Port=0 TargetPort=0 NodePort=0",
}

_ZEROS: Mapping[str, Any] = {"''": "", "0": 0, "false": False, "{}": {}, "'0'": "0"}
#: What a pod has and the server keeps in its security context.
_OF_SECURITY = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")


def shown(definition: str, value: json.JsonObject) -> causes.Literal:
    """Return a struct as messages show it; `definition` is the full name of its API type."""
    return causes.Literal(causes.escape(msgspec.json.encode(_struct(definition, value)).decode()))


def difference(definition: str, old: json.JsonObject, new: json.JsonObject) -> str:
    """Return how two structs differ: hunks of a unified diff, three lines around each change."""
    before, after = (_lines(_struct(definition, value)) for value in (old, new))
    hunks = list(difflib.unified_diff(before, after))
    return "".join(hunks[2:])  # the two lines that would name files


def _lines(struct: json.JsonObject) -> list[str]:
    text = msgspec.json.format(msgspec.json.encode(struct), indent=2).decode()
    return [f"{line}\n" for line in causes.escape(text).splitlines()]


def _struct(definition: str, value: json.JsonObject) -> json.JsonObject:
    return _fields(catalog.definition(definition), value)


def _fields(kind: types.Type, value: json.JsonObject) -> json.JsonObject:
    short = kind.short_name
    if "apimachinery" in kind.name:
        return value  # those have the API's names on the server too
    if short == "PodTemplateSpec":
        spec = kind.fields["spec"]
        return {**(value.get("metadata") or {}), "Spec": _fields(spec, value.get("spec") or {})}
    given = _pod(value) if short == "PodSpec" else value
    names = {key.lower(): key for key in (*kind.fields, *given)}
    layout = STRUCTS.get(short)
    if layout is None:
        return {
            key[0].upper() + key[1:]: _value(kind.fields[key], given[key])
            for key in sorted(given)
            if key in kind.fields
        }
    struct = {}
    for entry in layout.split():
        field, _, zero = entry.partition("=")
        key = names.get(field.lower(), field)
        present = given.get(key)
        if present is None and zero != "{}":
            struct[field] = _ZEROS.get(zero)
        elif key in kind.fields:
            struct[field] = _value(kind.fields[key], present or _ZEROS.get(zero, present))
        else:
            struct[field] = present
    return struct


def _value(kind: types.Type, value: Any) -> Any:
    if isinstance(value, list) and kind.element is not None:
        return [_value(kind.element, item) for item in value]
    if not isinstance(value, dict):
        return value
    if kind.shape is types.Shape.OBJECT:
        return _fields(kind, value)
    return dict(sorted(value.items()))


def _pod(value: json.JsonObject) -> json.JsonObject:
    """Return a pod's spec with the fields that the server keeps elsewhere at their place."""
    security = {key: value[key] for key in _OF_SECURITY if key in value}
    if "securityContext" not in value and not security:
        return value
    return {**value, "securityContext": {**(value.get("securityContext") or {}), **security}}

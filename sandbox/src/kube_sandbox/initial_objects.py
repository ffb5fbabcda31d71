"""What a cluster holds before anybody uses it: namespaces, nodes, the API's own Service."""

from kube_sandbox import json

NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
VERSION = "v1.36.0"
_CAPACITY = {"cpu": "8", "memory": "32Gi", "pods": "110", "ephemeral-storage": "100Gi"}
_HEALTH = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "sufficient PIDs available"),
    ("Ready", "True", "KubeletReady", "is posting ready status"),
)


def namespace(name: str) -> json.JsonObject:
    """Build a namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def kubernetes_service() -> json.JsonObject:
    """Build the Service through which pods reach the API."""
    port = {"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {"type": "ClusterIP", "clusterIP": "10.96.0.1", "ports": [port]},
    }


def node(number: int, *, region: str, stamp: str) -> json.JsonObject:
    """Build the `number`-th node (from 1), healthy since `stamp`."""
    name = f"n{number}"
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "topology.kubernetes.io/region": region,
        "topology.kubernetes.io/zone": f"{region}-{'abc'[(number - 1) % 3]}",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {
            "capacity": dict(_CAPACITY),
            "allocatable": dict(_CAPACITY),
            "conditions": [_condition(*each, stamp) for each in _HEALTH],
            "addresses": [
                {"type": "InternalIP", "address": f"192.168.0.{9 + number}"},
                {"type": "Hostname", "address": name},
            ],
            # Where kubelets answer; clients read the port, nothing listens on it.
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "nodeInfo": _info(name),
        },
    }


def _condition(kind: str, status: str, reason: str, message: str, stamp: str) -> json.JsonObject:
    return {
        "type": kind,
        "status": status,
        "lastHeartbeatTime": stamp,
        "lastTransitionTime": stamp,
        "reason": reason,
        "message": f"kubelet has {message}" if kind != "Ready" else f"kubelet {message}",
    }


def _info(name: str) -> json.JsonObject:
    return {
        "machineID": name,
        "systemUUID": name,
        "bootID": name,
        "kernelVersion": "emulated",
        "osImage": "kube-sandbox",
        "containerRuntimeVersion": "sandbox://1",
        "kubeletVersion": VERSION,
        "kubeProxyVersion": VERSION,
        "operatingSystem": "linux",
        "architecture": "amd64",
    }

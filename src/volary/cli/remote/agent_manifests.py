"""What is applied to a cluster so that its agent runs there. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import yaml

from volary.model import json

NAME = "volary-agent"
#: Where its files are in its container.
SECRET_PATH, CONFIG_PATH = "/etc/volary/secret", "/etc/volary/config"
TOKEN, PRIVATE_KEY = "token", "private-key.pem"
POLICY, SIGNING_KEY, AUTHORITIES = "policy.yaml", "signing-key", "ca.pem"
#: Nobody in particular.
_USER = 65532
_EVERYTHING = ("get", "list", "watch", "create", "update", "patch", "delete")
_READ = ("get", "list", "watch")
_READ_OF_CLUSTER = (
    ("", ("nodes", "namespaces")),
    ("apiextensions.k8s.io", ("customresourcedefinitions",)),
    ("storage.k8s.io", ("storageclasses",)),
    ("networking.k8s.io", ("ingressclasses",)),
    ("gateway.networking.k8s.io", ("gatewayclasses",)),
    ("scheduling.k8s.io", ("priorityclasses",)),
)


@dataclass(frozen=True, slots=True)
class AgentDeployment:
    """An agent as it is to run."""

    cluster: str
    namespace: str
    image: str
    #: URL of a server.
    address: str
    token: str = field(repr=False)
    #: PEM; opens what is sealed for it.
    private_key: str = field(repr=False)
    #: By which it checks what the controller signed; base64.
    signing_key: str
    #: Namespaces that it has rights in; empty: in all.
    namespaces: tuple[str, ...] = ()
    #: Text of its policy; empty: as `default_policy` says.
    policy: str = ""
    #: PEM; empty: the system's.
    authorities: str = ""


def default_policy(namespaces: Sequence[str]) -> str:
    """Return a policy that permits to read, but no Secrets, and tasks in namespaces."""
    tasks = yaml.safe_dump(list(namespaces) or ["*"], default_flow_style=True).strip()
    read = "true" if not namespaces else f"{{namespaces: {tasks}}}"
    return (
        "apiVersion: volary.dev/v1\n"
        "kind: AgentPolicy\n"
        "spec:\n"
        f"  read: {read}  # but Secrets\n"
        "  rules:\n"
        f"  - namespaces: {tasks}\n"
    )


def everything(wanted: AgentDeployment) -> list[json.JsonObject]:
    """Return all objects, in the order to apply them."""
    return [
        _object("v1", "Namespace", "", wanted.namespace),
        _object("v1", "ServiceAccount", wanted.namespace, NAME),
        *_rights(wanted),
        secret(wanted),
        _config(wanted),
        _deployment(wanted),
    ]


def secret(wanted: AgentDeployment) -> json.JsonObject:
    """Return the Secret with the token and the private key."""
    return {
        **_object("v1", "Secret", wanted.namespace, NAME),
        "type": "Opaque",
        "stringData": {TOKEN: wanted.token, PRIVATE_KEY: wanted.private_key},
    }


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as people do, and everything out."""

    def ignore_aliases(self, _: object) -> bool:
        return True


def _write_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _write_text)


def render(objects: Sequence[json.JsonObject]) -> str:
    """Return objects as YAML."""
    return yaml.dump_all(objects, Dumper=_Dumper, sort_keys=False, explicit_start=True)


def _object(version: str, kind: str, namespace: str, name: str) -> json.JsonObject:
    metadata: json.JsonObject = {"name": name, **({"namespace": namespace} if namespace else {})}
    metadata["labels"] = {"app.kubernetes.io/name": NAME}
    return {"apiVersion": version, "kind": kind, "metadata": metadata}


def _rights(wanted: AgentDeployment) -> list[json.JsonObject]:
    health = {"nonResourceURLs": ["/readyz", "/livez", "/healthz", "/version"], "verbs": ["get"]}
    own = {"apiGroups": ["*"], "resources": ["*"], "verbs": list(_EVERYTHING)}
    if not wanted.namespaces:
        return _role("ClusterRole", "", wanted, [own, health])
    rules = [
        {"apiGroups": [group], "resources": list(kinds), "verbs": list(_READ)}
        for group, kinds in _READ_OF_CLUSTER
    ]
    made = _role("ClusterRole", "", wanted, [*rules, health])
    for namespace in wanted.namespaces:
        made += _role("Role", namespace, wanted, [own])
    return made


def _role(
    kind: str, namespace: str, wanted: AgentDeployment, rules: Sequence[json.JsonObject]
) -> list[json.JsonObject]:
    group = "rbac.authorization.k8s.io"
    # Of the whole cluster there may be several agents.
    name = NAME if namespace else f"{NAME}-{wanted.namespace}"
    account = {"kind": "ServiceAccount", "name": NAME, "namespace": wanted.namespace}
    return [
        {**_object(f"{group}/v1", kind, namespace, name), "rules": list(rules)},
        {
            **_object(f"{group}/v1", f"{kind}Binding", namespace, name),
            "roleRef": {"apiGroup": group, "kind": kind, "name": name},
            "subjects": [account],
        },
    ]


def _config(wanted: AgentDeployment) -> json.JsonObject:
    data = {
        POLICY: wanted.policy or default_policy(wanted.namespaces),
        SIGNING_KEY: wanted.signing_key,
    }
    if wanted.authorities:
        data[AUTHORITIES] = wanted.authorities
    return {**_object("v1", "ConfigMap", wanted.namespace, NAME), "data": data}


def _deployment(wanted: AgentDeployment) -> json.JsonObject:
    labels = {"app.kubernetes.io/name": NAME}
    return {
        **_object("apps/v1", "Deployment", wanted.namespace, NAME),
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": _pod(wanted)},
        },
    }


def _pod(wanted: AgentDeployment) -> json.JsonObject:
    arguments = [
        "agent",
        f"--cluster={wanted.cluster}",
        f"--server={wanted.address}",
        f"--token-file={SECRET_PATH}/{TOKEN}",
        f"--policy={CONFIG_PATH}/{POLICY}",
        f"--private-key={SECRET_PATH}/{PRIVATE_KEY}",
        f"--signing-key={CONFIG_PATH}/{SIGNING_KEY}",
    ]
    if wanted.authorities:
        arguments.append(f"--ca-file={CONFIG_PATH}/{AUTHORITIES}")
    mounts = [
        {"name": "secret", "mountPath": SECRET_PATH, "readOnly": True},
        {"name": "config", "mountPath": CONFIG_PATH, "readOnly": True},
        {"name": "tmp", "mountPath": "/tmp"},
    ]
    return {
        "serviceAccountName": NAME,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "fsGroup": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [
            {
                "name": "agent",
                "image": wanted.image,
                "command": ["volary"],
                "args": arguments,
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "readOnlyRootFilesystem": True,
                    "capabilities": {"drop": ["ALL"]},
                },
                "resources": {"requests": {"cpu": "50m", "memory": "128Mi"}},
                "volumeMounts": mounts,
            }
        ],
        "volumes": [
            {"name": "secret", "secret": {"secretName": NAME, "defaultMode": 0o440}},
            {"name": "config", "configMap": {"name": NAME}},
            {"name": "tmp", "emptyDir": {}},
        ],
    }

"""Writing a cluster's kubeconfig, as kubectl and Volary read it."""

import base64
import os
from pathlib import Path

import yaml

from kube_sandbox import json


def build(
    name: str, *, url: str, token: str, authority: str = "", namespace: str = "default"
) -> json.JsonObject:
    """Build a kubeconfig whose only context bears the cluster's name.

    `authority` is the CA's certificate in PEM; empty for plain HTTP.
    """
    cluster: json.JsonObject = {"server": url}
    if authority:
        encoded = base64.b64encode(authority.encode()).decode()
        cluster["certificate-authority-data"] = encoded
    context = {"cluster": name, "user": name, "namespace": namespace}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": {"token": token}}],
        "contexts": [{"name": name, "context": context}],
        "current-context": name,
    }


def write(path: Path, config: json.JsonObject) -> None:
    """Write a kubeconfig only its owner can read, since it holds a token.

    Raises:
        OSError: The file cannot be written.
    """
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        yaml.safe_dump(config, file, sort_keys=False)

"""The user part of a kubeconfig: who we are, and on whose behalf."""

import base64
import os
from collections.abc import Mapping

from volary.clusters import credentials as proofs
from volary.clusters import settings
from volary.model import errors, json

_EXEC_EXTENSION = "client.authentication.k8s.io/exec"


def credentials(
    user: json.JsonObject,
    directory: str,
    cluster: str,
    *,
    cluster_body: json.JsonObject,
    authorities: bytes,
) -> settings.Credentials:
    """Return the credentials a user entry describes, in kubectl's order of precedence.

    Args:
        user: The body of the user entry.
        directory: Where its relative paths start.
        cluster: The cluster's name, for messages.
        cluster_body: The body of the cluster entry, told to exec plugins that ask for it.
        authorities: The cluster's certificate authorities, PEM.

    Raises:
        errors.UserError: They cannot be used.
    """
    if user.get("auth-provider"):
        provider = (user["auth-provider"] or {}).get("name")
        raise errors.user_error(
            f"cluster {cluster}: auth-provider {provider} was removed from Kubernetes in 1.26",
            hint="use the provider's exec plugin instead",
        )
    if user.get("tokenFile"):
        return settings.TokenFile(os.path.join(directory, str(user["tokenFile"])))
    if user.get("token"):
        return settings.Token(str(user["token"]))
    if user.get("username") or user.get("password"):
        return settings.Basic(str(user.get("username") or ""), str(user.get("password") or ""))
    if user.get("exec"):
        return _program(user["exec"], directory, cluster, cluster_body, authorities)
    return settings.Anonymous()


def impersonation(user: json.JsonObject) -> settings.Impersonation:
    """Return on whose behalf requests are made."""
    extra = user.get("as-user-extra") or {}
    return settings.Impersonation(
        user=str(user.get("as") or ""),
        uid=str(user.get("as-uid") or ""),
        groups=tuple(str(each) for each in user.get("as-groups") or ()),
        extra={str(key): tuple(str(each) for each in values) for key, values in extra.items()},
    )


def _program(
    body: json.JsonObject,
    directory: str,
    cluster: str,
    cluster_body: json.JsonObject,
    authorities: bytes,
) -> settings.Exec:
    version = str(body.get("apiVersion") or "")
    if not proofs.is_known_version(version):
        raise errors.user_error(
            f"cluster {cluster}: exec apiVersion {version or '(none)'} is not supported",
            hint="use client.authentication.k8s.io/v1 or v1beta1; perhaps the plugin has to be"
            " updated",
        )
    if body.get("interactiveMode") == "Always":
        raise errors.user_error(
            f"cluster {cluster}: the credential program wants to ask on a terminal",
            hint="log in by hand first and set interactiveMode: IfAvailable",
        )
    command = str(body.get("command") or "")
    if not command:
        raise errors.user_error(f"cluster {cluster}: exec names no command")
    if os.sep in command:
        command = os.path.join(directory, command)
    return settings.Exec(
        api_version=version,
        command=command,
        arguments=tuple(str(each) for each in body.get("args") or ()),
        environment={
            str(each.get("name")): str(each.get("value") or "") for each in body.get("env") or ()
        },
        install_hint=str(body.get("installHint") or ""),
        cluster_info=_told(cluster_body, authorities) if body.get("provideClusterInfo") else None,
    )


def _told(body: json.JsonObject, authorities: bytes) -> Mapping[str, object]:
    """Return what an exec plugin learns about the cluster."""
    told: dict[str, object] = {"server": str(body.get("server") or "")}
    for key in ("tls-server-name", "insecure-skip-tls-verify", "proxy-url"):
        if body.get(key):
            told[key] = body[key]
    if authorities:
        told["certificate-authority-data"] = base64.b64encode(authorities).decode()
    for extension in body.get("extensions") or ():
        if isinstance(extension, dict) and extension.get("name") == _EXEC_EXTENSION:
            told["config"] = extension.get("extension")
    return told

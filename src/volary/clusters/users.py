"""The user part of a kubeconfig: who we are, and on whose behalf."""

import base64
import os
from collections.abc import Mapping

from volary.clusters import settings
from volary.clusters.entries import Entry

_EXEC_EXTENSION = "client.authentication.k8s.io/exec"
_VERSION_1 = "client.authentication.k8s.io/v1"
_EXEC_VERSIONS = (_VERSION_1, "client.authentication.k8s.io/v1beta1")
_MODES = ("Never", "IfAvailable", "Always")


def credentials(
    user: Entry, cluster: str, *, server: Entry, authorities: bytes
) -> settings.Credentials:
    """Return the credentials a user entry describes, in kubectl's order of precedence.

    Args:
        user: The user entry.
        cluster: The cluster's name, for messages.
        server: The cluster entry, told to exec plugins that ask for it.
        authorities: The cluster's certificate authorities, PEM.

    Raises:
        errors.UserError: They cannot be used.
    """
    provider = user.inner("auth-provider")
    if provider is not None:
        raise user.error(
            f"cluster {cluster}: auth-provider {provider.text('name')} was removed from Kubernetes",
            key="auth-provider",
            hint="use the provider's exec plugin instead",
        )
    token, file = user.text("token"), user.text("tokenFile")
    name, password = user.text("username"), user.text("password")
    if (token or file) and (name or password):
        raise user.error(f"cluster {cluster}: the user has a token and a password; keep one")
    if file:
        return settings.TokenFile(os.path.join(user.directory, file), fallback=token)
    if token:
        return settings.Token(token)
    if name or password:
        return settings.Basic(name, password)
    program = user.inner("exec")
    if program is None:
        return settings.Anonymous()
    return _program(program, cluster, server, authorities)


def impersonation(user: Entry, cluster: str) -> settings.Impersonation:
    """Return on whose behalf requests are made."""
    extra = user.inner("as-user-extra")
    found = settings.Impersonation(
        user=user.text("as"),
        uid=user.text("as-uid"),
        groups=user.texts("as-groups"),
        extra={key: extra.texts(key) for key in extra.body} if extra else {},
    )
    if not found.user and (found.uid or found.groups or found.extra):
        raise user.error(f"cluster {cluster}: as-uid, as-groups and as-user-extra need as")
    return found


def _program(program: Entry, cluster: str, server: Entry, authorities: bytes) -> settings.Exec:
    version = program.text("apiVersion")
    if version not in _EXEC_VERSIONS:
        raise program.error(
            f"cluster {cluster}: exec apiVersion {version or '(none)'} is not supported",
            key="apiVersion",
            hint="use client.authentication.k8s.io/v1 or v1beta1; perhaps the program has to be"
            " updated",
        )
    _check_mode(program, cluster, version)
    command = program.text("command")
    if not command:
        raise program.error(f"cluster {cluster}: exec names no command", key="command")
    if os.sep in command:  # as kubectl: a bare name is looked up on PATH
        command = os.path.join(program.directory, command)
    return settings.Exec(
        api_version=version,
        command=command,
        arguments=program.texts("args"),
        environment=_environment(program, cluster),
        install_hint=program.text("installHint").strip(),
        cluster_info=_told(server, authorities) if program.flag("provideClusterInfo") else None,
    )


def _check_mode(program: Entry, cluster: str, version: str) -> None:
    mode = program.text("interactiveMode")
    if mode == "Always":
        raise program.error(
            f"cluster {cluster}: the credential program wants to ask on a terminal",
            key="interactiveMode",
            hint="log in by hand first and set interactiveMode: IfAvailable",
        )
    if (mode and mode not in _MODES) or (not mode and version == _VERSION_1):
        raise program.error(
            f"cluster {cluster}: interactiveMode must be one of {', '.join(_MODES)}",
            key="interactiveMode",
        )


def _environment(program: Entry, cluster: str) -> dict[str, str]:
    variables = {each.text("name"): each.text("value") for each in program.inners("env")}
    if "" in variables:
        raise program.error(f"cluster {cluster}: a variable in env of exec has no name", key="env")
    return variables


def _told(server: Entry, authorities: bytes) -> Mapping[str, object]:
    """Return what an exec plugin learns about the cluster."""
    told: dict[str, object] = {"server": server.text("server")}
    for key in ("tls-server-name", "insecure-skip-tls-verify", "proxy-url"):
        if server.body.get(key):
            told[key] = server.body[key]
    if authorities:
        told["certificate-authority-data"] = base64.b64encode(authorities).decode()
    for extension in server.inners("extensions"):
        if extension.text("name") == _EXEC_EXTENSION:
            told["config"] = extension.body.get("extension")
    return told

"""Clusters, users and contexts of a kubeconfig, with the types that kubectl requires.

An entry is read strictly (`Entry`), a user becomes credentials and impersonation, and a context
with its cluster and user becomes one connection: URL, TLS and proxy.
"""

import base64
import binascii
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from volary import secret_files
from volary.clusters.kubeconfig import connections, environment_proxies
from volary.model import errors, json


@dataclass(frozen=True, slots=True)
class Entry:
    """A named cluster, user or context of a kubeconfig file, or an object inside it."""

    body: json.JsonObject
    #: Where its relative paths start.
    directory: str
    file: str
    #: ``users[admin]``, for messages.
    path: str = ""

    def error(self, message: str, *, key: str = "", hint: str = "") -> errors.UserError:
        """Return an error about this entry, or about one of its keys."""
        path = f"{self.path}.{key}" if self.path and key else self.path or key
        return errors.user_error(message, hint=hint, where=errors.Location(self.file, path=path))

    def text(self, key: str) -> str:
        """Return a text; empty when it is not given."""
        value = self.body.get(key)
        if value is None or isinstance(value, str):
            return value or ""
        raise self.error(f"{key} must be a text", key=key, hint="put it in quotes")

    def flag(self, key: str) -> bool:
        """Return true or false; false when it is not given."""
        value = self.body.get(key)
        if value is None or isinstance(value, bool):
            return bool(value)
        raise self.error(f"{key} must be true or false", key=key)

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts; empty when it is not given."""
        value = self.body.get(key) or []
        if isinstance(value, list) and all(isinstance(element, str) for element in value):
            return tuple(value)
        raise self.error(f"{key} must be a list of texts", key=key)

    def inner(self, key: str) -> "Entry | None":
        """Return the object at `key`; None when it is not given."""
        value = self.body.get(key)
        if value is None:
            return None
        return self._within(value, key)

    def inners(self, key: str) -> "tuple[Entry, ...]":
        """Return a list of objects; empty when it is not given."""
        value = self.body.get(key) or []
        if not isinstance(value, list):
            raise self.error(f"{key} must be a list of objects", key=key)
        return tuple(
            self._within(element, f"{key}[{place}]") for place, element in enumerate(value)
        )

    def _within(self, value: object, key: str) -> "Entry":
        if not isinstance(value, dict):
            raise self.error(f"{key} must be an object", key=key)
        path = f"{self.path}.{key}" if self.path else key
        return Entry(value, self.directory, self.file, path)

    def data(self, key: str) -> bytes:
        """Return what the base64 text at `key` holds; empty when it is not given."""
        try:
            return base64.b64decode("".join(self.text(key).split()), validate=True)
        except (binascii.Error, ValueError) as error:
            raise self.error(f"{key} is not base64", key=key) from error


_EXEC_EXTENSION = "client.authentication.k8s.io/exec"
_VERSION_1 = "client.authentication.k8s.io/v1"
_EXEC_VERSIONS = (_VERSION_1, "client.authentication.k8s.io/v1beta1")
#: Bytes of a certificate, a key or a list of authorities.
_LARGEST = 4 * 1024 * 1024
_MODES = ("Never", "IfAvailable", "Always")


def credentials(
    user: Entry, cluster: str, *, server: Entry, authorities: bytes
) -> connections.Credentials:
    """Return the credentials a user entry describes, in kubectl's order of precedence.


    The cluster's entry `server` and its `authorities` (PEM) are for exec plugins that ask for them.

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
        return connections.TokenFile(os.path.join(user.directory, file), fallback=token)
    if token:
        return connections.Token(token)
    if name or password:
        return connections.Basic(name, password)
    program = user.inner("exec")
    if program is None:
        return connections.Anonymous()
    return _program(program, cluster, server, authorities)


def impersonation(user: Entry, cluster: str) -> connections.Impersonation:
    """Return on whose behalf requests are made."""
    extra = user.inner("as-user-extra")
    identity = connections.Impersonation(
        user=user.text("as"),
        uid=user.text("as-uid"),
        groups=user.texts("as-groups"),
        extra={key: extra.texts(key) for key in extra.body} if extra else {},
    )
    if not identity.user and (identity.uid or identity.groups or identity.extra):
        raise user.error(f"cluster {cluster}: as-uid, as-groups and as-user-extra need as")
    return identity


def _program(program: Entry, cluster: str, server: Entry, authorities: bytes) -> connections.Exec:
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
    return connections.Exec(
        api_version=version,
        command=command,
        arguments=program.texts("args"),
        environment=_environment(program, cluster),
        install_hint=program.text("installHint").strip(),
        cluster_info=_exec_cluster_info(server, authorities)
        if program.flag("provideClusterInfo")
        else None,
    )


def _check_mode(program: Entry, cluster: str, version: str) -> None:
    mode = program.text("interactiveMode")
    if mode == "Always":
        raise program.error(
            f"cluster {cluster}: the credential program needs a terminal",
            key="interactiveMode",
            hint="log in by hand first and set interactiveMode: IfAvailable",
        )
    if (mode and mode not in _MODES) or (not mode and version == _VERSION_1):
        raise program.error(
            f"cluster {cluster}: interactiveMode must be one of {', '.join(_MODES)}",
            key="interactiveMode",
        )


def _environment(program: Entry, cluster: str) -> dict[str, str]:
    variables = {
        variable.text("name"): variable.text("value") for variable in program.inners("env")
    }
    if "" in variables:
        raise program.error(f"cluster {cluster}: a variable in env of exec has no name", key="env")
    return variables


def _exec_cluster_info(server: Entry, authorities: bytes) -> Mapping[str, object]:
    """Return what an exec plugin learns about the cluster."""
    info: dict[str, object] = {"server": server.text("server")}
    for key in ("tls-server-name", "insecure-skip-tls-verify", "proxy-url"):
        if server.body.get(key):
            info[key] = server.body[key]
    if authorities:
        info["certificate-authority-data"] = base64.b64encode(authorities).decode()
    for extension in server.inners("extensions"):
        if extension.text("name") == _EXEC_EXTENSION:
            info["config"] = extension.body.get("extension")
    return info


def connection(
    name: str, *, context: Entry, server: Entry, user: Entry | None
) -> connections.Connection:
    """Return the connection that a context, its cluster and its user describe.

    Raises:
        errors.UserError: Something in them, or a file they name, cannot be used.
    """
    who = user or Entry({}, server.directory, server.file)
    security = _tls(name, server, who)
    return connections.Connection(
        name=name,
        server=_url(name, server, secure=bool(security.authorities or security.insecure)),
        namespace=context.text("namespace") or "default",
        tls=security,
        credentials=credentials(who, name, server=server, authorities=security.authorities),
        impersonation=impersonation(who, name),
        proxy_url=_proxy(name, server),
    )


def _tls(name: str, server: Entry, who: Entry) -> connections.Tls:
    insecure = server.flag("insecure-skip-tls-verify")
    authorities = _content(server, "certificate-authority", name)
    if insecure and authorities:
        raise server.error(
            f"cluster {name}: certificate-authority contradicts insecure-skip-tls-verify"
        )
    certificate, key = (_content(who, part, name) for part in ("client-certificate", "client-key"))
    if bool(certificate) != bool(key):
        raise who.error(f"cluster {name}: client-certificate and client-key need each other")
    return connections.Tls(
        authorities=authorities,
        certificate=certificate,
        key=key,
        server_name=server.text("tls-server-name"),
        insecure=insecure,
    )


def _url(name: str, entry: Entry, *, secure: bool) -> str:
    server = entry.text("server")
    if not server:
        raise entry.error(f"cluster {name}: the kubeconfig names no server", key="server")
    if "://" not in server:
        server = f"{'https' if secure else 'http'}://{server}"
    parts = urlsplit("")
    try:
        parts = urlsplit(server)
        valid = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        valid = False
    if valid and "@" in parts.netloc:
        raise entry.error(
            f"cluster {name}: server has a user name in its URL",
            key="server",
            hint="put username and password into the user entry",
        )
    if not valid or server.split() != [server]:
        raise entry.error(f"cluster {name}: server is not an http or https URL", key="server")
    return server.rstrip("/")


def _proxy(name: str, entry: Entry) -> str:
    url = entry.text("proxy-url")
    if url and not environment_proxies.is_supported(url):
        raise entry.error(
            f"cluster {name}: proxy-url {url.partition('://')[0]}://… is not supported",
            key="proxy-url",
            hint="use an http or https proxy",
        )
    return url


def _content(entry: Entry, key: str, cluster: str) -> bytes:
    """Return the bytes of ``<key>-data`` or of the file that ``<key>`` names; empty: neither."""
    data = entry.data(f"{key}-data")
    path = entry.text(key)
    if data or not path:
        return data
    file = Path(entry.directory, path)
    try:
        return secret_files.read_bytes(file, _LARGEST)
    except OSError as error:
        raise entry.error(
            f"cluster {cluster}: {key} {file} cannot be read: {(error.strerror or '').lower()}",
            key=key,
            hint="check the path in the kubeconfig; relative ones start at the kubeconfig's folder",
        ) from error

"""Kubeconfig files as kubectl reads them: found, merged, and resolved to one connection.

`parse`, `merge` and `resolve` are pure; `load` finds and reads the files. kubectl's
rules: of several files the first to name an entry wins; relative paths are relative to
the file that holds them; data beats files; a token file beats a token.
"""

import base64
import binascii
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from volary.clusters import kubeconfig_user, settings
from volary.clusters import proxies as environment_proxies
from volary.config import yaml
from volary.model import errors, fleet, json, problem


@dataclass(frozen=True, slots=True)
class Entry:
    """A named cluster, user or context, and the directory its relative paths start at."""

    body: json.JsonObject
    directory: str
    file: str


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    """One or several kubeconfig files."""

    current_context: str = ""
    clusters: Mapping[str, Entry] = field(default_factory=dict)
    users: Mapping[str, Entry] = field(default_factory=dict)
    contexts: Mapping[str, Entry] = field(default_factory=dict)
    #: Files that were read, for messages.
    files: tuple[str, ...] = ()


def load(
    cluster: fleet.Cluster, *, environment: Mapping[str, str] = os.environ
) -> settings.Connection:
    """Return how to reach a cluster of the fleet.

    Raises:
        errors.UserError: A file, context, certificate, … is missing or not valid.
    """
    if cluster.in_cluster:
        return in_cluster(cluster.name, environment=environment)
    found = read(cluster.kubeconfig, environment=environment)
    connection = resolve(found, cluster.context, name=cluster.name)
    if connection.proxy_url:
        return connection
    return environment_proxies.with_proxy(connection, environment)


def read(files: Sequence[str], *, environment: Mapping[str, str]) -> Kubeconfig:
    """Read and merge files; without names those that kubectl would read.

    A named file must exist; of those in ``KUBECONFIG`` missing ones are skipped.
    """
    if files:
        return merge([parse(_read_text(Path(name)), file=name) for name in files])
    listed = [name for name in environment.get("KUBECONFIG", "").split(os.pathsep) if name]
    home = environment.get("HOME", "")
    candidates = listed or ([str(Path(home) / ".kube" / "config")] if home else [])
    present = [name for name in candidates if Path(name).is_file()]
    if not present:
        tried = ", ".join(candidates) or "KUBECONFIG and HOME are not set"
        raise errors.user_error(
            f"there is no kubeconfig ({tried})",
            hint="set KUBECONFIG, or name the file in the fleet file",
        )
    return merge([parse(_read_text(Path(name)), file=name) for name in present])


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise errors.user_error(f"kubeconfig {path} does not exist") from error
    except (OSError, UnicodeDecodeError) as error:
        cause = getattr(error, "strerror", None) or "it is not text"
        raise errors.user_error(f"kubeconfig {path} cannot be read: {cause}") from error


def parse(text: str, *, file: str) -> Kubeconfig:
    """Read the text of one kubeconfig file."""
    documents = yaml.load_all(text, file)
    if not documents:
        return Kubeconfig(files=(file,))
    body = documents[0].value
    if len(documents) > 1 or not isinstance(body, dict):
        raise errors.user_error(f"kubeconfig {file} is not one object")
    return Kubeconfig(
        current_context=str(body.get("current-context") or ""),
        clusters=_entries(body, "clusters", "cluster", file),
        users=_entries(body, "users", "user", file),
        contexts=_entries(body, "contexts", "context", file),
        files=(file,),
    )


def _entries(body: json.JsonObject, plural: str, singular: str, file: str) -> dict[str, Entry]:
    listed = body.get(plural) or []
    where = problem.Location(file, path=plural)
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise errors.user_error(f"{plural} must be a list of objects", where=where)
    directory = os.path.dirname(os.path.abspath(file))
    found: dict[str, Entry] = {}
    for each in listed:
        inner = each.get(singular) or {}
        if not isinstance(inner, dict):
            raise errors.user_error(f"{singular} {each.get('name')} is not an object", where=where)
        found.setdefault(str(each.get("name") or ""), Entry(inner, directory, file))
    return found


def merge(parts: Sequence[Kubeconfig]) -> Kubeconfig:
    """Merge files as kubectl does: the first to set a value wins."""
    return Kubeconfig(
        current_context=next((each.current_context for each in parts if each.current_context), ""),
        clusters=_first_wins([each.clusters for each in parts]),
        users=_first_wins([each.users for each in parts]),
        contexts=_first_wins([each.contexts for each in parts]),
        files=tuple(name for each in parts for name in each.files),
    )


def _first_wins(maps: Sequence[Mapping[str, Entry]]) -> dict[str, Entry]:
    merged: dict[str, Entry] = {}
    for each in reversed(maps):
        merged.update(each)
    return merged


def resolve(kubeconfig: Kubeconfig, context: str, *, name: str) -> settings.Connection:
    """Return the connection of a context, the current one when `context` is empty.

    Raises:
        errors.UserError: Something it points to is missing or not valid.
    """
    chosen = context or kubeconfig.current_context
    where = ", ".join(kubeconfig.files)
    if not chosen:
        raise errors.user_error(
            f"cluster {name}: no context is named and {where} has no current-context",
            hint=_contexts_hint(kubeconfig),
        )
    entry = kubeconfig.contexts.get(chosen)
    if entry is None:
        raise errors.user_error(
            f"cluster {name}: context {chosen} does not exist in {where}",
            hint=_contexts_hint(kubeconfig),
        )
    server = _pointed(kubeconfig.clusters, entry, "cluster", chosen)
    user = _pointed(kubeconfig.users, entry, "user", chosen) if entry.body.get("user") else None
    return _connection(name, entry, server, user)


def _contexts_hint(kubeconfig: Kubeconfig) -> str:
    names = ", ".join(sorted(kubeconfig.contexts)[:10])
    return f"its contexts are: {names}" if names else "it has no contexts"


def _pointed(entries: Mapping[str, Entry], context: Entry, what: str, name: str) -> Entry:
    pointed = str(context.body.get(what) or "")
    found = entries.get(pointed)
    if found is None:
        raise errors.user_error(
            f"context {name} names the {what} {pointed or '(none)'}, which does not exist",
            where=problem.Location(context.file, path=f"contexts[{name}].{what}"),
        )
    return found


def _connection(
    name: str, context: Entry, server: Entry, user: Entry | None
) -> settings.Connection:
    body = server.body
    insecure = bool(body.get("insecure-skip-tls-verify"))
    authorities = content(server, "certificate-authority", name)
    if insecure and authorities:
        raise errors.user_error(
            f"cluster {name}: certificate-authority contradicts insecure-skip-tls-verify",
            where=problem.Location(server.file),
        )
    who = user or Entry({}, server.directory, server.file)
    certificate, key = content(who, "client-certificate", name), content(who, "client-key", name)
    if bool(certificate) != bool(key):
        raise errors.user_error(
            f"cluster {name}: client-certificate and client-key need each other",
            where=problem.Location(who.file),
        )
    tls = settings.Tls(
        authorities=authorities,
        certificate=certificate,
        key=key,
        server_name=str(body.get("tls-server-name") or ""),
        insecure=insecure,
    )
    url = _url(str(body.get("server") or ""), name, server, secure=bool(authorities or insecure))
    return settings.Connection(
        name=name,
        server=url,
        namespace=str(context.body.get("namespace") or "default"),
        tls=tls,
        credentials=kubeconfig_user.credentials(
            who.body, who.directory, name, cluster_body=body, authorities=authorities
        ),
        impersonation=kubeconfig_user.impersonation(who.body),
        proxy_url=_proxy(str(body.get("proxy-url") or ""), name),
    )


def _url(server: str, name: str, entry: Entry, *, secure: bool) -> str:
    if not server:
        raise errors.user_error(
            f"cluster {name}: the kubeconfig names no server", where=problem.Location(entry.file)
        )
    if "://" not in server:
        server = f"{'https' if secure else 'http'}://{server}"
    if not server.startswith(("http://", "https://")):
        raise errors.user_error(
            f"cluster {name}: server {server} is not an http or https URL",
            where=problem.Location(entry.file),
        )
    return server.rstrip("/")


def _proxy(url: str, name: str) -> str:
    if url and not url.startswith(("http://", "https://")):
        raise errors.user_error(
            f"cluster {name}: proxy-url {url.partition('://')[0]}:// is not supported",
            hint="use an http or https proxy",
        )
    return url


def content(entry: Entry, key: str, cluster: str) -> bytes:
    """Return the bytes of ``<key>-data`` or of the file that ``<key>`` names; empty: neither."""
    data = str(entry.body.get(f"{key}-data") or "")
    if data:
        try:
            return base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError) as error:
            raise errors.user_error(
                f"cluster {cluster}: {key}-data is not base64", where=problem.Location(entry.file)
            ) from error
    path = str(entry.body.get(key) or "")
    return _bytes(Path(entry.directory, path), key, cluster) if path else b""


def _bytes(path: Path, key: str, cluster: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise errors.user_error(
            f"cluster {cluster}: {key} {path} cannot be read: {(error.strerror or '').lower()}",
            hint="check the path in the kubeconfig; relative ones start at the kubeconfig's folder",
        ) from error


_SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


def in_cluster(
    name: str, *, environment: Mapping[str, str], directory: str = _SERVICE_ACCOUNT
) -> settings.Connection:
    """Return the connection of a pod's service account; its token is re-read as it is rotated."""
    host = environment.get("KUBERNETES_SERVICE_HOST", "")
    port = environment.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port:
        raise errors.user_error(
            f"cluster {name}: inCluster is set, but this is not a pod of a cluster",
            hint="KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set",
        )
    folder = Path(directory)
    namespace = folder / "namespace"
    return settings.Connection(
        name=name,
        server=f"https://{f'[{host}]' if ':' in host else host}:{port}",
        namespace=namespace.read_text().strip() if namespace.is_file() else "default",
        tls=settings.Tls(authorities=_bytes(folder / "ca.crt", "ca.crt", name)),
        credentials=settings.TokenFile(str(folder / "token")),
    )

"""Kubeconfig files as kubectl reads them: found, merged, and resolved to one connection.

Without any, a pod's service account is the connection; its token is re-read as it is rotated.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from volary import secret_files
from volary.clusters.kubeconfig import connections, environment_proxies, kubeconfig_entries
from volary.clusters.kubeconfig.kubeconfig_entries import Entry
from volary.config.text import yaml
from volary.model import errors, phrases
from volary.model.fleet import fleets

#: Bytes of a file.
_LARGEST = 16 * 1024 * 1024
_DIRECTORY = "/var/run/secrets/kubernetes.io/serviceaccount"


def service_account_connection(
    name: str, *, environment: Mapping[str, str], directory: str = _DIRECTORY
) -> connections.Connection:
    """Return the connection of a pod's service account; its token is re-read as it is rotated.

    Raises:
        errors.UserError: This is not a pod, or it has no service account.
    """
    host = environment.get("KUBERNETES_SERVICE_HOST", "")
    port = environment.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port:
        raise errors.user_error(
            f"cluster {name}: inCluster is set, but this is not a pod of a cluster",
            hint="KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set",
        )
    folder = Path(directory)
    try:
        authorities = (folder / "ca.crt").read_bytes()
        namespace = folder / "namespace"
        return connections.Connection(
            name=name,
            server=f"https://{f'[{host}]' if ':' in host else host}:{port}",
            namespace=namespace.read_text().strip() if namespace.is_file() else "default",
            tls=connections.Tls(authorities=authorities),
            credentials=connections.TokenFile(str(folder / "token")),
        )
    except (OSError, UnicodeDecodeError) as error:
        raise errors.user_error(
            f"cluster {name}: the pod's service account in {folder} cannot be read",
            hint="the pod needs automountServiceAccountToken: true",
        ) from error


def agent_connection(name: str, socket: str) -> connections.Connection:
    """Return the connection of a cluster whose agent, behind a socket, has its credentials."""
    return connections.Connection(name, "http://agent", socket=socket)


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
    cluster: fleets.Cluster,
    *,
    environment: Mapping[str, str] = os.environ,
    reader: "Reader | None" = None,
) -> connections.Connection:
    """Return how to reach a cluster of the fleet.

    A `reader` that is given for many clusters reads a file they share only once.

    Raises:
        errors.UserError: A file, context, certificate, … is missing or not valid; or it is reached
            through its agent, which connects to servers only.
    """
    if cluster.agent:
        raise errors.user_error(
            f"cluster {cluster.name} is reached through its agent, which connects to a server only",
            hint="ask the server (--server), or give the cluster a kubeconfig here",
        )
    if cluster.in_cluster:
        connection = service_account_connection(cluster.name, environment=environment)
    else:
        kubeconfig = read(cluster.kubeconfig, environment=environment, reader=reader)
        connection = resolve(kubeconfig, cluster.context, name=cluster.name)
    return environment_proxies.with_proxy(connection, environment)


class Reader:
    """Reads and parses kubeconfig files, each again only when it has changed."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[int, int], Kubeconfig]] = {}

    def read(self, name: str) -> Kubeconfig:
        """Return one file.

        Raises:
            errors.UserError: It cannot be read or is not a kubeconfig.
        """
        text = ""
        try:
            file_status = os.stat(name)
            stamp = (file_status.st_mtime_ns, file_status.st_size)
            known = self._known.get(name)
            if known is not None and known[0] == stamp:
                return known[1]
            text = secret_files.read_bytes(name, _LARGEST).decode()
        except FileNotFoundError as error:
            raise errors.user_error(
                f"kubeconfig {name} does not exist",
                hint="check KUBECONFIG, or the cluster's entry in the fleet file",
            ) from error
        except (OSError, ValueError) as error:
            cause = (getattr(error, "strerror", None) or "it is not text").lower()
            raise errors.user_error(f"kubeconfig {name} cannot be read: {cause}") from None
        parsed = parse(text, file=name)
        self._known[name] = (stamp, parsed)
        return parsed


def read(
    files: Sequence[str], *, environment: Mapping[str, str], reader: Reader | None = None
) -> Kubeconfig:
    """Read and merge files; without names those that kubectl would read.

    A named file must exist; of those in ``KUBECONFIG`` missing ones are skipped.
    """
    reading = reader or Reader()
    if files:
        return merge([reading.read(name) for name in files])
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
    return merge([reading.read(name) for name in present])


def parse(text: str, *, file: str) -> Kubeconfig:
    """Read the text of one kubeconfig file."""
    documents = yaml.load_all(text, file)
    if not documents:
        return Kubeconfig(files=(file,))
    body = documents[0].value
    if len(documents) > 1 or not isinstance(body, dict):
        raise errors.user_error(f"kubeconfig {file} is not one object")
    whole = Entry(body, os.path.dirname(os.path.abspath(file)), file)
    return Kubeconfig(
        current_context=whole.text("current-context"),
        clusters=_named(whole, "clusters", "cluster"),
        users=_named(whole, "users", "user"),
        contexts=_named(whole, "contexts", "context"),
        files=(file,),
    )


def _named(whole: Entry, plural: str, singular: str) -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    for entry in whole.inners(plural):
        name = entry.text("name")
        if name in entries:
            raise whole.error(f"the name {name} is given twice in {plural}", key=plural)
        inner = entry.inner(singular)
        body = inner.body if inner is not None else {}
        entries[name] = Entry(body, whole.directory, whole.file, f"{plural}[{name}]")
    return entries


def merge(parts: Sequence[Kubeconfig]) -> Kubeconfig:
    """Merge files as kubectl does: the first to set a value wins."""
    return Kubeconfig(
        current_context=next((part.current_context for part in parts if part.current_context), ""),
        clusters=_first_wins([part.clusters for part in parts]),
        users=_first_wins([part.users for part in parts]),
        contexts=_first_wins([part.contexts for part in parts]),
        files=tuple(name for part in parts for name in part.files),
    )


def _first_wins(maps: Sequence[Mapping[str, Entry]]) -> dict[str, Entry]:
    merged: dict[str, Entry] = {}
    for entries_by_name in reversed(maps):
        merged.update(entries_by_name)
    return merged


def resolve(kubeconfig: Kubeconfig, context: str, *, name: str) -> connections.Connection:
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
    server = _pointed(kubeconfig.clusters, entry, "cluster")
    user = _pointed(kubeconfig.users, entry, "user") if entry.text("user") else None
    return kubeconfig_entries.connection(name, context=entry, server=server, user=user)


def _contexts_hint(kubeconfig: Kubeconfig) -> str:
    names = sorted(kubeconfig.contexts)
    if not names:
        return "it has no contexts"
    return f"its contexts are: {phrases.first_of(names, 10)}"


def _pointed(entries: Mapping[str, Entry], context: Entry, what: str) -> Entry:
    pointed = context.text(what)
    entry = entries.get(pointed)
    if entry is None:
        raise context.error(
            f"the context names the {what} {pointed or '(none)'}, which does not exist", key=what
        )
    return entry

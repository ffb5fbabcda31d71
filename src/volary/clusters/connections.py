"""From the entries of a kubeconfig to one connection: URL, TLS and proxy."""

from pathlib import Path
from urllib.parse import urlsplit

from volary.clusters import proxies, settings, users
from volary.clusters.entries import Entry


def connection(
    name: str, *, context: Entry, server: Entry, user: Entry | None
) -> settings.Connection:
    """Return the connection that a context, its cluster and its user describe.

    Raises:
        errors.UserError: Something in them, or a file they name, cannot be used.
    """
    who = user or Entry({}, server.directory, server.file)
    security = _tls(name, server, who)
    return settings.Connection(
        name=name,
        server=_url(name, server, secure=bool(security.authorities or security.insecure)),
        namespace=context.text("namespace") or "default",
        tls=security,
        credentials=users.credentials(who, name, server=server, authorities=security.authorities),
        impersonation=users.impersonation(who, name),
        proxy_url=_proxy(name, server),
    )


def _tls(name: str, server: Entry, who: Entry) -> settings.Tls:
    insecure = server.flag("insecure-skip-tls-verify")
    authorities = _content(server, "certificate-authority", name)
    if insecure and authorities:
        raise server.error(
            f"cluster {name}: certificate-authority contradicts insecure-skip-tls-verify"
        )
    certificate, key = (_content(who, part, name) for part in ("client-certificate", "client-key"))
    if bool(certificate) != bool(key):
        raise who.error(f"cluster {name}: client-certificate and client-key need each other")
    return settings.Tls(
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
    if url and not proxies.is_supported(url):
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
        return file.read_bytes()
    except OSError as error:
        raise entry.error(
            f"cluster {cluster}: {key} {file} cannot be read: {(error.strerror or '').lower()}",
            key=key,
            hint="check the path in the kubeconfig; relative ones start at the kubeconfig's folder",
        ) from error

"""The connection of a pod to its own cluster: the service account that is mounted there."""

from collections.abc import Mapping
from pathlib import Path

from volary.clusters import settings
from volary.model import errors

_DIRECTORY = "/var/run/secrets/kubernetes.io/serviceaccount"


def connection(
    name: str, *, environment: Mapping[str, str], directory: str = _DIRECTORY
) -> settings.Connection:
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
        return settings.Connection(
            name=name,
            server=f"https://{f'[{host}]' if ':' in host else host}:{port}",
            namespace=namespace.read_text().strip() if namespace.is_file() else "default",
            tls=settings.Tls(authorities=authorities),
            credentials=settings.TokenFile(str(folder / "token")),
        )
    except (OSError, UnicodeDecodeError) as error:
        raise errors.user_error(
            f"cluster {name}: the pod's service account in {folder} cannot be read",
            hint="the pod needs automountServiceAccountToken: true",
        ) from error

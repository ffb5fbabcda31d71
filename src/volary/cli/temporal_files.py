"""How workers and agents reach Temporal: what they were told of it, and files of theirs."""

from dataclasses import dataclass

from volary.agents import hellos
from volary.engine.temporal import connections
from volary.model import errors, server_settings


@dataclass(frozen=True, slots=True)
class TemporalFiles:
    """How the connection to Temporal is secured; see `server_settings.TemporalTls`."""

    ca: str = ""
    certificate: str = ""
    key: str = ""
    server_name: str = ""
    api_key: str = ""
    #: Secured by what the machine believes, also without any of these files.
    tls: bool = False


def settings(known: hellos.Temporal, files: TemporalFiles) -> server_settings.Temporal:
    """Return how Temporal is reached.

    Raises:
        errors.UserError: It would be reached without TLS, and is not of this machine.
    """
    tls = None
    if files.tls or files.ca or files.certificate:
        tls = server_settings.TemporalTls(files.ca, files.certificate, files.key, files.server_name)
    elif not connections.is_loopback(known.address):
        raise errors.user_error(
            f"the connection to Temporal at {known.address} would not be secured",
            hint="name its certificates with --temporal-ca, or use --temporal-tls",
        )
    return server_settings.Temporal(known.address, known.namespace, tls, files.api_key)

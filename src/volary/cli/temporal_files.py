"""How workers and agents reach Temporal: what they were told of it, and files of theirs."""

from dataclasses import dataclass

from volary.agents import hellos
from volary.engine.temporal import connections
from volary.model import addresses, errors, server_settings


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
    #: ``host:port`` as this process reaches it; empty: as it was told.
    address: str = ""


def settings(known: hellos.Temporal, files: TemporalFiles) -> server_settings.Temporal:
    """Return how Temporal is reached.

    Raises:
        errors.UserError: The address is none, or it would be reached without TLS and is not of
            this machine.
    """
    address = files.address or known.address
    if not addresses.is_host_and_port(address):
        raise errors.user_error(
            f"--temporal-address {address} is no host and port",
            hint="write temporal.example.org:7233",
        )
    tls = None
    if files.tls or files.ca or files.certificate:
        tls = server_settings.TemporalTls(files.ca, files.certificate, files.key, files.server_name)
    elif not connections.is_loopback(address):
        raise errors.user_error(
            f"the connection to Temporal at {address} would not be secured",
            hint="name its certificates with --temporal-ca, or use --temporal-tls",
        )
    return server_settings.Temporal(address, known.namespace, tls, files.api_key)

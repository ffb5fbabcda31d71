"""What is wrong with who is to carry runs out."""

import ipaddress
from collections.abc import Iterator
from datetime import timedelta

from volary.config.decoding import readings
from volary.config.text import yaml
from volary.model import addresses, errors, phrases, server_settings
from volary.model.fleet import fleets

_TEMPORAL: yaml.Path = ("engine", "temporal")
#: A heartbeat takes a moment, also to a service far away that is busy.
_SHORTEST = timedelta(seconds=5)
_LONGEST = timedelta(minutes=10)


def check(reading: readings.Reading, engine: server_settings.Engine) -> None:
    """Note what is wrong with the section `engine`."""
    given = engine.temporal
    if given is None:
        return
    if not addresses.is_host_and_port(given.address):
        hint = "write temporal.example.org:7233"
        reading.error((*_TEMPORAL, "address"), "must be a host and a port", hint)
    elif given.tls is None and not _is_loopback(given.address.rpartition(":")[0]):
        hint = "add tls: {}, with the files it needs"
        reading.error((*_TEMPORAL, "tls"), "is missing, and the service is not of here", hint)
    if given.api_key_file and given.tls is None:
        hint = "add tls: {}, or leave the key out"
        reading.error((*_TEMPORAL, "apiKeyFile"), "would be sent for everybody to read", hint)
    if given.tls is not None and bool(given.tls.certificate_file) != bool(given.tls.key_file):
        hint = "write both certificateFile and keyFile, or neither"
        reading.error((*_TEMPORAL, "tls"), "a certificate and its key belong together", hint)
    if not _SHORTEST <= given.heartbeat <= _LONGEST:
        message = "must be between 5 seconds and 10 minutes"
        reading.error((*_TEMPORAL, "heartbeat"), message, "write 30s")


def against_fleet(
    settings: server_settings.Settings, members: fleets.Fleet
) -> Iterator[errors.Problem]:
    """Yield a warning where a server could only read some clusters: their agents get no tasks."""
    through_agents = [member.name for member in members.clusters if member.agent]
    if settings.engine.temporal is None and through_agents:
        yield errors.Problem(
            f"nothing can be written to {phrases.first_of(through_agents)}: agents take tasks from"
            " Temporal, and the settings have no engine.temporal",
            errors.Location(settings.fleet),
            "name a Temporal service there, or give these clusters a kubeconfig in place of"
            " agent: true",
            severity=errors.Severity.WARNING,
        )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return False
